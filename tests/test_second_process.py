"""While a job runs, five clients in processes of their own see the same job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from fork_server import SHELL, python_with
from jobs import job_of
from waiting import within

import sm_trn as st
from sm_trn.core.specs import parse_snapshot, parse_time

pytestmark = pytest.mark.local

WAITING = """
import pathlib, time
print("I am training", flush=True)
deadline = time.monotonic() + 240
while not pathlib.Path({flag!r}).exists() and time.monotonic() < deadline:
    time.sleep(0.1)
"""
# attach() of SDK v2 returns when the job has ended: what it sees meanwhile is read before, what it saw at the end after.
SDK = """
import contextlib, io, json, sys
import sagemaker
from sagemaker.pytorch import PyTorch

name, bucket = sys.argv[1:]
quiet = {"SchemaVersion": "1.0", "SageMaker": {"PythonSDK": {"Modules": {"TelemetryOptOut": True}}}}
session = sagemaker.Session(default_bucket=bucket, sagemaker_config=quiet)

def tell(**more):
    answer = session.describe_training_job(name)
    kept = {key: answer[key] for key in answer if key.startswith(("TrainingJob", "Secondary")) or key.endswith("Time")}
    print(json.dumps({"answer": kept, **more}, default=lambda value: value.isoformat()), flush=True)

printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    session.logs_for_job(name)
tell(printed=printed.getvalue())
with contextlib.redirect_stdout(io.StringIO()):
    attached = PyTorch.attach(name, sagemaker_session=session)
tell(attached=attached.latest_training_job.name, instance=attached.instance_type)
"""


def run(arguments: list[str], environment: dict[str, str]) -> Any:
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.index("{") :])


@pytest.fixture(scope="module")
def running(session: st.Session, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A job that trains until this module is done with it."""
    folder, flag = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("flag") / "go"
    job = session.submit(job_of(folder, WAITING.format(flag=str(flag)), name="seen-by-all", max_run_s=300))
    assert within(lambda: "I am training" in [event.text for event in job.logs()], 60), job.snapshot()
    yield job, flag
    flag.touch()
    job.wait(progress=False)


@pytest.fixture
def environment(emulator: Any) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    return {**kept, **emulator.environment(), "AWS_EC2_METADATA_DISABLED": "true"}


def facts(answer: dict[str, Any]) -> tuple[object, ...]:
    snapshot = parse_snapshot(answer)
    return (
        snapshot.name,
        snapshot.status_word,
        snapshot.secondary,
        rounded(snapshot.created),
        rounded(snapshot.started),
    )


def rounded(when: Any) -> int | None:
    parsed = parse_time(when)
    return None if parsed is None else int(parsed.timestamp() * 1000)


def test_boto3_agrees(running: Any, aws: Any) -> None:
    job, _ = running
    assert facts(dict(job.snapshot().raw)) == facts(aws("sagemaker").describe_training_job(TrainingJobName=job.name))


def test_sm_trn_attach_agrees(running: Any, emulator: Any, environment: dict[str, str]) -> None:
    job, _ = running
    where = ["--backend", "emulator", "--state", str(emulator.state)]
    seen = run([python_with(*SHELL), "-m", "sm_trn.cli", "list", job.name, *where, "--json"], environment)
    ours = job.snapshot()
    assert (ours.status_word, ours.secondary, True) == (seen["status"], seen["secondary_status"], seen["emulated"])
    times = (rounded(seen["creation_time"]), rounded(seen["training_start_time"]))
    assert (rounded(ours.created), rounded(ours.started)) == times


def test_the_aws_cli_agrees(running: Any, emulator: Any, environment: dict[str, str]) -> None:
    job, _ = running
    program = Path(sysconfig.get_path("scripts")) / "aws"
    if not program.exists():
        pytest.skip("needs the AWS CLI: pip install awscli")
    environment.pop("AWS_ENDPOINT_URL")
    command = [sys.executable, str(program), "--endpoint-url", emulator.url, "--output", "json"]
    command += ["sagemaker", "describe-training-job", "--training-job-name", job.name]
    assert facts(dict(job.snapshot().raw)) == facts(run(command, environment))


@pytest.mark.sdk
def test_sdk_v2_reads_the_log_attaches_and_agrees(running: Any, emulator: Any, environment: dict[str, str]) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    job, flag = running
    command = [sys.executable, "-W", "ignore", "-c", SDK, job.name, emulator.bucket]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as client:
        assert client.stdout is not None
        answers = (json.loads(line) for line in client.stdout if line.startswith("{"))
        meanwhile = next(answers)
        assert facts(dict(job.snapshot().raw)) == facts(meanwhile["answer"])
        assert "InProgress" == meanwhile["answer"]["TrainingJobStatus"]
        assert "I am training" in meanwhile["printed"]
        flag.touch()
        final = job.wait(progress=False)
        at_the_end = next(answers)
        assert facts(dict(final.raw)) == facts(at_the_end["answer"])
        assert (job.name, "ml.c5.xlarge") == (at_the_end["attached"], at_the_end["instance"])
    assert 0 == client.returncode
