"""What a watch shows of a long run is what it would show with every number kept, and it keeps few."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.specs import MetricPoint, parse_snapshot
from sm_trn.report import WatchRow
from sm_trn.report.watch.progress import LOSSES, NEWEST, Newest

JOB = parse_snapshot({"TrainingJobName": "j", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Training"})


def run(lines: int) -> list[MetricPoint]:
    return [
        MetricPoint(name, value, step=float(step), epoch=None, time_s=1000.0 + step, host="algo-1")
        for step in range(1, lines + 1)
        for name, value in (("loss", 1000.0 / step), ("steps_per_second", 2.0 + step % 3))
    ]


def kept(points: list[MetricPoint]) -> Newest:
    found = Newest()
    for point in points:
        found.add(point)
    return found


@given(some.integers(0, 3000))
def test_a_row_shows_what_it_would_with_every_number(lines: int) -> None:
    points = run(lines)
    few = kept(points)
    all_of_it = WatchRow(snapshot=JOB, points=tuple(points), total_steps=10_000)
    row = WatchRow(snapshot=JOB, points=few.points, curve=few.losses, total_steps=10_000)
    assert (all_of_it.step, all_of_it.loss, all_of_it.rates, all_of_it.unit) == (
        row.step,
        row.loss,
        row.rates,
        row.unit,
    )
    assert all_of_it.left_s == row.left_s
    assert len(all_of_it.losses) == len(row.losses)
    if row.losses:
        assert (all_of_it.losses[0], all_of_it.losses[-1]) == (row.losses[0], row.losses[-1])
        steps = [1000.0 / loss for loss in row.losses]
        assert all(abs(a - b) <= lines / 32 for a, b in zip(steps, (1000.0 / x for x in all_of_it.losses), strict=True))


def test_memory_does_not_grow_with_the_run() -> None:
    found = kept(run(50_000))
    assert NEWEST == len(found.points)
    assert LOSSES <= len(found.losses) <= 2 * LOSSES + 1


def test_a_number_of_steps_that_is_none_ends_no_watch() -> None:
    found = kept([MetricPoint("total_steps", value) for value in (math.nan, math.inf, 500.0)])
    assert 500 == found.total_steps
