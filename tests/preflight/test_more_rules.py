"""One wrong spec a rule of parallel sizes, devices, checkpoints, channels and network – and beside it a right one, which is left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jobs
import pytest

import sm_trn as st
from sm_trn.core.specs import JobSpec, Problem, Severity

Change = Callable[[JobSpec], JobSpec]


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "run_clm.py").write_text("import sys\nprint('checkpoint', sys.argv)\n")
    return str(tmp_path)


def neuron(**options: object) -> Change:
    return lambda job: job.replace(neuron=st.specs.NeuronOptions(**options))  # type: ignore[arg-type]  # a test's table


def flags(**values: object) -> Change:
    return lambda job: job.replace(hyperparameters={**job.hyperparameters, **values})


def compute(**values: object) -> Change:
    return lambda job: job.replace(compute=st.Compute("ml.p4d.24xlarge", count=2, **values))  # type: ignore[arg-type]  # see above


def groups(*names: str) -> st.Compute:
    return st.Compute(groups=tuple(st.specs.InstanceGroup(name=name, instance="ml.p4d.24xlarge") for name in names))


def mounted(directory: str, network: st.Network | None = None) -> Change:
    system = st.FileSystem("fs-0123456789abcdef0", st.specs.FileSystemKind.EFS, directory=directory)
    return lambda job: job.replace(inputs={"t": system}, network=network)


def tensorboard(path: str) -> dict[str, dict[str, str]]:
    return {"TensorBoardOutputConfig": {"S3OutputPath": "s3://b/t", "LocalPath": path}}


PROFILED = {"ProfilerConfig": {"DisableProfiler": False, "S3OutputPath": "s3://b/p"}}
NETWORK = st.Network(subnets=("subnet-1",), security_groups=("sg-1",))
TRN1, SPOT = st.Compute("ml.trn1.32xlarge"), st.Spot(max_wait_s=90_000)
CHECKPOINT = st.Checkpoint(s3_uri="s3://b/c")

# id, severity, configuration, the wrong change, a word of "got" or "what", the right change
TABLE: list[tuple[str, Severity, str, Change, str, Change]] = [
    ("LIMIT019", Severity.ERROR, "a", lambda j: j.replace(compute=groups("g"), distribution=None, inputs={
        "a": st.Channel("s3://b/a", groups=("g",)), "c": "s3://b/c"}), "Some channels",
     lambda j: j.replace(compute=groups("g"), distribution=None)),
    ("LIMIT022", Severity.ERROR, "a", compute(volume_kms_key="alias/k"), "local", compute()),
    ("LIMIT023", Severity.ERROR, "a", lambda j: j.replace(extra=tensorboard("/opt/ml/t")), "reserved",
     lambda j: j.replace(extra=tensorboard("/t"))),
    ("LIMIT026", Severity.ERROR, "a", lambda j: j.replace(extra={"MlflowConfg": {}}), "did you mean 'MlflowConfig'", lambda j: j),
    ("LIMIT026", Severity.ERROR, "a", lambda j: j.replace(extra={"RemoteDebugConfig": {"EnableRemoteDebug": "yes"}}), "'yes'",
     lambda j: j.replace(extra={"RemoteDebugConfig": {"EnableRemoteDebug": True}})),
    ("LIMIT026", Severity.ERROR, "a", lambda j: j.replace(extra={"StoppingCondition": {"MaxRuntimeInSeconds": 60}}), "sets this member",
     lambda j: j.replace(extra={"StoppingCondition": {"MaxPendingTimeInSeconds": 7200}})),
    ("LIMIT026", Severity.ERROR, "a", lambda j: j.replace(extra={"TensorBoardOutputConfig": {"LocalPath": "/t"}}), "nothing",
     lambda j: j.replace(extra=tensorboard("/t"))),
    ("DATA008", Severity.WARNING, "a", lambda j: j.replace(inputs={"a": "s3://b/d", "c": "s3://b/d2"}), "s3://b/d2",
     lambda j: j.replace(inputs={"a": "s3://b/d/", "c": "s3://b/d2", "e": "s3://b/d"[:-2]})),
    ("SCRIPT025", Severity.ERROR, "a", lambda j: j.replace(script=st.Script("a.py", source_dir="s3://b/c.zip")), "c.zip",
     lambda j: j.replace(script=st.Script("a.py", source_dir="s3://b/c.tar.gz"))),
    ("DIST020", Severity.ERROR, "c", neuron(tensor_parallel=5), "5 × 1 of 32", neuron(tensor_parallel=8, pipeline_parallel=4)),
    ("DIST021", Severity.WARNING, "a", neuron(zero_1=True), "ml.p4d.24xlarge", neuron()),
    ("DIST022", Severity.ERROR, "c", neuron(precompile=True), "not set", neuron(precompile=True, cache_s3_uri="s3://b/c")),
    ("COMP008", Severity.WARNING, "b", lambda j: j.replace(extra={"DebugHookConfig": {"S3OutputPath": "s3://b/d"}}), "DebugHookConfig",
     lambda j: j),
    ("COMP008", Severity.WARNING, "b", lambda j: j.replace(extra=PROFILED), "ProfilerConfig",
     lambda j: j.replace(extra=PROFILED, compiler=None)),
    ("SPOT004", Severity.WARNING, "c", lambda j: j.replace(spot=SPOT), "not set", lambda j: j.replace(spot=SPOT, checkpoint=CHECKPOINT)),
    ("SPOT006", Severity.WARNING, "d", flags(), "save_strategy='no'", flags(save_strategy="steps", output_dir="/opt/ml/checkpoints/a")),
    ("SPOT006", Severity.WARNING, "d", flags(save_strategy="steps"), "/opt/ml/model", lambda j: j.replace(spot=None)),
    ("SPOT006", Severity.WARNING, "d", flags(save_strategy="steps", output_dir="/opt/ml/checkpoints2"), "checkpoints2",
     lambda j: j.replace(hyperparameters={"output_dir": "/opt/ml/model"})),
    ("SPOT007", Severity.ERROR, "d", lambda j: j.replace(checkpoint=CHECKPOINT), "s3://b/c",
     lambda j: j.replace(checkpoint=j.checkpoints)),
    ("LIMIT001", Severity.ERROR, "a",
     lambda j: j.replace(compute=st.Compute(groups=(st.specs.InstanceGroup(name="a", instance="ml.p4"),))), "'ml.p4'",
     lambda j: j.replace(compute=groups("a"))),
    ("LIMIT015", Severity.ERROR, "a", compute(keep_alive_s=99_999), "99,999", compute(keep_alive_s=21_600)),
    ("LIMIT015", Severity.ERROR, "a", lambda j: compute(keep_alive_s=60)(j).replace(spot=SPOT), "on spot",
     lambda j: compute()(j).replace(spot=SPOT)),
    ("LIMIT016", Severity.ERROR, "a", lambda j: j.replace(retries=31), "31", lambda j: j.replace(retries=30)),
    ("LIMIT016", Severity.ERROR, "a", lambda j: j.replace(retries=0), "0", lambda j: j.replace(retries=1)),
    ("LIMIT017", Severity.ERROR, "a", flags(lr=float("nan")), "nan", flags(lr=1e-300)),
    ("LIMIT018", Severity.ERROR, "a", lambda j: j.replace(image_uri="x" * 256), "256", lambda j: j.replace(image_uri="x" * 255)),
    ("LIMIT018", Severity.ERROR, "a", lambda j: j.replace(image_uri="a b"), "'a b'", lambda j: j),
    ("LIMIT019", Severity.ERROR, "a", lambda j: j.replace(compute=groups(*"abcdef")), "6", lambda j: j.replace(compute=groups(*"abcde"))),
    ("LIMIT019", Severity.ERROR, "a", lambda j: j.replace(compute=groups("a", "a")), "'a'", lambda j: j.replace(compute=groups("a", "b"))),
    ("LIMIT019", Severity.ERROR, "a",
     lambda j: j.replace(compute=groups("a"), inputs={"t": st.Channel("s3://b/c", groups=("z",))}), "'z'",
     lambda j: j.replace(compute=groups("a"), inputs={"t": st.Channel("s3://b/c", groups=("a",))})),
    ("LIMIT020", Severity.ERROR, "a", lambda j: j.replace(tags={"aws:x": "y"}), "aws:x", lambda j: j.replace(tags={"é x@": "1/2"})),
    ("LIMIT020", Severity.ERROR, "a", lambda j: j.replace(tags={"a": "b" * 257}), "bbb", lambda j: j.replace(tags={"a" * 128: "b" * 256})),
    ("LIMIT020", Severity.ERROR, "a", lambda j: j.replace(tags={"a": "b;c"}), "b;c", lambda j: j.replace(tags={"a": ""})),
    ("LIMIT021", Severity.ERROR, "a",
     lambda j: j.replace(network=st.Network(subnets=tuple(f"s{n}" for n in range(17)), security_groups=("g",))), "17",
     lambda j: j.replace(network=st.Network(subnets=tuple(f"s{n}" for n in range(16)), security_groups=("g",)))),
    ("LIMIT021", Severity.ERROR, "a", lambda j: j.replace(network=st.Network(subnets=("s",), security_groups=("a b",))), "a b",
     lambda j: j.replace(network=st.Network(isolation=True))),
    ("LIMIT022", Severity.ERROR, "a", lambda j: j.replace(output=st.Output(kms_key="a b")), "a b",
     lambda j: j.replace(output=st.Output(kms_key="alias/a"))),
    ("LIMIT022", Severity.ERROR, "a", compute(volume_kms_key="a b"), "a b",
     lambda j: j.replace(compute=st.Compute("ml.p3.16xlarge", volume_kms_key="alias/a"))),
    ("LIMIT023", Severity.ERROR, "a", lambda j: j.replace(metrics=(st.MetricRule("x" * 256, "(.)"),)), "xxx",
     lambda j: j.replace(metrics=(st.MetricRule("x" * 255, "(.)"),))),
    ("LIMIT023", Severity.ERROR, "a", lambda j: j.replace(inputs={"t": st.Channel("s3://b/c", compression="gzip")}), "'gzip'",
     lambda j: j.replace(inputs={"t": st.Channel("s3://b/c", compression="Gzip")})),
    ("DATA005", Severity.ERROR, "a", mounted("/squad"), "no subnets", mounted("/squad", NETWORK)),
    ("DATA005", Severity.ERROR, "a", mounted("squad", NETWORK), "'squad'", mounted("/", NETWORK)),
    ("DATA002", Severity.ERROR, "a", lambda j: j.replace(output=st.Output(s3_uri="./out")), "./out",
     lambda j: j.replace(output=st.Output(s3_uri="s3://b"))),
    ("DATA002", Severity.ERROR, "a", lambda j: j.replace(checkpoint=st.Checkpoint(s3_uri="s3://")), "s3://", lambda j: j),
    ("DATA002", Severity.ERROR, "c", neuron(cache_s3_uri="/tmp/c"), "/tmp/c", neuron(cache_s3_uri="s3://b/c")),
    ("DATA006", Severity.ERROR, "a", lambda j: j.replace(output=st.Output(s3_uri="s3://YOUR-BUCKET/x")), "YOUR-BUCKET",
     lambda j: j.replace(output=st.Output(s3_uri="s3://your-bucket/x"))),
    ("DATA006", Severity.ERROR, "a", flags(run="at YOUR-TIME"), "YOUR-TIME", flags(run="at TIME")),
    ("DATA003", Severity.WARNING, "a", lambda j: j.replace(environment={"HF_TOKEN": "hf_abc"}), "HF_TOKEN",
     lambda j: j.replace(environment={"HF_TOKEN": ""})),
    ("DATA003", Severity.WARNING, "a", flags(wandb_api_key="x"), "wandb_api_key", flags(pad_token="x", tokenizer_name="y")),
    ("SCRIPT009", Severity.WARNING, "a", flags(save_strategy="epoch"), "'epoch'", flags(save_strategy="epoch", output_dir="/tmp/out")),
    ("SCRIPT009", Severity.WARNING, "a",
     lambda j: j.replace(hyperparameters={"output_dir": "/opt/ml/model/x", "do_train": True}), "save_strategy='steps'",
     lambda j: j.replace(hyperparameters={"output_dir": "/opt/ml/model", "do_train": True, "max_steps": 100})),
    ("SCALE001", Severity.INFO, "a", flags(learning_rate="5e-5"), "208 samples", flags(learning_rate="high")),
    ("SCALE001", Severity.INFO, "a", flags(learning_rate=1e-4, per_device_train_batch_size=4, gradient_accumulation_steps=8), "512 samples",
     lambda j: j.replace(compute=st.Compute("ml.p3.2xlarge"), distribution=None, hyperparameters={"learning_rate": 1e-4, "batch_size": 4})),
    ("SCALE001", Severity.INFO, "a", flags(learning_rate=1e-4), "16 workers", flags(learning_rate=float("nan"))),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "severity", "letter", "wrong", "word", "right"), TABLE)
def test_the_rule_speaks_of_the_wrong_spec_alone(
    source: str, rule: str, severity: Severity, letter: str, wrong: Change, word: str, right: Change
) -> None:
    job = jobs.CONFIGURATIONS[letter](source)
    found = [problem for problem in st.check(wrong(job)) if problem.id == rule]
    assert {severity} == {problem.severity for problem in found}
    assert word in found[0].got + found[0].what
    assert rule not in {problem.id for problem in st.check(right(job))}


def of(rule: str, source: str, script: str, job: JobSpec) -> list[Problem]:
    Path(source, "run_clm.py").write_text(script)
    return [problem for problem in st.check(job) if problem.id == rule]


@pytest.mark.parametrize(
    "line",
    ["model.cuda()", "x.to('cuda:0')", "x.to(device='cuda')", "torch.device('cuda')", "dist.init_process_group('nccl')",
     "dist.init_process_group(backend='nccl')"],
)  # fmt: skip
def test_hard_coded_cuda_is_named_with_its_line_where_there_is_none(source: str, line: str) -> None:
    script = f"import torch\n{line}\n"
    (problem,) = of("SCRIPT005", source, script, jobs.trainium(source))
    assert ("run_clm.py:2", True) == (problem.where, line.partition("(")[0] in problem.got)
    assert [] == of("SCRIPT005", source, script, jobs.smddp(source))


@pytest.mark.parametrize(
    "line", ["x.to('xla')", "torch.cuda.synchronize()", "device = 'cuda' if torch.cuda.is_available() else 'cpu'"]
)
def test_a_script_that_asks_for_its_device_is_left_alone(source: str, line: str) -> None:
    assert [] == of("SCRIPT005", source, f"import torch\n{line}\n", jobs.trainium(source))


def test_a_script_in_git_is_not_looked_for_on_this_machine(source: str) -> None:
    script = st.Script("run_qa.py", source_dir="examples/nowhere", git=st.specs.Git("https://github.com/a/b.git"))
    assert "SCRIPT001" not in {problem.id for problem in st.check(jobs.smddp(source).replace(script=script))}


def test_a_script_that_was_changed_is_read_again(source: str) -> None:
    job = jobs.trainium(source)
    assert 1 == len(of("SCRIPT003", source, "def broken(:\n", job))
    assert 0 == len(of("SCRIPT003", source, "def mended(): ...\n", job))


def test_shipped_scripts_know_where_checkpoints_belong(source: str) -> None:
    job = jobs.spot(source).replace(script=st.Script("train_text_classification.py"), hyperparameters={"save_steps": 5})
    assert [] == [problem for problem in st.check(job) if problem.id in {"SPOT005", "SPOT006", "SCRIPT009"}]
