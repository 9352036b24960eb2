"""Rows as CSV that a spreadsheet opens without running what is in it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """``columns``, then a line for each row. An empty cell stands for a missing value."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([spreadsheet_cell(row[name]) for name in columns] for row in rows)
    return text.getvalue()


def spreadsheet_cell(value: Any) -> Any:
    """A cell of a CSV file: empty where something is missing; a text that a spreadsheet would run gets an apostrophe."""
    if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"}:
        return f"'{value}"
    if isinstance(value, datetime):
        return value.isoformat()
    return "" if value is None else value
