"""Dated prices as a table, for the pages of a comparison and of a fleet."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..core.formatting.html import WRAP
from ..core.formatting.table import Align, Cell, Column, Row, Table
from ..core.pricing.book import Price, price_sources

COLUMNS = (
    Column(name="usd_per_hour", heading="USD per hour"),
    Column(name="as_of", heading="Dated", align=Align.LEFT),
    Column(name="region", heading="Region", align=Align.LEFT),
    Column(name="used", heading="Used", align=Align.LEFT, form=lambda used: "yes" if used else "other date"),
    Column(name="source", heading="Source", align=Align.LEFT, style=WRAP),
)


def price_table(prices: Iterable[Price], title: str, used: Collection[Price]) -> Table:
    """Each price with its date, region and source; ``used`` are those that costs are made of."""
    rows = []
    for price in prices:
        inferred = Cell(f"{price.as_of}, inferred", role="warn", glyph="▲") if price.inferred else Cell(price.as_of)
        cells = {
            "usd_per_hour": Cell(price.usd_per_hour),
            "as_of": inferred,
            "region": Cell(price.region),
            "used": Cell(price in used),
            "source": Cell(price_sources().get(price.source, price.source)),
        }
        rows.append(Row(name=price.instance, role="code", cells=cells))
    return Table(columns=COLUMNS, rows=tuple(rows), title=title, rows_are="Instance")
