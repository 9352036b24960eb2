"""Which value of a hyperparameter does best? A panel for each that a sweep varies: a dot for a job, a line through the means."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from ...core.formatting import numbers as fmt
from ..sections.section import Section
from ..sections.sweep import Setting, Sweep, Trial, setting_key, setting_text, sweep_headline
from .drawing import Layout, Sheet, bare, fitted, text_size, watermark
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT, _LEFT, _GAP, _NAME, _AXIS = 140.0, 42.0, 14.0, 22.0, 40.0  # points
_PANELS = 6
_WIDE_SPAN = 30.0  # values that span so many fold are drawn on a logarithmic scale


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicePanel:
    """One hyperparameter. ``dots`` are (place, metric, whether it is the best job), ``without`` places of jobs without a result.

    Places are values on ``scale`` linear or log, or, of texts and mixtures, positions of ``ticks``.
    """

    name: str
    scale: str
    dots: tuple[tuple[float, float, bool], ...]
    means: tuple[tuple[float, float], ...]
    without: tuple[float, ...]
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceInfo:
    """What a sweep's jobs reached, by each hyperparameter. Nothing is drawn of jobs that are no sweep."""

    title: str
    subtitle: str
    panels: tuple[SlicePanel, ...]
    metric: str
    foot: str
    alt: str
    emulated: bool = False

    @property
    def drawn(self) -> bool:
        return any(panel.dots for panel in self.panels)


def slice_info(section: Section) -> SliceInfo:
    """The sweep of a section, seen along each hyperparameter but the seeds."""
    sweep = section.sweep
    if sweep is None:
        return SliceInfo(title="No sweep", subtitle="", panels=(), metric="", foot="", alt="No sweep.")
    panels = tuple(_panel(sweep, name) for name in (sweep.tuned or sweep.names)[:_PANELS])
    title = sweep_headline(sweep).rstrip(".")
    gone = [trial.job for trial in sweep.trials if trial.rank is None]
    values = [f"{trial.job} {fmt.loss(trial.value)}" for trial in sweep.ranked if trial.value is not None]
    return SliceInfo(
        title=title,
        subtitle="A dot is a job, the line is their mean, the ring is the best job. The axis does not start at zero.",
        panels=panels,
        metric=sweep.metric,
        foot=f"✗ at the bottom: without a result, {_few(gone)}." if gone else "",
        alt=f"{title}. {'; '.join(values) or 'No result is known'}.",
        emulated=sweep.emulated,
    )


def _few(names: Sequence[str]) -> str:
    return fmt.listing([*names[:4], *([f"{len(names) - 4} more"] if len(names) > 4 else [])])


def _panel(sweep: Sweep, name: str) -> SlicePanel:
    values = sorted({trial.settings.get(name) for trial in sweep.trials}, key=setting_key)
    numbers = [value for value in values if isinstance(value, (int, float))]
    scale = "texts"
    if len(numbers) == len(values):
        low, high = min(numbers), max(numbers)
        scale = "log" if low > 0 and high / low >= _WIDE_SPAN * (1 - 1e-9) else "linear"
    at: Callable[[Setting | None], float] = (
        (lambda value: float(values.index(value))) if scale == "texts" else (lambda value: float(value or 0.0))
    )
    best = sweep.ranked[0] if sweep.ranked else None
    by_value: dict[float, list[float]] = {}
    for trial in sweep.ranked:
        by_value.setdefault(at(trial.settings.get(name)), []).append(trial.value or 0.0)
    return SlicePanel(
        name=name,
        scale=scale,
        dots=tuple((at(trial.settings.get(name)), trial.value or 0.0, trial is best) for trial in sweep.ranked),
        means=tuple((place, math.fsum(found) / len(found)) for place, found in sorted(by_value.items())),
        without=tuple(at(trial.settings.get(name)) for trial in _gone(sweep)),
        ticks=tuple((at(value), setting_text(value)) for value in values),
    )


def _gone(sweep: Sweep) -> list[Trial]:
    return [trial for trial in sweep.trials if trial.rank is None]


def _columns(info: SliceInfo, sheet: Sheet) -> int:
    return max(1, min(len(info.panels), 3, int(sheet.width // (190 * sheet.unit))))


def _body(info: SliceInfo, sheet: Sheet) -> float:
    rows = math.ceil(len(info.panels) / _columns(info, sheet))
    return sheet.unit * rows * (_NAME + _HEIGHT + _AXIS)


def _draw(ax: Axes, info: SliceInfo, sheet: Sheet) -> None:
    ax.set_axis_off()
    if info.emulated:
        watermark(ax, sheet)
    if not info.drawn:
        ax.text(
            0, 0.5, info.title, transform=ax.transAxes, fontsize=sheet.text, color=sheet.palette["ink3"], va="center"
        )
        return
    columns, height, room, unit = _columns(info, sheet), _body(info, sheet), sheet.room, sheet.unit
    width = (room - columns * _LEFT * unit - (columns - 1) * _GAP * unit) / columns
    limits = _limits(info)
    for number, panel in enumerate(info.panels):
        row, column = divmod(number, columns)
        x = _LEFT * unit + column * (width + (_LEFT + _GAP) * unit)
        y = height - ((row + 1) * (_NAME + _HEIGHT + _AXIS) - _AXIS) * unit
        child = ax.inset_axes(Bbox.from_bounds(x / room, y / height, width / room, _HEIGHT * unit / height).bounds)
        _draw_panel(child, info, panel, sheet, width, limits)


def _limits(info: SliceInfo) -> tuple[float, float]:
    values = [value for panel in info.panels for _, value, _ in panel.dots]
    low, high = min(values), max(values)
    air = (high - low or abs(high) or 1.0) * 0.12
    return low - (2 * air if any(panel.without for panel in info.panels) else air), high + air


def _draw_panel(  # noqa: PLR0917 - one panel
    child: Axes, info: SliceInfo, panel: SlicePanel, sheet: Sheet, width: float, limits: tuple[float, float]
) -> None:
    bare(child, sheet)
    palette = sheet.palette
    child.set_facecolor("none")
    child.set_ylim(*limits)
    low, high = (pick(place for place, _ in panel.ticks) for pick in (min, max))
    if panel.scale == "log":
        child.set_xscale("log")
        air = (high / low) ** 0.06
        child.set_xlim(low / air, high * air)
    else:
        air = (high - low or 1.0) * 0.08
        child.set_xlim(low - air, high + air)
    child.xaxis.set_minor_locator(NullLocator())
    _value_ticks(child, panel, sheet, width)
    child.yaxis.set_major_locator(MaxNLocator(4))
    child.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    child.grid(visible=True, axis="y", color=palette["line"], linewidth=0.8)
    child.annotate(
        info.metric, (0, 1), xycoords="axes fraction", xytext=(0, 7), textcoords="offset points", ha="left", va="baseline",
        fontsize=sheet.label, color=palette["ink3"],
    )  # fmt: skip
    name = fitted(panel.name, width, sheet.text, bold=True)
    child.set_xlabel(name, loc="right", fontsize=sheet.text, fontweight="bold", color=palette["ink2"], labelpad=3)
    xs, ys = zip(*panel.means, strict=True)
    if panel.scale == "texts":  # nothing lies between them
        child.plot(xs, ys, color=palette["ink2"], marker="_", markersize=18, linestyle="", zorder=2)
    else:
        child.plot(xs, ys, color=palette["ink2"], linewidth=1.2, zorder=2)
    for place, value, best in panel.dots:
        child.plot(
            [place], [value], marker="o", markersize=4.6, color=palette["s1"], alpha=0.75, linestyle="", zorder=3
        )
        if best:
            child.plot(
                [place],
                [value],
                marker="o",
                markersize=10,
                markerfacecolor="none",
                color=palette["s1"],
                linestyle="",
                zorder=4,
            )
    bottom = limits[0] + (limits[1] - limits[0]) * 0.05
    child.plot(panel.without, [bottom] * len(panel.without), marker="x", markersize=5, markeredgewidth=1.4, color=palette["err"],
               linestyle="", zorder=4)  # fmt: skip


def _value_ticks(child: Axes, panel: SlicePanel, sheet: Sheet, width: float) -> None:
    """The values themselves below the axis, as many as have room."""
    low, high = child.get_xlim()
    taken = -math.inf
    shown: list[tuple[float, str, str]] = []
    for place, text in panel.ticks:
        label = fitted(text, width / 2, sheet.label)
        share = math.log(place / low) / math.log(high / low) if panel.scale == "log" else (place - low) / (high - low)
        wide = text_size(label, sheet.label)[0]
        side = "left" if share * width < wide / 2 else "right" if (1 - share) * width < wide / 2 else "center"
        start = share * width - {"left": 0.0, "center": 0.5, "right": 1.0}[side] * wide
        if start > taken + 6:
            shown.append((place, label, side))
            taken = start + wide
    child.xaxis.set_major_locator(FixedLocator([place for place, _, _ in shown]))
    child.set_xticks([place for place, _, _ in shown], [label for _, label, _ in shown])
    for drawn, (_, _, side) in zip(child.get_xticklabels(), shown, strict=True):
        drawn.set(horizontalalignment=side)


_LAYOUT = Layout(body=_body, draw=_draw)
FIGURE = FigureKind(
    name="slice",
    info=lambda section, _: slice_info(section),
    plot=_LAYOUT.plot,
    alone=_LAYOUT.alone,
    wide=True,
    rehearsed=True,
)
