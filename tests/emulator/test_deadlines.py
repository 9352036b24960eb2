"""When a StoppingCondition ends a job: all attempts together, waiting apart, pending on accelerators only."""

from __future__ import annotations

from itertools import pairwise
from math import inf, isclose
from typing import Any

from emulator.test_plan import request
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.emulator.options import Options
from sm_trn.emulator.training import engine
from sm_trn.emulator.training.deadlines import Deadlines, deadlines_of
from sm_trn.emulator.training.job import Job
from sm_trn.emulator.training.plan import plan_of


def deadlines(instance: str = "ml.p4d.24xlarge", **condition: int) -> Deadlines:
    asked: Any = {**request(instance), "StoppingCondition": condition}
    return deadlines_of(
        Job(name="a", arn="arn", request=asked, state=engine.begin(1000.0), tags={}), plan_of(asked, Options())
    )


@given(times=some.lists(some.floats(0, 1e6), min_size=1, max_size=9).map(sorted), limit=some.integers(1, 10_000))
def test_all_attempts_together_may_run_as_long_as_was_asked(times: list[float], limit: int) -> None:
    """An interrupted job does not get its hours anew: attempts run, and rest in between, by turns."""
    pairs = list(pairwise(times))[::2]
    attempts: tuple[tuple[float, float | None], ...] = (*pairs, (times[-1], None))
    used = sum(end - start for start, end in pairs)
    assert isclose(deadlines(MaxRuntimeInSeconds=limit).run_until(attempts), times[-1] + limit - used, abs_tol=1e-6)


def test_what_is_not_asked_never_ends_a_job_but_the_day_does() -> None:
    open_end = deadlines()
    assert (inf, inf) == (open_end.wait_until, open_end.pending_until)
    assert 86_400 + 5.0 == open_end.run_until(((5.0, None),))


def test_waiting_and_pending_are_counted_from_the_creation() -> None:
    asked = deadlines(MaxWaitTimeInSeconds=600, MaxPendingTimeInSeconds=7200)
    assert (1600.0, 8200.0) == (asked.wait_until, asked.pending_until)


def test_pending_has_no_limit_on_instances_without_an_accelerator() -> None:
    assert inf == deadlines("ml.m5.large", MaxPendingTimeInSeconds=7200).pending_until
