"""Costs in a notebook: the sum, and what it was made of. Every price with its date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.formatting.html import TAG, block, facts, html_table, text, title
from ...core.formatting.table import Cell, Column, Row, Table
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
    tag = f"{TAG} " if cost.emulated else ""
    columns = (Column(name="usd", heading="USD per 1,000"),)
    rows = tuple(Row(name=rate, cells={"usd": Cell(usd)}) for rate, usd in cost.table())
    table = Table(columns=columns, rows=rows, rows_are="Requests per second")
    shown = f'<div class="narrow">{html_table(table, folding=False)}</div>' if rows else ""
    return block(f'<p class="title">{tag}{text(cost.sentence())}</p><p>{text(cost.priced())}</p>{shown}')
