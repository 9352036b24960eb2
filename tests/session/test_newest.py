"""What a watch shows of a long run is what it would show with every number kept, and it keeps few."""

from __future__ import annotations

import math

from sm_trn.core.logs import LogEvent
from sm_trn.core.specs import MetricPoint, parse_snapshot
from sm_trn.report import WatchRow
from sm_trn.report.watch.progress import NEWEST, Reader

JOB = parse_snapshot({"TrainingJobName": "j", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Training"})


def read(lines: list[str]) -> Reader:
    reader = Reader(name="j", label="j")
    reader.read([LogEvent(1000.0 + at, "algo-1", line) for at, line in enumerate(lines)])
    return reader


def test_a_row_shows_what_it_would_with_every_number() -> None:
    lines = [
        f"{{'loss': {1000 / step}, 'steps_per_second': {2 + step % 3}, 'step': {step}}}" for step in range(1, 3001)
    ]
    row = read(lines).row(JOB, None)
    points = [
        MetricPoint(name, value, step=float(step), time_s=999.0 + step)
        for step in range(1, 3001)
        for name, value in (("loss", 1000.0 / step), ("steps_per_second", 2.0 + step % 3))
    ]
    whole = WatchRow(snapshot=JOB, points=tuple(points))
    assert (whole.step, whole.loss, whole.rate, whole.unit) == (row.step, row.loss, row.rate, row.unit)
    assert whole.left_s == row.left_s
    assert NEWEST == len(row.points)


def test_a_number_of_steps_that_is_none_ends_no_watch() -> None:
    reader = read([str({"total_steps": value}) for value in (math.nan, math.inf, 500.0)])
    assert 500 == reader.total_steps
