"""A fleet in a notebook: the sums by instance, and the newest jobs."""

from __future__ import annotations

from ...core.formatting.html import WIDE, block, html_table, text
from ..fleets.rows import FleetCosts
from ..fleets.table import IN_PAGE, SHOWN, fleet_table, group_table


def fleet_card(item: FleetCosts) -> str:
    """The sums by instance and what they leave out."""
    said = "".join(f"<p>{text(line)}</p>" for line in item.findings())
    more = f" {len(item.rows) - SHOWN} more jobs are not listed." if len(item.rows) > SHOWN else ""
    sums = html_table(group_table(item, "instance", "Sums by instance"), folding=False)
    jobs = html_table(fleet_table(item.rows[:SHOWN], IN_PAGE, f"Jobs, newest first.{more}"), folding=False)
    return block(f'<p class="title">{text(item.title)}</p>{said}{WIDE}{sums}</div>{WIDE}{jobs}</div>')
