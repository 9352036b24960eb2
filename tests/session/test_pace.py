"""The schedules are pure: never hasty, never late, and never more than the account takes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.session.launches import send_times
from sm_trn.core.session.pace import LONGEST_PAUSE_S, next_look_s, pause_s
from sm_trn.core.specs import JobSnapshot, parse_snapshot

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
PHASES = ("Starting", "Pending", "Downloading", "Training", "Uploading", "Interrupted", "Something new")


def job(phase: str, age_s: float, *, account: str = "123456789012", status: str = "InProgress") -> JobSnapshot:
    return parse_snapshot(
        {
            "TrainingJobName": "j",
            "TrainingJobArn": f"arn:aws:sagemaker:us-west-2:{account}:training-job/j",
            "TrainingJobStatus": status,
            "SecondaryStatus": phase,
            "CreationTime": NOW - timedelta(seconds=age_s),
            "TrainingStartTime": NOW - timedelta(seconds=age_s),
        }
    )


@given(
    some.lists(some.tuples(some.sampled_from(PHASES), some.floats(-900, 1e6)), max_size=5),
    some.integers(0, 100),
    some.floats(0, 1),
)
def test_the_next_look_is_never_more_than_half_a_minute_away(
    jobs: list[tuple[str, float]], failures: int, jitter: float
) -> None:
    found = next_look_s((job(*item) for item in jobs), NOW, failures=failures, jitter=jitter)
    assert 0.4 <= found <= LONGEST_PAUSE_S


@given(some.floats(180, 600), some.floats(0, 1))
def test_a_job_that_trained_ten_minutes_is_looked_at_within_ten_seconds(age_s: float, jitter: float) -> None:
    assert next_look_s([job("Training", age_s)], NOW, failures=0, jitter=jitter) < 10


@given(some.floats(180, 1e6), some.floats(180, 1e6))
def test_older_jobs_are_looked_at_no_more_often(one: float, two: float) -> None:
    young, old = sorted((one, two))
    assert pause_s(job("Training", young), NOW) <= pause_s(job("Training", old), NOW)


def test_a_stopping_or_uploading_job_is_soon_over() -> None:
    assert 8 == pause_s(job("Training", 1e5, status="Stopping"), NOW) == pause_s(job("Uploading", 1e5), NOW)


def test_the_emulator_is_asked_twice_a_second() -> None:
    assert 0.5 == pause_s(job("Training", 1e5, account="000000000000"), NOW)


@given(some.integers(0, 200), some.floats(0.1, 20), some.integers(1, 10))
def test_no_stretch_of_time_sees_more_creates_than_the_bucket_holds(count: int, per_s: float, at_once: int) -> None:
    times = list(send_times(count, 100.0, per_s=per_s, at_once=at_once))
    assert count == len(times)
    assert times == sorted(times)
    for first in range(0, count, 7):
        for last in range(first, count, 5):
            assert last - first + 1 <= at_once + (times[last] - times[first]) * per_s + 1e-6


def test_a_few_creates_wait_for_nothing() -> None:
    assert [5.0] * 4 + [6.0, 7.0] == list(send_times(6, 5.0))


@pytest.mark.parametrize("failures", [1, 3, 9])
def test_looks_that_fail_make_the_pause_longer(failures: int) -> None:
    training = job("Training", 60)
    assert next_look_s([training], NOW, failures=failures, jitter=0.5) > next_look_s(
        [training], NOW, failures=0, jitter=0.5
    )
