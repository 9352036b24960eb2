"""Training queues on a running emulator: unmodified boto3 and SDK launchers, our own session, and a restart."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from emulator.bench import Bench, bench_of, running, shell
from jobs import job_of
from waiting import within

import sm_trn as st
from sm_trn import emulator as embedded
from sm_trn.emulator import Fault

pytestmark = pytest.mark.local
CLIENT = Path(__file__).with_name("clients") / "queue_v2.py"


def open_queue(bench: Bench, name: str, *, capacity: int = 2, shares: tuple[str, ...] = ()) -> Any:
    """Batch's client, after the queue and what it needs were made."""
    batch = bench.client("batch")
    batch.create_service_environment(
        serviceEnvironmentName=name,
        serviceEnvironmentType="SAGEMAKER_TRAINING",
        capacityLimits=[{"maxCapacity": capacity, "capacityUnit": "NUM_INSTANCES"}],
    )
    policy = {}
    if shares:
        weights = [{"shareIdentifier": share, "weightFactor": 1.0} for share in shares]
        made = batch.create_scheduling_policy(name=name, fairsharePolicy={"shareDistribution": weights})
        policy = {"schedulingPolicyArn": made["arn"]}
    batch.create_job_queue(
        jobQueueName=name,
        priority=1,
        jobQueueType="SAGEMAKER_TRAINING",
        serviceEnvironmentOrder=[{"order": 1, "serviceEnvironment": name}],
        **policy,
    )
    return batch


def submitted(bench: Bench, batch: Any, queue: str, script: str, **body: Any) -> str:
    request = {**bench.request(""), "AlgorithmSpecification": shell(script)}
    kind = {"serviceJobType": "SAGEMAKER_TRAINING", "serviceRequestPayload": json.dumps(request)}
    return str(batch.submit_service_job(jobName=request["TrainingJobName"], jobQueue=queue, **kind, **body)["jobId"])


def ended(batch: Any, job: str) -> dict[str, Any]:
    assert within(lambda: batch.describe_service_job(jobId=job)["status"] in {"SUCCEEDED", "FAILED"}, 60)
    return dict(batch.describe_service_job(jobId=job))


def test_boto3_queues_lists_moves_and_ends_jobs(bench: Bench) -> None:
    batch = open_queue(bench, "plain", capacity=1)
    first = submitted(bench, batch, "plain", "sleep 60", tags={"team": "a"})
    second, third = (submitted(bench, batch, "plain", "echo done") for _ in range(2))
    assert within(lambda: batch.describe_service_job(jobId=first)["status"] == "RUNNING", 30)
    front = batch.get_job_queue_snapshot(jobQueue="plain")["frontOfQueue"]["jobs"]
    assert [second, third] == [each["jobArn"].rpartition("/")[2] for each in front]
    assert [first] == [each["jobId"] for each in batch.list_service_jobs(jobQueue="plain")["jobSummaryList"]]
    batch.terminate_service_job(jobId=first, reason="enough")
    told = ended(batch, first)
    assert ("FAILED", "enough", True) == (told["status"], told["statusReason"], told["isTerminated"])
    assert "SUCCEEDED" == ended(batch, second)["status"]
    name = told["latestAttempt"]["serviceResourceId"]["value"].rpartition("/")[2]
    assert {"team": "a"}.items() <= _tags(bench, name).items()
    assert "Stopped" == bench.finished(name)["TrainingJobStatus"]
    batch.update_job_queue(jobQueue="plain", state="DISABLED")
    with pytest.raises(batch.exceptions.ClientException, match="accepts no jobs"):
        submitted(bench, batch, "plain", "echo late")


def _tags(bench: Bench, name: str) -> dict[str, str]:
    arn = bench.describe(name)["TrainingJobArn"]
    return {tag["Key"]: tag["Value"] for tag in bench.sagemaker.list_tags(ResourceArn=arn)["Tags"]}


def test_queues_of_containers_are_not_ours(bench: Bench) -> None:
    batch = bench.client("batch")
    assert [] == batch.describe_compute_environments()["computeEnvironments"]


@pytest.mark.sdk
@pytest.mark.skipif("SM_TRN_CLIENTS" not in os.environ, reason="set SM_TRN_CLIENTS to run it")
def test_a_launcher_of_sdk_v2_runs_unmodified(bench: Bench, tmp_path: Path) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    pytest.importorskip("nest_asyncio", reason="the aws_batch module of SageMaker SDK v2 imports it")
    open_queue(bench, "launcher", shares=("research", "product"))
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="data/a", Body=b"a")
    (tmp_path / "train.py").write_text(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--epochs')\np.parse_args()\n"
    )
    ran = subprocess.run(
        [sys.executable, str(CLIENT), bench.endpoint.role_arn, str(tmp_path), bench.endpoint.bucket, "launcher"],
        env=bench.variables(), capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert 0 == ran.returncode, ran.stdout[-2000:] + ran.stderr[-3000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    assert ["SUCCEEDED"] * 4 == told["status"]
    assert {"pytorch-1", "plain-1", "plain-2"} <= set(told["named"])
    assert ("plain-2", True) == (told["one"], told["attached"].startswith("AWSBatchpytorch-1"))


@pytest.fixture(scope="module")
def here(bench: Bench) -> st.Session:
    return st.connect("emulator", state=bench.endpoint.state)


def test_a_session_queues_waits_reads_logs_and_says_why(here: st.Session, bench: Bench, tmp_path: Path) -> None:
    open_queue(bench, "ours")
    text = "print(\"{'loss': 0.5}\")\n"
    good = job_of(tmp_path / "good", text, framework=st.PyTorch("2.6", python="py312"))
    bad = job_of(tmp_path / "bad", "raise ValueError('a typo')\n", framework=good.framework)
    first, second = here.submit_all([good, bad.replace(name="bad")], queue=st.Queue("ours"))
    shown = io.StringIO()
    final = first.wait(stream=shown)
    assert ("SUCCEEDED", first.name) == (final.status, final.name)
    assert "SUCCEEDED" in shown.getvalue()
    assert any("'loss': 0.5" in event.message for event in first.logs())
    assert 0.5 == first.training_job().points()[0].value
    assert None is first.cost()
    with pytest.raises(st.errors.JobFailed, match="a typo"):
        second.wait(progress=False)
    assert "a typo" in second.why()
    again = here.queued(second.id)
    assert (second.name, "FAILED") == (again.name, again.snapshot().status)


def test_what_waits_goes_on_after_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running(state) as bench:
        batch = open_queue(bench, "q", capacity=1)
        batch.update_service_environment(serviceEnvironment="q", state="DISABLED")
        job = submitted(bench, batch, "q", "echo done")
        embedded.down(state)
        again = bench_of(embedded.up(state)).client("batch")
        assert "RUNNABLE" == again.describe_service_job(jobId=job)["status"]
        again.update_service_environment(serviceEnvironment="q", state="ENABLED")
        assert "SUCCEEDED" == ended(again, job)["status"]


@pytest.fixture
def faults(bench: Bench) -> Iterator[Any]:
    yield lambda **said: embedded.add_fault(Fault(**said), state=bench.endpoint.state)
    embedded.clear_faults(bench.endpoint.state)


def test_a_lost_answer_queues_nothing_twice(here: st.Session, bench: Bench, tmp_path: Path, faults: Any) -> None:
    batch = open_queue(bench, "lost")
    faults(kind="lost-answer", operation="SubmitServiceJob", times=2)
    job = here.submit(job_of(tmp_path / "a", "print('a')\n", name="lost-answer"), queue=st.Queue("lost"))
    every = [{"name": "JOB_NAME", "values": ["lost-answer*"]}]
    assert [job.name] == [
        each["jobName"] for each in batch.list_service_jobs(jobQueue="lost", filters=every)["jobSummaryList"]
    ]
    job.stop()
