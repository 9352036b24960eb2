"""Data that nobody prepared: files to tables, labels, splits and tokens. Nothing is lost without a sentence in `said`.

    table = read_table(args.train_file, "train_file")       # csv, tsv, json, jsonl, parquet or txt, also .gz; or a folder
    columns = pick_columns(table, label=args.label_column)  # by the names that data sets use, or by those given
    labels = labels_of(table, columns.label)                # class numbers, or scores where `names` is empty
    table, labels = drop_missing(table, columns, labels)    # not for test data: there every row stays
    (train, y), (held_out, z) = split(table, labels, 0.1, seed=20)
    tokens = encode(tokenizer, train.texts(columns.text), max_length=128, labels=y.values)
    print(*table.said, sep="\\n")

`tokens` is a map-style data set for DataLoader and Trainer. Messages name the flags --encoding, --text_column,
--text_pair_column, --label_column, --num_labels and --block_size.
"""

from __future__ import annotations

import ast
import codecs
import gzip
import hashlib
import importlib
import json
import math
import random
import re
import zlib
from array import array
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

from kit.spot import UsageError

KINDS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".txt")
BESIDE = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}  # which `datasets` writes too
SPLITS = {
    "test": re.compile(r"(test(ing)?|eval(uation)?)(set|data|file|split)?"),
    "validation": re.compile(r"(val(id(ation)?)?|dev)(set|data|file|split)?"),
    "train": re.compile(r"train(ing)?(set|data|file|split)?"),
}
BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
DIALECTS = {  # what a cell in quotes is, and what a bare one; D is the delimiter
    "doubled": r' *"([^"]*(?:""[^"]*)*)" *|(?!")([^D\n]*)',  # RFC 4180, pandas' default; blanks around are by hand
    "after a backslash": r' *"([^"\\]*(?:(?:\\.|"")[^"\\]*)*)" *|(?!")([^\\D\n]*(?:\\.[^\\D\n]*)*)',
    "as text": r"(?!)()|([^D\n]*)",  # GLUE
}
TEXTS = "text content sentence review tweet comment body document message".split()
PAIRS = {"sentence1": "sentence2", "premise": "hypothesis", "question1": "question2", "question": "sentence",
         "text1": "text2", "#1 string": "#2 string"}  # fmt: skip
LABELS = "sentiment label labels class category target score stars rating gold_label is_duplicate quality".split()
NAMES = {*TEXTS, *PAIRS, *PAIRS.values(), *LABELS, "id", "idx", "context", "answers"}
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
JSON = json.JSONDecoder(parse_constant=lambda _: None)  # NaN is a gap
HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # half of a surrogate pair: JSON can write it
CHUNK = 1000  # texts that the tokenizer's threads share at a time


@dataclass
class Table:
    """Columns of one length, where each row comes from, and the sentences to print about them."""

    name: str  # of the flag
    columns: dict[str, list[Any]]
    rows: list[int]  # in their file; the first row is 1, and the names of columns are no row
    files: list[str]
    said: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: Sequence[int]) -> Table:
        columns = {name: [values[i] for i in chosen] for name, values in self.columns.items()}
        return replace(
            self, columns=columns, rows=[self.rows[i] for i in chosen], files=[self.files[i] for i in chosen]
        )

    def texts(self, column: str) -> list[str]:
        """As they are written; a missing one is empty."""
        for index, value in enumerate(self.columns[column]):
            if isinstance(value, (list, dict, bytes)):
                raise self.wrong(index, f"has a {type(value).__name__} in {column!r}, wanted text; give --text_column")
        return ["" if value is None else str(value) for value in self.columns[column]]

    def wrong(self, index: int, message: str) -> UsageError:
        return UsageError(f"--{self.name}: row {self.rows[index]} of {self.files[index]} {message}")


def table_from(columns: dict[str, list[Any]], name: str) -> Table:
    """Of columns that a library has read, such as `datasets`."""
    count = len(next(iter(columns.values()), []))
    return Table(name, columns, list(range(1, count + 1)), [name] * count)


def _some(names: Sequence[str], count: int = 5, comma: str = ", ") -> str:
    return comma.join(names[:count]) + (f"{comma}…" if len(names) > count else "")


# --- files ---


class _Part(NamedTuple):
    """What one file holds: good rows, their numbers, and a phrase for each row that cannot be read."""

    columns: dict[str, list[Any]]
    rows: list[int]
    bad: list[str]
    note: str


def read_table(where: str | Path, name: str, *, split: str = "train", encoding: str | None = None) -> Table:
    """A file, or a folder's files of one split (else those of none). Of "test" no row is left out."""
    paths, left_out = _files(Path(where), name, split)
    table = Table(name, {}, [], [])
    if left_out:
        table.said.append(f"--{name}: left out {_some([path.name for path in left_out])}, which is not for {split}.")
    for path in paths:
        try:
            part = _read(path, encoding)
        except UsageError as error:
            raise UsageError(f"--{name}: {path.name} {error}") from error
        got, total = f"--{name}: {path.name} has", len(part.rows) + len(part.bad)
        if part.bad and (split == "test" or len(part.bad) * 10 > total):
            raise UsageError(f"{got} {len(part.bad)} of {total} rows that cannot be read: {part.bad[0]}; correct them")
        if table.columns and set(part.columns) != set(table.columns) and "json" not in _kind(path):
            got = f"{got} the columns {', '.join(part.columns)}, files before it have {', '.join(table.columns)}"
            raise UsageError(f"{got}; wanted the same in all files")
        for column in {**table.columns, **part.columns}:
            values = table.columns.setdefault(column, [None] * len(table))
            values += part.columns.get(column, [None] * len(part.rows))
        table.rows += part.rows
        table.files += [path.name] * len(part.rows)
        table.said.append(f"--{name}: read {len(part.rows)} rows of {path.name} ({part.note}).")
        if part.bad:
            table.said.append(f"--{name}: left out {len(part.bad)} rows of {path.name}: {_some(part.bad, 3, '; ')}.")
    if not table.rows:
        raise UsageError(f"--{name}: got no row in {str(where)!r}, wanted a table or lines of text; check the file")
    return table


def _files(root: Path, name: str, split: str) -> tuple[list[Path], list[Path]]:
    """The files to read, in the order of their names, and those beside them that are not for this split."""
    if not root.exists():
        raise UsageError(f"--{name}: got {str(root)!r}, which does not exist; wanted a file or a folder")
    found: dict[str, list[Path]] = {} if root.is_dir() else {split: [root]}
    for path in sorted(root.rglob("*")) if root.is_dir() else ():
        own = path.relative_to(root)
        hidden = path.name in BESIDE or any(part.startswith((".", "_")) for part in own.parts)
        if not hidden and path.is_file() and _kind(path) in KINDS:
            found.setdefault(_split_of(own), []).append(path)
    paths = found.get(split) or found.get("", [])  # else those whose names say nothing
    left_out = [path for files in found.values() for path in files if path not in paths]
    kinds, once = {_kind(path) for path in paths}, {re.sub(r"\.gz$", "", str(path)) for path in paths}
    if len(kinds) != 1 or not kinds <= {*KINDS} or len(once) < len(paths):
        got = _some([path.name for path in paths or left_out]) or "no data file"
        raise UsageError(
            f"--{name}: got {got} in {str(root)!r}, wanted files for {split} of one kind, each once, that end in "
            f"{', '.join(KINDS)}; leave only them there, or name the file (what `datasets` saved: export with to_csv)"
        )
    return paths, left_out


def _split_of(path: Path) -> str:
    for part in reversed(path.parts):  # a file's own name says more than its folder's
        words = re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", part).lower())
        for split, pattern in SPLITS.items():
            if any(map(pattern.fullmatch, words)):
                return split
    return ""


def _kind(path: Path) -> str:
    return Path(re.sub(r"\.gz$", "", path.name)).suffix.lower()


def _read(path: Path, encoding: str | None) -> _Part:
    if _kind(path) == ".parquet":
        return _parquet(path)
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"cannot be read ({error}); wanted a whole file that this user may read") from error
    code = next((code for mark, code in BOMS.items() if data.startswith(mark)), encoding or "utf-8")
    try:
        text = data.decode(code)
    except LookupError as error:
        raise UsageError(f"is not read: --encoding {code!r} is unknown, wanted one such as latin-1") from error
    except UnicodeDecodeError as error:
        got = f"is not {code}: line {data.count(10, 0, error.start) + 1} has the byte 0x{data[error.start]:02x}"
        raise UsageError(f"{got}; give its --encoding (latin-1, cp1252, utf-16 …), or convert it to UTF-8") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UsageError(f"has a zero byte in line {line}, wanted text; if it is UTF-16, give --encoding utf-16")
    text = text[text.startswith("\ufeff") :]
    if _kind(path) == ".txt":
        lines = re.split(r"\r?\n", text)
        lines = lines if lines[-1] else lines[:-1]
        return _Part({"text": lines}, list(range(1, len(lines) + 1)), [], f"lines, {code}")
    part = _json(text) if "json" in _kind(path) else _delimited(text, _kind(path))
    return part._replace(note=f"{part.note}, {code}")


def _parquet(path: Path) -> _Part:
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise UsageError(f"needs the library pyarrow ({error}); install it, or write the table as csv") from error
    try:
        with path.open("rb") as file:
            table = parquet.ParquetFile(file).read()
    except (ValueError, OSError, NotImplementedError) as error:
        raise UsageError(f"is no readable Parquet file ({error}); write it again") from error
    columns = {name: table[name].to_pylist() for name in table.column_names}
    for values in columns.values():
        values[:] = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    return _Part(columns, list(range(1, table.num_rows + 1)), [], "parquet")


def _json(text: str) -> _Part:
    """An array or lines of objects, or {"data": […]} as SQuAD has it."""
    try:
        content, note = JSON.decode(text), "json"
    except (ValueError, RecursionError) as error:
        if text.lstrip()[:1] == "[":
            raise UsageError(f"is no whole JSON array ({error}); write it again, or as JSON lines") from error
        content, note = [_json_line(line) for line in text.split("\n") if line.strip()], "json lines"
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        content = [row for entry in content["data"] for row in _flat(entry)]
    bad, rows, numbers, escapes = [], [], [], "\\u" in text
    for number, row in enumerate(content if isinstance(content, list) else [content], 1):
        if isinstance(row, dict) and not (escapes and HALF_CHARACTER.search(json.dumps(row, ensure_ascii=False))):
            rows.append(row)
            numbers.append(number)
        else:
            bad.append(f"row {number} is no object of whole texts, {row!a:.50}")
    names = dict.fromkeys(name for row in rows for name in row)
    return _Part({name: [row.get(name) for row in rows] for name in names}, numbers, bad, note)


def _json_line(line: str) -> Any:
    try:
        return JSON.decode(line)
    except (ValueError, RecursionError):
        return line.strip()  # no object, and so no row


def _flat(entry: Any) -> Iterator[Any]:
    """SQuAD's articles hold paragraphs, which hold questions; other rows are as they are."""
    if not isinstance(entry, dict) or "paragraphs" not in entry:
        yield entry
        return
    try:
        for paragraph in entry["paragraphs"]:
            yield from ({**asked, "context": paragraph["context"]} for asked in paragraph["qas"])
    except (KeyError, TypeError) as error:
        raise UsageError(
            f"lacks {error} of SQuAD's form, wanted paragraphs that hold context and qas; correct it"
        ) from error


class _Reading(NamedTuple):
    """A whole table in one dialect. `ragged`: rows of another length; `odd`: cells that its writers write otherwise."""

    ragged: set[int]
    odd: int
    records: list[list[str]]
    lines: list[int]
    dialect: str


def _delimited(text: str, kind: str) -> _Part:
    ragged, _, records, lines, note = _reading(text if "\n" in text else text.replace("\r", "\n"), kind)
    first = [cell.strip() for cell in records[0]]
    again = (cell == one[place].strip() for one in records[1:] for place, cell in enumerate(first[: len(one)]) if cell)
    header = any(cell.lower() in NAMES for cell in first) or not (any(map(NUMBER.fullmatch, first)) or any(again))
    names = [cell if header and cell else f"column{place}" for place, cell in enumerate(first, 1)]
    if len(set(names)) < len(names):
        raise UsageError(f"has the columns {', '.join(names)}, wanted each name once; rename them")
    good, bad = [], []
    for index in range(header, len(records)):
        if index in ragged:
            bad.append(f"line {lines[index]} has {len(records[index])} fields, line {lines[0]} has {len(names)}")
        elif header and records[index] == records[0]:
            bad.append(f"line {lines[index]} repeats the names of the columns")
        else:
            good.append(index)
    columns = {name: [records[index][place] for index in good] for place, name in enumerate(names)}
    return _Part(
        columns, [index + 1 - header for index in good], bad, note + ("" if header else ", no names of columns")
    )


def _reading(text: str, kind: str) -> _Reading:
    """In the dialect that explains the whole file best: fewest ragged rows, then fewest odd cells."""
    usual = "\t,;|" if kind == ".tsv" else ",;\t|"
    head = re.sub(r'"[^"]*"', "", next((line for line in text.split("\n") if line.strip()), ""))
    readings: list[_Reading] = []
    broken = 0
    for delimiter in [one for one in usual if one in head][: 1 if kind == ".tsv" else 4] or usual[0]:
        quoted = _scan(text, delimiter, "doubled") if '"' in text else 1
        if delimiter != "\t" and isinstance(quoted, _Reading) and not (quoted.ragged or quoted.odd):
            readings.append(quoted)
            continue
        plain = _scan(text, delimiter, "as text")
        quoted = quoted if '"' in text else plain
        escaped = _scan(text, delimiter, "after a backslash") if "\\" in text else 0
        if isinstance(plain, int):
            raise UsageError("is empty, wanted a table")
        own = [one for one in (quoted, escaped) if isinstance(one, _Reading)]
        if delimiter == "\t":
            if isinstance(quoted, _Reading) and _ambiguous(plain, quoted):
                raise UsageError(
                    "has quotes that are text, or that hold several lines: both fit; write it as JSON lines"
                )
            own.insert(0, plain)  # as a rule, nothing is quoted between tabs
        elif isinstance(quoted, int) and not plain.ragged:
            own.append(plain)
        broken = broken or (quoted if isinstance(quoted, int) else 0)
        readings += own
    if not readings:
        raise UsageError(
            f"has a quote in line {broken} that stands inside a field, or that none closes; write it doubled"
        )
    return min(readings, key=lambda one: (len(one.ragged), one.odd))


def _ambiguous(plain: _Reading, quoted: _Reading) -> bool:
    perfect = not (plain.ragged or plain.odd or quoted.ragged or quoted.odd)
    return perfect and len(plain.records[0]) > 1 and len(plain.records) != len(quoted.records)


def _scan(text: str, delimiter: str, style: str) -> _Reading | int:
    """A number: the line that contradicts the dialect."""
    d = re.escape(delimiter)
    match = re.compile(f"(?:{DIALECTS[style].replace('D', d)})({d}|\r?\n|\\Z)", re.DOTALL).match
    backslash = style == "after a backslash"
    inside, outside = re.compile(r'\\(["\\])|"(")'), re.compile(rf'\\(["\\{d}\n\r])')
    records: list[list[str]] = []
    record: list[str] = []
    lines, odd, at, line, start = [], 0, 0, 1, 1
    blank: list[int] = []
    while at < len(text) or record:
        found = match(text, at)
        if found is None:
            return line
        cell, bare, end = found.groups()
        if cell is not None:
            value = inside.sub(r"\1\2", cell) if backslash else cell.replace('""', '"')
        else:
            value = outside.sub(r"\1", bare) if backslash else bare
            odd += style != "as text" and '"' in (outside.sub("", bare) if backslash else bare)
            value = value[:-1] if end == "\n" and value.endswith("\r") else value
        record.append(value)
        line += text.count("\n", at, found.end())
        at = found.end()
        if end != delimiter:
            one_column = bool(records) and len(records[0]) == 1
            if len(record) > 1 or cell is not None or value.strip() or (one_column and value):
                if one_column:  # where a blank line is an empty text, but for the last ones
                    records += [[""] for _ in blank]
                    lines += blank
                records.append(record)
                lines.append(start)
                blank = []
            else:
                blank.append(start)
            record, start = [], line
    for place in range(len(records[0])) if records and style == "as text" and '"' in text else ():
        column = [record[place] for record in records[1:] if place < len(record)]
        cells = [cell for cell in column if len(cell) > 1 and cell[0] == cell[-1] == '"']
        odd += len(cells) if len(cells) == len(column) else sum('""' in cell[1:-1] or "\r" in cell for cell in cells)
    ragged = {number for number, record in enumerate(records) if len(record) != len(records[0])}
    dialect = f"separated by {SEPARATORS[delimiter]}" + (f", quotes {style}" if '"' in text else "")
    return _Reading(ragged, odd, records, lines, dialect) if records else 1


# --- columns, labels, splits ---


class Columns(NamedTuple):
    text: str
    pair: str | None
    label: Any  # a name; None only where `unlabelled` allows it


def pick_columns(
    table: Table,
    *,
    text: str | None = None,
    pair: str | None = None,
    label: str | None = None,
    unlabelled: bool = False,
) -> Columns:
    """By name where one is given, else the first that data sets usually have."""
    own = {column.lower(): column for column in reversed(list(table.columns))}
    seen = f"--{table.name}: got the columns {', '.join(table.columns)}, wanted"
    for flag, column in {"text_column": text, "text_pair_column": pair, "label_column": label}.items():
        if column is not None and column not in table.columns:
            raise UsageError(f"{seen} {column!r} (--{flag}); name one that is there")
    if text is None:
        known = next((one for one in [*PAIRS, *TEXTS] if one in own and PAIRS.get(one, one) in own), None)
        if known is None:
            raise UsageError(f"{seen} {'/'.join(TEXTS)}; name yours with --text_column (and --text_pair_column)")
        text, pair = own[known], pair or (own[PAIRS[known]] if known in PAIRS else None)
    label = label or next((own[name] for name in LABELS if name in own), None)
    if label is None and not unlabelled:
        raise UsageError(f"{seen} {'/'.join(LABELS)}; name yours with --label_column")
    used = " and ".join(repr(one) for one in (text, pair) if one)
    table.said.append(f"--{table.name}: the text is in {used}" + (f", the label in {label!r}." if label else "."))
    empty = sum(not one.strip() for one in table.texts(text)) if unlabelled else 0  # else drop_missing says so
    if empty:
        table.said.append(f"--{table.name}: {empty} of {len(table)} rows have no text in {text!r}.")
    return Columns(text, pair, label)


class Labels(NamedTuple):
    """For each row a class number, or a score where `names` is empty; None: the row has no label."""

    values: list[Any]
    names: list[str]

    def take(self, chosen: Sequence[int]) -> Labels:
        return Labels([self.values[i] for i in chosen], self.names)


def labels_of(
    table: Table, column: str, *, num_labels: int | None = None, names: Sequence[str] | None = None
) -> Labels:
    """Classes, or scores (fractions, or num_labels=1). `names` are those of training: [] means scores."""
    found = [_label(value, table, index) for index, value in enumerate(table.columns[column])]
    distinct = set(found) - {None}
    words = {one for one in distinct if not NUMBER.fullmatch(one)}
    gaps = {one for one in words if one.lower() in {"nan", "na", "n/a", "null", "none"}} if words < distinct else set()
    if gaps and gaps == words:  # among numbers only
        found, distinct, words = [None if one in gaps else one for one in found], distinct - gaps, set()
    for one in sorted(words):
        index, several = found.index(one), any(cut in one and {*one.split(cut)} <= distinct for cut in ",;|")
        if several or re.fullmatch(r"\[.*\]|[0-9]+([,;|][0-9]+)+", one):
            got = f"has several labels (multi-label) or a decimal comma, {one!r}"
            raise table.wrong(index, f"{got}; wanted one class or score, as 0.5")
        if one.isdigit():
            raise table.wrong(index, f"has the label {one!r}, wanted the digits 0 to 9, or a word; correct it")
    fractions = not words and any(not float(one).is_integer() for one in distinct)
    if not names if names is not None else num_labels == 1 or fractions:
        for one in distinct:
            if one in words or math.isinf(float(one)):
                raise table.wrong(found.index(one), f"has the label {one!r}, wanted a number: the labels are scores")
        return Labels([None if one is None else float(one) for one in found], [])
    if not words:  # 1.0 is 1: so a column of numbers with gaps is often written
        found = [str(int(float(one))) if one and re.search(r"[.eE+]", one) else one for one in found]
        distinct = set(found) - {None}
    classes = distinct - {"-1"}  # which is a class, or says as in GLUE that a row has no label
    if names is None and num_labels is None and "-1" in distinct and "0" in classes:
        got = f"--{table.name}: got the labels {_some(sorted(distinct))}, wanted to know what -1 is"
        raise UsageError(f"{got}; give --num_labels {len(distinct)} if a class, {len(classes)} if it means no label")
    if not classes or ("-1" not in names if names is not None else num_labels == len(classes)):
        found, distinct = [None if one == "-1" else one for one in found], classes
    names = _class_names(distinct, num_labels, table) if names is None else list(names)
    for one in sorted(distinct - set(names)):
        known = f"{_some(names, 10)} as in the training data"
        raise table.wrong(found.index(one), f"has the label {one!r}, wanted {known}; correct it")
    numbers = {name: number for number, name in enumerate(names)}
    return Labels([None if one is None else numbers[one] for one in found], names)


def _label(value: Any, table: Table, index: int) -> Any:
    """As text; None: there is none."""
    if isinstance(value, (list, tuple, dict)):
        raise table.wrong(index, f"has several labels (multi-label), {value!r:.50}; wanted one class or score")
    if isinstance(value, float) and (math.isnan(value) or value.is_integer()):
        return None if math.isnan(value) else str(int(value))
    return None if value is None else str(value).strip() or None


def _class_names(distinct: set[str], num_labels: int | None, table: Table) -> list[str]:
    """In the order of their numbers. Labels that count from 0 keep their number."""
    count = num_labels or len(distinct)
    if all(re.fullmatch("0|-?[1-9][0-9]*", one) for one in distinct):
        names = sorted(distinct, key=int)
        if count >= 2 and names and int(names[0]) >= 0 and int(names[-1]) < count:
            return [str(number) for number in range(count)]
    else:
        names = sorted(distinct)
    if count < 2 or len(names) != count:
        wanted = "at least 2 different ones" if num_labels is None else f"{num_labels} (--num_labels)"
        got = f"--{table.name}: got {len(names)} labels ({_some(names, 10)}), wanted {wanted}"
        raise UsageError(f"{got}; check --label_column and --num_labels")
    return names


def drop_missing(table: Table, columns: Columns, labels: Labels) -> tuple[Table, Labels]:
    """Only the rows with text and label, and a sentence about the others. Not for test data."""
    there = {column: [bool(text.strip()) for text in table.texts(column)] for column in columns[:2] if column}
    there["label"] = [value is not None for value in labels.values]
    for column, known in there.items():
        gaps = [str(row) for row, known_here in zip(table.rows, known) if not known_here]
        if gaps:
            lost = f"left out {len(gaps)} rows, which have no {column}: {_some(gaps)}"
            table.said.append(f"--{table.name}: {lost}.")
    chosen = [index for index, known in enumerate(zip(*there.values())) if all(known)]
    if not chosen:
        raise UsageError(f"--{table.name}: got no row with both text and label, wanted some; fill the gaps")
    return table.take(chosen), labels.take(chosen)


def split(
    table: Table, labels: Labels, fraction: float, *, seed: int
) -> tuple[tuple[Table, Labels], tuple[Table, Labels]]:
    """What to train on and what is held out, with like shares of each class. The same rows are split the same way."""
    classes: dict[Any, list[int]] = {}
    for index, value in enumerate(labels.values):
        classes.setdefault(value if labels.names else 0, []).append(index)
    alone = [labels.names[value] for value, members in classes.items() if labels.names and len(members) == 1]
    if alone:
        table.said.append(f"--{table.name}: {_some(alone)}: one row each, so they are trained on and not held out.")
    groups = [members for members in classes.values() if len(members) > 1]
    count = sum(map(len, groups))
    wanted = min(max(1, round(len(table) * fraction)), count - len(groups))  # of each class one row is trained on
    if wanted < 1:
        raise UsageError(f"--{table.name}: got {len(table)} rows, wanted two of a class to hold one out; add rows")
    shares = [wanted * len(members) / count for members in groups]
    held = [int(share) for share in shares]
    while sum(held) < wanted:
        for place in sorted(range(len(groups)), key=lambda place: held[place] - shares[place]):
            held[place] += sum(held) < wanted and held[place] < len(groups[place]) - 1
    draw = random.Random(seed)  # noqa: S311 - a split, no secret
    out = {index for members, part in zip(groups, held) for index in draw.sample(members, part)}
    parts = [[index for index in range(len(table)) if (index in out) == held_out] for held_out in (False, True)]
    (one, y), (other, z) = [(table.take(part), labels.take(part)) for part in parts]
    return (one, y), (other, z)


# --- tokens ---


class Encoded:
    """The token ids of all examples in one buffer, 4 bytes each."""

    def __init__(self) -> None:
        self.ids, self.types, self.ends = array("i"), array("b"), array("q", [0])
        self.labels: dict[str, Sequence[Any]] = {}  # for each example

    @property
    def lengths(self) -> Any:
        return np.diff(np.frombuffer(self.ends, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, index: int) -> dict[str, Any]:
        index = range(len(self))[index]
        begin, end = self.ends[index], self.ends[index + 1]
        example: dict[str, Any] = {"input_ids": self.ids[begin:end].tolist(), "attention_mask": [1] * (end - begin)}
        if self.types:
            example["token_type_ids"] = self.types[begin:end].tolist()
        return {**example, **{name: values[index] for name, values in self.labels.items()}}

    def add(self, made: Any) -> None:
        """What a tokenizer has made of some texts."""
        for ids in made["input_ids"]:
            self.ids.extend(ids)
            self.ends.append(len(self.ids))
        for types in made.get("token_type_ids", ()):
            self.types.extend(types)

    def fingerprint(self) -> str:
        """For recognising a run's own checkpoints."""
        digest = hashlib.sha256(repr(self.labels).encode())
        for column in (self.ids, self.types, self.ends):
            digest.update(column)
        return digest.hexdigest()[:16]


def encode(
    tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None = None, *, max_length: int, labels: Any = None
) -> Encoded:
    """Cut at `max_length`, not padded."""
    found = Encoded()
    for start in range(0, len(texts), CHUNK):
        columns = [list(column[start : start + CHUNK]) for column in (texts, pairs) if column is not None]
        found.add(tokenizer(*columns, truncation=True, max_length=max_length, return_attention_mask=False))
    found.labels = {} if labels is None else {"labels": labels}
    return found


# --- questions ---


class Questions(NamedTuple):
    ids: list[str]
    questions: list[str]
    contexts: list[str]
    answers: list[list[str]]  # all that count as right; none: the context does not tell
    starts: list[int]  # where the first begins in its context; -1: nowhere

    def take(self, chosen: Sequence[int]) -> Questions:
        columns: Any = ([column[index] for index in chosen] for column in self)
        return Questions(*columns)

    def split(self, fraction: float, *, seed: int) -> tuple[Questions, Questions]:
        rows = table_from({"id": self.ids}, "train_file")
        parts = split(rows, Labels([0.0] * len(rows), []), fraction, seed=seed)
        one, other = (self.take([row - 1 for row in part.rows]) for part, _ in parts)
        return one, other


def questions_of(table: Table, *, judged: bool = False) -> Questions:
    """SQuAD's rows, or `answer` and `answer_start`. To be trained on, a row needs its answer where it says."""
    if not {"question", "context"} <= {*table.columns} or not {"answers", "answer"} & {*table.columns}:
        wanted = "question, context and answers, or answer and answer_start; rename them"
        raise UsageError(f"--{table.name}: got the columns {', '.join(table.columns)}, wanted {wanted}")
    questions, contexts = table.texts("question"), table.texts("context")
    ids = table.texts("id") if "id" in table.columns else [str(number) for number in range(len(table))]
    for index in range(len(ids)) if len(set(ids)) < len(ids) else ():
        if ids[index] in ids[:index]:
            raise table.wrong(index, f"has the id {ids[index]!r} of a row before it, wanted another; correct it")
    answers = [_answers(table, index) for index in range(len(table))]
    starts = [_place(context, *answer) for context, answer in zip(contexts, answers)]
    there = [bool(question.strip() and context.strip()) for question, context in zip(questions, contexts)]
    good = [
        index
        for index in range(len(table))
        if judged or (there[index] and (starts[index] >= 0 or not answers[index][0]))
    ]
    if len(good) < len(table):
        lost = _some([str(table.rows[index]) for index in sorted({*range(len(table))} - {*good})])
        what = "lack a question, a context, or the answer at its place"
        table.said.append(f"--{table.name}: left out {len(table) - len(good)} rows, which {what}: {lost}.")
    if not good:
        raise UsageError(f"--{table.name}: got no row with its answer in its context, wanted some; check answer_start")
    return Questions(ids, questions, contexts, [texts for texts, _ in answers], starts).take(good)


def _answers(table: Table, index: int) -> tuple[list[str], int]:
    """The right answers, and where the first begins; -1: it does not say."""
    row = {name: column[index] for name, column in table.columns.items()}
    found = row["answers"] if "answers" in row else {"text": row["answer"], "answer_start": row.get("answer_start")}
    try:
        if isinstance(found, str):  # JSON, or as Python prints it, which is what to_csv writes
            found = ast.literal_eval(found) if re.match(r"[{\[ ]*'", found) else json.loads(found or "[]")
        if isinstance(found, list):  # as in SQuAD's own files: an object for each answer
            found = {name: [one.get(name) for one in found] for name in ("text", "answer_start")}
        texts, starts = ((found or {}).get(name) for name in ("text", "answer_start"))
        texts = [texts] if isinstance(texts, str) else texts or []
        starts = [one for one in (starts if isinstance(starts, list) else [starts]) if one not in {None, ""}]
        return [str(text) for text in texts if text], int(starts[0]) if starts else -1
    except (ValueError, SyntaxError, TypeError, AttributeError) as error:
        message = f"has the answers {found!r:.60}, wanted text and answer_start; correct it"
        raise table.wrong(index, message) from error


def _place(context: str, texts: Sequence[str], start: int) -> int:
    """Where the first answer begins, without blanks at its edge; -1: nowhere, or nobody knows at which of several places."""
    if not texts or not texts[0].strip():
        return -1
    if start < 0 or not context.startswith(texts[0], start):
        start = context.find(texts[0]) if context.count(texts[0]) == 1 else -1
    return start if start < 0 else start + len(texts[0]) - len(texts[0].lstrip())
