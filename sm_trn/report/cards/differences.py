"""What differs between two jobs, in a notebook: a row for each field, and both sides."""

from __future__ import annotations

from ...core.formatting.html import WIDE, block, html_table, text
from ...core.formatting.table import Align, Cell, Column, Row, Table
from ...core.render.differences import Diff


def diff_card(diff: Diff) -> str:
    """Both values of each field as JSON; ``absent`` where a job does not have the field."""
    if not diff:
        return block(f'<p class="title">{text(str(diff))}</p>')
    columns = (
        Column(name="before", heading=diff.before, align=Align.LEFT),
        Column(name="after", heading=diff.after, align=Align.LEFT),
    )
    rows = []
    for item in diff.differences:
        before, after = item.sides()
        rows.append(Row(name=item.field, role="code", cells={"before": _side(before), "after": _side(after)}))
    table = Table(columns=columns, rows=tuple(rows), rows_are="Field")
    return block(f'<div class="sides">{WIDE}{html_table(table, folding=False)}</div></div>')


def _side(value: str) -> Cell:
    return Cell(value, role="code") if value else Cell("absent", role="ink3")
