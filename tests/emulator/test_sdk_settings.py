"""What `export $(sm-trn local up)` tells SDKs: that STS is here, whatever address they have for it, and AWS need not know."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.config import Config
from emulator.bench import Bench
from test_clients import needs_sdk_v2

PLAIN = """
import sagemaker
from sagemaker.pytorch import PyTorch
session = sagemaker.Session()
print(session.default_bucket(), session.account_id(), sagemaker.get_execution_role())
estimator = PyTorch("train.py", source_dir=".", role="arn:aws:iam::111122223333:role/Mine", framework_version="2.1",
                    py_version="py310", instance_count=1, instance_type="ml.m5.large")
estimator.fit(wait=False)
print(estimator.latest_training_job.name)
"""
INSIDE = """
import boto3, os
region = os.environ["AWS_REGION"]
sts = boto3.client("sts", region_name=region, endpoint_url=f"https://sts.{region}.amazonaws.com")
print(f'inside {sts.get_caller_identity()["Account"]}')
"""


@pytest.mark.sdk
def test_sdk_v2_needs_nothing_but_the_one_line(bench: Bench, tmp_path: Path) -> None:
    needs_sdk_v2()
    (tmp_path / "train.py").write_text(INSIDE, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", PLAIN],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **bench.endpoint.environment()},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == run.returncode, run.stderr[-3000:]
    said = run.stdout.strip().splitlines()
    account = bench.endpoint.account_id
    role = f"arn:aws:iam::{account}:role/SageMakerExecutionRole"
    assert f"sagemaker-{bench.endpoint.region}-{account} {account} {role}" in said
    assert "telemetry" not in run.stderr
    name = said[-1]
    assert "Completed" == bench.finished(name)["TrainingJobStatus"]
    assert f"inside {account}" in bench.lines(name)


def sts(bench: Bench, address: str | None, region: str = "eu-west-1") -> Any:
    session = botocore.session.Session()
    session.set_config_variable("data_path", bench.endpoint.environment()["AWS_DATA_PATH"])
    return boto3.Session(botocore_session=session).client(
        "sts",
        region_name=region,
        endpoint_url=address,
        aws_access_key_id=bench.endpoint.access_key,
        aws_secret_access_key=bench.endpoint.secret_key,
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.mark.parametrize("region", ["us-west-2", "us-east-1", "eu-west-1", "us-gov-west-1"])
def test_the_regional_address_of_sts_leads_here(bench: Bench, region: str) -> None:
    found = sts(bench, f"https://sts.{region}.amazonaws.com", region).get_caller_identity()
    assert bench.endpoint.account_id == found["Account"]


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("https://sts.eu-west-1.example.com", "https://sts.eu-west-1.example.com/"),
        ("http://127.0.0.1:4566", "http://127.0.0.1:4566/"),
        ("https://sts.us-east-2.amazonaws.com", "https://sts.us-east-2.amazonaws.com/"),
        (None, "https://sts.eu-west-1.amazonaws.com/"),
    ],
)
def test_every_other_address_stays_what_it_is(bench: Bench, address: str | None, reached: str) -> None:
    client, seen = sts(bench, address), list[str]()

    def look(request: Any, **_more: Any) -> Any:
        seen.append(request.url)
        raise InterruptedError

    client.meta.events.register("before-send.sts", look)
    with pytest.raises(InterruptedError):
        client.get_caller_identity()
    assert [reached] == seen


def test_what_the_caller_has_set_stays(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    own = bench.endpoint.environment()["AWS_DATA_PATH"]
    monkeypatch.setenv("AWS_DATA_PATH", os.pathsep.join(["/elsewhere/sm_trn-aws", "/models/of/mine", own]))
    monkeypatch.setenv("SAGEMAKER_ADMIN_CONFIG_OVERRIDE", "/defaults/of/mine.yaml")
    found = bench.endpoint.environment()
    assert f"{own}{os.pathsep}/models/of/mine" == found["AWS_DATA_PATH"]
    assert "SAGEMAKER_ADMIN_CONFIG_OVERRIDE" not in found
    monkeypatch.setenv("SAGEMAKER_ADMIN_CONFIG_OVERRIDE", "/gone/sm_trn-aws/sagemaker.yaml")
    assert Path(own) / "sagemaker.yaml" == Path(bench.endpoint.environment()["SAGEMAKER_ADMIN_CONFIG_OVERRIDE"])
