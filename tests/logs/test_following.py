"""Following a log while its job runs: passing faults pass, the last lines are waited for, and looks are cheap."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError
from fakes.log_service import BROKEN, THROTTLED, LogService

from sm_trn.core.aws.errors import trouble
from sm_trn.core.aws.logs import CloudWatchLogs
from sm_trn.core.errors import CloudError
from sm_trn.core.ports import Trouble
from sm_trn.core.session.log_reader import PATIENCE, JobLog, expected_streams
from sm_trn.core.specs import JobSnapshot, parse_snapshot
from sm_trn.wiring import Session, TrainingJob

ENDS_S = 600.0


class World:
    """A job of two hosts on a clock of its own: a line a host each ten seconds; the last lines arrive late."""

    def __init__(self, service: LogService, *, lag_s: float = 3.0) -> None:
        self.service, self.lag_s, self.time = service, lag_s, 1000.0
        self.began = self.time
        self.wrong: Callable[[World], CloudError | None] = lambda _: None
        self.new_login = False
        self.runs = True
        for host in (1, 2):
            service.streams[f"job/algo-{host}-1"] = []
        self._written = 0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        visible = int(min(self.time - self.began - self.lag_s, ENDS_S) // 10)
        for number in range(self._written, visible):
            for host in (1, 2):
                stamp = int((self.began + number * 10 + host) * 1000)
                self.service.streams[f"job/algo-{host}-1"].append((stamp, f"h{host} l{number}"))
        self._written = max(self._written, visible)

    def trouble(self, error: CloudError) -> Trouble | None:
        return trouble(error)

    def renew(self) -> bool:
        return self.new_login

    def fetch_snapshot(self, name: str) -> JobSnapshot:
        fault = self.wrong(self)
        if fault:
            raise fault
        ended = self.time - self.began >= ENDS_S
        answer: dict[str, Any] = {
            "TrainingJobName": name,
            "TrainingJobArn": "arn:aws:sagemaker:us-west-2:123456789012:training-job/job",
            "TrainingJobStatus": "Completed" if ended else "InProgress",
            "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 2},
        }
        if self.runs:
            answer["TrainingStartTime"] = datetime.fromtimestamp(self.began, tz=timezone.utc)
        if ended:
            answer["TrainingEndTime"] = datetime.fromtimestamp(self.began + ENDS_S, tz=timezone.utc)
        return parse_snapshot(answer)


def job_of(world: World) -> TrainingJob:
    session = Session(
        backend=world,  # type: ignore[arg-type]  # only what following needs
        logs=CloudWatchLogs(world.service.session()),
        storage=None,  # type: ignore[arg-type]  # as above
        role="r",
        bucket="b",
        region="us-west-2",
        emulated=False,
        announcement="",
        clock=world,
    )
    return TrainingJob(name="job", session=session)


def every_line() -> list[str]:
    return [f"h{host} l{number}" for number in range(60) for host in (1, 2)]


def test_a_followed_log_is_whole_though_its_last_lines_come_after_the_end() -> None:
    world = World(LogService())
    assert every_line() == [event.text for event in job_of(world).logs(follow=True)]
    assert world.time - world.began < ENDS_S + 30


def test_following_a_job_of_ten_minutes_and_two_hosts_takes_less_than_a_quarter_of_the_sdks_calls() -> None:
    world, described = World(LogService()), []
    world.wrong = lambda _: described.append(1)
    list(job_of(world).logs(follow=True))
    of_sdk = 21 + 62 + 248  # Describe, DescribeLogStreams, GetLogEvents of SDK v2's logs_for_job(wait=True)
    assert len(described) + sum(world.service.calls.values()) <= of_sdk / 4
    assert world.service.calls["DescribeLogStreams"] <= 3


def test_passing_faults_of_both_services_lose_and_double_nothing() -> None:
    service = LogService(page=3)
    world = World(service)
    service.fault = lambda call: (THROTTLED if call % 2 else BROKEN) if call % 5 < 2 else None
    reset = CloudError("reset", operation="DescribeTrainingJob", code="ConnectionClosedError")
    reset.__cause__ = ConnectionClosedError(endpoint_url="https://nowhere")
    calls = iter(range(100_000))
    world.wrong = lambda _: reset if next(calls) % 4 == 1 else None
    assert sorted(every_line()) == sorted(event.text for event in job_of(world).logs(follow=True))


def refused(code: str) -> CloudError:
    return CloudError("refused", operation="DescribeTrainingJob", code=code)


def test_what_does_not_pass_is_raised() -> None:
    world = World(LogService())
    world.wrong = lambda _: refused("AccessDeniedException")
    with pytest.raises(CloudError, match="refused"):
        list(job_of(world).logs(follow=True))
    world.service.fault = lambda _: THROTTLED
    world.wrong = lambda _: None
    with pytest.raises(CloudError, match="ThrottlingException"):
        list(job_of(world).logs(follow=True))
    assert PATIENCE < sum(world.service.calls.values()) < 3 * PATIENCE


def test_a_login_that_expired_is_waited_for_and_a_new_one_taken() -> None:
    world = World(LogService())
    world.wrong = lambda w: refused("ExpiredTokenException") if 100 < w.time - w.began < 150 else None
    assert every_line() == [event.text for event in job_of(world).logs(follow=True)]
    told: list[str] = []
    world = World(LogService())  # all night, as a wait does
    world.wrong = lambda w: refused("ExpiredTokenException") if 100 < w.time - w.began < 40_000 else None
    log = JobLog(cloud=job_of(world).session, name="job")
    assert every_line() == [event.text for event in log.events(follow=True, notice=told.append)]
    assert 1 == len(told)
    assert "aws sso login" in told[0]


@pytest.mark.parametrize("seed", range(int(os.environ.get("SM_TRN_ROUNDS", "5"))))
def test_streams_that_first_appear_after_the_end_are_read(seed: int) -> None:
    chance = random.Random(seed)
    world = World(LogService())
    late = {f"job/algo-{host}-1": chance.uniform(0, 40) for host in chance.sample([1, 2], chance.randint(1, 2))}
    there = world.service.streams
    held = {name: there.pop(name) for name in late}
    for name in ("job/algo-1-1", "job/algo-2-1"):
        there.setdefault(name, [])
        if name in late:
            del there[name]
    sleeping = world.sleep

    def sleep(seconds: float) -> None:
        there.update(held)
        sleeping(seconds)
        for name, at in late.items():
            if world.time - world.began < ENDS_S + at:
                there.pop(name, None)

    world.sleep = sleep  # type: ignore[method-assign]  # the same, but a stream is not there before its time
    assert sorted(every_line()) == sorted(event.text for event in job_of(world).logs(follow=True))
    assert world.time - world.began < ENDS_S + 75


def late_second_host(late_s: float) -> World:
    """The stream of one host is not there before so long after the end."""
    world = World(LogService())
    sleeping, there = world.sleep, world.service.streams
    held = {"job/algo-2-1": there.pop("job/algo-2-1")}

    def sleep(seconds: float) -> None:
        there.update(held)
        sleeping(seconds)
        if world.time - world.began < ENDS_S + late_s:
            there.pop("job/algo-2-1")

    world.sleep = sleep  # type: ignore[method-assign]  # as above
    return world


@pytest.mark.parametrize("late_s", [75.0, 200.0, 280.0])
def test_a_stream_that_appears_minutes_after_the_end_is_read_whole(late_s: float) -> None:
    world, told = late_second_host(late_s), list[str]()
    log = JobLog(cloud=job_of(world).session, name="job")
    assert sorted(every_line()) == sorted(event.text for event in log.events(follow=True, notice=told.append))
    assert ["1 of 2 log streams of job is not there yet; it is looked for until 5 minutes after the job's end."] == told


def test_a_stream_that_never_appears_is_said_to_be_missing() -> None:
    world, told = late_second_host(float("inf")), list[str]()
    log = JobLog(cloud=job_of(world).session, name="job")
    assert [f"h1 l{number}" for number in range(60)] == [
        event.text for event in log.events(follow=True, notice=told.append)
    ]
    assert "1 of 2 log streams of job never came; should it come later, sm-trn logs job reads it." == told[-1]
    assert world.time - world.began < ENDS_S + 330


def test_a_job_that_never_ran_is_not_waited_for() -> None:
    world = World(LogService())
    world.runs = False
    world.service.streams.clear()
    world.sleep = lambda seconds: setattr(world, "time", world.time + seconds)  # type: ignore[method-assign]  # no lines
    assert [] == list(job_of(world).logs(follow=True))
    assert world.time - world.began < ENDS_S + 30


def test_a_fault_while_reading_once_is_raised_at_once() -> None:
    world = World(LogService())
    world.service.fault = lambda _: THROTTLED
    with pytest.raises(CloudError, match="ThrottlingException"):
        list(job_of(world).logs())


@pytest.mark.parametrize(("statuses", "expected"), [(("Training",), 2), (("Training", "Interrupted", "Training"), 4)])
def test_each_host_has_a_stream_an_attempt(statuses: tuple[str, ...], expected: int) -> None:
    world = World(LogService())
    raw: Mapping[str, Any] = world.fetch_snapshot("job").raw
    transitions = [{"Status": status, "StartTime": 1.0} for status in statuses]
    assert expected == expected_streams(parse_snapshot({**raw, "SecondaryStatusTransitions": transitions}))
