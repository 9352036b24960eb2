"""What the tests of the emulator submit: tiny scripts as real CreateTrainingJob requests, and waiting with a deadline."""

from __future__ import annotations

import io
import itertools
import json
import tarfile
import textwrap
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sm_trn.emulator import Endpoint

GROUP = "/aws/sagemaker/TrainingJobs"
IMAGE = "763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:1.13.1-cpu-py39"
TERMINAL = ("Completed", "Failed", "Stopped")
_NUMBER = itertools.count(1)

Client = Callable[[str], Any]


class Bench:
    """Submits scripts to one emulator and reads what became of them."""

    def __init__(self, endpoint: Endpoint, client: Client) -> None:
        self.endpoint = endpoint
        self.client = client
        self.sagemaker = client("sagemaker")
        self.s3 = client("s3")
        self.logs = client("logs")

    def request(
        self,
        script: str,
        hyperparameters: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None,
        **members: Any,
    ) -> dict[str, Any]:
        """A legal request that runs ``script`` beside ``files``. ``members`` replace or add top-level members."""
        name = f"job-{next(_NUMBER)}"
        key = f"{name}/source/sourcedir.tar.gz"
        self.s3.put_object(
            Bucket=self.endpoint.bucket, Key=key, Body=packed({"train.py": textwrap.dedent(script), **(files or {})})
        )
        wired = {
            "sagemaker_program": "train.py",
            "sagemaker_submit_directory": f"s3://{self.endpoint.bucket}/{key}",
            "sagemaker_job_name": name,
            "sagemaker_container_log_level": 20,
            "sagemaker_region": self.endpoint.region,
            **(hyperparameters or {}),
        }
        return {
            "TrainingJobName": name,
            "RoleArn": self.endpoint.role_arn,
            "AlgorithmSpecification": {"TrainingImage": IMAGE, "TrainingInputMode": "File"},
            "OutputDataConfig": {"S3OutputPath": f"s3://{self.endpoint.bucket}/out"},
            "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
            "StoppingCondition": {"MaxRuntimeInSeconds": 600},
            "HyperParameters": {name: json.dumps(value) for name, value in wired.items()},
            **members,
        }

    def submit(
        self,
        script: str,
        hyperparameters: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None,
        **members: Any,
    ) -> str:
        request = self.request(script, hyperparameters, files, **members)
        self.sagemaker.create_training_job(**request)
        return str(request["TrainingJobName"])

    def describe(self, name: str) -> dict[str, Any]:
        return dict(self.sagemaker.describe_training_job(TrainingJobName=name))

    def finished(self, name: str, seconds: float = 60) -> dict[str, Any]:
        """The describe answer once the job is terminal."""
        return self.until(name, lambda answer: answer["TrainingJobStatus"] in TERMINAL, seconds)

    def until(self, name: str, wanted: Callable[[dict[str, Any]], bool], seconds: float = 60) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            answer = self.describe(name)
            if wanted(answer):
                return answer
            time.sleep(0.05)
        raise AssertionError(
            f"{name}: still {answer['SecondaryStatus']} after {seconds} s\n{chr(10).join(self.lines(name))}"
        )

    def said(self, name: str, text: str, seconds: float = 30) -> None:
        """Wait until a line of the job's logs holds ``text``."""
        deadline = time.monotonic() + seconds
        while not any(text in line for line in self.lines(name)):
            assert time.monotonic() < deadline, f"{name} never said {text!r}: {self.lines(name)}"
            time.sleep(0.05)

    def streams(self, name: str) -> list[str]:
        found = self.logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix=f"{name}/")
        return [stream["logStreamName"] for stream in found["logStreams"]]

    def lines(self, name: str) -> list[str]:
        """Every line of every host, host by host."""
        pages = (
            self.logs.get_log_events(logGroupName=GROUP, logStreamName=stream, startFromHead=True)
            for stream in self.streams(name)
        )
        return [event["message"] for page in pages for event in page["events"]]

    def model(self, name: str) -> dict[str, bytes]:
        """Names and contents of the plain files in a job's model.tar.gz."""
        bucket, _, key = self.describe(name)["ModelArtifacts"]["S3ModelArtifacts"].removeprefix("s3://").partition("/")
        return unpacked(self.s3.get_object(Bucket=bucket, Key=key)["Body"].read())


def packed(files: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


def unpacked(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isreg()}  # type: ignore[union-attr]  # a regular member has a file


def client_of(endpoint: Endpoint, service: str) -> Any:
    """Made from the endpoint's own key, without retries."""
    import boto3
    from botocore.config import Config

    return boto3.client(
        service,
        endpoint_url=endpoint.url,
        aws_access_key_id=endpoint.access_key,
        aws_secret_access_key=endpoint.secret_key,
        region_name=endpoint.region,
        config=Config(retries={"total_max_attempts": 1}),
    )


def bench_of(endpoint: Endpoint) -> Bench:
    return Bench(endpoint, partial(client_of, endpoint))
