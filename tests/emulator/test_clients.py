"""Clients that know nothing of us: boto3, the AWS CLI, both SageMaker SDKs, a notebook, and S3 with every kind of key."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, WaiterError
from emulator.bench import GROUP, Bench

from sm_trn.core._entry import scripts_folder

CLIENTS = Path(__file__).with_name("clients")
ALL = os.environ.get("SM_TRN_CLIENTS", "")  # the clients that take long as well


@pytest.fixture(scope="module")
def finished(bench: Bench) -> dict[str, Any]:
    name = bench.submit("print('hello from a job')")
    return bench.finished(name)


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
        env=bench.variables(),
    ).stdout
    assert ("Completed", finished["TrainingJobArn"]) == tuple(
        json.loads(said)[key] for key in ("TrainingJobStatus", "TrainingJobArn")
    )


def environment(bench: Bench, home: Path) -> dict[str, str]:
    """All that a client's process is given: no file of the user's, and none of the SDK's usage reports."""
    config = home / "config.yaml"
    config.write_text("SchemaVersion: '1.0'\nSageMaker:\n  PythonSDK:\n    Modules:\n      TelemetryOptOut: true\n")
    own = {"PATH": os.environ["PATH"], "HOME": str(home), "SAGEMAKER_USER_CONFIG_OVERRIDE": str(config)}
    return {**own, "SAGEMAKER_VALIDATE_ROLE": "false", **bench.endpoint.environment()}


def driven(python: str | Path, client: str, env: dict[str, str], *arguments: str) -> tuple[str, dict[str, Any]]:
    """What the client printed, and the document in its last line."""
    done = subprocess.run(
        [str(python), str(CLIENTS / client), *arguments], check=False, capture_output=True, text=True, env=env
    )
    assert 0 == done.returncode, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    text, _, last = done.stdout.strip().rpartition("\n")
    return text, json.loads(last[last.index("{") :])


def needs_sdk_v2() -> None:
    try:
        found = metadata.version("sagemaker")
    except metadata.PackageNotFoundError:
        found = ""
    if not found.startswith("2."):
        pytest.skip("needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")


@pytest.mark.sdk
@pytest.mark.skipif(not ALL, reason="set SM_TRN_CLIENTS=all: two real trainings")
def test_the_classic_notebook_runs_cell_by_cell(bench: Bench, tmp_path: Path) -> None:
    needs_sdk_v2()
    pytest.importorskip("transformers")
    env = environment(bench, tmp_path)
    for name in bench.endpoint.environment():
        del env[name]
    paths = {"AWS_DEFAULT_REGION": "us-east-1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    _, found = driven(sys.executable, "gpt2_notebook.py", env | paths, str(scripts_folder()), "2")
    assert {"native": "Completed", "optimized": "Completed"} == found["statuses"]
    assert found["role"].endswith(":role/SageMakerExecutionRole")
    for word, launcher in (("native", "SMDDP"), ("optimized", "pytorchxla")):
        assert found["billable"][word] > 0
        assert 2 == len(found["losses"][word])
        assert found["losses"][word][1] < found["losses"][word][0]
        assert launcher in found["tags"][word]["sm_trn:substituted"]
    assert found["metrics"]


def test_boto3_drives_a_whole_job_with_its_waiter(bench: Bench) -> None:
    name = bench.submit("import time; time.sleep(1); print('slept')")
    waiter = bench.sagemaker.get_waiter("training_job_completed_or_stopped")
    waiter.wait(TrainingJobName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    assert "Completed" == bench.describe(name)["TrainingJobStatus"]
    failing = bench.submit("raise SystemExit(3)")
    with pytest.raises(WaiterError, match="encountered a terminal failure state"):
        waiter.wait(TrainingJobName=failing, WaiterConfig={"Delay": 1, "MaxAttempts": 60})


def test_boto3s_waiter_and_pages_work(bench: Bench, finished: dict[str, Any]) -> None:
    bench.sagemaker.get_waiter("training_job_completed_or_stopped").wait(TrainingJobName=finished["TrainingJobName"])
    pages = bench.sagemaker.get_paginator("list_training_jobs").paginate(PaginationConfig={"PageSize": 1})
    names = [row["TrainingJobName"] for page in pages for row in page["TrainingJobSummaries"]]
    assert finished["TrainingJobName"] in names
    with pytest.raises(ClientError, match="GetLogEvents reads a job's streams"):
        bench.logs.filter_log_events(logGroupName=GROUP)
    assert GROUP in [group["logGroupName"] for group in bench.logs.describe_log_groups()["logGroups"]]


def test_the_endpoints_environment_is_all_a_client_needs(bench: Bench) -> None:
    code = "import boto3; print(boto3.client('sts').get_caller_identity()['Arn'])"
    said = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=bench.variables(),
    ).stdout
    assert "arn:aws:sts::000000000000:assumed-role/SageMakerExecutionRole/sm_trn" == said.strip()
