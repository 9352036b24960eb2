"""Which combinations of hyperparameters do best? Parallel coordinates: an axis for each that a sweep varies, a line for each job."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.formatting import numbers as fmt
from ..sections.section import Section
from ..sections.sweep import Setting, Sweep, setting_key, setting_text, sweep_headline
from .drawing import Layout, Sheet, fitted, text_size, watermark
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST, MOST = 3, 8  # hyperparameters from which on, and up to which, a figure says more than slices
_HEIGHT, _TOP, _SIDE = 190.0, 30.0, 46.0  # points
_WIDE_SPAN = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinate:
    """One axis: its name, and values with their heights from 0 to 1 that are written beside it."""

    name: str
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelInfo:
    """``lines`` hold each ranked job's height on every axis, the best job's last."""

    title: str
    subtitle: str
    axes: tuple[Coordinate, ...]
    lines: tuple[tuple[float, ...], ...]
    foot: str
    alt: str
    emulated: bool = False

    @property
    def drawn(self) -> bool:
        return len(self.axes) > LEAST and len(self.lines) > 1


def parallel_info(section: Section) -> ParallelInfo:
    """The sweep of a section, when it varies three or more hyperparameters, seeds not counted."""
    sweep = section.sweep
    if sweep is None or len(sweep.tuned) < LEAST or not sweep.ranked:
        return ParallelInfo(
            title="No sweep of three hyperparameters", subtitle="", axes=(), lines=(), foot="", alt="No sweep."
        )
    names = sweep.tuned[:MOST]
    scales = [_Scale([trial.settings.get(name) for trial in sweep.trials]) for name in names]
    metric = _Scale([trial.value for trial in sweep.ranked])
    lines = tuple(
        (
            *(scale.height(trial.settings.get(name)) for scale, name in zip(scales, names, strict=True)),
            metric.height(trial.value),
        )
        for trial in reversed(sweep.ranked)
    )
    return ParallelInfo(
        title=f"{'EMULATED: ' if sweep.emulated else ''}{fmt.jobs(len(lines))} by {len(sweep.tuned)} hyperparameters, the best in blue",
        subtitle="A line is a job. The last axis is what the jobs are ranked by.",
        axes=(
            *(Coordinate(name=name, ticks=scale.ticks()) for name, scale in zip(names, scales, strict=True)),
            Coordinate(name=sweep.metric, ticks=_ends(sweep)),
        ),
        lines=lines,
        foot=f"{len(sweep.tuned) - MOST} more hyperparameters differ." if len(sweep.tuned) > MOST else "",
        alt=f"Parallel coordinates of {fmt.listing(names)} and {sweep.metric}. {sweep_headline(sweep)}",
        emulated=sweep.emulated,
    )


class _Scale:
    """Values on an axis from 0 to 1: numbers by size, by their logarithm where they span much; else in order."""

    def __init__(self, values: Sequence[Setting | None]) -> None:
        self._values = sorted(set(values), key=setting_key)
        self._numbers = [value for value in self._values if isinstance(value, (int, float))]
        self._ordered = len(self._numbers) < len(self._values) or len(self._numbers) < 2
        low = min(self._numbers, default=0.0)
        self._log = low > 0 and max(self._numbers) / low >= _WIDE_SPAN * (1 - 1e-9)

    def height(self, value: Setting | None) -> float:
        if self._ordered:
            return (self._values.index(value) + 0.5) / len(self._values)
        ends = [self._at(each) for each in (self._numbers[0], self._numbers[-1], value)]
        return (ends[2] - ends[0]) / (ends[1] - ends[0])

    def _at(self, value: Setting | None) -> float:
        number = float(value or 0.0)
        return math.log(number) if self._log else number

    def ticks(self) -> tuple[tuple[float, str], ...]:
        return tuple((self.height(value), setting_text(value)) for value in self._values)


def _ends(sweep: Sweep) -> tuple[tuple[float, str], ...]:
    values = [trial.value for trial in sweep.ranked if trial.value is not None]
    low, high = min(values), max(values)
    return ((0.5, fmt.loss(low)),) if low == high else ((0.0, fmt.loss(low)), (1.0, fmt.loss(high)))


def _draw(ax: Axes, info: ParallelInfo, sheet: Sheet) -> None:
    ax.set_axis_off()
    palette = sheet.palette
    if info.emulated:
        watermark(ax, sheet)
    if not info.drawn:
        ax.text(0, 0.5, info.title, transform=ax.transAxes, fontsize=sheet.text, color=palette["ink3"], va="center")
        return
    last = len(info.axes) - 1
    ax.set_xlim(0, last)
    ax.set_ylim(0, 1)
    for number, heights in enumerate(info.lines):
        best = number == len(info.lines) - 1
        style: dict[str, Any] = {"color": palette["s1"], "linewidth": 2.2, "zorder": 4} if best else {
            "color": palette["ink"], "linewidth": 1.0, "alpha": 0.25, "zorder": 2,
        }  # fmt: skip
        ax.plot(range(len(heights)), heights, clip_on=False, **style)
    step = (sheet.room - 2 * _SIDE * sheet.unit) / last
    for place, axis in enumerate(info.axes):
        ax.plot([place, place], [0, 1], color=palette["axis"], linewidth=1, zorder=3, clip_on=False)
        room = step - 6 if 0 < place < last else step / 2 + _SIDE * sheet.unit - 6
        raised = _TOP * sheet.unit * (0.62 if place % 2 else 0.2)  # names in two lines: more room for each
        name = fitted(axis.name, min(2 * room if last > 1 else room, 2 * step - 8), sheet.text, bold=True)
        half = text_size(name, sheet.text, bold=True)[0] / 2
        side = (
            "left"
            if place == 0 and half > _SIDE * sheet.unit
            else "right"
            if place == last and half > _SIDE * sheet.unit
            else "center"
        )
        shift = {"left": -_SIDE * sheet.unit, "right": _SIDE * sheet.unit, "center": 0.0}[side]
        ax.annotate(name, (place, 1), (shift, 6 + raised), textcoords="offset points", ha=side, va="bottom", fontsize=sheet.text,
                    fontweight="bold", color=palette["ink2"], annotation_clip=False)  # fmt: skip
        _ticks(ax, axis, place, sheet, step)


def _ticks(ax: Axes, axis: Coordinate, place: int, sheet: Sheet, step: float) -> None:
    """Values left of the axis, those that have room above one another; the ends first."""
    taken: list[float] = []
    apart = sheet.label * 1.35 / (_HEIGHT * sheet.unit)
    ordered = sorted(axis.ticks, key=lambda tick: (tick[0] not in {0.0, 1.0}, tick[0]))
    room = step * 0.6 if place else _SIDE * sheet.unit - 6
    plate = {"facecolor": sheet.palette["bg"], "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
    for height, text in ordered:
        if any(abs(height - other) < apart for other in taken):
            continue
        taken.append(height)
        ax.plot([place], [height], marker="_", markersize=5, color=sheet.palette["axis"], zorder=3, clip_on=False)
        ax.annotate(fitted(text, room, sheet.label), (place, height), (-5, 0), textcoords="offset points", ha="right", va="center",
                    fontsize=sheet.label, color=sheet.palette["ink3"], annotation_clip=False, bbox=plate, zorder=5)  # fmt: skip


_LAYOUT = Layout(
    body=lambda _, sheet: _HEIGHT * sheet.unit, draw=_draw, top=_TOP, side=_SIDE, axis=24.0, bare=12.0, foot=18.0
)
FIGURE = FigureKind(
    name="parallel",
    info=lambda section, _: parallel_info(section),
    plot=_LAYOUT.plot,
    alone=_LAYOUT.alone,
    wide=True,
    rehearsed=True,
)
