"""Endpoints as a table: what each is, what it costs, until when it may stay."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from ..core.formatting import numbers as fmt
from ..core.formatting.missing import Missing, missing_cost
from ..core.formatting.table import Align, Cell, Column, Row, Table, cells_of
from ..core.pricing.book import Price
from ..core.specs.units import Usd

_ROLES = {"InService": "ok", "Failed": "err"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRow:
    """What one endpoint is and costs. ``usd_per_hour`` is for all its instances; None when no hosting price is known,
    nothing when it is ``emulated``."""

    name: str
    status: str
    instance: str
    count: int
    created: datetime
    hours: float
    price: Price | None
    usd_per_hour: Usd | None
    expires: datetime | None
    overdue: bool
    job: str
    emulated: bool

    @property
    def usd_so_far(self) -> Usd | None:
        """At the hourly price, from its creation; None when no price is known."""
        return None if self.usd_per_hour is None else self.usd_per_hour * Decimal(str(self.hours))


def endpoint_table(rows: Sequence[EndpointRow], deleted: Collection[str] = ()) -> Table:
    """A row for each endpoint; ``deleted`` are the names of those that were deleted just now."""

    def status(row: EndpointRow) -> Cell:
        return Cell("deleted" if row.name in deleted else row.status, role=_ROLES.get(row.status, "info"))

    columns = (
        Column(name="status", heading="Status", align=Align.LEFT, read=status),
        Column(
            name="instances",
            heading="Instances",
            align=Align.LEFT,
            read=lambda row: fmt.instances(row.instance, row.count),
        ),
        Column(
            name="usd_per_hour",
            heading="USD/hour",
            form=lambda usd: f"{usd:,.4f}",
            read=lambda row: _usd(row, row.usd_per_hour),
        ),
        Column(name="usd_so_far", heading="USD so far", form=fmt.usd_cell, read=lambda row: _usd(row, row.usd_so_far)),
        Column(name="until", heading="Until", align=Align.LEFT, read=_until),
    )
    return Table(
        columns=columns,
        rows=tuple(Row(name=row.name, cells=cells_of(columns, row)) for row in rows),
        rows_are="Endpoint",
    )


def _usd(row: EndpointRow, usd: Decimal | None) -> Decimal | Missing:
    if usd is None or row.emulated:
        return missing_cost(emulated=row.emulated, billed=True)
    return usd


def _until(row: EndpointRow) -> Cell:
    if row.expires is None:
        return Cell("deleted by hand")
    if row.overdue:
        return Cell(f"overdue since {fmt.stamp(row.expires)}", role="warn")
    return Cell(fmt.stamp(row.expires))
