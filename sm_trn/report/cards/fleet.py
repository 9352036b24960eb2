"""A fleet in a notebook: the sums by instance, and the newest jobs."""

from __future__ import annotations

from ...core.formatting.markup import WIDE, block
from ..document import text
from ..fleets.page import groups_table, jobs_table
from ..fleets.rows import FleetCosts
from ..fleets.text import SHOWN


def fleet_card(item: FleetCosts) -> str:
    """The sums by instance and what they leave out."""
    said = "".join(f"<p>{text(line)}</p>" for line in item.findings())
    return block(
        f'<p class="title">{text(item.title)}</p>{said}'
        f"{WIDE}{groups_table(item, 'instance')}</div>{WIDE}{jobs_table(item, SHOWN)}</div>"
    )
