"""One wrong spec per rule: each is caught, with what, got, wanted and fix; all faults of a spec come at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import jobs
import pytest

import sm_trn as st
from sm_trn.core.catalog import limits
from sm_trn.core.specs import JobSpec, Problem, Severity


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "run_clm.py").write_text("import sys\nprint('checkpoint', sys.argv)\n")
    return str(tmp_path)


Wrong = Callable[[JobSpec], JobSpec]
P4D, TRN1 = st.Compute("ml.p4d.24xlarge", count=2), st.Compute("ml.trn1.32xlarge")

# id, the configuration it starts from, what is made wrong, a word of "got", a word of "wanted"
WRONG: list[tuple[str, str, Wrong, str, str]] = [
    ("IMG001", "c", lambda j: j.replace(framework=st.NeuronX("2.3")), "2.3", "2.5.1"),
    ("IMG001", "a", lambda j: j.replace(framework=st.PyTorch("2.99", python="py312")), "2.99", "image_uri"),
    ("IMG002", "a", lambda j: j.replace(framework=st.PyTorch("1.11", python="py310")), "py310", "py38"),
    (
        "IMG003",
        "a",
        lambda j: j.replace(compute=TRN1, distribution=st.TorchDistributed()),
        "ml.trn1.32xlarge",
        "Neuron",
    ),
    ("IMG003", "c", lambda j: j.replace(compute=P4D), "ml.p4d.24xlarge", "GPU"),
    ("IMG009", "c", lambda j: j.replace(framework=st.NeuronX("2.9.0", neuron_sdk="2.30.0")), "2.30.0", "2.29.1"),
    (
        "IMG005",
        "b",
        lambda j: j.replace(framework=st.HuggingFace("4.21", pytorch="1.11.0", python="py38")),
        "1.11.0",
        "4.21",
    ),
    (
        "DIST002",
        "a",
        lambda j: j.replace(compute=st.Compute("ml.c5.xlarge"), distribution=st.TorchDistributed()),
        "ml.c5.xlarge",
        "CUDA",
    ),
    ("DIST003", "a", lambda j: j.replace(compute=TRN1, framework=st.NeuronX("2.9.0")), "NEURON", "ml.p4d.24xlarge"),
    (
        "DIST004",
        "a",
        lambda j: j.replace(compute=st.Compute("ml.g5.12xlarge", count=2)),
        "ml.g5.12xlarge",
        "ml.p4d.24xlarge",
    ),
    (
        "DIST005",
        "a",
        lambda j: j.replace(compute=st.Compute("ml.p3dn.24xlarge", count=2)),
        "ml.p3dn.24xlarge",
        "ml.p4d.24xlarge",
    ),
    ("DIST006", "a", lambda j: j.replace(framework=st.PyTorch("2.8.0", python="py312")), "2.8.0", "2.2.0"),
    ("DIST007", "c", lambda j: j.replace(distribution=st.PyTorchXLA()), "pytorchxla", "torch_distributed"),
    ("DIST008", "a", lambda j: j.replace(distribution=None), "2 instances", "one instance"),
    ("DIST009", "c", lambda j: j.replace(distribution=None), "no distribution", "one worker each"),
    ("DIST010", "a", lambda j: j.replace(distribution=st.TorchDistributed()), "1.11", "1.13.1"),
    ("DIST011", "c", lambda j: j.replace(compute=st.Compute("ml.trn1.2xlarge", count=4)), "12.5", "EFA"),
    ("DIST012", "a", lambda j: j.replace(compute=st.Compute("ml.p4d.24xlarge")), "1 instance", "2 or more"),
    (
        "DIST013",
        "b",
        lambda j: j.replace(compiler=None, framework=st.PyTorch("1.11", python="py38")),
        "no compiler",
        "TrainingCompiler()",
    ),
    ("COMP001", "b", lambda j: j.replace(compute=st.Compute("ml.p5.48xlarge", count=2)), "ml.p5.48xlarge", "ml.p4d"),
    (
        "COMP002",
        "b",
        lambda j: j.replace(framework=st.HuggingFace("4.28", pytorch="2.0", python="py310")),
        "4.28",
        "transformers '4.21.1' pytorch '1.11.0'",
    ),
    ("COMP003", "b", lambda j: j.replace(distribution=None), "2 instances", "pytorchxla"),
    ("COMP004", "b", lambda j: j.replace(distribution=st.SMDataParallel()), "smdistributed", "pytorchxla"),
    ("COMP005", "b", lambda j: j.replace(image_uri="1.dkr.ecr.us-east-1.amazonaws.com/x:1"), "dkr.ecr", "no image_uri"),
    ("COMP006", "b", lambda j: j, "4.21", ""),
    (
        "SPOT001",
        "d",
        lambda j: j.replace(spot=st.Spot(max_wait_s=3600, checkpoint_s3_uri="s3://b/c")),
        "3,600",
        "86,400",
    ),
    (
        "SPOT002",
        "d",
        lambda j: j.replace(spot=st.Spot(max_wait_s=90_000, checkpoint_s3_uri="/opt/ml/checkpoints")),
        "/opt/ml",
        "s3://",
    ),
    (
        "SPOT003",
        "d",
        lambda j: j.replace(spot=st.Spot(max_wait_s=90_000, checkpoint_local_path="/opt/ml/ck")),
        "/opt/ml/ck",
        "checkpoint_s3_uri",
    ),
    ("SPOT004", "d", lambda j: j.replace(spot=st.Spot(max_wait_s=90_000)), "not set", "checkpoints"),
    (
        "LIMIT001",
        "a",
        lambda j: j.replace(compute=st.Compute("ml.p4d.24xlage", count=2)),
        "ml.p4d.24xlage",
        "types of the API",
    ),
    ("LIMIT002", "a", lambda j: j.replace(name="my_job"), "my_job", "hyphens"),
    ("LIMIT003", "a", lambda j: j.replace(name="x" * 50), "50", "42"),
    ("LIMIT004", "a", lambda j: j.replace(hyperparameters={f"h{n}": n for n in range(95)}), "103", "100"),
    ("LIMIT005", "a", lambda j: j.replace(hyperparameters={"text": "x" * 3000}), "3,000", "2,500"),
    ("LIMIT006", "a", lambda j: j.replace(max_run_s=60 * 86_400), "5,184,000", "2,419,200"),
    ("LIMIT007", "a", lambda j: j.replace(max_run_s=6 * 86_400), "518,400", "432,000"),
    ("LIMIT008", "a", lambda j: j.replace(metrics=tuple(st.MetricRule(f"m{n}", "(x)") for n in range(41))), "41", "40"),
    (
        "LIMIT009",
        "a",
        lambda j: j.replace(metrics=(st.MetricRule("m", "loss: [0-9]+"),)),
        "no capturing group",
        "first group",
    ),
    ("LIMIT009", "a", lambda j: j.replace(metrics=(st.MetricRule("m", "(["),)), "broken", "first group"),
    ("LIMIT010", "a", lambda j: j.replace(environment={"A": "x" * 513}), "513", "512"),
    ("LIMIT011", "a", lambda j: j.replace(tags={f"t{n}": "" for n in range(51)}), "51", "50"),
    ("LIMIT012", "a", lambda j: j, "512", ""),
    ("LIMIT013", "a", lambda j: j.replace(inputs={"a b": "s3://b/c"}), "a b", "letters"),
    (
        "SCRIPT001",
        "a",
        lambda j: j.replace(script=st.Script("nope.py", source_dir=j.script.source_dir)),  # type: ignore[union-attr]  # every configuration has one
        "nope.py",
        "inside",
    ),
    ("SCRIPT001", "a", lambda j: j.replace(script=st.Script("train_txt_classification.py")), "train_txt", "shipped"),
    (
        "SCRIPT012",
        "a",
        lambda j: j.replace(script=dataclasses.replace(j.script, dependencies=("./no/such/library",))),  # type: ignore[type-var]  # every configuration has one
        "./no/such/library",
        "a path of this machine",
    ),
    (
        "SCRIPT012",
        "a",
        lambda j: j.replace(script=dataclasses.replace(j.script, dependencies=("..",))),  # type: ignore[type-var]  # as above
        "'..'",
        "ends in a name",
    ),
    (
        "SCRIPT012",
        "a",
        lambda j: j.replace(script=st.Script("a.py", source_dir="s3://b/s.tar.gz", dependencies=("/",))),
        "'/'",
        "none",
    ),
    (
        "SCRIPT002",
        "c",
        lambda j: j.replace(script=st.Script("run.sh", source_dir=j.script.source_dir)),  # type: ignore[union-attr]  # every configuration has one
        "run.sh",
        ".py",
    ),
    ("DATA001", "a", lambda j: j.replace(inputs={"train": "./no/such/folder"}), "./no/such/folder", "S3"),
    (
        "LIMIT014",
        "c",
        lambda j: j.replace(extra={"DebugHookConfig": {"S3OutputPath": "s3://b/d"}}),
        "DebugHookConfig",
        "",
    ),
    (
        "LIMIT015",
        "a",
        lambda j: j.replace(compute=st.Compute("ml.p4d.24xlarge", count=2, keep_alive_s=99_999)),
        "99,999",
        "21,600",
    ),
    (
        "LIMIT015",
        "d",
        lambda j: j.replace(compute=st.Compute("ml.trn1.32xlarge", keep_alive_s=60)),
        "on spot",
        "no keep_alive_s",
    ),
    ("LIMIT016", "a", lambda j: j.replace(retries=99), "99", "30"),
    ("LIMIT017", "a", lambda j: j.replace(hyperparameters={"x": float("nan")}), "nan", "finite"),
    (
        "LIMIT019",
        "c",
        lambda j: j.replace(inputs={"train": st.Channel("s3://b/c", groups=("gpus",))}),
        "gpus",
        "no groups",
    ),
    ("LIMIT021", "a", lambda j: j.replace(network=st.Network(subnets=["s"] * 17, security_groups=["g"])), "17", "16"),  # type: ignore[arg-type]  # lists are taken, too
    (
        "LIMIT025",
        "b",
        lambda j: j.replace(network=st.Network(isolation=True), hyperparameters={"model": "gpt2"}),
        "gpt2",
        "channel",
    ),
    (
        "SPOT007",
        "d",
        lambda j: j.replace(checkpoint=st.Checkpoint(s3_uri="s3://b/c")),
        "beside the spot's own",
        "one of them",
    ),
    (
        "COMP007",
        "b",
        lambda j: j.replace(framework=st.HuggingFace("4.17", pytorch="1.10", python="py38")),
        "1.10",
        "1.11",
    ),
    ("DIST014", "a", lambda j: j.replace(distribution=st.PyTorchDDP()), "pytorchddp", "HuggingFace"),
    (
        "DIST015",
        "a",
        lambda j: j.replace(distribution=st.SMModelParallel(partitions=2, processes_per_host=16)),
        "16",
        "8",
    ),
    ("DIST016", "c", lambda j: j.replace(distribution=st.TorchDistributed(workers_per_host=16)), "16", "1, 2, 8, 32"),
    ("DIST017", "a", lambda j: j.replace(distribution=st.SMModelParallel(partitions=3)), "3 of 16", "divisor"),
    ("DIST018", "a", lambda j: j.replace(distribution=st.SMModelParallel(partitions=2)), "1.11", ""),
    (
        "DIST019",
        "b",
        lambda j: j.replace(compiler=None, distribution=st.specs.SMModelParallelV2()),
        "HuggingFace",
        "PyTorch",
    ),
]


@pytest.mark.parametrize(
    ("rule", "letter", "wrong", "got", "wanted"), WRONG, ids=[f"{row[0]}-{n}" for n, row in enumerate(WRONG)]
)
def test_each_rule_catches_its_fault_with_got_wanted_and_fix(
    rule: str, letter: str, wrong: Wrong, got: str, wanted: str, source: str
) -> None:
    found = [problem for problem in st.check(wrong(jobs.CONFIGURATIONS[letter](source))) if problem.id == rule]
    assert len(found) == 1, found
    problem = found[0]
    assert got in problem.got
    assert wanted in problem.wanted
    assert problem.what
    assert problem.where
    if problem.severity is Severity.ERROR:
        assert all((problem.got, problem.wanted, problem.fix)), problem


@pytest.mark.parametrize("letter", "abcd")
def test_the_four_configurations_have_no_errors(letter: str, source: str) -> None:
    assert [] == errors(jobs.CONFIGURATIONS[letter](source))


def test_five_faults_are_reported_as_five(source: str) -> None:
    job = jobs.spot(source).replace(
        name="my_job",
        distribution=st.SMDataParallel(),
        spot=st.Spot(max_wait_s=60, checkpoint_s3_uri="/tmp/x"),
        inputs={"train": "./missing"},
    )
    assert {"LIMIT002", "DIST003", "SPOT001", "SPOT002", "DATA001"} == {problem.id for problem in errors(job)}


def test_errors_come_first(source: str) -> None:
    found = st.check(jobs.smddp(source).replace(name="my_job"))
    assert Severity.ERROR is found[0].severity
    ranks = [[Severity.ERROR, Severity.WARNING, Severity.INFO].index(problem.severity) for problem in found]
    assert sorted(ranks) == ranks


def test_a_mistyped_instance_gets_the_nearest_name(source: str) -> None:
    job = jobs.smddp(source).replace(compute=st.Compute("ml.p4d.24xlage", count=2))
    assert "'ml.p4d.24xlarge'" in next(p.fix for p in st.check(job) if p.id == "LIMIT001")


def test_a_type_of_the_catalogue_is_no_mistake_under_an_older_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "members", lambda _: ("ml.m5.large",))
    assert "LIMIT001" not in {problem.id for problem in st.check(jobs.SQUAD)}


def write(folder: str, text: str) -> None:
    Path(folder, "run_clm.py").write_text(text)


PARSER = "import argparse\np = argparse.ArgumentParser()\n{}\np.parse_args()\n"


def test_a_script_that_tolerates_unknown_flags_is_left_alone(source: str) -> None:
    write(source, PARSER.format("p.add_argument('--a')").replace("parse_args", "parse_known_args"))
    assert [] == [p for p in st.check(jobs.trainium(source)) if p.id.startswith("SCRIPT")]


def test_a_script_that_does_not_parse_is_an_error(source: str) -> None:
    write(source, "def broken(:\n")
    assert ["SCRIPT003"] == [p.id for p in errors(jobs.trainium(source))]


def test_a_script_without_checkpoints_is_told_on_spot(source: str) -> None:
    write(source, "print('no saving here')\n")
    assert "SPOT005" in {p.id for p in st.check(jobs.spot(source))}
    write(source, "CHECKPOINTS = '/opt/ml/checkpoints'\nprint('checkpoint')\n")
    assert "SPOT005" not in {p.id for p in st.check(jobs.spot(source))}


def errors(job: JobSpec) -> list[Problem]:
    return [problem for problem in st.check(job) if problem.severity is Severity.ERROR]


def test_a_debugger_hook_writes_where_the_output_goes_unless_it_names_a_place() -> None:
    job = jobs.SQUAD.replace(extra={"DebugHookConfig": {"CollectionConfigurations": []}})
    request = st.render(job)
    assert request["OutputDataConfig"]["S3OutputPath"] == request["DebugHookConfig"]["S3OutputPath"]
    assert job.extra == st.parse_request(request).extra
    assert "LIMIT026" not in {problem.id for problem in st.check(job)}
