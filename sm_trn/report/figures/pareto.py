"""Is one job better in both, time and money? A point per job, the front of those that no other beats, and hourly prices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import cut, unbroken
from ...core.formatting.theme import SLOTS, Theme, marker, role
from ...core.pricing.book import Price, PriceBook
from ...core.pricing.cost import job_cost
from ..sections.rows import Row
from ..sections.section import Section, flip_price, other_price
from .drawing import Headings, Labels, Sheet, bare, draw_headings, headings, rc, settle_backend, text_size
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One job, or all ``labels`` that are equal as far as they are shown. ``on_demand_usd``: a spot job's price without spot.

    ``other_usd`` is the cost at another dated price, ``other_text`` says at which.
    """

    label: str
    slot: int
    minutes: float
    usd: float
    labels: tuple[str, ...]
    on_demand_usd: float | None = None
    other_usd: float | None = None
    other_text: str = ""

    @property
    def text(self) -> str:
        """What stands beside the mark."""
        who = cut(self.label, 24) if len(self.labels) == 1 else fmt.jobs(len(self.labels))
        spot = ", spot" if self.on_demand_usd is not None else ""
        return f"{who}{spot}, {fmt.usd(self.usd)}"

    @property
    def highest_usd(self) -> float:
        return max(self.usd, self.on_demand_usd or 0.0, self.other_usd or 0.0)

    @property
    def lowest_usd(self) -> float:
        return min(usd for usd in (self.usd, self.other_usd) if usd is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ray:
    """What a job costs by the minute at an hourly price of all of its instances."""

    usd_per_minute: float
    text: str
    slot: int


def points_of(rows: Sequence[Row], section: Section, book: PriceBook) -> tuple[Point, ...]:
    """A point for each job; one for several that differ neither in the tenth of a minute nor in the cent."""
    found: dict[tuple[float, float, bool], Point] = {}
    seconds_of = section.seconds_of
    for row in rows:
        point = _point(row, seconds_of(row) or 0.0, book)
        place = (round(point.minutes, 1), round(point.usd, 2), point.on_demand_usd is not None)
        first = found.get(place)
        found[place] = point if first is None else replace(first, labels=(*first.labels, *point.labels))
    return tuple(found.values())


def _point(row: Row, time_s: float, book: PriceBook) -> Point:
    whole = row.on_demand_usd
    other = other_price(row, book) if whole is None else None
    again = job_cost(row.snapshot, other)
    return Point(
        label=row.label,
        slot=row.slot,
        minutes=time_s / 60,
        usd=float(row.cost.usd) if row.cost else 0.0,
        labels=(row.label,),
        on_demand_usd=float(whole) if whole is not None else None,
        other_usd=float(again.usd) if again else None,
        other_text=f"{fmt.usd(again.usd)} in {other.as_of}" if again and other else "",
    )


def front_of(points: Sequence[Point]) -> tuple[tuple[float, float], ...]:
    """The points that no other is at least as fast and as cheap as, and better in one of them."""
    front: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda item: (item.minutes, item.usd)):
        if not front or point.usd < front[-1][1]:
            front.append((point.minutes, point.usd))
    return tuple(front)


def rays_of(section: Section, rows: Sequence[Row], book: PriceBook) -> list[Ray]:
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


def pareto_title(points: Sequence[Point], front: Sequence[tuple[float, float]], *, took: str) -> str:
    """Who won, if anybody did: of jobs that are equal as far as they are shown, none has."""
    jobs = sum(len(point.labels) for point in points)
    if len({(round(point.minutes, 1), round(point.usd, 2)) for point in points}) == 1:
        return f"{fmt.jobs(jobs)}: no difference measured in cost and time"
    winners = [point for point in points if (point.minutes, point.usd) in front]
    if len(winners) == 1:
        rest = (
            "all others" if jobs - len(winners[0].labels) > 1 else next(p for p in points if p is not winners[0]).label
        )
        return f"{_who(winners[0])} cost less and {took} less time than {rest}"
    shortest = min(points, key=lambda point: (point.minutes, point.usd))
    cheapest = min(points, key=lambda point: (point.usd, point.minutes))
    return f"{_who(shortest)} {took} the least time, {_who(cheapest)} cost least"


def _who(point: Point) -> str:
    return fmt.listing(point.labels) if len(point.labels) <= 2 else fmt.jobs(len(point.labels))


_HEIGHT, _LEFT, _RIGHT = 216.0, 40.0, 58.0  # points: the axes, and the room of the prices beside them
_AIR = 0.14
_FAR = 18.0  # points from which on a line leads from a mark to its text
_NAMED, _GROUPS = 8, 2  # jobs that coincide: so many have their names in the foot, of so many marks


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
        return sum(len(point.labels) for point in self.points) > 1


def pareto_info(section: Section, book: PriceBook) -> ParetoInfo:
    """Cost against billable minutes per instance – with a job on spot, minutes from submit to end – of the completed
    measured jobs that have a cost."""
    seconds_of = section.seconds_of
    rows = [row for row in section.measured if row.completed and row.cost is not None and seconds_of(row)]
    points = points_of(rows, section, book)
    front = front_of(points)
    axis = "minutes from submit to end" if section.on_spot else "billable minutes per instance"
    values = [f"{fmt.listing(point.labels)}: {point.minutes:,.1f} min, {fmt.usd(point.usd)}" for point in points]
    return ParetoInfo(
        title=pareto_title(points, front, took="took" if section.on_spot else "was billed for")
        if len(rows) > 1
        else "One job: nothing to weigh",
        subtitle=_subtitle(section),
        points=points,
        front=front,
        rays=tuple(rays_of(section, rows, book)),
        axis=axis,
        foot=" ".join(_foot(section, points)),
        alt=f"Cost against {axis}. {'; '.join(values) or 'No cost is known'}.",
    )


def _subtitle(section: Section) -> str:
    tail = (
        "Dotted: up to the price of the same seconds on demand."
        if section.on_spot
        else "Dashed: what an hourly price makes of the minutes."
    )
    return f"Down and left is better. {tail} Axes do not start at zero."


def _foot(section: Section, points: Sequence[Point]) -> Iterator[str]:
    if section.emulated:
        yield "Emulated jobs are never points here."
    yield "One run each."
    if any(point.other_usd for point in points):
        yield "Hollow: the same job at another dated price."
    several = [point for point in points if len(point.labels) > 1]
    if len(several) > _GROUPS:
        yield "A mark may stand for several jobs that were equal: the table lists them."
    else:
        yield from (
            f"{fmt.jobs(len(point.labels))} at {fmt.usd(point.usd)}: {_few(point.labels)}." for point in several
        )


def _few(labels: Sequence[str]) -> str:
    more = [f"{len(labels) - _NAMED} more"] if len(labels) > _NAMED else []
    return fmt.listing([*labels[:_NAMED], *more])


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
    ax.set_ylim(*_limits([usd for point in info.points for usd in (point.lowest_usd, point.highest_usd)]))
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"${value:,g}"))
    ax.tick_params(axis="y", labelcolor=palette["ink3"], labelsize=sheet.label)
    ax.grid(visible=True, axis="y", color=palette["line"], linewidth=0.8)
    ax.set_xlabel(info.axis, loc="right", fontsize=sheet.label, color=palette["ink3"], labelpad=3)
    _draw_front(ax, info, sheet)
    _draw_rays(ax, info, sheet)
    many = sum(len(point.labels) for point in info.points) > SLOTS
    for point in info.points:
        _draw_point(ax, point, sheet, many=many)
    _draw_names(ax, info, sheet, many=many)


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
        inside = min(max(end, bottom + step / 2), top - step / 2)
        ax.annotate(ray.text, (right, inside), (4, 0), textcoords="offset points", va="center", ha="left", fontsize=sheet.label * 0.92,
                    color=sheet.palette["ink3"], annotation_clip=False)  # fmt: skip


def _draw_point(ax: Axes, point: Point, sheet: Sheet, *, many: bool) -> None:
    palette = sheet.palette
    color = palette["s1" if many else role(point.slot)]
    shape, size = marker(0 if many else point.slot).matplotlib, sheet.text * 0.8
    if point.on_demand_usd is not None:
        ends = ([point.minutes] * 2, [point.usd, point.on_demand_usd])
        ax.plot(*ends, color=palette["bg"], linewidth=4, zorder=2.9)
        ax.plot(*ends, color=color, linewidth=1.6, linestyle=":", marker="_", markersize=size * 1.4, zorder=3)
    if point.other_usd is not None and not many:
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.2, "shrinkA": 4, "shrinkB": 5}
        ax.annotate("", (point.minutes, point.usd), (point.minutes, point.other_usd), arrowprops=arrow, zorder=3)
        ax.plot([point.minutes], [point.other_usd], marker=shape, markersize=size, color=color, markerfacecolor=palette["bg"],
                linestyle="", zorder=4)  # fmt: skip
    ax.plot([point.minutes], [point.usd], marker=shape, markersize=size, color=color, linestyle="", zorder=5)


def _draw_names(ax: Axes, info: ParetoInfo, sheet: Sheet, *, many: bool) -> None:
    """The texts, where they have room: of many points those that no other beats, else names would cover the points."""
    palette, (left, right), (bottom, top) = sheet.palette, ax.get_xlim(), ax.get_ylim()
    scale = 72 / ax.figure.dpi
    width, height = ax.bbox.width * scale, ax.bbox.height * scale
    labels = Labels(width, height)

    def place(minutes: float, usd: float) -> tuple[float, float]:
        return (minutes - left) / (right - left) * width, (usd - bottom) / (top - bottom) * height

    for point in info.points:
        labels.block(*place(point.minutes, point.usd))
        if point.other_usd is not None and not many:
            labels.block(*place(point.minutes, point.other_usd))
    front = set(info.front)
    named = [point for point in info.points if not many or (point.minutes, point.usd) in front][:SLOTS]
    bold: dict[str, Any] = {"color": palette["ink"], "fontsize": sheet.text, "fontweight": "bold"}
    muted: dict[str, Any] = {"color": palette["ink3"], "fontsize": sheet.label}
    texts = [(place(point.minutes, point.usd), point.text, bold) for point in named]
    if not many:
        texts += [(place(p.minutes, p.other_usd), p.other_text, muted) for p in named if p.other_usd is not None]
    for (x, y), text, props in texts:
        size = text_size(text, props["fontsize"], bold="fontweight" in props)
        found = labels.place(x, y, size)
        if found is None:
            continue
        near = min(max(x, found[0]), found[0] + size[0]), min(max(y, found[1]), found[1] + size[1])
        if math.dist(near, (x, y)) > _FAR:
            ax.annotate("", near, (x, y), xycoords="axes points", textcoords="axes points", zorder=4, annotation_clip=False,
                        arrowprops={"arrowstyle": "-", "color": palette["axis"], "linewidth": 0.8, "shrinkA": 5, "shrinkB": 1})  # fmt: skip
        ax.annotate(unbroken(text), found, xycoords="axes points", ha="left", va="bottom", annotation_clip=False, zorder=6,
                    bbox={"facecolor": palette["bg"], "edgecolor": "none", "pad": 0.4, "alpha": 0.8}, **props)  # fmt: skip
