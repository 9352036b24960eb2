"""A fleet for the terminal. Every number comes from the fleet."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.formatting.printable import between
from ...core.formatting.text import Layout, Screen, table_lines
from .rows import FleetCosts
from .table import IN_TEXT, SHOWN, fleet_table, group_table

_LAYOUT = Layout(gap=1, full=True)


def fleet_text(item: FleetCosts, width: int, by: str) -> Iterator[str]:
    """The sums by ``by``, the newest jobs, what the sums leave out; ``width`` columns, 60 at least."""
    screen = Screen(width=width)
    yield from between(item.title, f"by {by}", width)
    yield ""
    yield from table_lines(group_table(item, by), screen, _LAYOUT)
    yield ""
    yield from table_lines(fleet_table(item.rows[:SHOWN], IN_TEXT), screen, _LAYOUT)
    if len(item.rows) > SHOWN:
        yield f"and {len(item.rows) - SHOWN} more"
    yield ""
    yield from item.findings()
