"""Time against cost of a plan's choices: hollow marks with their intervals, the front, the limits, and what they exclude in grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..core.formatting import numbers as fmt
from ..core.formatting.theme import PALETTES, Theme
from ..forecast.intervals import Interval
from ..forecast.planning.value import Choice, Plan
from .figures.drawing import Labels, rc, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 8  # choices with their name beside them


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """One choice: hours from submit to end, dollars, and whether no other beats it, or a limit excludes it."""

    name: str
    hours: Interval
    usd: Interval
    front: bool
    excluded: str = ""


@dataclass(frozen=True, slots=True)
class FrontInfo:
    """What the figure shows. ``points`` hold the front first."""

    title: str
    points: tuple[FrontPoint, ...]
    deadline_h: float | None
    max_usd: float | None
    alt: str


def front_info(plan: Plan) -> FrontInfo:
    """The choices that keep the limits and those that a limit excluded."""
    front = plan.front
    kept = [
        _point(each, front=each in front) for each in (*front, *(each for each in plan.choices if each not in front))
    ]
    out = [_point(each.choice, front=False, excluded=each.kind) for each in plan.excluded if each.choice is not None]
    title = f"{plan.goal.capitalize()}: {plan.best.name}" if plan.choices else "No choice keeps the limits"
    said = "; ".join(f"{each.name}: {each.hours.p50:.1f} h, {fmt.usd(each.usd.p50)}" for each in kept[:NAMED])
    return FrontInfo(
        title=title,
        points=(*kept, *out),
        deadline_h=None if plan.deadline_s is None else plan.deadline_s / 3600,
        max_usd=plan.max_usd,
        alt=f"ESTIMATED cost against hours from submit to end. {said or title}.",
    )


def _point(choice: Choice, *, front: bool, excluded: str = "") -> FrontPoint:
    return FrontPoint(choice.name, choice.wall_s.scaled(1 / 3600), choice.usd, front, excluded)


def plot_front(info: FrontInfo, ax: Axes, *, theme: Theme = "light") -> Axes:
    """Draw it: both axes logarithmic, intervals as lines, limits dashed."""
    palette = PALETTES[theme]
    for point in info.points:
        color = palette["ink"] if point.front else palette["axis"]
        hours, usd = point.hours, point.usd
        ax.errorbar(
            [hours.p50], [usd.p50],
            xerr=[[hours.p50 - hours.p10], [hours.p90 - hours.p50]], yerr=[[usd.p50 - usd.p10], [usd.p90 - usd.p50]],
            fmt="o", mfc=palette["bg"], mec=color, ecolor=color, elinewidth=0.8 if point.front else 0.4, ms=6 if point.front else 4,
            alpha=1.0 if point.front else 0.5,
        )  # fmt: skip
    line = sorted((point.hours.p50, point.usd.p50) for point in info.points if point.front)
    ax.plot([x for x, _ in line], [y for _, y in line], ls=":", lw=1.0, color=palette["ink2"])
    if info.deadline_h is not None:
        ax.axvline(info.deadline_h, ls="--", lw=1.0, color=palette["err"])
        ax.annotate(
            "deadline",
            (info.deadline_h, 0.99),
            xycoords=("data", "axes fraction"),
            color=palette["err"],
            fontsize=8,
            va="top",
        )
    if info.max_usd is not None:
        ax.axhline(info.max_usd, ls="--", lw=1.0, color=palette["err"])
        ax.annotate(
            "budget",
            (0.01, info.max_usd),
            xycoords=("axes fraction", "data"),
            color=palette["err"],
            fontsize=8,
            va="bottom",
        )
    if info.points:
        for axis, scale in ((ax.xaxis, ax.set_xscale), (ax.yaxis, ax.set_yscale)):
            scale("log", subs=(2, 5))
            axis.set_major_formatter(FuncFormatter(_plain))
            axis.set_minor_formatter(FuncFormatter(_plain))
    ax.set_xlabel("hours from submit to end, ESTIMATED (80 % intervals)")
    ax.set_ylabel("USD")
    ax.set_title(info.title, loc="left")
    _name(info.points, ax, palette)
    return ax


def _name(points: Sequence[FrontPoint], ax: Axes, palette: Mapping[str, str]) -> None:
    """The front's names where they have room: none on another, none on a mark of the front."""
    ax.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]  # axes that are drawn on have a figure
    unit = 72 / ax.figure.dpi
    plate = {"fc": palette["bg"], "ec": "none", "alpha": 0.8, "pad": 0.5}
    frame = ax.get_window_extent()
    places = Labels(frame.width * unit, frame.height * unit)
    marks = [
        ((ax.transData.transform((each.hours.p50, each.usd.p50)) - frame.min) * unit, each)
        for each in points
        if each.front
    ]
    for (x, y), _ in marks:
        places.block(float(x), float(y))
    for (x, y), point in marks[:NAMED]:
        place = places.place(float(x), float(y), text_size(point.name, 8))
        if place is not None:
            ax.annotate(
                point.name, place, xycoords="axes points", color=palette["ink"], fontsize=8, va="bottom", bbox=plate
            )


def _plain(value: float, _place: int) -> str:
    return f"{value:g}"


def save_front(plan: Plan, path: str | Path, *, theme: Theme = "light") -> Path:
    """Write the figure as PNG or SVG, by the suffix. Raises ValueError for another suffix, and OSError."""
    target = Path(path)
    if target.suffix not in {".png", ".svg"}:
        raise ValueError(f"output: got {target.name!r}, wanted a file that ends in .png or .svg")
    with mpl.rc_context(rc(theme)):
        figure = Figure(figsize=(7.2, 4.8), layout="constrained", facecolor=PALETTES[theme]["bg"])
        plot_front(front_info(plan), figure.subplots(), theme=theme)
        figure.savefig(target, dpi=144)
    return target
