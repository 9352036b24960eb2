"""How a request is scaled down to this machine, and what is said about it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm_trn.core.catalog import instances
from sm_trn.emulator import Options, container
from sm_trn.emulator.iam.keys import Key
from sm_trn.emulator.training import configuration, plan


def request(instance: str = "ml.m5.large", count: int = 1, **hyperparameters: Any) -> Any:
    wired = {"sagemaker_program": "t.py", "sagemaker_submit_directory": "s3://b/k", **hyperparameters}
    return {
        "AlgorithmSpecification": {"TrainingImage": "i", "TrainingInputMode": "File"},
        "ResourceConfig": {"InstanceType": instance, "InstanceCount": count},
        "HyperParameters": {name: json.dumps(value) for name, value in wired.items()},
    }


@pytest.mark.parametrize(
    ("instance", "count", "cores", "workers"),
    [
        ("ml.p4d.24xlarge", 2, 2, 1),
        ("ml.trn1.32xlarge", 1, 2, 2),
        ("ml.trn1.2xlarge", 1, 64, 2),
        ("ml.p3.2xlarge", 1, 64, 1),
        ("ml.p4d.24xlarge", 1, 64, 8),
        ("ml.p4d.24xlarge", 4, 2, 1),
        ("ml.m5.large", 1, 64, 1),
    ],
)
def test_workers_are_those_of_the_instance_as_far_as_the_cores_go(
    instance: str, count: int, cores: int, workers: int
) -> None:
    assert workers == plan.plan_of(request(instance, count), Options(), cores).groups[0].workers


@given(st.sampled_from(sorted(instances())), st.integers(1, 16), st.integers(1, 256))
def test_a_host_has_one_worker_at_least_and_never_more_than_the_real_one(instance: str, count: int, cores: int) -> None:
    made = plan.plan_of(request(instance, count), Options(), cores).groups[0]
    assert 1 <= made.workers <= made.real_workers
    assert made.workers == 1 or made.workers * count <= cores


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("sagemaker_distributed_dataparallel_enabled", "SMDDP"),
        ("sagemaker_pytorch_xla_multi_worker_enabled", "pytorchxla"),
        ("sagemaker_mpi_enabled", "MPI"),
        ("sagemaker_pytorch_ddp_enabled", "pytorchddp over MPI"),
        ("sagemaker_training_compiler_enabled", "Training Compiler"),
    ],
)
def test_what_cannot_run_on_a_cpu_is_named(name: str, word: str) -> None:
    assert plan.plan_of(request(**{name: True}), Options(), 2).substituted.endswith(f"for {word}")  # type: ignore[arg-type]  # by name
    assert "" == plan.plan_of(request(**{name: False}), Options(), 2).substituted  # type: ignore[arg-type]  # by name


def test_torchrun_is_not_substituted() -> None:
    made = plan.plan_of(request(sagemaker_torch_distributed_enabled=True), Options(), 2)
    assert (True, "") == (made.distributed, made.substituted)


@given(
    st.sampled_from([*plan._LAUNCHERS, "sagemaker_torch_distributed_enabled"]),
    st.sampled_from([True, False, "true", 1, 0, ""]),
)
def test_the_plan_alone_decides_whether_a_container_starts_workers(name: str, switch: object) -> None:
    """The containers test the decoded hyperparameter for truth (``train`` of sagemaker_pytorch_container.training)."""
    asked = request("ml.p4d.24xlarge", **{name: switch})  # type: ignore[arg-type]  # by name
    made = plan.plan_of(asked, Options(), 8)
    where: Any = SimpleNamespace(name="algo-1", seen_ml="/opt/ml", seen_own="/opt/sm_trn", seen_tmp="/tmp")
    shared = SimpleNamespace(options=SimpleNamespace(job_python=sys.executable), url="", root=Path())
    context: Any = SimpleNamespace(shared=shared, region="")
    job: Any = SimpleNamespace(request=asked, name="job", arn="arn")
    variables = configuration.environment(where, made, job, context, Key("", ""), port=1)
    assert ("8" if switch else None) == variables.get("SM_TRN_WORKERS")


def test_no_program_of_a_container_reads_the_switches_again() -> None:
    """A copy that forgets one silently runs a single process."""
    folder = Path(container.__file__).with_name("inside")
    assert [] == [path.name for path in folder.rglob("*.py") if "sagemaker_mpi_enabled" in path.read_text("utf-8")]


def test_a_substitution_is_a_legal_tag() -> None:
    switches = dict.fromkeys((*plan._LAUNCHERS, "sagemaker_training_compiler_enabled"), True)
    value = plan.plan_of(request(**switches), Options(), 2).substituted  # type: ignore[arg-type]  # by name
    assert len(value) <= 256
    assert all(character.isalnum() or character in " _.:/=+-@" for character in value)


def test_strict_refuses_a_substitution() -> None:
    asked = request(sagemaker_mpi_enabled=True)
    assert "" == plan.plan_of(asked, Options(), 2).refusal
    assert plan.plan_of(asked, Options(strict=True), 2).refusal.startswith("ClientError: strict emulation")


@pytest.mark.parametrize("local", ["/tmp/checkpoints", "/opt/ml/../../etc", "checkpoints"])
def test_checkpoints_stay_under_opt_ml(local: str) -> None:
    asked: Any = {**request(), "CheckpointConfig": {"S3Uri": "s3://b/k", "LocalPath": local}}
    assert "LocalPath" in plan.plan_of(asked, Options(), 2).refusal


def test_a_request_without_a_script_is_refused_with_the_reason() -> None:
    asked: Any = {**request(), "HyperParameters": {}}
    assert "the emulator has no images" in plan.plan_of(asked, Options(), 2).refusal


@pytest.mark.parametrize(
    "wrong", [{"spot_discount": 1.0}, {"max_jobs": 0}, {"stop_grace_s": -1.0}, {"isolation": "docker"}]
)
def test_options_refuse_nonsense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Options(**wrong)


def test_by_default_half_the_cores_may_hold_jobs() -> None:
    assert max(1, (os.cpu_count() or 1) // 2) == Options().max_jobs


def test_the_files_that_run_inside_a_host_import_nothing_of_ours() -> None:
    folder = Path(container.__file__).with_name("inside")
    assert not [file for file in folder.rglob("*.py") if "sm_trn." in file.read_text().replace("sm_trn.emulator:", "")]
