"""A job that runs is not refused: patterns of public launch code, each beside the fault that must still be found."""

from __future__ import annotations

import json
from pathlib import Path

import jobs
import pytest

import sm_trn as st
from sm_trn.core.render.from_request import parse_request
from sm_trn.core.specs import JobSpec, Kept, Problem, Severity
from sm_trn.core.specs.job import Distribution

LLAMA = {"model_id": "meta-llama/Llama-2-7b-hf"}
TORCH_DDP = "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "run_clm.py").write_text("print('checkpoint')\n")
    return str(tmp_path)


def found(job: JobSpec, rule: str) -> list[Problem]:
    return [problem for problem in st.check(job) if problem.id == rule]


def severities(job: JobSpec, rule: str) -> list[Severity]:
    return [problem.severity for problem in found(job, rule)]


def write(source: str, text: str, name: str = "run_clm.py") -> None:
    Path(source, name).write_text(text)


def alone(source: str, instance: str = "ml.g5.12xlarge", count: int = 1) -> JobSpec:
    return jobs.smddp(source).replace(
        compute=st.Compute(instance, count=count),
        framework=st.PyTorch("2.6.0", python="py312"),
        distribution=None,
        hyperparameters={"epochs": 1},
    )


# Metric expressions


@pytest.mark.parametrize("regex", ["loss: [0-9]+", "([", "(" + "x" * 500 + ")"])
def test_a_metric_that_would_never_be_found_is_refused(source: str, regex: str) -> None:
    assert [ERROR] == severities(jobs.smddp(source).replace(metrics=(st.MetricRule("m", regex),)), "LIMIT009")


# Launchers


@pytest.mark.parametrize(
    ("script", "severity"),
    [(TORCH_DDP, WARNING), ("import smdistributed.dataparallel\n" + TORCH_DDP, ERROR), ("print()\n", ERROR)],
)
def test_smddps_launcher_on_other_gpus_is_refused_only_for_a_script_that_needs_the_library(
    source: str, script: str, severity: Severity
) -> None:
    write(source, script)
    assert [severity] == severities(jobs.smddp(source).replace(compute=st.Compute("ml.g5.12xlarge")), "DIST004")


def test_a_request_of_pytorchddp_is_not_refused_and_smddp_of_hugging_faces_trainer_is(source: str) -> None:
    attached = jobs.smddp("s3://a-bucket/source.tar.gz").replace(compute=st.Compute("ml.g4dn.12xlarge"))
    assert [WARNING] == severities(attached, "DIST004")
    trainer = attached.replace(framework=st.HuggingFace("4.17", pytorch="1.10", python="py38"))
    assert [ERROR] == severities(trainer, "DIST004")


@pytest.mark.parametrize(
    ("distribution", "refused"),
    [(st.MPI(processes_per_host=8), False), (st.SMDataParallel(), False), (st.SMModelParallel(partitions=2), False),
     (st.TorchDistributed(), True), (st.PyTorchXLA(), True)],
)  # fmt: skip
def test_a_shell_script_is_refused_by_the_launchers_that_refuse_it(
    source: str, distribution: Distribution, refused: bool
) -> None:
    write(source, "python run_clm.py\n", "run.sh")
    job = jobs.smddp(source).replace(script=st.Script("run.sh", source_dir=source), distribution=distribution)
    assert refused == bool(found(job, "SCRIPT002"))


@pytest.mark.parametrize(
    ("version", "python", "instance"),
    [("1.11", "py38", "ml.g5.12xlarge"), ("1.11", "py38", "ml.p4d.24xlarge"), ("2.6.0", "py312", "ml.g5.12xlarge")],
)
def test_the_fix_of_one_rule_is_not_what_another_rule_refuses(
    source: str, version: str, python: str, instance: str
) -> None:
    write(source, TORCH_DDP)
    job = jobs.smddp(source).replace(
        framework=st.PyTorch(version, python=python), compute=st.Compute(instance), distribution=st.PyTorchDDP()
    )
    (problem,) = found(job, "DIST014")
    named = st.SMDataParallel() if "SMDataParallel" in problem.fix else st.TorchDistributed()
    assert not [p for p in st.check(job.replace(distribution=named)) if p.severity is ERROR]
    if version == "1.11":
        (other,) = found(job.replace(distribution=st.TorchDistributed()), "DIST010")
        assert ("SMDataParallel" in other.fix) == (instance == "ml.p4d.24xlarge")


@pytest.mark.parametrize(("placement", "refused"), [("DPT", False), ("TPD", False), ("cluster", False), ("DPP", True)])
def test_an_order_of_the_three_parallelisms_is_a_placement(source: str, placement: str, refused: bool) -> None:
    split = st.SMModelParallel(partitions=2, placement_strategy=placement)
    assert refused == bool(found(jobs.smddp(source).replace(distribution=split), "DIST017"))


# One process


@pytest.mark.parametrize(
    ("script", "severity"),
    [
        ("optimizer.step()\n", [WARNING]),
        ("model = load('x', device_map='auto')\n", []),
        ("# device_map\nloss.backward()\n", [WARNING]),
        ("import subprocess\nsubprocess.run(['torchrun', '--nproc_per_node=4', 'other.py'])\n", []),
        ("import subprocess\nsubprocess.run(['pip', 'install', 'x'])\n", [WARNING]),
        ("model = torch.nn.DataParallel(model)\n", []),
        ("model = PeftModel.load('x').merge_and_unload()\n", []),
    ],
)
def test_idle_accelerators_are_told_of_unless_the_script_uses_them(
    source: str, script: str, severity: list[Severity]
) -> None:
    write(source, script)
    assert severity == severities(alone(source), "DIST009")


@pytest.mark.parametrize(
    ("script", "severity"),
    [
        (TORCH_DDP, [WARNING]),
        ("dist.init_process_group('gloo', rank=hosts.index(host), world_size=len(hosts))\n", []),
        ("import os\nhosts = os.environ['SM_HOSTS']\n", []),
        ("import helper\n", []),
    ],
)
def test_hosts_apart_are_told_of_unless_the_script_joins_them(
    source: str, script: str, severity: list[Severity]
) -> None:
    write(source, script)
    write(source, "import horovod.torch as hvd\n", "helper.py")
    assert severity == severities(alone(source, "ml.c5.2xlarge", 2), "DIST008")


def test_what_cannot_be_read_is_a_note_and_a_program_of_its_own_is_left_alone(source: str) -> None:
    there = alone("s3://a-bucket/source.tar.gz")
    assert [INFO] == severities(there, "DIST009")
    assert [INFO] == severities(there.replace(compute=st.Compute("ml.g5.12xlarge", count=2)), "DIST008")
    write(source, "torchrun run_clm.py\n", "run.sh")
    shell = alone(source).replace(script=st.Script("run.sh", source_dir=source))
    driver = Kept("/AlgorithmSpecification/ContainerEntrypoint", sent=json.dumps(["/bin/bash", "drive.sh"]))
    image = st.Container()
    for job in (
        shell,
        alone(source, count=2).replace(script=None, kept=(driver,)),
        alone(source, count=2).replace(framework=image, image_uri="1.dkr.ecr.us-east-1.amazonaws.com/a:1", script=None),
    ):
        assert [] == found(job, "DIST008") + found(job, "DIST009")


@pytest.mark.parametrize(
    "distribution", [st.MPI(processes_per_host=2), st.SMModelParallel(partitions=2, processes_per_host=2)]
)
def test_gpus_without_a_process_are_told_of_in_groups_too(source: str, distribution: Distribution) -> None:
    job = jobs.smddp(source).replace(distribution=distribution)
    assert [WARNING] == severities(job, "DIST023")
    groups = (
        st.specs.InstanceGroup(name="a", instance="ml.p4d.24xlarge"),
        st.specs.InstanceGroup(name="b", instance="ml.c5.2xlarge"),
    )
    assert "6 of 8" in found(job.replace(compute=st.Compute(groups=groups)), "DIST023")[0].what


def test_too_many_processes_are_refused_in_groups_too(source: str) -> None:
    groups = (
        st.specs.InstanceGroup(name="a", instance="ml.g5.12xlarge"),
        st.specs.InstanceGroup(name="b", instance="ml.p4d.24xlarge"),
    )
    job = jobs.smddp(source).replace(compute=st.Compute(groups=groups), distribution=st.MPI(processes_per_host=8))
    (problem,) = found(job, "DIST015")
    assert "ml.g5.12xlarge" in problem.wanted


# Flags


@pytest.mark.parametrize(
    ("parse", "value", "severity"),
    [("parse_args", True, [ERROR]), ("parse_known_args", True, []), ("parse_known_args", False, [ERROR])],
)
def test_a_flag_with_a_value_is_refused_where_it_ends_or_changes_the_job(
    source: str, parse: str, value: bool, severity: list[Severity]
) -> None:
    program = (
        f"import argparse\np = argparse.ArgumentParser()\np.add_argument('--merge', action='store_true')\np.{parse}()\n"
    )
    write(source, program)
    assert severity == severities(alone(source).replace(hyperparameters={"merge": value}), "SCRIPT007")


# Memory


def llama(source: str, instance: str = "ml.p4d.24xlarge", count: int = 1, **arguments: str | int | bool) -> JobSpec:
    return alone(source, instance, count).replace(
        distribution=st.TorchDistributed(), hyperparameters={**LLAMA, **arguments}
    )


PEFT = "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig())\n"
QLORA = PEFT + "from transformers import BitsAndBytesConfig\nconfig = BitsAndBytesConfig(load_in_4bit=True)\n"


@pytest.mark.parametrize(
    ("arguments", "severity"),
    [
        ({}, [ERROR]),
        ({"bf16": True}, [ERROR]),  # mixed precision keeps float32 weights
        ({"fsdp": "full_shard auto_wrap"}, []),
        ({"fsdp": "shard_grad_op"}, []),
        ({"fsdp": ""}, [ERROR]),
        ({"deepspeed": "zero3.json"}, []),
        ({"deepspeed": "zero1.json"}, [ERROR]),  # 56 GiB of 40: float32
        ({"deepspeed": "mixed.json"}, []),
        ({"deepspeed": "auto.json"}, [ERROR]),
        ({"deepspeed": "auto.json", "bf16": True}, []),
        ({"deepspeed": "zero0.json"}, [ERROR]),
        ({"deepspeed": "offload.json"}, []),
        ({"deepspeed": "not-here.json"}, [WARNING]),
        ({"deepspeed_config": "not-here.json"}, [WARNING]),
        ({"deepspeed_config_file": "not-here.json"}, [WARNING]),
        ({"deepspeed_config": "zero3.json"}, []),
        ({"load_in_4bit": True}, []),
        ({"load_in_8bit": "true"}, []),
        ({"use_lora": False}, [ERROR]),
        ({"lora_r": 16}, []),
        ({"optim": "adafactor"}, [ERROR]),  # 50 GiB of 40
        ({"optim": "adafactor", "torch_dtype": "bfloat16"}, []),
        ({"do_train": False, "do_eval": True}, []),
        ({"do_eval": True}, [ERROR]),  # most scripts train unless they are told not to
    ],
)
def test_a_model_is_refused_where_it_cannot_fit_and_nowhere_else(
    source: str, arguments: dict[str, str | int | bool], severity: list[Severity]
) -> None:
    for stage in (0, 1, 3):
        write(source, json.dumps({"zero_optimization": {"stage": stage}}), f"zero{stage}.json")
    write(
        source, json.dumps({"zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu"}}}), "offload.json"
    )
    for name, enabled in (("mixed", True), ("auto", "auto")):
        write(source, json.dumps({"zero_optimization": {"stage": 1}, "bf16": {"enabled": enabled}}), f"{name}.json")
    assert severity == severities(llama(source, **arguments), "MEM001")  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("script", "instance", "severity"),
    [
        (PEFT, "ml.g5.2xlarge", []),
        (QLORA, "ml.g5.2xlarge", []),
        (f"if args.lora:\n    {'    '.join(PEFT.splitlines(keepends=True))}", "ml.g5.2xlarge", [WARNING]),
        (
            "from torch.distributed.fsdp import FullyShardedDataParallel\nmodel = FullyShardedDataParallel(model)\n",
            "ml.p4d.24xlarge",
            [],
        ),
        ("model = load('x', torch_dtype=torch.bfloat16)\n", "ml.g5.2xlarge", [ERROR]),  # 50 GiB of 24 all the same
        ("model = load('x', torch_dtype=torch.bfloat16)\n", "ml.p4de.24xlarge", []),  # 50 GiB of 80
        ("import torch\n", "ml.p4d.24xlarge", [ERROR]),
        ("import subprocess\nsubprocess.run(['tune', 'run', args.recipe])\n", "ml.g5.2xlarge", []),
        ("import os\nos.system('nvidia-smi')\nloss.backward()\n", "ml.g5.2xlarge", [ERROR]),
    ],
)
def test_what_the_script_says_of_memory_counts(
    source: str, script: str, instance: str, severity: list[Severity]
) -> None:
    write(source, script)
    assert severity == severities(llama(source, instance), "MEM001")


def test_a_model_that_fits_no_way_is_refused_whatever_the_script_names(source: str) -> None:
    write(source, QLORA)
    large = {"model_id": "meta-llama/Llama-2-70b-hf"}
    assert [ERROR] == severities(llama(source, "ml.g5.2xlarge").replace(hyperparameters=large), "MEM001")


def test_source_that_is_elsewhere_is_a_warning_that_cannot_tell() -> None:
    job = llama("s3://a-bucket/source.tar.gz")
    (problem,) = found(job, "MEM001")
    assert (WARNING, True) == (problem.severity, "cannot tell" in problem.consequence)


def test_neuron_options_say_how_a_model_is_shared_wherever_the_source_is() -> None:
    git = st.Script(
        "run_clm.py", source_dir="examples", git=st.specs.Git("https://github.com/huggingface/optimum-neuron.git")
    )
    job = jobs.trainium("x").replace(script=git, hyperparameters=dict(LLAMA))
    assert [WARNING] == severities(job, "MEM001")
    assert [ERROR] == severities(job.replace(neuron=st.specs.NeuronOptions(tensor_parallel=2)), "MEM001")
    assert [] == severities(job.replace(neuron=st.specs.NeuronOptions(tensor_parallel=8, zero_1=True)), "MEM001")


@pytest.mark.parametrize(("asked", "near"), [(3, "2 or 4"), (5, "4 or 8"), (20, "16 or 32"), (48, "32")])
def test_the_next_divisors_are_proposed(source: str, asked: int, near: str) -> None:
    job = jobs.trainium(source).replace(
        hyperparameters=dict(LLAMA), neuron=st.specs.NeuronOptions(tensor_parallel=asked)
    )
    (heads,) = found(job, "MEM003")
    assert heads.wanted.endswith(near)
    assert heads.fix == f"tensor_parallel={near.rsplit(maxsplit=1)[-1]}"


@pytest.mark.parametrize(
    ("tensor", "pipeline", "fix"),
    [(3, 1, (4, 1)), (5, 1, (8, 1)), (64, 1, (32, 1)), (3, 4, (4, 4)), (8, 3, (8, 1)), (16, 4, (8, 4))],
)
def test_parallel_sizes_are_corrected_to_the_next_ones(
    source: str, tensor: int, pipeline: int, fix: tuple[int, int]
) -> None:
    options = st.specs.NeuronOptions(tensor_parallel=tensor, pipeline_parallel=pipeline)
    (problem,) = found(jobs.trainium(source).replace(neuron=options), "DIST020")
    assert "tensor_parallel={}, pipeline_parallel={}".format(*fix) == problem.fix


# Passthrough fields


def kept(at: str, value: object, instead_of: object = None) -> Kept:
    return Kept(at, sent=json.dumps(value), instead_of=None if instead_of is None else json.dumps(instead_of))


WAIT, ASKED = "/StoppingCondition/MaxWaitTimeInSeconds", "/EnableManagedSpotTraining"


@pytest.mark.parametrize(
    ("parts", "rules"),
    [
        ([kept(WAIT, 90_000)], {"SPOT008"}),
        ([kept(WAIT, 90_000), kept(ASKED, False)], {"SPOT008"}),
        ([kept(WAIT, 0)], {"SPOT008", "KEPT002"}),
        ([kept(ASKED, True)], {"SPOT009"}),
        ([kept(ASKED, True), kept(WAIT, 60)], {"SPOT009"}),
        ([kept(ASKED, True), kept(WAIT, 90_000)], set()),
        ([kept("/RemoteDebugConfig", {"EnableRemoteDebug": True})], set()),
        ([kept("/RemoteDebugConfig", {"EnableRemoteDebug": "yes"})], {"KEPT002"}),
        ([kept("/RemoteDebug", {"EnableRemoteDebug": True})], {"KEPT002"}),
        ([kept("/InputDataConfig/0", {"ChannelName": "a"})], {"KEPT002"}),
        ([kept("/AlgorithmSpecification/TrainingInputMode", "Pip", "File")], {"KEPT002"}),
        ([kept("/RetryStrategy", {"MaximumRetryAttempts": 99})], {"KEPT002"}),
        ([kept("/AlgorithmSpecification/EnableSageMakerMetricsTimeSeries", False, True)], set()),
    ],
)
def test_the_rules_look_at_what_a_spec_has_no_words_for(source: str, parts: list[Kept], rules: set[str]) -> None:
    job = jobs.smddp(source).replace(kept=tuple(parts))
    assert rules == {p.id for p in st.check(job) if p.severity is ERROR}


def test_a_request_that_waits_for_spot_without_asking_for_it_is_found(source: str) -> None:
    request = st.render(jobs.smddp(source), "request")
    request["StoppingCondition"]["MaxWaitTimeInSeconds"] = 100_000
    assert "SPOT008" in {p.id for p in st.check(parse_request(request))}


def test_kept_hyperparameters_and_neuron_options_count_against_the_limit(source: str) -> None:
    job = jobs.smddp(source).replace(hyperparameters={f"h{n}": n for n in range(91)})
    assert [] == found(job, "LIMIT004")
    more = tuple(kept(f"/HyperParameters/k{n}", "[1]") for n in range(3))
    assert [ERROR] == severities(job.replace(kept=more), "LIMIT004")
    assert [ERROR] == severities(
        job.replace(neuron=st.specs.NeuronOptions(tensor_parallel=2, pipeline_parallel=2)), "LIMIT004"
    )


# Gated models


@pytest.mark.parametrize(
    ("change", "script", "severity"),
    [
        ({}, "print('checkpoint')\n", [WARNING]),
        ({"environment": {"HF_TOKEN": "hf_x"}}, "print()\n", []),
        ({"hyperparameters": {**LLAMA, "hf_token": "hf_x"}}, "print()\n", []),
        ({"hyperparameters": {**LLAMA, "tokenizer_name": "x"}}, "print()\n", [WARNING]),
        ({"hyperparameters": {"model_id": "TinyLlama/TinyLlama-1.1B-Chat-v1.0"}}, "print()\n", []),
        ({"hyperparameters": {"model_id": "/opt/ml/input/data/model"}}, "print()\n", []),
        ({"hyperparameters": {"model_id": "google/gemma-3-4b-it"}}, "print()\n", [WARNING]),
        ({"hyperparameters": {"model_id": "google/gemma-4-12B-it"}}, "print()\n", []),
        ({}, "from huggingface_hub import login\nlogin(secret())\n", []),
    ],
)
def test_a_gated_model_without_a_token_is_told_of(
    source: str, change: dict[str, object], script: str, severity: list[Severity]
) -> None:
    write(source, script)
    job = jobs.trainium(source).replace(hyperparameters=dict(LLAMA))
    assert severity == severities(job.replace(**change), "DATA004")


def test_a_gated_model_of_a_shipped_script_is_told_of() -> None:
    job = jobs.trainium("x").replace(
        script=st.Script("finetune.py"), hyperparameters={"model_name_or_path": "meta-llama/Llama-2-7b-hf"}
    )
    assert [WARNING] == severities(job, "DATA004")


@pytest.mark.parametrize(
    ("instance", "words", "fix"),
    [("ml.m5.xlarge", "float32 weights alone", "larger instance"), ("ml.trn1.32xlarge", "32 workers", "in waves")],
)
def test_a_hosts_memory_is_told_of_in_the_words_of_the_host(source: str, instance: str, words: str, fix: str) -> None:
    job = jobs.trainium(source).replace(
        compute=st.Compute(instance), distribution=None if "m5" in instance else st.TorchDistributed()
    )
    (problem,) = found(job.replace(hyperparameters=dict(LLAMA)), "MEM002")
    assert (words in problem.what, fix in problem.fix) == (True, True)


@pytest.mark.parametrize(
    ("script", "severity"),
    [
        (st.Script("train.py", git=st.specs.Git("https://github.com/a/b")), INFO),
        (st.Script("train.py", source_dir="s3://a-bucket/source.tar.gz"), INFO),
        (st.Script("train.py", source_dir="./not-there"), WARNING),
    ],
)
def test_what_lies_in_git_or_s3_may_show_a_token(script: st.Script, severity: Severity) -> None:
    job = jobs.trainium("x").replace(script=script, hyperparameters=dict(LLAMA))
    assert [severity] == severities(job, "DATA004")
