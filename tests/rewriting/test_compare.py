"""Two requests are the same job, or each difference is named; the rest keeps a program from being written."""

from __future__ import annotations

import pytest

from sm_trn.bridge.recorder.recording import Recorded, RecordedCall
from sm_trn.bridge.rewriting import compare
from sm_trn.core.specs.json import Json

SENT: dict[str, Json] = {
    "TrainingJobName": "own-2026-11-20-16-15-23-990",
    "AlgorithmSpecification": {
        "TrainingImage": "111122223333.dkr.ecr.us-west-2.amazonaws.com/own:1",
        "TrainingInputMode": "File",
    },
    "RoleArn": "arn:aws:iam::111122223333:role/r",
    "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
    "OutputDataConfig": {"S3OutputPath": "s3://b/2026-11-20-16-15-23/"},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    "HyperParameters": {"rate": "0.1", "on": "True"},
}


def compared(**changes: Json) -> compare.Comparison:
    empty = Recorded(calls=(), uploads={})
    one, two = (
        RecordedCall(service="sagemaker", operation="CreateTrainingJob", request=body)
        for body in (SENT, {**SENT, **changes})
    )
    return compare.compare(one, empty, two, empty, "launch.py")


def test_the_same_request_has_no_difference() -> None:
    assert compare.Comparison((), ()) == compared()


@pytest.mark.parametrize(
    ("changes", "means"),
    [
        ({"TrainingJobName": "own-20261120161530"}, compare.STAMPS),
        ({"OutputDataConfig": {"S3OutputPath": "s3://b/2026-11-20-16-15-59/"}}, compare.MOMENT),
        ({"ProfilerConfig": {"DisableProfiler": True}}, "SDK v3 has neither debugger hook nor profiler"),
    ],
)  # fmt: skip
def test_what_every_job_of_sdk_v3_has_otherwise_is_named(changes: dict[str, Json], means: str) -> None:
    assert compare.Comparison((means,), ()) == compared(**changes)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"TrainingJobName": "other-20261120161530"}, "TrainingJobName"),
        ({"ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30}}, "ResourceConfig.InstanceCount"),
        ({"StoppingCondition": {"MaxRuntimeInSeconds": 3600}}, "StoppingCondition.MaxRuntimeInSeconds"),
        ({"OutputDataConfig": {"S3OutputPath": "s3://other/2026-11-20-16-15-59/"}}, "OutputDataConfig.S3OutputPath"),
        ({"HyperParameters": {"rate": "0.1", "on": "true"}}, "HyperParameters.on"),
        ({"HyperParameters": {"rate": '"0.1"', "on": "True"}}, "HyperParameters.rate"),
        ({"HyperParameters": {"rate": "0.1"}}, "HyperParameters.on"),
        ({"Environment": {"A": "b"}}, "Environment.A"),
        ({"InputDataConfig": [{"ChannelName": "train", "InputMode": "Pipe", "DataSource": {"S3DataSource": {"S3Uri": "s3://b"}}}]},
         "InputDataConfig[train].InputMode"),
    ],
)  # fmt: skip
def test_any_other_difference_is_told_with_both_values(changes: dict[str, Json], field: str) -> None:
    assert any(each.startswith(field) for each in compared(**changes).others), compared(**changes).others
