"""The emulator is killed at ten moments while clients work: no job, line, metric, model or checkpoint of a job that had ended is lost,
no line is doubled, no process is left, and jobs that had not begun wait again. SM_TRN_KILLS=50 kills as often.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from emulator.bench import TERMINAL, Bench, bench_of, marked, running, shell
from waiting import within

from sm_trn import emulator as embedded
from sm_trn.emulator import Options

pytestmark = pytest.mark.local
KILLS = int(os.environ.get("SM_TRN_KILLS", "3"))
TRAIN = (
    "n=0; while [ $n -lt 20 ]; do n=$((n+1)); echo loss=0.$n line-$n; done; printf w$TRAINING_JOB_NAME > /opt/ml/model/w; "
    "printf c$TRAINING_JOB_NAME > /opt/ml/checkpoints/step; sleep 0.$(($$ % 4))"
)
LONG = "echo begun; (setsid sh -c 'sleep 600; :' killed-with-it &); sh -c 'sleep 600; :' killed-with-it"


def request(bench: Bench, name: str, script: str) -> dict[str, Any]:
    metrics = [{"Name": "loss", "Regex": "loss=([0-9.]+)"}]
    bucket = bench.endpoint.bucket
    return {
        "TrainingJobName": name,
        "RoleArn": bench.endpoint.role_arn,
        "AlgorithmSpecification": {**shell(script), "MetricDefinitions": metrics},
        "OutputDataConfig": {"S3OutputPath": f"s3://{bucket}/out"},
        "CheckpointConfig": {"S3Uri": f"s3://{bucket}/checkpoints/{name}"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
    }


def facts(bench: Bench, name: str) -> dict[str, Any]:
    """All that is kept of a job that has ended."""
    told = bench.describe(name)
    told.pop("ResponseMetadata")
    found = {"describe": told, "lines": bench.lines(name)}
    if told["TrainingJobStatus"] == "Completed":
        checkpoint = bench.s3.get_object(Bucket=bench.endpoint.bucket, Key=f"checkpoints/{name}/step")
        found |= {"model": bench.model(name), "checkpoint": checkpoint["Body"].read()}
    return found


def work(bench: Bench, known: dict[str, dict[str, Any]], created: set[str], life: int) -> None:
    """Create jobs and note what has ended, until the emulator is gone."""
    number = 0
    with contextlib.suppress(BotoCoreError, OSError, ClientError):
        while True:
            number += 1
            name = f"job-{life}-{number}"
            bench.sagemaker.create_training_job(**request(bench, name, LONG if number % 5 == 2 else TRAIN))
            created.add(name)
            bench.s3.put_object(Bucket=bench.endpoint.bucket, Key=f"put/{name}", Body=os.urandom(1000))
            for row in bench.sagemaker.list_training_jobs(MaxResults=10)["TrainingJobSummaries"]:
                each = row["TrainingJobName"]
                if row["TrainingJobStatus"] in TERMINAL and each not in known:
                    known[each] = facts(bench, each)
            time.sleep(0.05)


@pytest.mark.timeout(60 + 30 * KILLS)
def test_nothing_of_a_job_that_had_ended_is_lost_when_it_is_killed_at_any_time(tmp_path: Path) -> None:
    state, chance, options = tmp_path / "state", random.Random(4242), Options(start_delay_s=0.0, max_jobs=4)
    known: dict[str, dict[str, Any]] = {}
    created: set[str] = set()
    try:
        for life in range(KILLS):
            bench = bench_of(embedded.up(state, options=options))
            thread = threading.Thread(target=work, args=(bench, known, created, life), daemon=True)
            thread.start()
            number = len(known)
            within(lambda: len(known) > number + 1, 20)  # noqa: B023 - called at once
            time.sleep(chance.uniform(0.0, 2.0))
            os.kill(bench.endpoint.pid, signal.SIGKILL)
            thread.join(30)
            assert within(lambda: not marked("killed-with-it"), 10), "a process was left running"
            again = bench_of(embedded.up(state, options=options))
            listed = {
                row["TrainingJobName"]: row["TrainingJobStatus"]
                for page in again.sagemaker.get_paginator("list_training_jobs").paginate()
                for row in page["TrainingJobSummaries"]
            }
            assert created <= set(listed), "a job that was created is gone"
            for name, told in known.items():
                assert told == facts(again, name), f"{name} was changed"
            for name in set(listed) - set(known):
                if listed[name] == "InProgress":
                    with contextlib.suppress(ClientError):  # it has ended meanwhile
                        again.sagemaker.stop_training_job(TrainingJobName=name)
                ended = again.finished(name)
                if ended["TrainingJobStatus"] == "Failed":
                    why = "InternalServerError: the emulator was killed while"
                    assert ended["FailureReason"].startswith(why), again.lines(name)
                lines = [line for line in again.lines(name) if "line-" in line]
                assert len(set(lines)) == len(lines), f"{name}: a line was doubled"
                known[name] = facts(again, name)
            embedded.down(state)
    finally:
        embedded.down(state)
    completed = [told for told in known.values() if told["describe"]["TrainingJobStatus"] == "Completed"]
    assert all(told["describe"]["FinalMetricDataList"] for told in completed)
    print(f"\n{KILLS} kills, {len(known)} jobs, {len(completed)} of them completed")
    assert completed


def test_jobs_that_had_not_begun_wait_again_after_a_kill(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running(state, max_jobs=1) as bench:
        running_job = bench.submit("", AlgorithmSpecification=shell("echo begun; sleep 600"))
        bench.said(running_job, "begun")
        waiting = [bench.submit("print('from a source of its own')") for _ in range(3)]
        told = bench.describe(waiting[0])["SecondaryStatusTransitions"][-1]["StatusMessage"]
        assert f"Waits for a slot on this machine (1 of 1 busy: {running_job})" == told
        os.kill(bench.endpoint.pid, signal.SIGKILL)
        again = bench_of(embedded.up(state, options=Options(start_delay_s=0.0, max_jobs=1)))
        assert "Failed" == again.finished(running_job)["TrainingJobStatus"]
        for name in waiting:
            assert "Completed" == again.finished(name)["TrainingJobStatus"]
            assert "from a source of its own" in again.lines(name)
