"""Costs in a notebook: the sum, and what it was made of. Every price with its date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.formatting.html import block, facts, title
from ...core.pricing.book import price_sources

if TYPE_CHECKING:
    from ...core.pricing.cost import JobCost


def job_cost_card(cost: JobCost) -> str:
    """The dollars, then seconds × instances × price."""
    rows = [
        ("billable", f"{cost.billable_s:,.0f} s on each of {cost.instances} instance{'s' * (cost.instances > 1)}"),
        ("price", f"{cost.price.instance} {cost.price}"),
        ("source", price_sources().get(cost.price.source, cost.price.source)),
    ]
    if cost.spot_saving is not None:
        rows.append(("spot", f"{100 * cost.spot_saving:.1f} % of the training time was not billed"))
    return block(title(f"${cost.rounded:,}", "billable seconds × instances × price") + facts(rows))
