"""Cost against time as numbers: a point per job or per jobs that coincide, the front, hourly prices. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.layout import cut
from ...core.pricing.book import Price, PriceBook
from ...core.pricing.cost import job_cost
from ..sections.rows import Row
from ..sections.section import Section, flip_price, other_price


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
