"""A table for machines: records for JSON, a CSV that a spreadsheet opens safely, a DataFrame. What is missing is None there."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..extras import extra
from .missing import Missing
from .table import Table

if TYPE_CHECKING:
    from pandas import DataFrame


def records(table: Table) -> tuple[Mapping[str, Any], ...]:
    """A mapping for each row, by the names of the columns: money as float, None where a value is missing."""
    names = [column.name for column in table.columns]
    return tuple({name: _plain(row.cells[name].value) for name in names} for row in table.rows)


def reasons(table: Table) -> tuple[Mapping[str, str], ...]:
    """For each row the words for what is missing, by the names of the columns."""
    found = []
    for row in table.rows:
        values = {name: cell.value for name, cell in row.cells.items()}
        found.append({name: str(value) for name, value in values.items() if _explained(value)})
    return tuple(found)


def _explained(value: Any) -> bool:
    return isinstance(value, Missing) and value is not Missing.NOTHING


def _plain(value: Any) -> Any:
    if isinstance(value, Missing):
        return None
    return float(value) if isinstance(value, Decimal) else value


def finite(value: Any) -> Any:
    """What JSON can hold: None for a number that is none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


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


def frame(table: Table) -> DataFrame:
    """One row for each row, the columns in order: text as object (None where missing), numbers as float64 (NaN where missing)."""
    with extra("report", "a frame"):
        import pandas as pd  # noqa: PLC0415 - pandas is loaded on use

    rows = records(table)
    series = {}
    for column in table.columns:
        values = [row[column.name] for row in rows]
        series[column.name] = pd.Series(values, dtype=column.dtype or _dtype(values))
    made: DataFrame = pd.DataFrame(series, columns=[column.name for column in table.columns])
    return made


def _dtype(values: Sequence[object]) -> str | None:
    if any(isinstance(value, datetime) for value in values):
        return None
    return "object" if any(isinstance(value, str) for value in values) else "float64"
