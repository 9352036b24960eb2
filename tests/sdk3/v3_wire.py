"""SDK v3 whose calls end in this process: what it would have sent, and what its container would have made of that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import boto3
import jobs

from sm_trn.core.render import EstimatorCall
from sm_trn.core.sdk.estimators import QUIET_CONFIG

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-job/x"
ANSWERS: dict[str, dict[str, Any]] = {
    "GetCallerIdentity": {"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/someone", "UserId": "X"},
    "ListBuckets": {"Buckets": [{"Name": jobs.BUCKET}]},
    "CreateTrainingJob": {"TrainingJobArn": ARN},
    "CreateHyperParameterTuningJob": {
        "HyperParameterTuningJobArn": ARN.replace("training-job", "hyper-parameter-tuning-job")
    },
    "DescribeHyperParameterTuningJob": {
        "HyperParameterTuningJobName": "x",
        "HyperParameterTuningJobStatus": "InProgress",
    },
    "DescribeTrainingJob": {"TrainingJobName": "x", "TrainingJobArn": ARN, "TrainingJobStatus": "InProgress"},
}


def installed() -> bool:
    """Whether this environment has SDK v3; asking it by importing would run version 2's package."""
    try:
        return metadata.version("sagemaker").startswith("3.")
    except metadata.PackageNotFoundError:
        return False


class Answered:
    status_code = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - botocore reads it, nobody writes it


class Wire:
    """A session of SDK v3 without a network; ``sent`` is the last training or tuning job asked for, ``calls`` every operation's name."""

    def __init__(self) -> None:
        from sm_trn.core import sdk

        self.sent: dict[str, Any] = {}
        self.calls: list[str] = []
        session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name=jobs.REGION)
        for operation in ("CreateTrainingJob", "CreateHyperParameterTuningJob"):
            session.events.register(f"provide-client-params.sagemaker.{operation}", self._keep)
        session.events.register("before-call", self._answer)
        with sdk.contained():
            self.session = sdk.load("sagemaker.core.helper.session_helper.Session")(
                boto_session=session, default_bucket=jobs.BUCKET, sagemaker_config=QUIET_CONFIG
            )

    def _keep(self, params: dict[str, Any], **_: Any) -> None:
        self.sent = dict(params)

    def _answer(self, model: Any, **_: Any) -> tuple[Answered, dict[str, Any]]:
        self.calls.append(model.name)
        return Answered(), {**ANSWERS.get(model.name, {}), "ResponseMetadata": {"HTTPStatusCode": 200}}

    def train(self, call: EstimatorCall) -> dict[str, Any]:
        """Drive the real ModelTrainer with the rendered call; what it sent."""
        from sm_trn.core import sdk

        self.sent = {}
        trainer = sdk.build(call, sagemaker_session=self.session)
        with sdk.contained():
            getattr(trainer, call.method)(**sdk.built(dict(call.fit)))
        return self.sent


# The steps of sm_train.sh, which is all that v3's container runs: environment.py writes a file, bash with `set -e` sources
# it, the driver makes the command. Only the folders are others.
_WRITE = """
import json, sys
from sagemaker.train.container_drivers.scripts import environment
channels, hyperparameters, path = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
host = {"current_host": "algo-1", "current_instance_type": "ml.m5.xlarge", "hosts": ["algo-1"], "network_interface_name": "eth0"}
environment.set_env(host, channels, hyperparameters, path)
"""
_COMMAND = """
import json
from sagemaker.train.container_drivers.distributed_drivers import basic_script_driver
print("ARGV " + json.dumps(basic_script_driver.create_commands()[2:]))
"""


def command_line(sent: dict[str, Any], folder: Path) -> list[str] | None:
    """The script's arguments as v3's own container scripts make them of a request; None when they fail before."""
    channels: dict[str, dict[str, Any]] = {channel["ChannelName"]: {} for channel in sent.get("InputDataConfig", ())}
    variables = folder / "sm_training.env"
    environment = {**os.environ, "TRAINING_JOB_NAME": "x", "SM_ENTRY_SCRIPT": "run_clm.py"}
    hyperparameters = json.dumps(sent.get("HyperParameters", {}))
    subprocess.run(
        [sys.executable, "-c", _WRITE, json.dumps(channels), hyperparameters, str(variables)],
        env=environment, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    done = subprocess.run(
        ["bash", "-ec", 'source "$1"; exec "$2" -c "$3"', "bash", str(variables), sys.executable, _COMMAND],
        env={**environment, "SM_ENTRY_SCRIPT": "run_clm.py"}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("ARGV ")]
    return json.loads(lines[0].removeprefix("ARGV ")) if done.returncode == 0 and lines else None
