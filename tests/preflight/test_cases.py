"""Cases that SageMaker's SDKs let through, or answer badly: every one is caught here, or cannot be written down at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import jobs
import pytest

import sm_trn as st
from sm_trn.core.errors import InvalidJobFile
from sm_trn.core.jobfile import load_jobs
from sm_trn.core.specs import JobSpec, Problem, Severity

ARGUMENTS = (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--a', {})\nprint('checkpoint')\np.parse_args()\n"
)
P4D, TRN1, PLAIN = st.Compute("ml.p4d.24xlarge", count=2), st.Compute("ml.trn1.32xlarge"), "print('checkpoint')\n"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """``change`` is applied to a good job; the problem ``rule`` must then be there, and say ``words`` about it or its fix."""

    rule: str
    severity: Severity
    change: Callable[[JobSpec], JobSpec]
    words: str = ""
    start: str = "c"
    script: str = PLAIN


def on_trn1(framework: object) -> Callable[[JobSpec], JobSpec]:
    return lambda job: job.replace(framework=framework)


def instance(name: str) -> Callable[[JobSpec], JobSpec]:
    return lambda job: job.replace(compute=st.Compute(name, count=2))


def sends(**values: object) -> Callable[[JobSpec], JobSpec]:
    return lambda job: job.replace(hyperparameters=values)


ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
CASES: dict[str, list[Case]] = {
    "trn1-silent-wrong-image": [
        Case(
            rule="IMG003", severity=ERROR, change=on_trn1(st.PyTorch("2.7.0", python="py38")), words="NeuronX('2.7.0')"
        )
    ],
    "trn1-py310": [
        Case(
            rule="IMG003",
            severity=ERROR,
            change=on_trn1(st.PyTorch("2.7.0", python="py310")),
            words="pytorch-training-neuronx",
        )
    ],
    "trn1-hf": [
        Case(
            rule="IMG003",
            severity=ERROR,
            change=on_trn1(st.HuggingFace("4.55.4", pytorch="2.8.0", python="py310")),
            words="HuggingFaceNeuronX('4.55.4', pytorch='2.8.0')",
        )
    ],
    "trn1-xla": [
        Case(
            rule="DIST007",
            severity=ERROR,
            change=lambda j: j.replace(distribution=st.PyTorchXLA()),
            words="TorchDistributed()",
        )
    ],
    "trn1-smddp": [
        Case(
            rule="DIST003",
            severity=ERROR,
            change=lambda j: j.replace(distribution=st.SMDataParallel()),
            words="ml.p4d.24xlarge",
        )
    ],
    "smddp-g5": [
        Case(rule="DIST004", severity=ERROR, start="a", change=instance(name), words="ml.p4de.24xlarge")
        for name in ("ml.g5.12xlarge", "ml.p3.2xlarge", "ml.p3.8xlarge")
    ],
    "smddp-p5": [
        Case(rule="DIST004", severity=ERROR, start="a", change=instance("ml.p5.48xlarge"), words="ml.p4d.24xlarge")
    ],
    "trcomp-p5": [
        Case(rule=rule, severity=severity, start="b", change=instance(name))
        for name in ("ml.p5.48xlarge", "ml.p4de.24xlarge", "ml.g6.48xlarge", "ml.trn1.32xlarge")
        for rule, severity in (("COMP001", ERROR), ("COMP006", INFO))
    ],
    "trcomp-smddp": [
        Case(
            rule="COMP004",
            severity=ERROR,
            start="b",
            change=lambda j: j.replace(distribution=st.SMDataParallel()),
            words="PyTorchXLA()",
        )
    ],
    "trcomp-profiler": [
        Case(rule="COMP008", severity=WARNING, start="b", change=lambda j: j.replace(profiler=True, debugger=True))
    ],
    "spot-maxwait-lt": [
        Case(rule="SPOT001", severity=ERROR, start="d", change=lambda j: j.replace(spot=st.Spot(max_wait_s=60)))
    ],
    "spot-no-ckpt": [
        Case(rule="SPOT004", severity=WARNING, start="d", change=lambda j: j.replace(spot=st.Spot(max_wait_s=90_000)))
    ],
    "spot-ckpt-script": [
        Case(rule="SPOT005", severity=WARNING, start="d", change=lambda j: j, script="print('no saving here')\n"),
        Case(
            rule="SPOT006", severity=WARNING, start="d", change=sends(output_dir="/opt/ml/model", save_strategy="epoch")
        ),
    ],
    "maxrun-60d": [
        Case(rule="LIMIT006", severity=ERROR, change=lambda j: j.replace(max_run_s=60 * 86_400), words="2,419,200"),
        Case(rule="LIMIT007", severity=WARNING, change=lambda j: j.replace(max_run_s=432_001), words="432,000"),
    ],
    "hp-101": [
        Case(
            rule="LIMIT004",
            severity=ERROR,
            change=sends(**{f"h{n}": n for n in range(number)}),
            words="for the training toolkit",
        )
        for number in (101, 94)  # 94 and the seven that the request carries besides
    ],
    "hp-bool": [
        Case(
            rule="SCRIPT006",
            severity=ERROR,
            change=sends(a=False),
            script=ARGUMENTS.format("type=bool"),
            words="str2bool",
        ),
        Case(
            rule="SCRIPT007",
            severity=ERROR,
            change=sends(a=False),
            script=ARGUMENTS.format("action='store_true'"),
            words="str2bool",
        ),
    ],
    "hp-space": [Case(rule="SCRIPT004", severity=INFO, change=sends(a="a b"), words="a shell reads this")],
    "missing-script": [
        Case(
            rule="SCRIPT001",
            severity=ERROR,
            change=lambda j: j.replace(script=dataclasses.replace(j.script, entry="nope.py")),  # type: ignore[type-var]  # every configuration has one
        )
    ],
    "volume-nvme": [
        Case(
            rule="LIMIT012",
            severity=INFO,
            change=lambda j, name=name: j.replace(compute=st.Compute(name, volume_gb=512)),  # type: ignore[misc]  # bound now
        )
        for name in ("ml.p4d.24xlarge", "ml.g5.12xlarge", "ml.g4dn.12xlarge", "ml.trn1.32xlarge")
    ],
}
# Cases that a spec cannot express: see the tests of these names below.
IMPOSSIBLE = {
    "smp-no-mpi": "test_smp_always_comes_with_mpi",
    "spot-no-maxwait": "test_spot_cannot_be_written_without_max_wait",
}
FLAT = [(f"{name}-{number}", case) for name, cases in CASES.items() for number, case in enumerate(cases)]


@pytest.mark.parametrize("case", [case for _, case in FLAT], ids=[name for name, _ in FLAT])
def test_the_case_is_caught(case: Case, tmp_path: Path) -> None:
    (tmp_path / "run_clm.py").write_text(case.script)
    good = jobs.CONFIGURATIONS[case.start](str(tmp_path))
    (problem, *_) = [found for found in st.check(case.change(good)) if found.id == case.rule]
    assert case.severity is problem.severity
    assert case.words in said(problem)


def said(problem: Problem) -> str:
    return " ".join((problem.what, problem.got, problem.wanted, problem.fix))


def test_smp_always_comes_with_mpi() -> None:
    job = jobs.smddp("s3://a-bucket/src").replace(distribution=st.SMModelParallel(partitions=2))
    sent = st.render(job)["HyperParameters"]
    assert ("true", "8") == (sent["sagemaker_mpi_enabled"], sent["sagemaker_mpi_num_of_processes_per_host"])


def test_spot_cannot_be_written_without_max_wait() -> None:
    with pytest.raises(TypeError, match="max_wait_s"):
        st.Spot(checkpoint_s3_uri="s3://b/c")  # type: ignore[call-arg]  # the mistake is the test
    text = '{"name": "a", "script": {"entry": "a.py"}, "framework": {"kind": "neuronx", "pytorch": "2.9.0"},'
    with pytest.raises(InvalidJobFile, match='missing key "max_wait_s"'):
        load_jobs(text + ' "compute": {"instance": "ml.trn1.32xlarge"}, "spot": {}}', "json")
