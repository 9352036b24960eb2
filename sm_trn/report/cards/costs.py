"""Costs in a notebook: the sum, and what it was made of. Every price with its date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.formatting.markup import TAG, block, escaped, facts, grid, title
from ...core.pricing.book import price_sources

if TYPE_CHECKING:
    from ...core.pricing.cost import JobCost
    from ...core.pricing.requests import RequestCost


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


def request_cost_card(cost: RequestCost) -> str:
    """The sentence, then what 1,000 requests cost at stated rates."""
    head = cost.heading().removeprefix("EMULATED: ")
    tag = f"{TAG} " if cost.emulated else ""
    rows = cost.table()
    return block(
        f'<p class="title">{tag}{escaped(head)}</p><p>{escaped(cost.priced())}</p>'
        + (grid(("Requests per second", "USD per 1,000"), rows) if rows else "")
    )
