"""The tables of a fleet: its jobs and its sums. Each column stands once; a writer's table chooses some of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, known, missing_cost
from ...core.formatting.table import Align, Cell, Column, Row, Table, cells_of
from ...core.status import status_look
from .rows import FleetCosts, FleetGroup, FleetRow

SHOWN = 30  # jobs that are listed; all of them are summed
IN_TEXT = ("instances", "billable_s", "status", "cost_usd")
IN_PAGE = ("status", "machines", "created", "billable_s", "cost_usd")


def _cost(row: FleetRow) -> Any:
    if row.cost is not None:
        return row.cost.usd
    job = row.snapshot
    return missing_cost(emulated=job.emulated, billed=job.billable_s is not None, in_tokens=job.in_tokens)


def _price(row: FleetRow, value: Any) -> Any:
    job = row.snapshot
    return value if row.price is not None else missing_cost(emulated=job.emulated, billed=True, in_tokens=job.in_tokens)


def _billed(row: FleetRow) -> Any:
    seconds = row.snapshot.billable_s
    if seconds is None:
        return Missing.NOT_BILLED_YET
    return Cell(seconds, unit="emu" if row.snapshot.emulated else "")


def _status(row: FleetRow) -> Cell:
    look = status_look(row.snapshot, row.health.verdict if row.health is not None else None)
    return Cell(look.word, role=look.role, glyph=look.glyph, tag=row.snapshot.emulated)


JOB_COLUMNS: tuple[Column, ...] = (
    Column(name="job", dtype="object", read=lambda row: row.snapshot.name),
    Column(name="status", heading="Status", short="STATUS", align=Align.LEFT, style="state", least=11, dtype="object", read=_status),
    Column(name="emulated", dtype="bool", read=lambda row: row.snapshot.emulated),
    Column(name="instance", dtype="object", read=lambda row: row.snapshot.instance),
    Column(name="instances", short="HOSTS", least=6, form=fmt.count, dtype="int64", read=lambda row: row.snapshot.count),
    Column(name="created", heading="Created", form=fmt.stamp, read=lambda row: known(row.snapshot.created)),
    Column(name="billable_s", heading="Billable, s", short="BILLABLE s", least=11, form=fmt.count, dtype="float64", read=_billed),
    Column(name="instance_hours", dtype="float64", read=lambda row: known(row.instance_hours)),
    Column(name="price_usd_per_hour", dtype="float64", read=lambda row: _price(row, row.price and row.price.usd_per_hour)),
    Column(name="price_as_of", dtype="object", read=lambda row: _price(row, row.price and row.price.as_of)),
    Column(name="cost_usd", heading="Cost, USD", short="USD", least=12, form=fmt.usd_cell, dtype="float64", read=_cost),
    Column(name="spot_saved_usd", dtype="float64", read=lambda row: known(row.spot_saved)),
    Column(name="idle_usd", dtype="float64", read=lambda row: known(row.idle_usd)),
    Column(name="interruptions", dtype="int64", read=lambda row: row.snapshot.interruptions),
)  # fmt: skip
FLEET_COLUMNS = tuple(column.name for column in JOB_COLUMNS)
_MACHINES = Column(
    name="machines",
    heading="Instances",
    align=Align.LEFT,
    read=lambda row: fmt.instances(row.snapshot.instance, row.snapshot.count),
)
_BY_NAME = {column.name: column for column in (*JOB_COLUMNS, _MACHINES)}


def _money(usd: Decimal) -> Decimal | Missing:
    return usd or Missing.NOTHING


def _group_cost(group: FleetGroup) -> Decimal | Missing:
    """A group without any cost says why its jobs have none: that is not the same as nothing."""
    return (
        group.usd
        if group.priced
        else missing_cost(emulated=group.emulated, billed=group.billed, in_tokens=group.in_tokens)
    )


GROUP_COLUMNS: tuple[Column, ...] = (
    Column(name="jobs", heading="Jobs", least=6, form=fmt.count, read=lambda group: group.jobs),
    Column(name="instance_hours", heading="Instance hours", short="INSTANCE h", least=11, form=lambda hours: f"{hours:,.1f}",
                read=lambda group: group.instance_hours or Missing.NOTHING),
    Column(name="failed_usd", heading="Failed, USD", in_text=False, form=fmt.usd_cell, read=lambda group: _money(group.failed_usd)),
    Column(name="idle_usd", heading="Idle, USD", in_text=False, form=fmt.usd_cell, read=lambda group: _money(group.idle_usd)),
    Column(name="spot_saved_usd", heading="Spot saved, USD", short="SAVED", least=11, form=fmt.usd_cell,
                read=lambda group: _money(group.spot_saved)),
    Column(name="usd", heading="Cost, USD", short="USD", least=12, form=fmt.usd_cell, read=_group_cost),
)  # fmt: skip


def fleet_table(rows: Iterable[FleetRow], names: Sequence[str] = FLEET_COLUMNS, title: str = "") -> Table:
    """The jobs with the columns ``names``."""
    columns = tuple(_BY_NAME[name] for name in names)
    made = tuple(Row(name=row.snapshot.name, cells=cells_of(columns, row)) for row in rows)
    return Table(columns=columns, rows=made, title=title)


def group_table(item: FleetCosts, by: str, title: str = "") -> Table:
    """The sums by instance, status, person or another key, dearest first."""
    rows = tuple(Row(name=group.name, cells=cells_of(GROUP_COLUMNS, group)) for group in item.by(by))
    return Table(columns=GROUP_COLUMNS, rows=rows, title=title, rows_are=by.capitalize())
