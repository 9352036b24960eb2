"""The service's sentences for requests that break its own model, with botocore's model as the reference."""

from __future__ import annotations

from typing import Any

import pytest
from emulator.bench import spot

from sm_trn.emulator.api import shapes
from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.training import rules

GOOD: dict[str, Any] = {
    "TrainingJobName": "job",
    "RoleArn": "arn:aws:iam::000000000000:role/SageMakerExecutionRole",
    "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
    "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
}


def refusal(**members: Any) -> AwsError:
    body = {name: value for name, value in {**GOOD, **members}.items() if value is not None}
    with pytest.raises(AwsError) as caught:
        judged(body)
    return caught.value


def judged(body: Any) -> None:
    shapes.check("CreateTrainingJob", body)
    rules.check_request(body, lambda _bucket, prefix: prefix != "missing", "us-west-2")


def test_a_legal_request_passes() -> None:
    judged(GOOD)


def test_every_pattern_of_the_model_is_one_of_python_too() -> None:
    model = shapes.service_model()
    patterns = {model.shape_for(name).metadata.get("pattern", "") for name in model.shape_names}
    assert len(patterns) > 100
    for pattern in patterns:
        assert shapes._compiled(pattern) is not None
    pairs = next(each for each in patterns if r"\uDBFF\uDFFF" in each)
    assert shapes._compiled(pairs).fullmatch("AwsDataCatalog \U0001f600")


def test_a_bad_name_is_told_the_pattern() -> None:
    assert (
        "1 validation error detected: Value 'a_b' at 'trainingJobName' failed to satisfy constraint: Member must satisfy "
        "regular expression pattern: [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
    ) == refusal(TrainingJobName="a_b").message


def test_a_missing_member_is_null() -> None:
    assert (
        "1 validation error detected: Value null at 'roleArn' failed to satisfy constraint: Member must not be null"
    ) == refusal(RoleArn=None).message


def test_every_fault_is_listed_at_once() -> None:
    message = refusal(TrainingJobName="a_b", StoppingCondition={"MaxRuntimeInSeconds": 0}).message
    assert message.startswith("2 validation errors detected: ")
    assert "'stoppingCondition.maxRuntimeInSeconds'" in message
    assert "Member must have value greater than or equal to 1" in message


def test_a_wrong_type_is_a_serialization_fault() -> None:
    assert "SerializationException" == refusal(StoppingCondition={"MaxRuntimeInSeconds": "60"}).code


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"EnableManagedSpotTraining": True}, "MaxWaitTimeInSeconds"),
        (spot(100, 99), "greater than or equal to MaxRuntimeInSeconds"),
        ({"StoppingCondition": {"MaxWaitTimeInSeconds": 99}}, "EnableManagedSpotTraining"),
        ({"StoppingCondition": {"MaxRuntimeInSeconds": 29 * 86_400}}, "28 days"),
        ({"ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 0}}, "resourceConfig.instanceCount"),
        ({"ResourceConfig": {"InstanceCount": 1}}, "InstanceType"),
        ({"AlgorithmSpecification": {"TrainingInputMode": "File"}}, "TrainingImage"),
        (
            {"TensorBoardOutputConfig": {"S3OutputPath": "s3://b/t", "LocalPath": "/opt/ml/output/t"}},
            "reserved path: [/opt/ml, /tmp,",
        ),
    ],
)
def test_rules_over_two_members_hold(members: dict[str, Any], text: str) -> None:
    assert text in refusal(**members).message


def test_channels_all_name_their_groups_or_none_does() -> None:
    source = {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/data"}
    groups = [{"InstanceGroupName": "x", "InstanceType": "ml.m5.large", "InstanceCount": 1}]
    channels = [
        {"ChannelName": "one", "DataSource": {"S3DataSource": {**source, "InstanceGroupNames": ["x"]}}},
        {"ChannelName": "two", "DataSource": {"S3DataSource": source}},
    ]
    cluster = {"InstanceGroups": groups, "VolumeSizeInGB": 1}
    message = refusal(InputDataConfig=channels, ResourceConfig=cluster).message
    assert "Some channels have assigned instance groups: [one] while others not: [two]" == message


@pytest.mark.parametrize(
    ("tag", "there"),
    [
        ("pytorch-training:9.9.9-cpu-py399", False),
        ("pytorch-training:2.6.0-cpu-py38", False),
        ("huggingface-pytorch-training:9.9.9-transformers4.56.2-gpu-py312-cu129-ubuntu22.04", False),
        ("pytorch-training:2.6.0-cpu-py312", True),
        ("pytorch-training:2.14-cpu-amzn2023-sagemaker", True),
        ("somebodys-own:9.9.9-cpu-py399", True),
    ],
)
def test_an_image_of_aws_that_was_never_published_is_refused(tag: str, there: bool) -> None:
    uri = f"763104351884.dkr.ecr.us-west-2.amazonaws.com/{tag}"
    asked = {"AlgorithmSpecification": {"TrainingImage": uri, "TrainingInputMode": "File"}}
    if there:
        rules.check_request({**GOOD, **asked}, lambda _bucket, _prefix: True, "us-west-2")
    else:
        assert "The requested image does not exist" in refusal(**asked).message


def test_a_channel_without_objects_is_refused_in_the_services_words() -> None:
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/missing"}}
    message = refusal(InputDataConfig=[{"ChannelName": "train", "DataSource": source}]).message
    assert message.startswith('No S3 objects found under S3 URL "s3://bucket/missing" given in input data source.')


def test_a_services_model_is_read_once_however_it_is_asked_for() -> None:
    assert shapes.service_model() is shapes.service_model("sagemaker")
