"""Loss curves as numbers: by epoch, step, billable minutes, USD or emulated seconds; where two of them are level. Draws nothing."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ...core.formatting import numbers as fmt
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobStatus
from ..sections.rows import Row

SMOOTHED = 200  # points; more are drawn thin under their mean
AROUND = 5  # points to the left and to the right that a mean takes in
SINCE_SUBMIT = "minutes since submit"
MULTIPLES = 12  # small panels at most
_COVERED = 0.003  # of an axis: nearer curves cannot be told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One job's losses along one axis. ``smooth`` is empty unless there are more than 200 points. ``ended`` says how it broke off.

    ``lies_on`` names the job whose curve covers this one.
    """

    label: str
    slot: int
    emulated: bool
    points: tuple[tuple[float, float], ...]
    smooth: tuple[tuple[float, float], ...] = ()
    ended: str = ""
    lies_on: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One axis. ``missing`` says in words why it is empty; ``level`` is where two curves last met; ``bad`` marks a job that failed."""

    name: str
    axis: str
    curves: tuple[Curve, ...] = ()
    missing: str = ""
    level: float | None = None
    level_text: str = ""
    bad: bool = False


def panels(rows: Sequence[Row], *, emulated: bool) -> tuple[Panel, ...]:
    """Epoch and step for everyone; minutes and USD for measured jobs, this machine's seconds for emulated ones.

    Minutes are billable ones; with a job on spot they count from submit, since its billed seconds are a price and no time.
    """
    common = (
        _panel(rows, "per epoch", "epoch", "no epoch in the log"),
        _panel(rows, "per step", "optimizer step", "no step in the log"),
    )
    if emulated:
        return (*common, _panel(rows, "per second here", "s emu", "no times in the log"))
    return (
        *common,
        _panel(rows, "per minute", SINCE_SUBMIT, "no times in the log")
        if any(row.snapshot.spot for row in rows)
        else _panel(rows, "per minute", "billable minutes", "billable time per step is not known"),
        _panel(rows, "per dollar", "US dollars", "cost per step is not known"),
    )


def multiples_of(rows: tuple[Row, ...], shown: tuple[Panel, ...]) -> tuple[Panel, ...]:
    """One panel per job on the first axis that is known, best final loss first, failed ones last."""
    axis = next((panel for panel in shown if panel.curves), None)
    if axis is None:
        return ()
    by_label = {curve.label: curve for curve in axis.curves}

    def rank(row: Row) -> tuple[bool, float]:
        final = row.final_loss
        return row.status.word == "failed", math.inf if final is None or math.isnan(final) else final

    drawn = [row for row in sorted(rows, key=rank) if row.label in by_label][:MULTIPLES]
    return tuple(
        Panel(
            name=row.label,
            axis=axis.axis,
            curves=(replace(by_label[row.label], lies_on=""),),
            level_text=_outcome(row, by_label[row.label]),
            bad=_failed(row) or bool(by_label[row.label].ended),
        )
        for row in drawn
    )


def _outcome(row: Row, curve: Curve) -> str:
    """How a job ended, for the title of its panel."""
    if _failed(row):
        return "✗ failed"
    return curve.ended or fmt.loss(row.final_loss if row.final_loss is not None else curve.points[-1][1])


def _failed(row: Row) -> bool:
    return row.snapshot.status is JobStatus.FAILED


def _panel(rows: Sequence[Row], name: str, axis: str, missing: str) -> Panel:
    curves = tuple(_told_apart([curve for row in rows if (curve := _curve(row, axis)) is not None]))
    level = _level(curves) if axis in {"billable minutes", SINCE_SUBMIT, "US dollars"} else None
    text = ""
    if level is not None:
        text = f"level, {fmt.usd(level)}" if axis == "US dollars" else f"level, {fmt.significant(level)} min"
    return Panel(name=name, axis=axis, curves=curves, missing="" if curves else missing, level=level, level_text=text)


def _told_apart(curves: Sequence[Curve]) -> Iterator[Curve]:
    """The curves; one that an earlier one covers says which."""
    values = [y for curve in curves for _, y in curve.points]
    same = (max(values) - min(values)) * _COVERED if values else 0.0
    for number, curve in enumerate(curves):
        under = next((earlier.label for earlier in curves[:number] if _covers(earlier, curve, same)), "")
        yield replace(curve, lies_on=under) if under else curve


def _covers(one: Curve, other: Curve, same: float) -> bool:
    if len(one.points) != len(other.points):
        return False
    width = abs(one.points[-1][0] - one.points[0][0])
    return all(
        abs(a[0] - b[0]) <= width * _COVERED and abs(a[1] - b[1]) <= same
        for a, b in zip(one.points, other.points, strict=True)
    )


def _curve(row: Row, axis: str) -> Curve | None:
    series = row.record.series("loss")
    placed = [(x, point) for point in series if (x := _place(row, point, axis)) is not None]
    points = tuple((x, point.value) for x, point in placed if math.isfinite(point.value))
    if not points:
        return None
    broken = next((point for _, point in placed if not math.isfinite(point.value)), None)
    ended = ""
    if broken is not None:
        where = f" at step {fmt.count(broken.step)}" if broken.step is not None else ""
        ended = f"✗ {fmt.not_finite(broken.value)}{where}"
        points = tuple(
            (x, point.value) for x, point in placed[: placed.index(next(p for p in placed if p[1] is broken))]
        )
    if not points:
        return None
    return Curve(
        label=row.label, slot=row.slot, emulated=row.emulated, points=points, smooth=smooth(points), ended=ended
    )


def _place(row: Row, point: MetricPoint, axis: str) -> float | None:
    if axis == "epoch":
        return point.epoch
    if axis == "optimizer step":
        return point.step
    if axis == SINCE_SUBMIT:
        created = row.snapshot.created
        return None if created is None or point.time_s is None else max(0.0, point.time_s - created.timestamp()) / 60
    seconds = _elapsed(row, point)
    return seconds if seconds is None or axis == "s emu" else _billed(row, seconds, axis)


def _billed(row: Row, seconds: float, axis: str) -> float | None:
    """What was billed so far: minutes, or USD."""
    share = _billed_share(row)
    if share is None:
        return None
    if axis == "billable minutes":
        return seconds * share / 60
    return None if row.price is None else seconds * share / 3600 * row.snapshot.count * float(row.price.usd_per_hour)


def _elapsed(row: Row, point: MetricPoint) -> float | None:
    """Seconds since billing began."""
    start = row.snapshot.started
    if start is None or point.time_s is None:
        return None
    return max(0.0, point.time_s - start.timestamp())


def _billed_share(row: Row) -> float | None:
    """Billed seconds per second since the start: 1 on demand, less on spot or with interruptions; None while a spot job runs."""
    job = row.snapshot
    if job.started is not None and job.ended is not None and job.billable_s is not None:
        wall = (job.ended - job.started).total_seconds()
        return job.billable_s / wall if wall > 0 else None
    return None if job.spot else 1.0


def smooth(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """The mean of each point and those around it, as many to the left as to the right; nothing for few points."""
    if len(points) <= SMOOTHED:
        return ()
    values = [value for _, value in points]
    result = []
    for number, (x, _) in enumerate(points):
        reach = min(AROUND, number, len(points) - 1 - number)
        around = values[number - reach : number + reach + 1]
        result.append((x, math.fsum(around) / len(around)))
    return tuple(result)


def _level(curves: Sequence[Curve]) -> float | None:
    """Where two curves last cross; None unless there are exactly two that do."""
    if len(curves) != 2:
        return None
    first, second = (curve.smooth or curve.points for curve in curves)
    low, high = max(first[0][0], second[0][0]), min(first[-1][0], second[-1][0])
    grid = sorted({x for x, _ in (*first, *second) if low <= x <= high})
    gaps = [(x, gap) for x in grid if (gap := _at(first, x) - _at(second, x)) != 0]
    for (left, before), (right, after) in reversed(list(pairwise(gaps))):
        if before * after < 0:
            touch = next((x for x in grid if left < x < right), None)
            return touch if touch is not None else left + (right - left) * before / (before - after)
    return None


def _at(points: Sequence[tuple[float, float]], x: float) -> float:
    """The curve's value at ``x``, straight between its points."""
    place = bisect_left([point[0] for point in points], x)
    if place == 0 or points[place][0] == x:
        return points[place][1]
    (x0, y0), (x1, y1) = points[place - 1], points[place]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
