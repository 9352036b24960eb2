"""What stands in a cell of a table of jobs where a number may be missing. Says why in words."""

from __future__ import annotations

from ...formatting import numbers as fmt
from .rows import Row


def missing_rate(row: Row, unit: str) -> str:
    """Why there is no rate, in words."""
    if row.too_short is not None:
        return f"too short: {row.too_short} steps"
    return "not logged" if not row.rate(unit) else ""


def cost_words(row: Row) -> str:
    """The cost as in a column headed USD, or why there is none."""
    if row.cost is not None:
        return fmt.usd_cell(row.cost.usd)
    return "none" if row.emulated else "no price" if row.price is None else "not billed yet"
