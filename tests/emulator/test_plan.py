"""How a request is scaled down to this machine, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sm_trn.emulator import Options, container
from sm_trn.emulator.training import plan


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


@pytest.mark.parametrize("local", ["/tmp/checkpoints", "/opt/ml/../../etc", "checkpoints"])
def test_checkpoints_stay_under_opt_ml(local: str) -> None:
    asked: Any = {**request(), "CheckpointConfig": {"S3Uri": "s3://b/k", "LocalPath": local}}
    assert "LocalPath" in plan.plan_of(asked, Options(), 2).refusal


@pytest.mark.parametrize("wrong", [{"spot_discount": 1.0}, {"max_jobs": 0}, {"stop_grace_s": -1.0}])
def test_options_refuse_nonsense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Options(**wrong)


def test_the_files_that_run_inside_a_host_import_nothing_of_ours() -> None:
    folder = Path(container.__file__).with_name("inside")
    assert not [file for file in folder.rglob("*.py") if "sm_trn." in file.read_text().replace("sm_trn.emulator:", "")]
