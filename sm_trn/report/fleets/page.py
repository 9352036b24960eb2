"""The page of a fleet, and which figures stand on it. Every number comes from the fleet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ..columns import jobs_table, price_table
from ..pages import Picture, render
from .figures import fleet_figures
from .rows import IN_PAGE, FleetCosts, group_table


def fleet_pictures(item: FleetCosts) -> tuple[Picture, ...]:
    """Every figure of a fleet that has something to show."""
    return tuple(Picture(name=each.name, info=each, draw=each.draw, wide=each.wide) for each in fleet_figures(item))


def fleet_page(item: FleetCosts, shown: Sequence[Picture] = (), *, by: str, now: datetime | None) -> str:
    """The whole document of a fleet. ``now`` is written on it when given."""
    first, *others = item.findings()
    prices = dict.fromkeys(row.price for row in item.rows if row.price is not None)
    links = {"findings": "Findings", **({"spend": "Figures"} if shown else {}), "sums": "Sums", "jobs": "Jobs"}
    return render(
        "fleet.html",
        kind="fleet",
        title=first,
        others=others,
        links=links,
        pictures=shown,
        hint="" if item.tags_read else "Tags were not read: sm-trn cost --by tag:KEY reads them",
        heading=f"{item.title}, by {by}",
        sums=group_table(item, by, f"Sums by {by}"),
        jobs=jobs_table(item.rows, IN_PAGE, title="Jobs, newest first."),
        prices=price_table(prices, "Prices used", prices),
        now=now,
    )
