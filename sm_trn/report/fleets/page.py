"""A fleet as one self-contained HTML page. Every number comes from the fleet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.markup import TAG
from ..document import document_head, fold, text
from ..status import status_look
from .rows import FleetCosts
from .text import billed_seconds, cost_or_why, group_cost


def fleet_page(item: FleetCosts, figures: Sequence[str] = (), *, by: str, now: datetime | None) -> str:
    """The whole document; ``figures`` are pieces of HTML. ``now`` is written on it when given."""
    first, *others = item.findings()
    written = f", written {fmt.stamp(now)}" if now else ""
    body = [
        '<header><div><b>sm_trn</b><span>fleet</span></div><nav aria-label="Sections"><a href="#findings">Findings</a>',
        '<a href="#spend">Figures</a>' if figures else "",
        '<a href="#sums">Sums</a><a href="#jobs">Jobs</a></nav></header><main id="main">',
        f'<div id="findings"><h1>{text(first)}</h1>',
        f'<div class="stand">{"".join(f"<p>{text(line)}</p>" for line in others)}</div></div>' if others else "</div>",
        *_spend(figures, tagged=item.tags_read),
        f'<section id="sums"><div class="head"><h2>Sums</h2><p>{text(item.title)}, by {text(by)}</p></div>',
        f'<div class="scroll" role="region" tabindex="0" aria-label="Sums">{groups_table(item, by)}</div></section>',
        '<section id="jobs"><div class="head"><h2>Jobs</h2><p>newest first</p></div>',
        f'<div class="scroll" role="region" tabindex="0" aria-label="Jobs">{jobs_table(item, len(item.rows))}</div></section>',
        '<section id="method"><div class="head"><h2>Prices and method</h2>',
        f"<p>{text('cost = billable seconds ÷ 3,600 × instances × price per hour')}</p></div>",
        f'<div class="scroll" role="region" tabindex="0" aria-label="Prices">{"".join(_prices(item))}</div>',
        "<p>Left out: time before billing starts, storage, data transfer. An idle warm pool is in no job's cost.</p></section></main>",
        f"<footer><p>sm_trn fleet{written}. This file loads nothing from the network.</p></footer>",
    ]
    return "\n".join([*document_head(first), *body, "</body></html>", ""])


def _spend(figures: Sequence[str], *, tagged: bool) -> Iterator[str]:
    if figures:
        hint = "" if tagged else "Tags were not read: sm-trn cost --by tag:KEY and session.fleet(tags=True) read them"
        yield f'<section id="spend"><div class="head"><h2>Where the money went</h2><p>{text(hint)}</p></div>'
        yield f'<div class="figures">{"".join(figures)}</div></section>'


# The longest that stands below a heading, where that is longer.
_WIDEST = {
    "Status": "✗ Completed EMULATED",
    "Instances": "ml.p4de.24xlarge × 16",
    "Created": "2026-11-22 19:02 UTC",
    "Cost, USD": "no price is known",
    "Dated": "2026-09-01, inferred",
    "Region": "ap-southeast-2",
}


def groups_table(item: FleetCosts, by: str) -> str:
    heads = ("Jobs", "Instance hours", "Failed, USD", "Idle, USD", "Spot saved, USD", "Cost, USD")
    rows = "".join(
        f'<tr><th scope="row">{text(group.name)}</th>'
        + "".join(
            f'<td data-label="{name}">{text(value)}</td>'
            for name, value in zip(
                heads,
                (
                    fmt.count(group.jobs),
                    group.hours_words,
                    _cell(group.failed_usd),
                    _cell(group.idle_usd),
                    _cell(group.spot_saved),
                    group_cost(group),
                ),
                strict=True,
            )
        )
        + "</tr>"
        for group in item.by(by)
    )
    return _table(f"Sums by {by}", by, heads, rows)


def _cell(usd: Decimal) -> str:
    return fmt.usd_cell(usd) if usd else "–"


def jobs_table(item: FleetCosts, most: int) -> str:
    heads = ("Status", "Instances", "Created", "Billable, s", "Cost, USD")
    rows = []
    for row in item.rows[:most]:
        job, look = row.snapshot, status_look(row.snapshot)
        tag = f" {TAG}" if job.emulated else ""
        values = (
            f'<td class="words state" data-label="Status"><span class="{look.role}">{look.glyph} {text(look.word)}</span>{tag}</td>',
            f'<td class="words" data-label="Instances">{text(fmt.instances(job.instance, job.count))}</td>',
            f'<td data-label="Created">{text(fmt.stamp(job.created)) if job.created else "–"}</td>',
            f'<td data-label="Billable, s">{billed_seconds(row)}</td>',
            f'<td data-label="Cost, USD">{text(cost_or_why(row))}</td>',
        )
        rows.append(f'<tr><th scope="row">{text(job.name)}</th>{"".join(values)}</tr>')
    more = f"{len(item.rows) - most} more jobs are not listed." if len(item.rows) > most else ""
    return _table(f"Jobs, newest first. {more}".strip(), "Job", heads, "".join(rows))


def _prices(item: FleetCosts) -> Iterator[str]:
    heads = ("USD per hour", "Dated", "Region")
    prices = dict.fromkeys(row.price for row in item.rows if row.price is not None)
    rows = "".join(
        f'<tr><th scope="row"><code>{text(price.instance)}</code></th><td data-label="{heads[0]}">{price.usd_per_hour}</td>'
        f'<td data-label="{heads[1]}">{text(price.as_of)}{", inferred" if price.inferred else ""}</td>'
        f'<td data-label="{heads[2]}">{text(price.region)}</td></tr>'
        for price in prices
    )
    yield _table("Prices used", "Instance", heads, rows)


def _table(caption: str, first: str, heads: tuple[str, ...], rows: str) -> str:
    folded = fold([_WIDEST.get(name, name)] for name in heads)
    words = {"Status", "Instances"}
    head = "".join(f'<th scope="col"{" class=words" if name in words else ""}>{name}</th>' for name in heads)
    top = f'<caption>{text(caption)}</caption><thead><tr><th scope="col">{text(first.capitalize())}</th>{head}</tr></thead>'
    return f'<table class="jobs {folded}">{top}<tbody>{rows}</tbody></table>'
