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
from botocore.exceptions import WaiterError
from emulator.bench import GROUP, Bench

from sm_trn.core._entry import scripts_folder
from sm_trn.emulator import EMULATED_ACCOUNT

CLIENTS = Path(__file__).with_name("clients")
CACHED_SDK3 = Path(__file__).parents[2] / ".ci/cache/sdk3/bin/python"
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
@pytest.mark.skipif(
    not ALL, reason="set SM_TRN_CLIENTS=all, or to nowait where boto3's waiters may stand in for the SDK's"
)
def test_sdk_v2_drives_a_whole_job(bench: Bench, tmp_path: Path) -> None:
    """fit with its logs, attach, analytics, deploy, predict."""
    needs_sdk_v2()
    wait = "nowait" if ALL == "nowait" else "wait"
    text, found = driven(
        sys.executable, "sdk_v2.py", environment(bench, tmp_path), str(tmp_path), wait, bench.endpoint.role_arn,
        bench.endpoint.bucket,
    )  # fmt: skip
    assert {"loss=0.5; step=0", "loss=0.25; step=1"} <= set(text.splitlines())
    assert "Billable seconds:" in text
    assert bench.describe(found["name"])["ModelArtifacts"]["S3ModelArtifacts"] == found["model"]
    assert '"train.py"' == found["hyperparameters"]["sagemaker_program"]
    assert {"loss"} == {name for name, _ in found["metrics"]}
    assert 0.25 <= found["metrics"][0][1] <= 0.5  # the service keeps one average a minute
    assert 42.0 == found["predicted"]


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
    assert f"sagemaker-us-east-1-{EMULATED_ACCOUNT}" == found["bucket"]
    for word, launcher in (("native", "SMDDP"), ("optimized", "pytorchxla")):
        assert found["throughput"][word] > 0
        assert found["billable"][word] > 0
        assert [1.0, 2.0] == found["epochs"][word]
        assert found["losses"][word][1] < found["losses"][word][0]
        assert launcher in found["tags"][word][0]
    assert found["metrics"]


@pytest.mark.skipif(not ALL, reason="set SM_TRN_CLIENTS=all")
def test_sdk_v3s_model_trainer_drives_a_whole_job(bench: Bench, tmp_path: Path) -> None:
    python = Path(os.environ.get("SM_TRN_SDK3_PYTHON") or CACHED_SDK3)
    if not python.exists():
        pytest.skip("needs an interpreter with SageMaker SDK v3: .ci/sdk3 makes one, SM_TRN_SDK3_PYTHON names another")
    _, found = driven(
        python, "sdk_v3.py", environment(bench, tmp_path), str(tmp_path), bench.endpoint.role_arn, bench.endpoint.bucket
    )
    assert ("Completed", True) == (found["status"], found["listed"])
    assert found["billable"] >= 1
    assert f"s3://{bench.endpoint.bucket}/v3/out/{found['name']}/output/model.tar.gz" == found["model"]
    assert {"done.txt": b"yes"} == bench.model(found["name"])
    assert {"rows 3", "arguments --epochs 3 rank 0"} <= set(bench.lines(found["name"]))


@pytest.mark.skipif(not ALL, reason="set SM_TRN_CLIENTS=all")
def test_the_aws_command_line_drives_a_whole_job(bench: Bench, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("aws")
    if not program.exists():
        pytest.skip("the AWS command line is not installed")
    env = environment(bench, tmp_path)

    def aws(*arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, str(program), *arguments, "--output", "json"],
            check=False,
            capture_output=True,
            text=True,
            env=env,
        )
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout or "{}")

    def create(script: str) -> str:
        request = bench.request(script)
        (tmp_path / "request.json").write_text(json.dumps(request))
        made = aws("sagemaker", "create-training-job", "--cli-input-json", f"file://{tmp_path}/request.json")
        assert made["TrainingJobArn"].endswith(request["TrainingJobName"])
        return str(request["TrainingJobName"])

    endless = create("print('here', flush=True)\nimport time; time.sleep(90)")
    name = create("print('from the shell')")
    bench.said(endless, "here")
    aws("sagemaker", "stop-training-job", "--training-job-name", endless)
    for each in (endless, name):
        bench.finished(each)  # the waiter looks every two minutes only
    aws("sagemaker", "wait", "training-job-completed-or-stopped", "--training-job-name", name)
    listed = aws("sagemaker", "list-training-jobs", "--status-equals", "Stopped", "--max-items", "5")
    assert endless in [row["TrainingJobName"] for row in listed["TrainingJobSummaries"]]
    events = aws("logs", "filter-log-events", "--log-group-name", GROUP, "--log-stream-name-prefix", f"{name}/")[
        "events"
    ]
    assert "from the shell" in [event["message"] for event in events]
    answer = aws("sagemaker", "describe-training-job", "--training-job-name", name)
    assert "Completed" == answer["TrainingJobStatus"]


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
        env=bench.variables(),
    ).stdout
    assert "arn:aws:sts::000000000000:assumed-role/SageMakerExecutionRole/sm_trn" == said.strip()
