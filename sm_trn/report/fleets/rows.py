"""Sums of many jobs: by instance, status, month, day, name or tag. Compares nothing.

Sums hold only what was billed at a known price. Emulated jobs have no cost, jobs without a price are named, and neither is
ever counted as zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from ...core.errors import UnknownName
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, missing_cost
from ...core.formatting.printable import one_line
from ...core.formatting.table import Column, Row, Table, cells_of
from ...core.specs.value import suggestion
from ..jobs import WatchRow

TAG = "tag:"
SHOWN = 30  # jobs that are listed; all of them are summed
IN_PAGE = ("status", "machines", "created", "billed_s", "cost_usd")
_RUN = re.compile(
    r"-\d{6}-\d{6}-[0-9a-f]{6}$|-\d{4}-\d{2}-\d{2}-\d{2}-\d{2}-\d{2}-\d{3}$"
)  # of this package, of the SDKs


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetGroup:
    """Jobs that share a value. ``usd`` sums those that have a cost; ``priced`` says how many that are.

    ``failed_usd`` is the part of it that failed jobs cost. ``idle_usd`` comes on top: warm pools without a job. ``emulated``,
    ``in_tokens``: all jobs are; ``billed``: at least one job was billed.
    """

    name: str
    jobs: int
    priced: int
    instance_hours: float
    usd: Decimal
    spot_saved: Decimal
    failed_usd: Decimal = Decimal(0)
    idle_usd: Decimal = Decimal(0)
    emulated: bool = False
    billed: bool = False
    in_tokens: bool = False


_NAMERS: Mapping[str, Callable[[WatchRow], str]] = MappingProxyType(
    {
        "instance": lambda row: one_line(row.snapshot.instance) or "no instance",
        "status": lambda row: one_line(row.snapshot.status_word),
        "month": lambda row: f"{row.snapshot.created:%Y-%m}" if row.snapshot.created else "no date",
        "day": lambda row: f"{row.snapshot.created:%Y-%m-%d}" if row.snapshot.created else "no date",
        "name": lambda row: _RUN.sub("", one_line(row.snapshot.name)),
    }
)


def namer(key: str) -> Callable[[WatchRow], str]:
    """How the group of a job is called. Raises UnknownName for what no sums are made by."""
    tag = key.removeprefix(TAG)
    if tag and tag != key:
        return lambda row: one_line(row.tags.get(tag, "")) or f"no {tag}"
    if key not in _NAMERS:
        raise UnknownName(f"by: got {key!r}, wanted one of {', '.join(_NAMERS)} or tag:KEY{suggestion(key, _NAMERS)}")
    return _NAMERS[key]


def group_of(name: str, rows: Sequence[WatchRow]) -> FleetGroup:
    return FleetGroup(
        name=name,
        jobs=len(rows),
        priced=sum(row.cost is not None for row in rows),
        instance_hours=sum(row.instance_hours or 0.0 for row in rows),
        usd=sum((row.cost.usd for row in rows if row.cost is not None), Decimal(0)),
        spot_saved=total(row.spot_saved for row in rows),
        failed_usd=total(row.failed_usd for row in rows),
        idle_usd=total(row.idle_usd for row in rows),
        emulated=all(row.snapshot.emulated for row in rows),
        billed=any(row.snapshot.billable_s is not None for row in rows),
        in_tokens=all(row.snapshot.in_tokens for row in rows),
    )


def total(values: Iterable[Decimal | None]) -> Decimal:
    return sum((value for value in values if value is not None), Decimal(0))


def group_table(groups: Iterable[FleetGroup], by: str, title: str = "") -> Table:
    """The sums by instance, status or another key, dearest first."""
    rows = tuple(Row(name=group.name, cells=cells_of(_GROUP_COLUMNS, group)) for group in groups)
    return Table(columns=_GROUP_COLUMNS, rows=rows, title=title, rows_are=by.capitalize())


def _money(name: str) -> Column:
    """A column of dollars, empty where there are none."""
    heading = {"failed_usd": "Failed", "idle_usd": "Idle", "spot_saved": "Spot saved"}[name]
    return Column(
        name=name,
        heading=f"{heading}, USD",
        short="SAVED",
        least=11,
        form=fmt.usd_cell,
        in_text=name == "spot_saved",
        read=lambda group: getattr(group, name) or Missing.NOTHING,
    )


def _group_cost(group: FleetGroup) -> Decimal | Missing:
    """A group without any cost says why its jobs have none: that is not the same as nothing."""
    if group.priced:
        return group.usd
    return missing_cost(emulated=group.emulated, billed=group.billed, in_tokens=group.in_tokens)


_GROUP_COLUMNS: tuple[Column, ...] = (
    Column(name="jobs", heading="Jobs", least=6, form=fmt.count, read=lambda group: group.jobs),
    Column(name="instance_hours", heading="Instance hours", short="INSTANCE h", least=11, form=lambda hours: f"{hours:,.1f}",
           read=lambda group: group.instance_hours or Missing.NOTHING),
    _money("failed_usd"),
    _money("idle_usd"),
    _money("spot_saved"),
    Column(name="usd", heading="Cost, USD", short="USD", least=12, form=fmt.usd_cell, read=_group_cost),
)  # fmt: skip
