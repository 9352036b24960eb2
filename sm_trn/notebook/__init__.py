"""How values look in a notebook: colours, one scoped style, escaped text, facts and tables. Knows no noun of the package."""

from __future__ import annotations

from .card import CSS, TAG, WIDE, Cell, block, escaped, facts, grid, title, variables

__all__ = ["CSS", "TAG", "WIDE", "Cell", "block", "escaped", "facts", "grid", "title", "variables"]
