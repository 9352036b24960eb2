"""A table in a text file whose dialect nobody has written down: delimiter, quotes and names of
columns by what the file holds.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sm_spot import UsageError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# What a cell in quotes is, and what a bare one; D is the delimiter.
DIALECTS = {
    # RFC 4180, pandas' default; blanks around are by hand
    "doubled": r' *"([^"]*(?:""[^"]*)*)" *|(?!")([^D\n]*)',
    "after a backslash": r' *"([^"\\]*(?:(?:\\.|"")[^"\\]*)*)" *|(?!")([^\\D\n]*(?:\\.[^\\D\n]*)*)',
    "as text": r"(?!)()|([^D\n]*)",  # GLUE
}
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


class Reading(NamedTuple):
    """A whole table in one dialect, or the line that contradicts it."""

    records: list[list[str]]
    lines: list[int]
    note: str = ""
    broken: int = 0
    ragged: int = 0  # rows of another length
    odd: int = 0  # cells that its writers write otherwise

    def faults(self) -> tuple[bool, int, int]:
        return self.broken > 0, self.ragged, self.odd


class Rows(NamedTuple):
    """The rows of a table below its names, their numbers, a phrase for each row that is none, and
    what the dialect is.
    """

    names: list[str]
    cells: list[list[str]]
    numbers: list[int]
    bad: list[str]
    note: str


def read_delimited(text: str, kind: str, known_names: set[str]) -> Rows:
    """`kind` is the file's ending; a first line with one of the `known_names` is a line of
    names.
    """
    if not text.strip():
        raise UsageError("is empty, wanted a table")
    text = re.sub(r'\A"?sep=."?(?=\r?\n)', "", text, flags=re.IGNORECASE)  # Excel's
    reading = best_reading(text, kind)
    records = reading.records
    lines = reading.lines
    first = [cell.strip() for cell in records[0]]
    header = has_header(records, first, known_names)
    names = []
    for place, cell in enumerate(first, 1):
        names.append(cell if header and cell else f"column{place}")
    rows = Rows(names, [], [], [], reading.note + ("" if header else ", no names of columns"))
    skipped = 1 if header else 0
    for index in range(skipped, len(records)):
        record = records[index]
        if len(record) != len(names):
            rows.bad.append(
                f"line {lines[index]} has {len(record)} fields, line {lines[0]} has {len(names)}"
            )
        elif header and record == records[0]:
            rows.bad.append(f"line {lines[index]} repeats the names of the columns")
        else:
            rows.cells.append(record)
            rows.numbers.append(index + 1 - skipped)
    return rows


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
    """In the dialect that explains the whole file best: fewest ragged rows, then fewest odd
    cells.
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
    tabs = delimiter == "\t"
    quoted = read_as("doubled", text, delimiter)
    perfect = not any(quoted.faults())
    readings = [quoted]
    if "\\" in text and (tabs or not perfect):
        readings.append(read_as("after a backslash", text, delimiter))
    plain = quoted
    if '"' in text and (tabs or quoted.broken):
        plain = read_as("as text", text, delimiter)
    if tabs:
        both_fit = perfect and not any(plain.faults()) and len(plain.records[0]) > 1
        if both_fit and len(plain.records) != len(quoted.records):
            what = "has quotes that are text, or that hold several lines: both fit"
            raise UsageError(f"{what}; write it as JSON lines")
        return [plain, *readings]
    if quoted.broken and not plain.ragged:
        readings.append(plain)
    return readings


def read_as(style: str, text: str, delimiter: str) -> Reading:
    """The whole text in one dialect."""
    escaped = re.escape(delimiter)
    cells = DIALECTS[style].replace("D", escaped)
    match = re.compile(f"(?:{cells})({escaped}|\r?\n|\\Z)", re.DOTALL).match
    bare_escape = re.compile(rf'\\(["\\{escaped}\n\r])')
    records: list[list[str]] = []
    lines: list[int] = []
    blank: list[int] = []  # blank lines since the last record
    record: list[str] = []
    position = 0
    line = 1
    start = 1
    odd = 0
    while position < len(text) or record:
        cell = match(text, position)
        if cell is None:
            return Reading([], [], broken=line)
        in_quotes, bare, end = cell.groups()
        value, strange = cell_text(in_quotes, bare, end, style, bare_escape)
        if strange:
            odd += 1
        record.append(value)
        line += text.count("\n", position, cell.end())
        position = cell.end()
        if end == delimiter:
            continue
        one_column = bool(records) and len(records[0]) == 1
        if len(record) > 1 or in_quotes is not None or value.strip() or (one_column and value):
            if one_column:  # there a blank line is an empty text, but for the last ones
                records.extend([""] for _ in blank)
                lines.extend(blank)
            records.append(record)
            lines.append(start)
            blank = []
        else:
            blank.append(start)
        record = []
        start = line
    if style == "as text":
        odd += cells_that_look_quoted(records)
    ragged = sum(len(one) != len(records[0]) for one in records)
    note = f"separated by {SEPARATORS[delimiter]}"
    if '"' in text:
        note += f", quotes {style}"
    return Reading(records, lines, note, 0, ragged, odd)


def cell_text(
    in_quotes: str | None, bare: str, end: str, style: str, bare_escape: re.Pattern[str]
) -> tuple[str, bool]:
    """The text of a cell, and whether it has a quote that the dialect does not explain."""
    backslash = style == "after a backslash"
    if in_quotes is not None:
        return unquoted(in_quotes, backslash=backslash), False
    value = bare
    if backslash:
        value = bare_escape.sub(r"\1", bare)
        bare = bare_escape.sub("", bare)
    if end == "\n" and value.endswith("\r"):
        value = value[:-1]
    return value, style != "as text" and '"' in bare


def unquoted(cell: str, *, backslash: bool) -> str:
    if backslash:
        return re.sub(r'\\(["\\\n])|"(")', r"\1\2", cell)
    return cell.replace('""', '"')


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
            if '""' in cell[1:-1] or "\r" in cell:
                odd += 1
    return odd
