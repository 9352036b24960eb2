"""A fleet as one self-contained HTML page. Every number comes from the fleet."""

from __future__ import annotations

from datetime import datetime

from ...core.formatting import numbers as fmt
from ...core.formatting.html import text
from ..document import document_head, page_table, price_table
from .rows import FleetCosts
from .table import IN_PAGE, fleet_table, group_table


def fleet_page(item: FleetCosts, *, by: str, now: datetime | None) -> str:
    """The whole document. ``now`` is written on it when given."""
    first, *others = item.findings()
    prices = dict.fromkeys(row.price for row in item.rows if row.price is not None)
    hint = (
        "" if item.tags_read else "Tags were not read: sm-trn cost --by tag:KEY and session.fleet(tags=True) read them."
    )
    written = f", written {fmt.stamp(now)}" if now else ""
    body = [
        '<header><div><b>sm_trn</b><span>fleet</span></div><nav aria-label="Sections"><a href="#findings">Findings</a>',
        '<a href="#sums">Sums</a><a href="#jobs">Jobs</a></nav></header><main id="main">',
        f'<div id="findings"><h1>{text(first)}</h1>',
        f'<div class="stand">{"".join(f"<p>{text(line)}</p>" for line in others)}</div></div>' if others else "</div>",
        f'<section id="sums"><div class="head"><h2>Sums</h2><p>{text(item.title)}, by {text(by)}. {text(hint)}</p></div>',
        page_table(group_table(item, by, f"Sums by {by}"), "Sums"),
        "</section>",
        '<section id="jobs"><div class="head"><h2>Jobs</h2><p>newest first</p></div>',
        page_table(fleet_table(item.rows, IN_PAGE, "Jobs, newest first."), "Jobs"),
        "</section>",
        '<section id="method"><div class="head"><h2>Prices and method</h2>',
        f"<p>{text('cost = billable seconds ÷ 3,600 × instances × price per hour')}</p></div>",
        page_table(price_table(prices, "Prices used", prices), "Prices"),
        "<p>Left out: time before billing starts, storage, data transfer. An idle warm pool is in no job's cost.</p></section></main>",
        f"<footer><p>sm_trn fleet{written}. This file loads nothing from the network.</p></footer>",
    ]
    return "\n".join([*document_head(first), *body, "</body></html>", ""])
