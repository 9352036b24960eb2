"""A table as a value: named columns, and rows of values or reasons why there is none.

For machines it is records for JSON, a CSV that a spreadsheet opens safely, or a DataFrame, where what is missing is None. The writers for
people are ``text`` (terminals) and ``html`` (pages, notebooks).
"""

from __future__ import annotations

import csv
import enum
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import extra
from . import numbers as fmt
from .missing import Missing

if TYPE_CHECKING:
    from pandas import DataFrame


SMALLEST_CHANGE_PCT = 0.05  # what rounds to 0.0 % is no difference


class Align(enum.Enum):
    """On which side of its column a cell stands."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column. ``name`` identifies it, in files too; ``heading`` and ``unit`` are for people.

    ``form`` writes a value; a reason writes itself. ``short`` is the heading in a terminal, where columns of the highest
    ``rank`` go first when the width is short, and ``least`` is the width in characters.
    ``style`` is a class of the pages' style sheet, ``dtype`` pandas' kind, where the values do not say it.
    ``read`` takes what a row is about, and gives a value, the reason why there is none, or a whole cell; ``change`` gives the
    change against the baseline.
    """

    name: str
    heading: str = ""
    unit: str = ""
    short: str = ""
    form: Callable[[Any], str] = str
    align: Align = Align.RIGHT
    rank: int = 0
    least: int = 0
    style: str = ""
    dtype: str = ""
    in_text: bool = True
    in_html: bool = True
    read: Callable[..., Any] | None = None
    change: Callable[..., float | None] | None = None

    @property
    def label(self) -> str:
        """Heading and unit in one line."""
        return f"{self.heading}, {self.unit}" if self.unit else self.heading

    def cell(self, *facts: Any) -> Cell:
        """The cell of a row that is about ``facts``: what ``read`` makes of them, and ``change``."""
        value = self.read(*facts) if self.read is not None else Missing.NOTHING
        if isinstance(value, Cell):
            return value
        return Cell(value, change_pct=self.change(*facts) if self.change is not None else None)

    def words(self, cell: Cell) -> str:
        """The cell's value for people."""
        if cell.missing:
            return cell.why or str(cell.value)
        return f"{cell.before} {self.form(cell.value)} {cell.unit}".strip()


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, or the reason why there is none, which ``why`` says at length. ``before`` the value stands a sign such as ≤, and
    after it a ``unit`` that its column lacks.

    ``change_pct`` is the change against the baseline, in percent of it. ``role`` is a colour of the theme, ``glyph`` stands
    before the words. On pages ``under`` stands below the value, and ``tag`` marks it as EMULATED.
    """

    value: Any
    why: str = ""
    before: str = ""
    unit: str = ""
    change_pct: float | None = None
    under: str = ""
    role: str = ""
    glyph: str = ""
    tag: bool = False

    @property
    def missing(self) -> bool:
        return isinstance(self.value, Missing)

    @property
    def below(self) -> str:
        """The change in words, else ``under``."""
        change = self.change_pct
        if change is None or abs(change) < SMALLEST_CHANGE_PCT:
            return self.under
        return fmt.change(change, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Return the mark before a row's name: the marker of a job's ``slot``, hollow where it is emulated; or a status's glyph."""

    slot: int | None = None
    hollow: bool = False
    glyph: str = ""
    ascii: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row: its ``name``, and its cells by the names of their columns. ``rank`` precedes the name where the table is ranked.

    In a terminal ``suffix`` follows the name; on pages ``under`` and ``status`` stand below it. ``role`` is its colour.
    """

    name: str
    cells: Mapping[str, Cell] = field(default_factory=dict)
    mark: Mark | None = None
    rank: int | None = None
    suffix: str = ""
    under: str = ""
    status: Cell | None = None
    role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns and rows. ``rows_are`` heads the rows' names, ``ranked`` says that the best is first, and has a rank.

    ``notes`` are sentences that belong below the table.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""
    rows_are: str = "Job"
    ranked: bool = False
    notes: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """Raises KeyError for a name that no column has."""
        match = next((column for column in self.columns if column.name == name), None)
        if match is None:
            raise KeyError(name)
        return match

    def words(self, row: Row, name: str) -> str:
        """Return the text of one cell."""
        return self.column(name).words(row.cells[name])


def cells_of(columns: Iterable[Column], *facts: Any) -> dict[str, Cell]:
    """The cells of a row that is about ``facts``, by the names of their columns."""
    return {column.name: column.cell(*facts) for column in columns}


def records(table: Table) -> tuple[Mapping[str, Any], ...]:
    """A mapping for each row, by the names of the columns: money as float, None where a value is missing."""
    names = [column.name for column in table.columns]
    return tuple({name: _plain(row.cells[name].value) for name in names} for row in table.rows)


def reasons(table: Table) -> tuple[Mapping[str, str], ...]:
    """For each row the words for what is missing, by the names of the columns."""
    reasons_by_column = []
    for row in table.rows:
        values = {name: cell.value for name, cell in row.cells.items()}
        why = {name: value for name, value in values.items() if isinstance(value, Missing)}
        reasons_by_column.append({name: str(value) for name, value in why.items() if value is not Missing.NOTHING})
    return tuple(reasons_by_column)


def _plain(value: Any) -> Any:
    if isinstance(value, Missing):
        return None
    return float(value) if isinstance(value, Decimal) else value


def finite(value: Any) -> Any:
    """Return the value as JSON can hold it: None for NaN and infinity."""
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
