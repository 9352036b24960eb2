"""A table in a text file whose dialect nobody has written down: csv reads it in each that may be
meant, and the one that explains the whole file best is taken.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from typing import Any, Mapping, NamedTuple, Sequence

from sm_spot import UsageError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
DOUBLED = "quotes doubled"  # RFC 4180, pandas' default
BACKSLASH = "quotes after a backslash"
AS_TEXT = "quotes as text"  # GLUE
OPTIONS: dict[str, dict[str, Any]] = {
    DOUBLED: {},
    BACKSLASH: {"escapechar": "\\"},
    AS_TEXT: {"quoting": csv.QUOTE_NONE},
}
STAND_IN = "\ufffe"  # which is no character
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


class Reading(NamedTuple):
    """A whole table in one dialect, or the line that contradicts it."""

    records: list[list[str]]
    lines: list[int]
    note: str = ""
    broken: int = 0
    ragged: int = 0  # rows of another length
    odd: int = 0  # rows that its writers write otherwise

    def faults(self) -> tuple[bool, int, int]:
        return self.broken > 0, self.ragged, self.odd


class Part(NamedTuple):
    """What one file holds: good rows, their numbers, and a phrase for each row that cannot be
    read.
    """

    columns: dict[str, list[Any]]
    rows: Sequence[int]
    bad: list[str]
    note: str
    classes: Mapping[str, list[str]] = {}


def read_delimited(text: str, kind: str, known_names: set[str]) -> Part:
    """`kind` is the file's ending; a first line with one of the `known_names` is a line of
    names.
    """
    if not text.strip():
        raise UsageError("is empty, wanted a table")
    text = re.sub(r'\A"?sep=."?(?=\r?\n)', "", text, flags=re.IGNORECASE)  # Excel's
    lone_return = re.compile(r"\r(?!\n)")  # csv would end a row there
    records, lines, note, *_ = best_reading(lone_return.sub(STAND_IN, text), kind)
    first = [cell.strip() for cell in records[0]]
    header = has_header(records, first, known_names)
    names = []
    for place, cell in enumerate(first, 1):
        names.append(cell if header and cell else f"column{place}")
    if not header:
        note += ", no names of columns"
    refuse_twice(names)
    cells: list[list[str]] = []
    numbers: list[int] = []
    bad: list[str] = []
    skipped = 1 if header else 0
    for index, line in enumerate(lines[skipped:], skipped):
        record = records[index]
        if len(record) != len(names):
            bad.append(f"line {line} has {len(record)} fields, line {lines[0]} has {len(names)}")
        elif header and record == records[0]:
            bad.append(f"line {line} repeats the names of the columns")
        else:
            cells.append([cell.replace(STAND_IN, "\r") for cell in record])
            numbers.append(index + 1 - skipped)
    columns = {name: [record[place] for record in cells] for place, name in enumerate(names)}
    return Part(columns, numbers, bad, note)


def refuse_twice(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise UsageError(f"has the columns {', '.join(names)}, wanted each name once; rename them")


def has_header(records: list[list[str]], first: list[str], known_names: set[str]) -> bool:
    """The first line is a row only where it has a number or a cell that comes again, and no name
    that data sets use.
    """
    if any(cell.lower() in known_names for cell in first):
        return True
    if len(first) > 1 and first == ["", *map(str, range(len(first) - 1))]:  # counted by pandas
        return True
    if any(map(NUMBER.fullmatch, first)):
        return False
    for record in records[1:]:
        for cell, below in zip(first, record):
            if cell and cell == below.strip():
                return False
    return True


def best_reading(text: str, kind: str) -> Reading:
    """The one with the fewest ragged rows, then the fewest odd ones. UsageError where none reads
    the file to its end.
    """
    usual = "\t,;|" if kind == ".tsv" else ",;\t|"
    first_line = next(line for line in text.split("\n") if line.strip())
    head = re.sub(r'"[^"]*"', "", first_line)
    delimiters = [one for one in usual if one in head] or [usual[0]]
    if kind == ".tsv":
        delimiters = delimiters[:1]
    readings: list[Reading] = []
    for delimiter in delimiters:
        readings += readings_with(text, delimiter)
    best = min(readings, key=Reading.faults)
    if best.broken:
        where = f"has a quote in line {best.broken}"
        raise UsageError(
            f"{where} that stands inside a field, or that none closes; write it doubled"
        )
    return best


def readings_with(text: str, delimiter: str) -> list[Reading]:
    """In every dialect that may be meant, the likelier first. As a rule nothing is quoted between
    tabs; between others only quotes that cannot be quoting are text.
    """
    quoted = read_as(DOUBLED, text, delimiter)
    perfect = not any(quoted.faults())
    if '"' not in text or (perfect and delimiter != "\t"):
        return [quoted]
    readings = [quoted]
    by_hand = without_blanks_beside_quotes(text, delimiter)
    if by_hand != text:
        readings.append(read_as(DOUBLED, by_hand, delimiter))
    if "\\" in text:
        readings.append(read_as(BACKSLASH, text, delimiter))
    plain = read_as(AS_TEXT, text, delimiter)
    if delimiter != "\t":
        if quoted.broken and not plain.ragged:
            readings.append(plain)
        return readings
    plain = plain._replace(odd=cells_that_look_quoted(plain.records))
    both_fit = perfect and not any(plain.faults()) and len(plain.records[0]) > 1
    if both_fit and len(plain.records) != len(quoted.records):
        what = "has quotes that are text, or that hold several lines: both fit"
        raise UsageError(f"{what}; write it as JSON lines")
    return [plain, *readings]


def without_blanks_beside_quotes(text: str, delimiter: str) -> str:
    """As they stand between a cell in quotes and its separators where a table is written by hand."""
    cut = re.escape(delimiter)
    return re.sub(
        rf'(?<=") +(?={cut}|\r?\n|\Z)|(?<={cut}) +(?=")|^ +(?=")', "", text, flags=re.MULTILINE
    )


def read_as(style: str, text: str, delimiter: str) -> Reading:
    """The whole text in one dialect."""
    csv.field_size_limit(sys.maxsize)
    if style == BACKSLASH:  # csv would drop one that escapes nothing, as in C:\temp
        escapes = re.compile(rf'\\(["\\\r\n{re.escape(delimiter)}])|\\')
        text = escapes.sub(lambda found: "\\" + (found[1] or "\\"), text)
    source = list(io.StringIO(text, newline=""))
    reader = csv.reader(source, strict=True, delimiter=delimiter, **OPTIONS[style])
    records: list[list[str]] = []
    lines: list[int] = []
    blank: list[int] = []  # blank lines since the last record
    odd = 0
    start = 0
    try:
        for record in reader:
            written = "".join(source[start : reader.line_num])
            one_column = bool(records) and len(records[0]) == 1
            if len(record) > 1 or written.strip() or (one_column and record):
                if one_column:  # there a blank line is an empty text, but for the last ones
                    records.extend([""] for _ in blank)
                    lines.extend(blank)
                records.append(record)
                lines.append(start + 1)
                blank = []
                if has_odd_quote(record, written, style):
                    odd += 1
            else:
                blank.append(start + 1)
            start = reader.line_num
    except csv.Error:
        return Reading([], [], broken=start + 1)
    ragged = sum(len(one) != len(records[0]) for one in records)
    note = f"separated by {SEPARATORS[delimiter]}"
    if '"' in text:
        note += f", {style}"
    return Reading(records, lines, note, 0, ragged, odd)


def has_odd_quote(record: list[str], written: str, style: str) -> bool:
    """A quote in a cell that is neither in quotes and doubled, nor behind a backslash."""
    for cell in record:
        if '"' not in cell:
            continue
        escaped = cell.replace("\\", "\\\\") if style == BACKSLASH else cell
        doubled = escaped.replace('"', '""')
        behind_backslash = escaped.replace('"', '\\"')
        if f'"{doubled}"' not in written and behind_backslash not in written:
            return True
    return False


def cells_that_look_quoted(records: list[list[str]]) -> int:
    """Of a table read without quoting: all cells of a column that is quoted throughout, else those
    with a quote in quotes.
    """
    odd = 0
    for place in range(len(records[0])):
        column = [record[place] for record in records[1:] if place < len(record)]
        cells = [cell for cell in column if len(cell) > 1 and cell[0] == cell[-1] == '"']
        if len(cells) == len(column):
            odd += len(cells)
            continue
        for cell in cells:
            if '""' in cell[1:-1] or STAND_IN in cell:
                odd += 1
    return odd
