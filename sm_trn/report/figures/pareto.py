"""Time against money: a point for each job, and the front of those that no other job beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import cut
from ...core.formatting.theme import SLOTS, marker, role
from ..sections.rows import ComparedJob
from ..sections.section import Section
from .chart import Chart, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 8  # points that may have a name beside them
_Place = tuple[float, float]  # minutes and US dollars
_Point = tuple[ComparedJob, _Place]


def chart(section: Section) -> Chart:
    """Cost against billable minutes of the completed measured jobs; with one on spot, minutes from submit to end."""
    points = [
        (row, (round(seconds / 60, 1), round(float(row.cost.usd), 2)))
        for row in section.measured
        if row.completed and row.cost is not None and (seconds := section.seconds_of(row))
    ]
    front = _front(points)
    axis = "minutes from submit to end" if section.on_spot else "billable minutes per instance"
    values = [f"{row.label}: {minutes:,.1f} min, {fmt.usd(usd)}" for row, (minutes, usd) in points]
    foot = ["One run each."]
    foot += ["Dotted: up to the price of the same seconds on demand."] if section.on_spot else []
    return Chart(
        name="pareto",
        title=_title(points, front, "took" if section.on_spot else "was billed for"),
        subtitle="Down and left is better. Axes do not start at zero.",
        foot=" ".join(foot),
        alt=f"Cost against {axis}. {'; '.join(values) or 'No cost is known'}.",
        drawn=len({place for _, place in points}) > 1,
        draw=lambda axes, style: _draw(axes[0], points, front, axis, style),
    )


def _front(points: Sequence[_Point]) -> list[_Place]:
    """The points that no other one is at least as fast and as cheap as, and better in one of them; the fastest first."""
    front: list[_Place] = []
    for place in sorted(place for _, place in points):
        if not front or place[1] < front[-1][1]:
            front.append(place)
    return front


def _title(points: Sequence[_Point], front: Sequence[_Place], took: str) -> str:
    if len(points) < 2:
        return "One job: nothing to weigh"
    if len({place for _, place in points}) == 1:
        return f"{fmt.jobs(len(points))}: no difference measured in cost and time"
    best = [[row.label for row, place in points if place == end] for end in (front[0], front[-1])]
    first, last = (fmt.listing(labels) if len(labels) <= 2 else fmt.jobs(len(labels)) for labels in best)
    if len(front) == 1:
        others = [row.label for row, place in points if place != front[0]]
        return f"{first} cost less and {took} less time than {others[0] if len(others) == 1 else 'all others'}"
    return f"{first} {took} the least time, {last} cost least"


def _draw(ax: Axes, points: Sequence[_Point], front: Sequence[_Place], axis: str, style: Style) -> None:
    palette = style.palette
    ax.margins(0.15)
    ax.grid(visible=True)
    ax.set_xlabel(axis, loc="right")
    ax.set_ylabel("US dollars", loc="top")
    ax.xaxis.set_major_locator(MaxNLocator(5 if style.width > 5 else 3))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    ax.yaxis.set_major_formatter(StrMethodFormatter("${x:,g}"))
    ax.step(*zip(*front, strict=True), where="post", color=palette["axis"], linewidth=1)
    for row, (minutes, usd) in points:
        color = palette[role(row.slot) if len(points) <= SLOTS or (minutes, usd) in front else "axis"]
        ax.plot([minutes], [usd], marker=marker(row.slot).matplotlib, color=color, markersize=8, linestyle="", zorder=3)
        if row.on_demand_usd is not None:
            ax.plot(
                [minutes] * 2, [usd, float(row.on_demand_usd)], color=color, linewidth=1.2, linestyle=":", marker="_"
            )
    _name(ax, points, front, style)


def _name(ax: Axes, points: Sequence[_Point], front: Sequence[_Place], style: Style) -> None:
    """Names beside the marks, where they lie on no mark and on no other name; a name without room is left out."""
    wide, high = style.width * 72 * 0.82, 2.8 * 72 * style.size / 9.5  # points of the axes, about
    size = style.size * 0.92
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    at = {(x, y): ((x - left) / (right - left) * wide, (y - bottom) / (top - bottom) * high) for _, (x, y) in points}
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in at.values()]
    named = sorted(at, key=lambda place: place not in front)[:_NAMED]
    for place in named:
        labels = [row.label for row, point in points if point == place]
        text = f"{cut(labels[0], 24) if len(labels) == 1 else fmt.jobs(len(labels))}, {fmt.usd(place[1])}"
        length, (x, y) = len(text) * size * 0.6, at[place]
        for dx, dy in ((8.0, 0.0), (-8.0 - length, 0.0), (8.0, 12.0), (8.0, -12.0), (-length, 12.0), (-length, -12.0)):
            box = (x + dx, y + dy - size / 2, x + dx + length, y + dy + size / 2)
            inside = box[0] >= 0 and box[2] <= wide and box[1] >= 0 and box[3] <= high
            if inside and not any(box[0] < b[2] and box[2] > b[0] and box[1] < b[3] and box[3] > b[1] for b in taken):
                ax.annotate(text, place, (dx, dy), textcoords="offset points", va="center", fontsize=size)
                taken.append(box)
                break
