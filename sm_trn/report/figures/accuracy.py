"""Did the jobs learn? Held-out accuracy as bars, the baselines of the log as dashed ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...core.formatting import numbers as fmt
from ...core.formatting.theme import Theme
from ..sections.rows import Row, baseline_accuracies
from ..sections.section import Section
from .bars import Bar, BarInfo, bars_alone, folded, plot_bars
from .drawing import Sheet
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyInfo(BarInfo):
    """Accuracies are fractions."""


def accuracy_info(section: Section) -> AccuracyInfo:
    """Accuracies of the measured jobs; of the emulated ones when there is no other. The two never share an axis."""
    rows = section.measured or section.emulated
    emulated = not section.measured
    baselines = {name: value for row in rows for name, value in baseline_accuracies(row).items()}
    said = ", ".join(f"{name} {fmt.accuracy(value)}" for name, value in baselines.items())
    origin = _origin([row.accuracy for row in rows if row.accuracy is not None])
    left = "left of the axis: " if baselines and max(baselines.values()) < origin else ""
    return AccuracyInfo(
        title=("EMULATED: " if emulated else "") + _title(rows),
        subtitle="Held-out accuracy, a fraction." + (f" Dashed: baselines, {left}{said}." if said else ""),
        bars=folded([_bar(row) for row in rows], best_first=lambda value: -value),
        axis=f"accuracy, axis from {origin:g}" if origin else "accuracy",
        origin=origin,
        foot="Learned on this machine with the data of the rehearsal." if emulated else "",
        alt=_alt(rows, said, emulated=emulated),
        emulated=emulated,
    )


def plot_accuracy(
    info: AccuracyInfo, ax: Axes | None = None, theme: Theme = "light", *, sheet: Sheet | None = None
) -> Axes:
    """Draw on ``ax`` (a new pyplot figure when None) and return it."""
    return plot_bars(info, ax, sheet or Sheet(theme=theme), lambda value: f"{value:g}")


FIGURE = FigureKind(
    name="accuracy",
    info=lambda section, _: accuracy_info(section),
    plot=plot_accuracy,
    alone=partial(bars_alone, plot=plot_accuracy),
    rehearsed=True,
)


def _bar(row: Row) -> Bar:
    detail = fmt.instances(row.snapshot.instance, row.snapshot.count)
    detail = f"for {detail}" if row.emulated else detail
    if row.accuracy is None:
        return Bar(label=row.label, slot=row.slot, detail=detail, missing="no accuracy in the log")
    return Bar(
        label=row.label,
        slot=row.slot,
        emulated=row.emulated,
        detail=detail,
        value=row.accuracy,
        text=fmt.accuracy(row.accuracy),
        marks=tuple(baseline_accuracies(row).items()),
    )


def _title(rows: tuple[Row, ...]) -> str:
    known = [(row, row.accuracy) for row in rows if row.accuracy is not None]
    if not known:
        return "No accuracy is known"
    shown = {fmt.accuracy(value) for _, value in known}
    if len(shown) == 1 and len(known) > 1:
        who = "Both" if len(known) == 2 else f"All {len(known)}"
        return f"{who} jobs reached an accuracy of {shown.pop()}"
    value = max(value for _, value in known)
    best = [row.label for row, reached in known if fmt.accuracy(reached) == fmt.accuracy(value)]
    if len(best) > 1:
        who = fmt.listing(best) if len(best) == 2 else fmt.jobs(len(best))
        return f"{who} reached the best accuracy, {fmt.accuracy(value)}"
    return f"{best[0]} reached an accuracy of {fmt.accuracy(value)}"


_NEAR = 0.2  # values that are nearer to one another than this share of the largest are dots on a cut axis


def _origin(values: list[float]) -> float:
    """Where the axis starts: at 0, or – where bars from 0 would hide the difference – a little below the least value."""
    if len(values) < 2 or min(values) <= 0 or max(values) - min(values) > _NEAR * max(values):
        return 0.0
    reach = max(max(values) - min(values), 0.01 * max(values))
    step = 10.0 ** math.floor(math.log10(reach))
    return max(0.0, round(math.floor((min(values) - 0.3 * reach) / step) * step, 6))


def _alt(rows: tuple[Row, ...], baselines: str, *, emulated: bool) -> str:
    said = "; ".join(f"{row.label} {fmt.accuracy(row.accuracy)}" for row in rows if row.accuracy is not None)
    text = f"{'EMULATED. ' if emulated else ''}Bar chart of accuracy. {said or 'None is known'}."
    return f"{text} Baselines: {baselines}." if baselines else text
