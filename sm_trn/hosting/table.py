"""Endpoints as a table: what each is, what it costs, until when it may stay."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from ..core.formatting import numbers as fmt
from ..core.formatting.missing import Missing, missing_cost
from ..core.formatting.table import Align, Cell, Column, Row, Table

COLUMNS = (
    Column(name="status", heading="Status", align=Align.LEFT),
    Column(name="instances", heading="Instances", align=Align.LEFT),
    Column(name="usd_per_hour", heading="USD/hour", form=lambda usd: f"{usd:,.4f}"),
    Column(name="usd_so_far", heading="USD so far", form=fmt.usd_cell),
    Column(name="until", heading="Until", align=Align.LEFT),
)
_ROLES = {"InService": "ok", "Failed": "err"}
DELETED = "deleted"


class Endpoint(Protocol):
    """One endpoint of a list."""

    @property
    def name(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def instance(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def usd_per_hour(self) -> Decimal | None: ...
    @property
    def usd_so_far(self) -> Decimal | None: ...
    @property
    def expires(self) -> datetime | None: ...
    @property
    def overdue(self) -> bool: ...
    @property
    def emulated(self) -> bool: ...


def endpoint_table(rows: Sequence[Endpoint], deleted: Collection[str] = ()) -> Table:
    """A row for each endpoint; ``deleted`` are the names of those that were deleted just now."""
    made = []
    for row in rows:
        status = DELETED if row.name in deleted else row.status
        cells = {
            "status": Cell(status, role=_ROLES.get(status, "info")),
            "instances": Cell(fmt.instances(row.instance, row.count)),
            "usd_per_hour": Cell(_usd(row, row.usd_per_hour)),
            "usd_so_far": Cell(_usd(row, row.usd_so_far)),
            "until": _until(row),
        }
        made.append(Row(name=row.name, cells=cells))
    return Table(columns=COLUMNS, rows=tuple(made), rows_are="Endpoint")


def _usd(row: Endpoint, usd: Decimal | None) -> Decimal | Missing:
    if usd is None or row.emulated:
        return missing_cost(emulated=row.emulated, billed=True)
    return usd


def _until(row: Endpoint) -> Cell:
    if row.expires is None:
        return Cell("deleted by hand")
    if row.overdue:
        return Cell(f"overdue since {fmt.stamp(row.expires)}", role="warn")
    return Cell(fmt.stamp(row.expires))
