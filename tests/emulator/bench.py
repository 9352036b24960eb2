"""What the tests of the emulator submit: tiny scripts as real CreateTrainingJob requests, and waiting with a deadline."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import tarfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from waiting import within

from sm_trn import emulator as embedded
from sm_trn.emulator import Endpoint, Options

GROUP = "/aws/sagemaker/TrainingJobs"
IMAGE = "763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:1.13.1-cpu-py39"
VARIANT = {"InitialInstanceCount": 1, "InstanceType": "ml.c5.xlarge"}
TERMINAL = ("Completed", "Failed", "Stopped")
_NUMBER = itertools.count(1)

Client = Callable[[str], Any]


def spot(longest: int, wait: int) -> dict[str, Any]:
    """Members of a request for a managed spot job; both in seconds."""
    limits = {"MaxRuntimeInSeconds": longest, "MaxWaitTimeInSeconds": wait}
    return {"EnableManagedSpotTraining": True, "StoppingCondition": limits}


def shell(script: str) -> dict[str, Any]:
    """The algorithm of a job that is a line of the shell: it starts at once, however busy the machine is."""
    return {"TrainingImage": IMAGE, "TrainingInputMode": "File", "ContainerEntrypoint": ["/bin/sh", "-c", script]}


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
        heard = within(lambda: any(text in line for line in self.lines(name)), seconds)
        assert heard, f"{name} never said {text!r}: {self.lines(name)}"

    def streams(self, name: str) -> list[str]:
        found = self.logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix=f"{name}/")
        return [stream["logStreamName"] for stream in found["logStreams"]]

    def lines(self, name: str) -> list[str]:
        """Every line of every host, host by host."""
        return lines_of(self.logs, GROUP, f"{name}/")

    def variables(self) -> dict[str, str]:
        """All that a client's process is given: the line that users export, and no file of theirs."""
        return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **self.endpoint.environment()}

    def model(self, name: str) -> dict[str, bytes]:
        """Names and contents of the plain files in a job's model.tar.gz."""
        bucket, _, key = self.describe(name)["ModelArtifacts"]["S3ModelArtifacts"].removeprefix("s3://").partition("/")
        return unpacked(self.s3.get_object(Bucket=bucket, Key=key)["Body"].read())

    # --- hosting ---

    def hosted(self, archive: bytes, environment: Mapping[str, str] | None = None) -> str:
        """The name of a new model with this archive."""
        name = f"model-{next(_NUMBER)}"
        self.s3.put_object(Bucket=self.endpoint.bucket, Key=f"{name}/model.tar.gz", Body=archive)
        container = {
            "Image": IMAGE.replace("training", "inference"),
            "ModelDataUrl": f"s3://{self.endpoint.bucket}/{name}/model.tar.gz",
            "Environment": {"SAGEMAKER_PROGRAM": "inference.py", **(environment or {})},
        }
        self.sagemaker.create_model(ModelName=name, ExecutionRoleArn=self.endpoint.role_arn, PrimaryContainer=container)
        return name

    def config(self, *models: str) -> str:
        name = f"config-{next(_NUMBER)}"
        variants = [{**VARIANT, "VariantName": f"v{at}", "ModelName": model} for at, model in enumerate(models)]
        self.sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=variants)
        return name

    def deploy(self, archive: bytes, environment: Mapping[str, str] | None = None) -> str:
        """The name of a new endpoint, whatever became of it."""
        name, config = f"endpoint-{next(_NUMBER)}", self.config(self.hosted(archive, environment))
        self.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=config)
        self.settled(name)
        return name

    def settled(self, name: str) -> dict[str, Any]:
        """How an endpoint is described once nothing is under way."""
        moving = {"Creating", "Updating", "SystemUpdating"}
        look = partial(self.sagemaker.describe_endpoint, EndpointName=name)
        assert within(lambda: look()["EndpointStatus"] not in moving, 60)
        return dict(look())


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


def lines_of(logs: Any, group: str, prefix: str = "") -> list[str]:
    """Every line of a group's streams, stream by stream."""
    more = {"logStreamNamePrefix": prefix} if prefix else {}
    streams = logs.describe_log_streams(logGroupName=group, **more)["logStreams"]
    read = partial(logs.get_log_events, logGroupName=group, startFromHead=True)
    return [event["message"] for each in streams for event in read(logStreamName=each["logStreamName"])["events"]]


def marked(mark: str) -> list[int]:
    """Every living process with ``mark`` on its command line."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdecimal() and mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def below(root: int) -> set[int]:
    """Every process that descends from ``root``."""
    parents = {}
    for entry in [folder.name for folder in Path("/proc").iterdir()]:
        if entry.isdecimal():
            with contextlib.suppress(OSError):
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def client_of(endpoint: Endpoint, service: str, **changed: Any) -> Any:
    """Made from the endpoint's own key, without retries, unless something else is asked for; ``config`` is added to that."""
    import boto3
    from botocore.config import Config

    config = Config(retries={"total_max_attempts": 1}).merge(changed.pop("config", Config()))
    known = {
        "endpoint_url": endpoint.url,
        "aws_access_key_id": endpoint.access_key,
        "aws_secret_access_key": endpoint.secret_key,
        "region_name": endpoint.region,
    }
    return boto3.client(service, **{**known, **changed}, config=config)


def bench_of(endpoint: Endpoint) -> Bench:
    return Bench(endpoint, partial(client_of, endpoint))


@contextlib.contextmanager
def running(state: Path, **options: Any) -> Iterator[Bench]:
    """An emulator of its own for as long as the block lasts; its jobs start at once."""
    try:
        yield bench_of(
            embedded.up(state, options=Options(**{"start_delay_s": 0.0, "parent_pid": os.getpid(), **options}))
        )
    finally:
        embedded.down(state)
