"""Clients that know nothing of us: the AWS CLI, SageMaker SDK v2, and S3 with every kind of key."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from emulator.bench import GROUP, Bench

ODD_KEYS = [
    "../../escape",
    "..",
    "a/../../b",
    "/absolute",
    "a//b",
    "folder/",
    "a",
    "a/b",
    "ünï/日本",
    "x" * 1024,
    "sp ace+%2F",
]


@pytest.fixture(scope="module")
def finished(bench: Bench) -> dict[str, Any]:
    name = bench.submit("print('hello from a job')")
    return bench.finished(name)


def outside(bench: Bench) -> set[str]:
    """Everything beside the folder of objects, near enough for a key to reach it."""
    root = bench.endpoint.state
    return {str(path) for folder in (root, root.parent, root.parent.parent) for path in folder.iterdir()}


def test_no_key_of_an_object_reaches_outside_its_folder(bench: Bench) -> None:
    bench.s3.create_bucket(Bucket="odd", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    bench.s3.put_object(Bucket="odd", Key="plain", Body=b"")
    before, root = outside(bench), bench.endpoint.state / "s3"
    for number, key in enumerate(ODD_KEYS):
        bench.s3.put_object(Bucket="odd", Key=key, Body=str(number).encode())
    for number, key in enumerate(ODD_KEYS):
        assert str(number).encode() == bench.s3.get_object(Bucket="odd", Key=key)["Body"].read()
    assert {"plain", *ODD_KEYS} == {entry["Key"] for entry in bench.s3.list_objects_v2(Bucket="odd")["Contents"]}
    assert before == outside(bench)
    files = [path for path in root.rglob("*") if path.is_file()]
    assert {str(number).encode() for number in range(len(ODD_KEYS))} <= {file.read_bytes() for file in files}
    assert all(path.resolve().is_relative_to(root) for path in files)


def test_objects_are_plain_files_that_follow_every_change(bench: Bench) -> None:
    folder, bucket = bench.endpoint.state / "s3" / bench.endpoint.bucket / "follow", bench.endpoint.bucket
    bench.s3.put_object(Bucket=bucket, Key="follow/a.txt", Body=b"one")
    bench.s3.copy_object(Bucket=bucket, Key="follow/b.txt", CopySource={"Bucket": bucket, "Key": "follow/a.txt"})
    bench.s3.put_object(Bucket=bucket, Key="follow/a.txt", Body=b"two")
    parts = bench.s3.create_multipart_upload(Bucket=bucket, Key="follow/c.bin")
    etag = bench.s3.upload_part(
        Bucket=bucket, Key="follow/c.bin", UploadId=parts["UploadId"], PartNumber=1, Body=b"part"
    )["ETag"]
    bench.s3.complete_multipart_upload(
        Bucket=bucket,
        Key="follow/c.bin",
        UploadId=parts["UploadId"],
        MultipartUpload={"Parts": [{"ETag": etag, "PartNumber": 1}]},
    )
    assert {"a.txt": b"two", "b.txt": b"one", "c.bin": b"part"} == {f.name: f.read_bytes() for f in folder.iterdir()}
    bench.s3.delete_object(Bucket=bucket, Key="follow/a.txt")
    bench.s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "follow/b.txt"}, {"Key": "follow/c.bin"}]})
    assert not folder.exists()


def test_the_aws_command_line_sees_the_job(bench: Bench, finished: dict[str, Any]) -> None:
    program = Path(sys.executable).with_name("aws")
    if not program.exists() and shutil.which("aws") is None:
        pytest.skip("the AWS command line is not installed")
    command = [sys.executable, str(program), "sagemaker", "describe-training-job", "--output", "json"]
    said = subprocess.run(
        [*command, "--training-job-name", finished["TrainingJobName"]],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **bench.endpoint.environment()},
    ).stdout
    assert ("Completed", finished["TrainingJobArn"]) == tuple(
        json.loads(said)[key] for key in ("TrainingJobStatus", "TrainingJobArn")
    )


@pytest.mark.sdk
def test_the_sdk_attaches_to_a_job_and_prints_its_logs(bench: Bench, finished: dict[str, Any], tmp_path: Path) -> None:
    if subprocess.run(
        [sys.executable, "-c", "import sagemaker.estimator"], check=False, capture_output=True
    ).returncode:
        pytest.skip("SageMaker SDK v2 is not installed")
    config = tmp_path / "config.yaml"
    config.write_text("SchemaVersion: '1.0'\nSageMaker:\n  PythonSDK:\n    Modules:\n      TelemetryOptOut: true\n")
    code = """
import sys, boto3, sagemaker
from sagemaker.pytorch import PyTorch
session = sagemaker.Session(boto3.Session(), default_bucket=sys.argv[2])
estimator = PyTorch.attach(sys.argv[1], sagemaker_session=session)
print("MODEL", estimator.model_data)
session.logs_for_job(sys.argv[1], wait=True)
"""
    said = subprocess.run(
        [sys.executable, "-c", code, finished["TrainingJobName"], bench.endpoint.bucket],
        check=False,
        capture_output=True,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "SAGEMAKER_USER_CONFIG_OVERRIDE": str(config),
            **bench.endpoint.environment(),
        },
    )
    assert 0 == said.returncode, said.stderr
    assert f"MODEL {finished['ModelArtifacts']['S3ModelArtifacts']}" in said.stdout
    assert "hello from a job" in said.stdout
    assert "Billable seconds:" in said.stdout


def test_boto3s_waiter_and_pages_work(bench: Bench, finished: dict[str, Any]) -> None:
    bench.sagemaker.get_waiter("training_job_completed_or_stopped").wait(TrainingJobName=finished["TrainingJobName"])
    pages = bench.logs.get_paginator("filter_log_events").paginate(
        logGroupName=GROUP, logStreamNamePrefix=finished["TrainingJobName"], PaginationConfig={"PageSize": 7}
    )
    found = [event["message"] for page in pages for event in page["events"]]
    assert bench.lines(finished["TrainingJobName"]) == found
    assert GROUP in [group["logGroupName"] for group in bench.logs.describe_log_groups()["logGroups"]]


def test_the_endpoints_environment_is_all_a_client_needs(bench: Bench) -> None:
    code = "import boto3; print(boto3.client('sts').get_caller_identity()['Arn'])"
    said = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **bench.endpoint.environment()},
    ).stdout
    assert "arn:aws:sts::000000000000:assumed-role/SageMakerExecutionRole/sm_trn" == said.strip()
