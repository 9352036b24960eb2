"""A fleet for the terminal. Every number comes from the fleet."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.formatting import numbers as fmt
from ..layout import between, cut, one_line
from ..status import status_look
from .rows import FleetCosts, FleetGroup, FleetRow

SHOWN = 30  # jobs that are listed; all of them are summed


def cost_or_why(row: FleetRow) -> str:
    """``45.96``, or the word for why there is none."""
    if row.cost is not None:
        return fmt.usd_cell(row.cost.usd)
    if row.snapshot.emulated:
        return "emulated"
    return "no price" if row.unpriced else "not billed"


def billed_seconds(row: FleetRow) -> str:
    """``3,600``; an emulated job's are this machine's and say ``emu``."""
    if row.snapshot.billable_s is None:
        return "-"
    return fmt.count(row.snapshot.billable_s) + (" emu" if row.snapshot.emulated else "")


def group_cost(group: FleetGroup) -> str:
    """``45.96``; ``none`` where no job has a cost, which is not the same as nothing."""
    return fmt.usd_cell(group.usd) if group.priced else "none"


def fleet_text(item: FleetCosts, width: int, by: str) -> Iterator[str]:
    """The sums by ``by``, the newest jobs, what the sums leave out; ``width`` columns, 60 at least."""
    wide = max(16, width - 44)
    yield from between(item.title, f"by {by}", width)
    yield ""
    yield _line(wide, by.upper(), "JOBS", "INSTANCE h", "SAVED", "USD")
    for group in item.by(by):
        saved = fmt.usd_cell(group.spot_saved) if group.spot_saved else "-"
        yield _line(wide, group.name, fmt.count(group.jobs), group.hours_words, saved, group_cost(group))
    yield ""
    yield _line(wide, "JOB", "HOSTS", "BILLABLE s", "STATUS", "USD")
    for row in item.rows[:SHOWN]:
        job = row.snapshot
        billed = billed_seconds(row)
        yield _line(wide, one_line(job.name), fmt.count(job.count), billed, status_look(job).word, cost_or_why(row))
    if len(item.rows) > SHOWN:
        yield f"and {len(item.rows) - SHOWN} more"
    yield ""
    yield from item.findings()


def _line(wide: int, name: str, first: str, second: str, third: str, last: str) -> str:  # noqa: PLR0917 - one row's cells
    return f"{cut(name, wide):<{wide}} {first:>6} {second:>11} {third:>11} {last:>12}"
