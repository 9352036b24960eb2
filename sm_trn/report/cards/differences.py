"""What differs between two jobs, in a notebook: a row for each field, and both sides."""

from __future__ import annotations

from ...core.formatting.markup import Cell, block, escaped, grid
from ...core.render.differences import Diff


def diff_card(diff: Diff) -> str:
    """Both values of each field as JSON; ``absent`` where a job does not have the field."""
    if not diff:
        return block(f'<p class="title">{escaped(str(diff))}</p>')
    rows = ((Cell(item.field, "code"), *map(_side_cell, item.sides())) for item in diff.differences)
    sides = (diff.before, diff.after)
    return block(f'<div class="sides">{grid(("Field", *sides), rows, words=sides)}</div>')


def _side_cell(value: str) -> Cell:
    return Cell(value, "code") if value else Cell("absent", "ink3")
