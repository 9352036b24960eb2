"""Warm pools: what is kept, for whom, until when, and what of it is billed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from emulator.bench import Bench, spot
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.emulator.state.store import Store
from sm_trn.emulator.training import engine
from sm_trn.emulator.training.describe import describe
from sm_trn.emulator.training.engine import Event
from sm_trn.emulator.training.job import Job
from sm_trn.emulator.training.jobs import Jobs
from sm_trn.emulator.training.warm_pool import matches, pool_of

CLUSTER = {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10}
RUN = (Event.DOWNLOAD, Event.TRAIN, Event.UPLOAD, Event.FINISH)


def job(*events: Event, period: int = 100, **facts: Any) -> Job:
    """Begun at 1000, one event every ten seconds."""
    state = engine.begin(1000.0)
    for index, event in enumerate(events, 1):
        state = engine.advance(state, event, 1000.0 + 10 * index, reason="x")
    request: Any = {
        "ResourceConfig": {**CLUSTER, "KeepAlivePeriodInSeconds": period},
        "OutputDataConfig": {},
        "RoleArn": "r",
    }
    return Job(name="a", arn="arn", request=request, state=state, tags={}, **facts)


def status(kept: Job, now: float) -> tuple[str, int | None]:
    pool = pool_of(kept, now)
    assert pool is not None
    return pool.status, pool.retained_s


def test_a_pool_is_in_use_then_available_then_gone() -> None:
    assert ("InUse", None) == status(job(*RUN[:2]), 1025.0)
    assert ("Available", 60) == status(job(*RUN), 1100.0)
    assert ("Terminated", 100) == status(job(*RUN), 2000.0)
    assert pool_of(job(*RUN, period=0), 1100.0) is None


def test_a_reused_pool_is_billed_until_it_was_reused() -> None:
    kept = job(*RUN, pool_end=1075.0, reused_by="b")
    answer = describe(kept, 5000.0, 0.0)
    assert {"Status": "Reused", "ResourceRetainedBillableTimeInSeconds": 35, "ReusedByJob": "b"} == answer[
        "WarmPoolStatus"
    ]
    assert "Resource reused by training job: b" == answer["SecondaryStatusTransitions"][-1]["StatusMessage"]


def test_a_failed_job_keeps_its_instances_but_one_that_never_had_any_does_not() -> None:
    assert "Available" == status(job(Event.DOWNLOAD, Event.TRAIN, Event.FAIL), 1050.0)[0]
    assert ("Terminated", None) == status(job(Event.FAIL), 1050.0)
    assert ("Terminated", None) == status(job(*RUN[:2], Event.STOP, Event.FINISH), 1050.0)


@given(some.floats(1000.0, 9000.0), some.integers(1, 3600), some.sampled_from([RUN, (Event.DOWNLOAD, Event.FAIL)]))
def test_no_pool_is_billed_beyond_its_period(now: float, period: int, events: tuple[Event, ...]) -> None:
    _, retained = status(job(*events, period=period), max(now, 1040.0))
    assert retained is not None
    assert 0 <= retained <= period


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({}, True),
        ({"RoleArn": "other"}, False),
        ({"VpcConfig": {"Subnets": ["s"], "SecurityGroupIds": ["g"]}}, False),
        ({"EnableNetworkIsolation": True}, False),
        ({"EnableInterContainerTrafficEncryption": True}, False),
        ({"EnableNetworkIsolation": False, "VpcConfig": {}}, True),
        ({"HyperParameters": {"epochs": "9"}, "Environment": {"A": "b"}}, True),
        ({"ResourceConfig": {**CLUSTER, "KeepAlivePeriodInSeconds": 5}}, True),
        ({"ResourceConfig": CLUSTER}, False),
        ({"ResourceConfig": {**CLUSTER, "KeepAlivePeriodInSeconds": 100, "InstanceCount": 2}}, False),
        ({"ResourceConfig": {**CLUSTER, "KeepAlivePeriodInSeconds": 100, "VolumeSizeInGB": 11}}, False),
        ({"ResourceConfig": {**CLUSTER, "KeepAlivePeriodInSeconds": 100, "InstanceType": "ml.c5.xlarge"}}, False),
    ],
)
def test_a_pool_is_for_the_same_cluster_role_and_network(change: dict[str, Any], fits: bool) -> None:
    kept: Any = job().request
    changed: Any = {**kept, **change}
    assert (fits, fits) == (matches(kept, changed), matches(changed, kept))


def test_the_oldest_pool_that_fits_is_claimed_once_and_the_store_remembers(tmp_path: Path) -> None:
    store = Store(tmp_path / "db")
    jobs = Jobs(store, lambda: 1050.0)
    for name in ("a", "b"):
        jobs.add(replace(job(*RUN), name=name))
    for name in ("c", "d", "e"):
        jobs.add(replace(job(), name=name))
    assert ["a", "b", None] == [jobs.claim_pool(name) for name in ("c", "d", "e")]
    again = Jobs(store, lambda: 1050.0)
    assert [("c", 1050.0), ("d", 1050.0)] == [
        (again.get(name).reused_by, again.get(name).pool_end) for name in ("a", "b")
    ]


def kept(bench: Bench, period: int = 600, script: str = "print('ran')", **members: Any) -> str:
    return bench.submit(script, ResourceConfig={**CLUSTER, "KeepAlivePeriodInSeconds": period}, **members)


def listed(bench: Bench, wanted: str) -> list[str]:
    pages = bench.sagemaker.get_paginator("list_training_jobs").paginate(WarmPoolStatusEquals=wanted)
    return [row["TrainingJobName"] for page in pages for row in page["TrainingJobSummaries"]]


def test_the_next_job_takes_the_pool_over_and_an_update_ends_it(bench: Bench) -> None:
    first = kept(bench)
    ended = bench.finished(first)
    assert "Available" == ended["WarmPoolStatus"]["Status"]
    assert "Resource retained for reuse" == ended["SecondaryStatusTransitions"][-1]["StatusMessage"]
    with pytest.raises(ClientError, match="Available warm pool") as caught:
        bench.sagemaker.delete_training_job(TrainingJobName=first)
    assert "ResourceInUse" == caught.value.response["Error"]["Code"]
    second = kept(bench)
    answer = bench.finished(second)
    assert {"Reused", second} <= set(bench.describe(first)["WarmPoolStatus"].values())
    assert "Available" == answer["WarmPoolStatus"]["Status"]
    assert f"the warm pool of {first!r} is reused" in "\n".join(bench.lines(second))
    assert [first] == listed(bench, "Reused")
    assert [second] == listed(bench, "Available")
    changed = bench.sagemaker.update_training_job(
        TrainingJobName=second, ResourceConfig={"KeepAlivePeriodInSeconds": 0}
    )
    assert answer["TrainingJobArn"] == changed["TrainingJobArn"]
    assert "Terminated" == bench.describe(second)["WarmPoolStatus"]["Status"]
    assert [] == listed(bench, "Available")
    with pytest.raises(ClientError, match="wanted one that is InUse or Available"):
        bench.sagemaker.update_training_job(TrainingJobName=second, ResourceConfig={"KeepAlivePeriodInSeconds": 9})
    for name in (first, second):
        bench.sagemaker.delete_training_job(TrainingJobName=name)


def test_spot_has_no_warm_pools(bench: Bench) -> None:
    with pytest.raises(ClientError, match="managed spot training has no warm pools"):
        kept(bench, **spot(300, 600))


def test_what_can_be_updated_of_a_running_job(bench: Bench) -> None:
    name = bench.submit("print('here', flush=True)\nimport time; time.sleep(60)")
    bench.said(name, "here")
    update = bench.sagemaker.update_training_job
    update(
        TrainingJobName=name,
        RemoteDebugConfig={"EnableRemoteDebug": True},
        ProfilerConfig={"ProfilingIntervalInMilliseconds": 1000},
    )
    answer = bench.describe(name)
    assert answer["RemoteDebugConfig"]["EnableRemoteDebug"]
    assert 1000 == answer["ProfilerConfig"]["ProfilingIntervalInMilliseconds"]
    bench.sagemaker.stop_training_job(TrainingJobName=name)
    bench.finished(name)
    with pytest.raises(ClientError, match="RemoteDebugConfig: got a training job in Stopped"):
        update(TrainingJobName=name, RemoteDebugConfig={"EnableRemoteDebug": False})
    with pytest.raises(ClientError, match="its profiling is over"):
        update(TrainingJobName=name, ProfilerConfig={"DisableProfiler": True})
    with pytest.raises(ClientError, match="Requested resource not found"):
        update(TrainingJobName="no-such-job")
