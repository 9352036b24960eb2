"""What values look like in a notebook: static HTML in one scoped block, no script, no id, every fact in words. Asks nothing.

A value that inherits ``HasCard`` is looked up here when a notebook shows it.
"""

from __future__ import annotations

from functools import singledispatch
from html import escape

from ..core.formatting.html import TAG, WIDE, block, html_table, text
from ..core.formatting.table import Table
from .columns import jobs_table
from .comparison.compare import Comparison
from .comparison.tables import REHEARSED, compared_table, rehearsal_table
from .fleets.fleet import Fleet
from .fleets.rows import IN_PAGE, SHOWN, group_table
from .sections.findings import Kind


@singledispatch
def card(value: object) -> str:
    """The HTML of a value: its text, for one that has no card of its own here."""
    lines = ["".join(letter if letter.isprintable() else " " for letter in line) for line in str(value).split("\n")]
    words = escape("\n".join(lines))
    return block(f"<pre>{words}</pre>")


def _wide(table: Table) -> str:
    return f"{WIDE}{html_table(table, folding=False)}</div>" if table.rows else ""


@card.register
def _comparison(item: Comparison) -> str:
    """Sections, tables and findings; rehearsals after the measured jobs."""
    blocks = []
    for section in item.sections:
        if not section.measured:
            continue
        pair = section.base is not None and len(section.measured) > 1 and section.sweep is None
        base = f"Baseline {section.base.label}." if pair and section.base is not None else ""
        own = [finding for finding in item.findings if finding.workload == section.workload]
        said = [finding.text for finding in own if finding.kind not in {Kind.NOTE, Kind.EMULATED}]
        lines = "".join(f"<p>{text(line)}</p>" for line in said)
        table = _wide(compared_table(section, base))
        blocks.append(f'<p class="title">{text(section.workload or "Jobs")}</p>{table}{lines}')
    for section in item.sections:
        if section.emulated:
            table = _wide(rehearsal_table(section.rehearsal, REHEARSED))
            blocks.append(f'<p class="title">{TAG} {text(section.workload or "Jobs")}</p>{table}')
    return block("".join(blocks))


@card.register
def _fleet(item: Fleet) -> str:
    """The sums by instance, what they leave out, and the newest jobs."""
    more = f" {len(item.rows) - SHOWN} more jobs are not listed." if len(item.rows) > SHOWN else ""
    sums = group_table(item.by("instance"), "instance", "Sums by instance")
    jobs = jobs_table(item.rows[:SHOWN], IN_PAGE, title=f"Jobs, newest first.{more}")
    said = "".join(f"<p>{text(line)}</p>" for line in item.findings())
    return block(f'<p class="title">{text(item.title)}</p>{said}{_wide(sums)}{_wide(jobs)}')
