"""``mocked()``: plain boto3 under moto's mock_aws gets our SageMaker, the same one as everywhere."""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from emulator.bench import GROUP, IMAGE, lines_of, packed

from sm_trn.emulator import EMULATED_ACCOUNT, Endpoint, mocked

moto = pytest.importorskip("moto")
pytest.importorskip("sagemaker_training")
pytest.importorskip("flask_cors")
pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def place() -> Iterator[Endpoint]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # moto's own
        with moto.mock_aws(), mocked(region="eu-west-1") as endpoint:
            yield endpoint


def client(name: str) -> Any:
    import boto3

    return boto3.client(name, region_name="eu-west-1")


def test_a_job_runs_for_real_on_data_that_the_test_put_into_s3(place: Endpoint) -> None:
    s3, sagemaker = client("s3"), client("sagemaker")
    s3.create_bucket(Bucket="mine", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    script = (
        "import os, pathlib\nprint('rows ' + pathlib.Path(os.environ['SM_CHANNEL_TRAIN'], 'a b+ü.txt').read_text())\n"
    )
    s3.put_object(Bucket="mine", Key="source.tar.gz", Body=packed({"train.py": script}))
    s3.upload_fileobj(io.BytesIO(b"seven"), "mine", "data/a b+ü.txt")
    wired = {"sagemaker_program": "train.py", "sagemaker_submit_directory": "s3://mine/source.tar.gz"}
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://mine/data/"}}
    sagemaker.create_training_job(
        TrainingJobName="mocked",
        RoleArn="arn:aws:iam::123456789012:role/any",
        AlgorithmSpecification={"TrainingImage": IMAGE, "TrainingInputMode": "File"},
        OutputDataConfig={"S3OutputPath": "s3://mine/out"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 60},
        HyperParameters={name: json.dumps(value) for name, value in wired.items()},
        InputDataConfig=[{"ChannelName": "train", "DataSource": source}],
    )
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName="mocked", WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    lines = lines_of(client("logs"), GROUP, "mocked/")
    assert "rows seven" in lines, "\n".join(lines)
    body = s3.get_object(Bucket="mine", Key="out/mocked/output/model.tar.gz")["Body"].read()
    assert body.startswith(b"\x1f\x8b")
    with pytest.raises(sagemaker.exceptions.ClientError, match="Requested resource not found"):
        sagemaker.describe_training_job(TrainingJobName="nobody")


@pytest.mark.parametrize("size", [0, 1, 70_000, 9 * 2**20])
def test_objects_come_back_as_they_were_sent(place: Endpoint, size: int) -> None:
    s3, content = client("s3"), os.urandom(size)
    s3.create_bucket(Bucket=f"size-{size}", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    s3.upload_fileobj(io.BytesIO(content), f"size-{size}", "one")
    s3.put_object(Bucket=f"size-{size}", Key="two/ü?&=+ %", Body=io.BytesIO(content), ContentEncoding="identity")
    assert content == s3.get_object(Bucket=f"size-{size}", Key="one")["Body"].read()
    assert content == s3.get_object(Bucket=f"size-{size}", Key="two/ü?&=+ %")["Body"].read()


def test_other_services_stay_motos(place: Endpoint) -> None:
    queue = client("sqs").create_queue(QueueName="mine")["QueueUrl"]
    assert "123456789012" in queue
    assert EMULATED_ACCOUNT == client("sts").get_caller_identity()["Account"]


def test_outside_the_block_nothing_is_taken(place: Endpoint) -> None:
    import botocore.handlers

    before = len(botocore.handlers.BUILTIN_HANDLERS)
    with mocked(region="eu-west-1") as inner:
        state = inner.state
        made = client("sagemaker")
        assert [] == made.list_training_jobs()["TrainingJobSummaries"]
    assert before == len(botocore.handlers.BUILTIN_HANDLERS)
    assert not state.exists()
    assert made.list_training_jobs()["TrainingJobSummaries"]  # the emulator of the outer block
