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
from .comparison.tables import REHEARSED, compared_table
from .fleets.fleet import Fleet
from .fleets.rows import IN_PAGE, SHOWN, group_table
from .sections.findings import Kind, section_findings


@singledispatch
def card(value: object) -> str:
    """The HTML of a value: its text, for one that has no card of its own here."""
    lines = ["".join(letter if letter.isprintable() else " " for letter in line) for line in str(value).split("\n")]
    words = escape("\n".join(lines))
    return block(f"<pre>{words}</pre>")


def _wide(table: Table) -> str:
    return f"{WIDE}{html_table(table)}</div>" if table.rows else ""


@card.register
def _comparison(item: Comparison) -> str:
    """Sections, tables and findings; rehearsals after the measured jobs."""
    blocks = []
    for section in item.sections:
        pair = section.base is not None and len(section.rows) > 1 and section.sweep is None
        caption = f"Baseline {section.base.label}." if pair and section.base is not None else ""
        findings = [finding for finding in section_findings(section) if finding.kind is not Kind.NOTE]
        lines = "".join(f"<p>{text(finding.text)}</p>" for finding in findings)
        tag, caption = (f"{TAG} ", REHEARSED) if section.emulated else ("", caption)
        table = _wide(compared_table(section, caption))
        blocks.append(f'<p class="title">{tag}{text(section.workload or "Jobs")}</p>{table}{lines}')
    return block("".join(blocks))


@card.register
def _fleet(item: Fleet) -> str:
    """The sums by instance, what they leave out, and the newest jobs."""
    more = f" {len(item.rows) - SHOWN} more jobs are not listed." if len(item.rows) > SHOWN else ""
    sums = group_table(item.by("instance"), "instance", "Sums by instance")
    jobs = jobs_table(item.rows[:SHOWN], IN_PAGE, title=f"Jobs, newest first.{more}")
    said = "".join(f"<p>{text(line)}</p>" for line in item.findings())
    return block(f'<p class="title">{text(item.title)}</p>{said}{_wide(sums)}{_wide(jobs)}')
