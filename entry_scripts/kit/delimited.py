"""A table in a text file whose dialect nobody has written down: csv reads the whole file in each
that may be meant, and the first with the fewest ragged rows is taken.
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
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


class Reading(NamedTuple):
    """A whole table in one dialect, and the line each row begins in; or the line that contradicts
    it.
    """

    records: list[list[str]]
    lines: list[int]
    note: str = ""
    broken: int = 0
    ragged: int = 0  # rows of another length

    def has(self, written: str) -> bool:
        return any(written in cell for record in self.records for cell in record)

    def faults(self) -> tuple[bool, int]:
        return self.broken > 0, self.ragged


class Part(NamedTuple):
    """What one file holds: good rows, their numbers, and a phrase for each row that cannot be
    read.
    """

    rows: list[dict[str, Any]]
    numbers: list[int]
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
    records, lines, note, *_ = best_reading(text, kind)
    first = [cell.strip() for cell in records[0]]
    header = has_header(records, first, known_names)
    names = []
    for place, cell in enumerate(first, 1):
        names.append(cell if header and cell else f"column{place}")
    if not header:
        note += ", no names of columns"
    refuse_twice(names)
    part = Part([], [], [], note)
    skipped = 1 if header else 0
    for number, (record, line) in enumerate(zip(records[skipped:], lines[skipped:]), 1):
        if len(record) != len(names):
            fields = f"has {len(record)} fields, line {lines[0]} has {len(names)}"
            part.bad.append(f"line {line} {fields}")
        elif header and record == records[0]:
            part.bad.append(f"line {line} repeats the names of the columns")
        else:
            part.rows.append(dict(zip(names, record)))
            part.numbers.append(number)
    return part


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
    """UsageError where no dialect reads the file to its end."""
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
    doubled = read_as(DOUBLED, text, delimiter)
    escaped = '\\"' in text and '\\""' not in text and doubled.has('\\"')
    perfect = not escaped and not any(doubled.faults())
    if '"' not in text or (perfect and delimiter != "\t"):
        return [doubled]
    quoted = [doubled, read_as(BACKSLASH, text, delimiter)]
    if escaped:
        quoted.reverse()
    by_hand = without_blanks_beside_quotes(text, delimiter)
    if by_hand != text:
        quoted.append(read_as(DOUBLED, by_hand, delimiter))
    plain = read_as(AS_TEXT, text, delimiter)
    if delimiter != "\t":
        return [*quoted, plain] if not plain.ragged else quoted
    best = min(quoted, key=Reading.faults)
    both_fit = not any(best.faults()) and not plain.ragged and len(plain.records[0]) > 1
    if both_fit and len(plain.records) != len(best.records):
        what = "has quotes that are text, or that hold several lines: both fit"
        raise UsageError(f"{what}; write it as JSON lines")
    looks_quoted = text.startswith('"') or '""' in text
    return [*quoted, plain] if looks_quoted else [plain, *quoted]


def without_blanks_beside_quotes(text: str, delimiter: str) -> str:
    """As they stand between a cell in quotes and its separators where a table is written by hand."""
    cut = re.escape(delimiter)
    return re.sub(
        rf'(?<=") +(?={cut}|\r?\n|\Z)|(?<={cut}) +(?=")|^ +(?=")', "", text, flags=re.MULTILINE
    )


def read_as(style: str, text: str, delimiter: str) -> Reading:
    """The whole text in one dialect. Blank lines are no rows, but empty texts in a table of one
    column.
    """
    csv.field_size_limit(sys.maxsize)
    if style == BACKSLASH:  # csv would drop one that escapes nothing, as in C:\temp
        escapes = re.compile(rf'\\(["\\\r\n{re.escape(delimiter)}])|\\')
        text = escapes.sub(lambda found: "\\" + (found[1] or "\\"), text)
    source = io.StringIO(text.rstrip("\r\n"), newline="")
    reader = csv.reader(source, strict=True, delimiter=delimiter, **OPTIONS[style])
    records: list[list[str]] = []
    lines: list[int] = []
    line = 1
    try:
        for record in reader:
            one_column = bool(records) and len(records[0]) == 1
            if len(record) > 1 or one_column or "".join(record).strip():
                records.append(record or [""])
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error:
        return Reading([], [], broken=line)
    ragged = sum(len(record) != len(records[0]) for record in records)
    note = f"separated by {SEPARATORS[delimiter]}"
    if '"' in text:
        note += f", {style}"
    return Reading(records, lines, note, 0, ragged)
