"""Cases that SageMaker's SDKs let through, or answer badly: every one is caught here, or cannot be written down at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jobs
import pytest

import sm_trn as st
from sm_trn.core.errors import InvalidJobFile
from sm_trn.core.jobfile import load_jobs
from sm_trn.core.specs import JobSpec, Problem, Severity

ARGUMENTS = (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--a', {})\nprint('checkpoint')\np.parse_args()\n"
)
PLAIN = "print('checkpoint')\n"


@dataclasses.dataclass(frozen=True)
class Case:
    """``change`` is applied to a good job; the problem ``rule`` must then be there, and say ``words`` about it or its fix."""

    rule: str
    severity: Severity
    change: Callable[[JobSpec], JobSpec]
    words: str = ""
    start: str = "c"
    script: str = PLAIN


def changed(**fields: Any) -> Callable[[JobSpec], JobSpec]:
    return lambda job: job.replace(**fields)


def sends(**values: object) -> Callable[[JobSpec], JobSpec]:
    return changed(hyperparameters=values)


def on(name: str, **more: Any) -> Callable[[JobSpec], JobSpec]:
    return changed(compute=st.Compute(name, **more))


def without_its_script(job: JobSpec) -> JobSpec:
    assert job.script is not None
    return job.replace(script=dataclasses.replace(job.script, entry="nope.py"))


ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
OLD, PY310 = st.PyTorch("2.7.0", python="py38"), st.PyTorch("2.7.0", python="py310")
HUGGING_FACE = st.HuggingFace("4.55.4", pytorch="2.8.0", python="py310")
CASES: dict[str, list[Case]] = {
    "trn1-silent-wrong-image": [Case("IMG003", ERROR, changed(framework=OLD), "NeuronX('2.7.0')")],
    "trn1-py310": [Case("IMG003", ERROR, changed(framework=PY310), "pytorch-training-neuronx")],
    "trn1-hf": [
        Case("IMG003", ERROR, changed(framework=HUGGING_FACE), "HuggingFaceNeuronX('4.55.4', pytorch='2.8.0')")
    ],
    "trn1-xla": [Case("DIST007", ERROR, changed(distribution=st.PyTorchXLA()), "TorchDistributed()")],
    "trn1-smddp": [Case("DIST003", ERROR, changed(distribution=st.SMDataParallel()), "ml.p4d.24xlarge")],
    "smddp-g5": [
        Case("DIST004", ERROR, on(name, count=2), "ml.p4de.24xlarge", "a")
        for name in ("ml.g5.12xlarge", "ml.p3.2xlarge", "ml.p3.8xlarge")
    ],
    "smddp-p5": [Case("DIST004", ERROR, on("ml.p5.48xlarge", count=2), "ml.p4d.24xlarge", "a")],
    "trcomp-p5": [
        Case(rule, severity, on(name, count=2), start="b")
        for name in ("ml.p5.48xlarge", "ml.p4de.24xlarge", "ml.g6.48xlarge", "ml.trn1.32xlarge")
        for rule, severity in (("COMP001", ERROR), ("COMP006", INFO))
    ],
    "trcomp-smddp": [Case("COMP004", ERROR, changed(distribution=st.SMDataParallel()), "PyTorchXLA()", "b")],
    "trcomp-profiler": [
        Case("COMP008", WARNING, changed(extra={"ProfilerConfig": {"DisableProfiler": False}}), start="b")
    ],
    "spot-maxwait-lt": [Case("SPOT001", ERROR, changed(spot=st.Spot(max_wait_s=60)), start="d")],
    "spot-no-ckpt": [Case("SPOT004", WARNING, changed(spot=st.Spot(max_wait_s=90_000)), start="d")],
    "spot-ckpt-script": [
        Case("SPOT005", WARNING, changed(), start="d", script="print('no saving here')\n"),
        Case("SPOT006", WARNING, sends(output_dir="/opt/ml/model", save_strategy="epoch"), start="d"),
    ],
    "maxrun-60d": [
        Case("LIMIT006", ERROR, changed(max_run_s=60 * 86_400), "2,419,200"),
        Case("LIMIT007", WARNING, changed(max_run_s=432_001), "432,000"),
    ],
    "hp-101": [
        Case("LIMIT004", ERROR, sends(**{f"h{n}": n for n in range(number)}), "for the training toolkit")
        for number in (101, 94)  # 94 and the seven that the request carries besides
    ],
    "hp-bool": [
        Case("SCRIPT006", ERROR, sends(a=False), "str2bool", script=ARGUMENTS.format("type=bool")),
        Case("SCRIPT007", ERROR, sends(a=False), "str2bool", script=ARGUMENTS.format("action='store_true'")),
    ],
    "hp-space": [Case("SCRIPT004", INFO, sends(a="a b"), "a shell reads this")],
    "missing-script": [Case("SCRIPT001", ERROR, without_its_script)],
    "volume-nvme": [
        Case("LIMIT012", INFO, on(name, volume_gb=512))
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
