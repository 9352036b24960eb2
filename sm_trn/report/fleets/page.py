"""The page of a fleet. Every number comes from the fleet."""

from __future__ import annotations

from datetime import datetime

from ..columns import jobs_table, price_table
from ..pages import render
from .rows import IN_PAGE, FleetCosts, group_table


def fleet_page(item: FleetCosts, *, by: str, now: datetime | None) -> str:
    """The whole document. ``now`` is written on it when given."""
    first, *others = item.findings()
    prices = dict.fromkeys(row.price for row in item.rows if row.price is not None)
    return render(
        "fleet.html",
        kind="fleet",
        title=first,
        others=others,
        links={"findings": "Findings", "sums": "Sums", "jobs": "Jobs"},
        heading=f"{item.title}, by {by}",
        sums=group_table(item, by, f"Sums by {by}"),
        jobs=jobs_table(item.rows, IN_PAGE, title="Jobs, newest first."),
        prices=price_table(prices, "Prices used", prices),
        now=now,
    )
