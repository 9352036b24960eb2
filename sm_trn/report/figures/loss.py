"""Training loss of each job: by epoch or step, and by US dollars or minutes. An emulated job has this machine's seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import cut_apart
from ...core.formatting.theme import SLOTS, marker, role
from ...core.specs.metrics import MetricPoint
from ..sections.rows import ComparedJob
from ..sections.section import Section
from .chart import Chart, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMOOTHED, MEAN = 200, 11  # of more points the mean of so many neighbours is drawn
_STEP, _EPOCH, _USD = "optimizer step", "epoch", "US dollars"
_MINUTES, _HERE = "minutes since submit", "seconds on this machine"
_Curve = tuple[ComparedJob, list[tuple[float, float]]]  # a job with its finite losses along one axis


def chart(section: Section) -> Chart:
    """The losses of a section's jobs."""
    rows, emulated = section.rows, section.emulated
    panels = _panels(rows, emulated=emulated)
    ends = [f"{row.label} ended at {fmt.loss(row.final_loss)}" for row in rows if row.final_loss is not None]
    return Chart(
        name="loss",
        title=("EMULATED: " if emulated else "") + _title(rows),
        subtitle=f"Training loss. {section.workload}".rstrip(". ") + ".",
        foot=" ".join(_foot(rows, panels)),
        alt=f"Line chart of training loss. {'; '.join(ends) or 'No loss is known'}.",
        panels=max(1, len(panels)),
        drawn=bool(panels),
        emulated=emulated,
        draw=lambda axes, style: _draw(axes, panels, style),
    )


def _panels(rows: Sequence[ComparedJob], *, emulated: bool) -> list[tuple[str, list[_Curve]]]:
    """The axes that are known, with their curves, the best final loss first."""
    ranked = sorted(rows, key=lambda row: (not math.isfinite(row.final_loss or math.nan), row.final_loss or 0))
    curves = {
        axis: [(row, points) for row in ranked if (points := _points(row, axis))]
        for axis in (_EPOCH, _STEP, *([_HERE] if emulated else [_USD, _MINUTES]))
    }
    most = max(map(len, curves.values()))
    work = _EPOCH if len(curves[_EPOCH]) == most else _STEP
    price = _HERE if emulated else (_USD if len(curves[_USD]) == most else _MINUTES)
    return [(axis, curves[axis]) for axis in (work, price) if curves[axis]]


def _points(row: ComparedJob, axis: str) -> list[tuple[float, float]]:
    """The losses up to the first that is not finite."""
    points: list[tuple[float, float]] = []
    for point in row.record.series("loss"):
        x = _place(row, point, axis)
        if not math.isfinite(point.value):
            break
        if x is not None:
            points.append((x, point.value))
    return points


def _place(row: ComparedJob, point: MetricPoint, axis: str) -> float | None:
    """Where a point lies on an axis; None where that is not known."""
    if axis in {_EPOCH, _STEP}:
        return point.epoch if axis == _EPOCH else point.step
    job = row.snapshot
    origin = job.created if axis == _MINUTES else job.started
    if origin is None or point.time_s is None:
        return None
    seconds = max(0.0, point.time_s - origin.timestamp())
    if axis != _USD:
        return seconds / 60 if axis == _MINUTES else seconds
    share = None if job.spot else 1.0  # billed seconds per second: less on spot, and known when the job has ended
    if job.ended is not None and job.started is not None and job.billable_s is not None and job.ended > job.started:
        share = job.billable_s / (job.ended - job.started).total_seconds()
    if share is None or row.price is None:
        return None
    return seconds * share / 3600 * job.count * float(row.price.usd_per_hour)


def _draw(axes: Sequence[Axes], panels: list[tuple[str, list[_Curve]]], style: Style) -> None:
    values = [y for _, curves in panels for _, points in curves for _, y in points]
    if min(values) > 0 and max(values) >= 100 * min(values):
        axes[0].set_yscale("log")  # else a job that diverged makes a flat line of all others
    for ax, (axis, curves) in zip(axes, panels, strict=False):
        ax.grid(visible=True, axis="y")
        ax.set_xlabel(axis, loc="right")
        ax.xaxis.set_major_locator(MaxNLocator(4))
        unit = "$" if axis == _USD else ""
        ax.xaxis.set_major_formatter(StrMethodFormatter(unit + "{x:,g}"))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        for number, (row, points) in reversed(list(enumerate(curves))):
            _line(ax, row, points, style, named=number < SLOTS)
    last = min(len(axes), len(panels)) - 1
    _name(axes[last], panels[last][1][:SLOTS], style)


def _line(ax: Axes, row: ComparedJob, points: list[tuple[float, float]], style: Style, *, named: bool) -> None:
    color = style.palette[role(row.slot) if named else "axis"]
    xs, ys = np.array(points).T
    if len(xs) > SMOOTHED:
        ax.plot(xs, ys, color=color, linewidth=0.5, alpha=0.35)
        half = MEAN // 2
        xs, ys = xs[half:-half], np.convolve(ys, np.ones(MEAN) / MEAN, mode="valid")
    ax.plot(
        xs, ys, color=color, linewidth=1.6 if named else 0.8, marker=marker(row.slot).matplotlib if named else "",
        markevery=max(1, len(xs) // 8), markersize=4.2, markerfacecolor=style.palette["bg"] if row.emulated else color,
    )  # fmt: skip


def _name(ax: Axes, curves: Sequence[_Curve], style: Style) -> None:
    """The names at the right of the axes, as near to the ends of their curves as they have room."""
    gap = 0.14 * style.size / 9.5  # of two lines of text, as a share of the axes
    names = cut_apart([row.label for row, _ in curves], 22 if style.width > 5 else 12)
    ax.get_ylim()  # settles the limits that the transform reads
    to_axes = ax.transScale + ax.transLimits
    ends = sorted((float(to_axes.transform(points[-1])[1]), number) for number, (_, points) in enumerate(curves))
    places: list[float] = []
    for end, _ in ends:
        places.append(max(end, places[-1] + gap if places else 0.0))
    over = max(0.0, places[-1] - 1.0)
    for place, (_, number) in zip(places, ends, strict=True):
        row, points = curves[number]
        final = points[-1][1] if row.final_loss is None else row.final_loss
        failed = row.look.word == "failed"
        text = "✗ failed" if failed else fmt.loss(final)
        color = style.palette["err" if failed or not math.isfinite(final) else role(row.slot)]
        ax.annotate(f"{names[number]}\n{text}", (1, place - over), (6, 0), xycoords="axes fraction", textcoords="offset points",
                    va="center", fontsize=style.size * 0.85, annotation_clip=False,
                    color=color)  # fmt: skip


def _title(rows: Sequence[ComparedJob]) -> str:
    known = [(row.label, row.final_loss) for row in rows if row.final_loss is not None]
    finite = [(label, value) for label, value in known if math.isfinite(value)]
    broken = [label for label, value in known if not math.isfinite(value)]
    ended = [f"{label} ended at a loss of {fmt.loss(value)}" for label, value in finite]
    if len(finite) > 2:
        values = [value for _, value in finite]
        ended = [f"Final losses from {fmt.loss(min(values))} to {fmt.loss(max(values))}"]
    if broken:
        ended.append(f"{fmt.listing(broken) if len(broken) <= 2 else fmt.jobs(len(broken))} became NaN or infinite")
    return ", ".join(ended) or "No loss is known"


def _foot(rows: Sequence[ComparedJob], panels: list[tuple[str, list[_Curve]]]) -> list[str]:
    foot = []
    drawn = {row.label for _, curves in panels for row, _ in curves}
    without = [row.label for row in rows if row.label not in drawn]
    if without and drawn:
        foot.append(f"No loss in the log of {fmt.listing(without)}.")
    if len(drawn) > SLOTS:
        foot.append(f"The best {SLOTS} are named; {len(drawn) - SLOTS} more are grey.")
    if any(len(points) > SMOOTHED for _, curves in panels for _, points in curves):
        foot.append(f"Thin: as logged. Thick: the mean of {MEAN} points.")
    return foot
