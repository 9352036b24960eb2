"""A comparison as a notebook output: static HTML in one scoped block, no script, no id. Every fact is also a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.formatting.html import TAG, WIDE, block, html_table, text
from ..comparison.table import REHEARSED, job_table, rehearsal_table
from ..sections.findings import Kind

if TYPE_CHECKING:
    from ..comparison.compared import Compared

_LEFT_OUT = frozenset({Kind.NOTE, Kind.EMULATED})


def comparison_card(item: Compared) -> str:
    """Sections, tables and findings; rehearsals after the measured jobs."""
    blocks = []
    for section in item.sections:
        if not section.measured:
            continue
        pair = section.base is not None and len(section.measured) > 1 and section.sweep is None
        base = f"Baseline {section.base.label}." if pair and section.base is not None else ""
        said = [
            finding.text
            for finding in item.findings
            if finding.workload == section.workload and finding.kind not in _LEFT_OUT
        ]
        lines = "".join(f"<p>{text(line)}</p>" for line in said)
        table = html_table(job_table(section, base), folding=False)
        blocks.append(f'<p class="title">{text(section.workload or "Jobs")}</p>{WIDE}{table}</div>{lines}')
    for section in item.sections:
        if section.emulated:
            inner = html_table(rehearsal_table(section.rehearsal, REHEARSED), folding=False)
            blocks.append(f'<p class="title">{TAG} {text(section.workload or "Jobs")}</p>{WIDE}{inner}</div>')
    return block("".join(blocks))
