"""Is one job better in both, time and money? A point per job, the front of those that no other beats, and hourly prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ...formatting import numbers as fmt
from ...formatting.theme import SLOTS, Theme, marker, role
from ...pricing.book import Price, PriceBook
from ...pricing.cost import job_cost
from ..layout import cut
from ..sections.rows import Row
from ..sections.section import Section, flip_price, other_price
from .figure import FigureKind
from .style import Headings, Sheet, bare, draw_headings, headings, rc, settle_backend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT, _LEFT, _RIGHT = 216.0, 40.0, 58.0  # points: the axes, and the room of the prices beside them
_AIR = 0.14


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One job. ``other_usd`` is its cost at another dated price, ``other_text`` says at which."""

    label: str
    slot: int
    minutes: float
    usd: float
    other_usd: float | None = None
    other_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ray:
    """What a job costs by the minute at an hourly price of all of its instances."""

    usd_per_minute: float
    text: str
    slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoInfo:
    """``front`` are the (minutes, USD) that no job beats in both, fastest first. One job alone is not drawn."""

    title: str
    subtitle: str
    points: tuple[Point, ...]
    front: tuple[tuple[float, float], ...]
    rays: tuple[Ray, ...]
    axis: str
    foot: str
    alt: str

    @property
    def drawn(self) -> bool:
        return len(self.points) > 1


def pareto_info(section: Section, book: PriceBook) -> ParetoInfo:
    """Cost against billable minutes per instance – with a job on spot, minutes from submit to end – of the completed
    measured jobs that have a cost."""
    rows = [row for row in section.measured if row.completed and row.cost is not None and section.time_s(row)]
    points = tuple(_point(row, section.time_s(row) or 0.0, book) for row in rows)
    front = _front(points)
    axis = "minutes from submit to end" if section.on_spot else "billable minutes per instance"
    said = ["Emulated jobs are never points here."] if section.emulated else []
    said += ["One run each."] + (
        ["Hollow: the same job at another dated price."] if any(point.other_usd for point in points) else []
    )
    values = [f"{point.label}: {point.minutes:,.1f} min, {fmt.usd(point.usd)}" for point in points]
    return ParetoInfo(
        title=_title(points, front, took="took" if section.on_spot else "was billed for")
        if len(points) > 1
        else "One job: nothing to weigh",
        subtitle="Down and left is better. Dashed: what an hourly price makes of the minutes. Axes do not start at zero.",
        points=points,
        front=front,
        rays=tuple(_rays(section, rows, book)),
        axis=axis,
        foot=" ".join(said),
        alt=f"Cost against {axis}. {'; '.join(values) or 'No cost is known'}.",
    )


def plot_pareto(
    info: ParetoInfo, ax: Axes | None = None, theme: Theme = "light", *, sheet: Sheet | None = None
) -> Axes:
    """Draw on ``ax`` (a new pyplot figure when None) and return it."""
    sheet = sheet or Sheet(theme=theme)
    if ax is None:
        settle_backend()
    with mpl.rc_context(rc(sheet.theme)):
        head = headings(sheet, title=info.title, subtitle=info.subtitle, foot=info.foot)
        if ax is None:
            from matplotlib import pyplot as plt  # noqa: PLC0415 - the only use of pyplot: a figure that a notebook shows

            ax = _place(plt.figure(figsize=_size(sheet, head)), sheet, head)
        _draw(ax, info, sheet)
        draw_headings(ax, sheet, head, left=-_LEFT * sheet.unit)
    return ax


def pareto_figure(info: ParetoInfo, sheet: Sheet) -> Figure:
    """The figure on its own, unknown to pyplot."""
    with mpl.rc_context(rc(sheet.theme)):
        head = headings(sheet, title=info.title, subtitle=info.subtitle, foot=info.foot)
        figure = Figure(figsize=_size(sheet, head))
        plot_pareto(info, _place(figure, sheet, head), sheet=sheet)
    return figure


FIGURE = FigureKind(name="cost-and-time", info=pareto_info, plot=plot_pareto, alone=pareto_figure)


def _size(sheet: Sheet, head: Headings) -> tuple[float, float]:
    return sheet.width / 72, (head.above + _HEIGHT * sheet.unit + head.below) / 72


def _place(figure: Figure, sheet: Sheet, head: Headings) -> Axes:
    whole = head.above + _HEIGHT * sheet.unit + head.below
    left, right = sheet.side + _LEFT * sheet.unit, sheet.side + _RIGHT * sheet.unit
    return figure.add_axes(
        (left / sheet.width, head.below / whole, 1 - (left + right) / sheet.width, _HEIGHT * sheet.unit / whole)
    )


def _point(row: Row, time_s: float, book: PriceBook) -> Point:
    other = other_price(row, book)
    again = job_cost(row.snapshot, other)
    return Point(
        label=row.label,
        slot=row.slot,
        minutes=time_s / 60,
        usd=float(row.cost.usd) if row.cost else 0.0,
        other_usd=float(again.usd) if again else None,
        other_text=f"{fmt.usd(again.usd)} in {other.as_of}" if again and other else "",
    )


def _front(points: Sequence[Point]) -> tuple[tuple[float, float], ...]:
    """The points that no other is at least as fast and as cheap as, and better in one of them."""
    front: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda item: (item.minutes, item.usd)):
        if not front or point.usd < front[-1][1]:
            front.append((point.minutes, point.usd))
    return tuple(front)


def _rays(section: Section, rows: Sequence[Row], book: PriceBook) -> list[Ray]:
    """The prices of the dearest job: the one used, another dated one, and the one that would tie."""
    priced = [row for row in rows if row.cost is not None and row.price is not None]
    if len(priced) < 2 or section.on_spot:  # a price an hour says nothing of hours that were not billed
        return []
    dearest = max(priced, key=lambda row: row.cost.usd if row.cost else Decimal(0))
    found: list[tuple[Decimal, str]] = []
    prices: list[Price | None] = [dearest.price, other_price(dearest, book)]
    found += [
        (price.usd_per_hour, f"{fmt.usd_per_hour(price.usd_per_hour)}\n{price.as_of}") for price in prices if price
    ]
    ties = [
        tie
        for row in section.others
        if (tie := flip_price(section, row)) and (dearest is row or dearest is section.base)
    ]
    if len(section.others) == 1 and ties:
        found.append((ties[0][1], f"{fmt.usd_per_hour(ties[0][1])}\nwould tie"))
    count = dearest.snapshot.count
    return [Ray(usd_per_minute=float(usd) * count / 60, text=text, slot=dearest.slot) for usd, text in found]


def _title(points: Sequence[Point], front: Sequence[tuple[float, float]], *, took: str) -> str:
    if len({(round(point.minutes, 1), round(point.usd, 2)) for point in points}) == 1:
        return f"{fmt.jobs(len(points))}: no difference measured in cost and time"
    winners = [point.label for point in points if (point.minutes, point.usd) in front]
    if len(winners) == 1:
        rest = next(point.label for point in points if point.label != winners[0]) if len(points) == 2 else "all others"
        return f"{winners[0]} cost less and {took} less time than {rest}"
    shortest = min(points, key=lambda point: (point.minutes, point.usd))
    cheapest = min(points, key=lambda point: (point.usd, point.minutes))
    return f"{shortest.label} {took} the least time, {cheapest.label} cost least"


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    air = (high - low or abs(high) or 1.0) * _AIR
    return max(0.0, low - 2 * air), high + 2 * air


def _draw(ax: Axes, info: ParetoInfo, sheet: Sheet) -> None:
    bare(ax, sheet)
    palette = sheet.palette
    if not info.drawn:
        ax.set_xticks([])
        ax.set_yticks([])
        ax.text(0.0, 0.5, info.title, transform=ax.transAxes, fontsize=sheet.text, color=palette["ink3"], va="center")
        return
    ax.set_xlim(*_limits([point.minutes for point in info.points]))
    ax.set_ylim(*_limits([usd for point in info.points for usd in (point.usd, point.other_usd) if usd is not None]))
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"${value:,g}"))
    ax.tick_params(axis="y", labelcolor=palette["ink3"], labelsize=sheet.label)
    ax.grid(visible=True, axis="y", color=palette["line"], linewidth=0.8)
    ax.set_xlabel(info.axis, loc="right", fontsize=sheet.label, color=palette["ink3"], labelpad=3)
    _draw_front(ax, info, sheet)
    _draw_rays(ax, info, sheet)
    if len(info.points) > SLOTS:
        _draw_many(ax, info, sheet)
        return
    for point in info.points:
        _draw_point(ax, point, sheet)


def _draw_front(ax: Axes, info: ParetoInfo, sheet: Sheet) -> None:
    """The stepped front, and what it dominates in the colour of panels."""
    right, top = ax.get_xlim()[1], ax.get_ylim()[1]
    corners = [(info.front[0][0], top)]
    for (x, y), following in zip(info.front, [*info.front[1:], None], strict=True):
        corners += [(x, y), (following[0] if following else right, y)]
    ax.add_patch(
        Polygon([*corners, (right, top)], closed=True, facecolor=sheet.palette["panel"], edgecolor="none", zorder=0.5)
    )
    xs, ys = zip(*corners, strict=True)
    ax.plot(xs, ys, color=sheet.palette["ink"], linewidth=1.3, zorder=2)


def _draw_rays(ax: Axes, info: ParetoInfo, sheet: Sheet) -> None:
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    taken: list[float] = []
    for ray in sorted(info.rays, key=lambda item: -item.usd_per_minute):
        color = sheet.palette[role(ray.slot)]
        ax.plot([left, right], [left * ray.usd_per_minute, right * ray.usd_per_minute], color=color, linewidth=1, alpha=0.75,
                linestyle=(0, (4, 3)), zorder=1.5, clip_on=True)  # fmt: skip
        end = right * ray.usd_per_minute
        step = (top - bottom) * sheet.label * 2.6 / (_HEIGHT * sheet.unit)
        if not bottom <= end <= top or any(abs(end - other) < step for other in taken):
            continue
        taken.append(end)
        ax.annotate(ray.text, (right, end), (4, 0), textcoords="offset points", va="center", ha="left", fontsize=sheet.label * 0.92,
                    color=sheet.palette["ink3"], annotation_clip=False)  # fmt: skip


def _draw_many(ax: Axes, info: ParetoInfo, sheet: Sheet) -> None:
    """All points in one colour; those have a name that no other beats: of hundreds, names would cover the points."""
    xs, ys = [point.minutes for point in info.points], [point.usd for point in info.points]
    color, size = sheet.palette["s1"], sheet.text * 0.8
    ax.plot(xs, ys, marker=marker(0).matplotlib, markersize=size, color=color, linestyle="", zorder=5)
    front = set(info.front)
    for point in [point for point in info.points if (point.minutes, point.usd) in front][:SLOTS]:
        _name_point(ax, point, sheet)


def _draw_point(ax: Axes, point: Point, sheet: Sheet) -> None:
    palette = sheet.palette
    color = palette[role(point.slot)]
    shape, size = marker(point.slot).matplotlib, sheet.text * 0.8
    if point.other_usd is not None:
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.2, "shrinkA": 4, "shrinkB": 5}
        ax.annotate("", (point.minutes, point.usd), (point.minutes, point.other_usd), arrowprops=arrow, zorder=3)
        ax.plot([point.minutes], [point.other_usd], marker=shape, markersize=size, color=color, markerfacecolor=palette["bg"],
                linestyle="", zorder=4)  # fmt: skip
        _name(
            ax,
            (point.minutes, point.other_usd),
            point.other_text,
            sheet,
            {"color": palette["ink3"], "fontsize": sheet.label},
        )
    ax.plot([point.minutes], [point.usd], marker=shape, markersize=size, color=color, linestyle="", zorder=5)
    _name_point(ax, point, sheet)


def _name_point(ax: Axes, point: Point, sheet: Sheet) -> None:
    bold: dict[str, Any] = {"color": sheet.palette["ink"], "fontsize": sheet.text, "fontweight": "bold"}
    _name(ax, (point.minutes, point.usd), f"{cut(point.label, 24)} {fmt.usd(point.usd)}", sheet, bold)


def _name(ax: Axes, at: tuple[float, float], text: str, sheet: Sheet, props: dict[str, Any]) -> None:
    """A text beside a point, on the side that has room."""
    low, high = ax.get_xlim()
    right = at[0] < (low + high) / 2
    ax.annotate(fmt.unbroken(text), at, (8 if right else -8, 8), textcoords="offset points", ha="left" if right else "right", va="bottom",
                zorder=6, bbox={"facecolor": sheet.palette["bg"], "edgecolor": "none", "pad": 0.4, "alpha": 0.8}, **props)  # fmt: skip
