"""Data that nobody prepared: files to tables, and texts to tokens. Nothing is lost without a sentence in `said`.

    table = read_table(args.train_file, "train_file")       # csv, tsv, json, jsonl, parquet or txt, also .gz; or a folder
    columns = pick_columns(table, label=args.label_column)  # by the names that data sets use, or by those given
    tokens = encode(tokenizer, table.texts(columns.text), max_length=128)
    print(*table.said, sep="\\n")

`tokens` is a map-style data set for DataLoader and Trainer. Messages name the flags --encoding, --text_column,
--text_pair_column and --label_column.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import importlib
import json
import math
import re
import zlib
from array import array
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from sm_spot import UsageError

import numpy as np

KINDS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".txt")
BESIDE = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}  # which `datasets` writes too
SPLITS = {  # by a word in the name of a file or its folder
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
TEXTS = (
    "text",
    "content",
    "sentence",
    "review",
    "tweet",
    "comment",
    "body",
    "document",
    "message",
)
PAIRS = {"sentence1": "sentence2", "premise": "hypothesis", "question1": "question2", "question": "sentence",
         "text1": "text2", "#1 string": "#2 string"}  # fmt: skip
LABELS = (
    "label",
    "labels",
    "sentiment",
    "class",
    "category",
    "target",
    "score",
    "stars",
    "rating",
    "gold_label",
    "is_duplicate",
    "quality",
)
NAMES = {*TEXTS, *PAIRS, *PAIRS.values(), *LABELS, "id", "idx", "context", "answers"}
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
JSON = json.JSONDecoder(parse_constant=lambda name: None if name == "NaN" else float(name))  # NaN is a gap
BINARY = {b"PK\x03\x04": "a zip archive or a workbook of Excel", b"PAR1": "Parquet"}
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
    classes: dict[str, list[str]] = field(default_factory=dict)  # names of a column's numbers, where the file has them

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: Sequence[int]) -> Table:
        columns = {name: [values[i] for i in chosen] for name, values in self.columns.items()}
        rows, files = [self.rows[i] for i in chosen], [self.files[i] for i in chosen]
        return replace(self, columns=columns, rows=rows, files=files)

    def texts(self, column: str) -> list[str]:
        """As they are written; a missing one is empty."""
        for index, value in enumerate(self.columns[column]):
            if isinstance(value, (list, dict, bytes)):
                raise self.wrong(index, f"has a {type(value).__name__} in {column!r}, wanted text; give --text_column")
        return ["" if value is None else str(value) for value in self.columns[column]]

    def say(self, sentence: str) -> None:
        self.said.append(f"--{self.name}: {sentence}.")

    def wrong(self, index: int, message: str) -> UsageError:
        return UsageError(f"--{self.name}: row {self.rows[index]} of {self.files[index]} {message}")


def table_from(columns: dict[str, list[Any]], name: str, classes: Mapping[str, list[str]] | None = None) -> Table:
    """Of columns that a library has read, such as `datasets`. Numbers of classes become their names, -1 becomes a gap."""
    count = len(next(iter(columns.values()), []))
    table = Table(name, columns, list(range(1, count + 1)), [name] * count)
    for column, names in (classes or {}).items():
        table.columns[column] = _named(columns[column], names)
        table.classes[column] = list(names)
    return table


def class_names(features: Mapping[str, Any]) -> dict[str, list[str]]:
    """Of the columns that `datasets` knows as classes."""
    return {column: list(feature.names) for column, feature in features.items() if hasattr(feature, "names")}


def _named(numbers: Sequence[Any], names: Sequence[str]) -> list[Any]:
    named: list[Any] = []
    for number in numbers:
        known = isinstance(number, int) and 0 <= number < len(names)
        named.append(names[number] if known else None)
    return named


def said_of(tables: Mapping[str, Table]) -> list[str]:
    return list(dict.fromkeys(sentence for table in tables.values() for sentence in table.said))


def some(names: Sequence[Any], count: int = 5, comma: str = ", ") -> str:
    return comma.join(map(str, names[:count])) + (f"{comma}…" if len(names) > count else "")


# --- files ---


class _Part(NamedTuple):
    """What one file holds: good rows, their numbers, and a phrase for each row that cannot be read."""

    columns: dict[str, list[Any]]
    rows: Sequence[int]
    bad: list[str]
    note: str
    classes: Mapping[str, list[str]] = MappingProxyType({})


def read_table(where: str | Path, name: str, *, split: str = "train", encoding: str | None = None) -> Table:
    """A file, or a folder's files of one split (else those of none). Of "test" no row is left out."""
    if not str(where):
        raise UsageError(f"--{name}: got an empty name, wanted a file or a folder")
    paths, left_out = _files(Path(where), name, split)
    table = Table(name, {}, [], [])
    if left_out:
        table.say(f"left out {some([path.name for path in left_out])}, which is not for {split}")
    for path in paths:
        try:
            columns, rows, bad, note, classes = _read(path, encoding)
        except UsageError as error:
            raise UsageError(f"--{name}: {path.name} {error}") from error
        got = f"--{name}: {path.name} has"
        if bad and (split == "test" or len(bad) * 10 > len(rows) + len(bad)):
            got += f" {len(bad)} of {len(rows) + len(bad)} rows that cannot be read"
            raise UsageError(f"{got}: {bad[0]}; correct them")
        if table.columns and set(columns) != set(table.columns) and "json" not in _kind(path):
            got += f" the columns {', '.join(columns)}, files before it have {', '.join(table.columns)}"
            raise UsageError(f"{got}; wanted the same in all files")
        for column in {**table.columns, **columns}:
            table.columns.setdefault(column, [None] * len(table)).extend(columns.get(column, [None] * len(rows)))
        table.classes.update(classes)
        table.rows += rows
        table.files += [path.name] * len(rows)
        table.say(f"read {len(rows)} rows of {path.name} ({note})")
        if bad:
            table.say(f"left out {len(bad)} rows of {path.name}: {some(bad, 3, '; ')}")
    if not table.rows:
        raise UsageError(f"--{name}: got no row in {str(where)!r}, wanted a table or lines of text; check the file")
    return table


def _files(root: Path, name: str, split: str) -> tuple[list[Path], list[Path]]:
    """The files to read, in the order of their names, and those beside them that are not for this split."""
    if not root.exists():
        raise UsageError(f"--{name}: got {str(root)!r}, which does not exist; wanted a file or a folder")
    found: dict[str, list[Path]] = {} if root.is_dir() else {split: [root]}
    for path in sorted(root.rglob("*")):  # none, where it is a file
        own = path.relative_to(root)
        hidden = path.name in BESIDE or any(part.startswith((".", "_")) for part in own.parts)
        if not hidden and path.is_file() and _kind(path) in KINDS:
            found.setdefault(_split_of(own), []).append(path)
    paths = found.get(split) or found.get("", [])  # else those whose names say nothing
    left_out = [path for files in found.values() for path in files if path not in paths]
    kinds, once = {_kind(path) for path in paths}, {re.sub(r"\.gz$", "", str(path)) for path in paths}
    if len(kinds) != 1 or not kinds <= {*KINDS} or len(once) < len(paths):
        got = some([path.name for path in paths or left_out]) or "no data file"
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
    for mark, kind in BINARY.items():
        if data.startswith(mark):
            raise UsageError(f"is {kind} by its first bytes, wanted text; save it as CSV, or name it by what it is")
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
    if text.startswith("version https://git-lfs.github.com/"):
        raise UsageError("is a pointer of Git LFS, wanted the file itself; git lfs pull fetches it")
    text = text if "\n" in text else text.replace("\r", "\n")
    if re.match(r"[^\n]*\r\r\n", text):  # Windows has made a whole line end of the \n of each
        text = text.replace("\r\r\n", "\n")
    if _kind(path) == ".txt":
        lines = re.split(r"\r?\n", text)
        lines = lines if lines[-1] else lines[:-1]
        return _Part({"text": lines}, range(1, len(lines) + 1), [], f"lines, {code}")
    part = _json(text) if "json" in _kind(path) else _delimited(text, _kind(path))
    return part._replace(note=f"{part.note}, {code}")


def _parquet(path: Path) -> _Part:
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
        with path.open("rb") as file:
            table = parquet.ParquetFile(file).read()
        columns = dict(zip(_once(table.column_names), [column.to_pylist() for column in table.columns]))
        classes = _classes_in(table.schema.metadata or {})
    except ImportError as error:
        raise UsageError(f"needs the library pyarrow ({error}); install it, or write the table as csv") from error
    except (ValueError, OSError, NotImplementedError, LookupError) as error:
        raise UsageError(f"is no readable Parquet file ({error}); write it again") from error
    for values in columns.values():
        values[:] = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    for column, names in classes.items():
        columns[column] = _named(columns[column], names)
    return _Part(columns, range(1, table.num_rows + 1), [], "parquet", classes)


def _classes_in(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """The names of classes, which `datasets` writes into a Parquet file."""
    features = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    return {
        column: feature["names"]
        for column, feature in features.items()
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and "names" in feature
    }


def _once(names: Sequence[str]) -> Sequence[str]:
    if len(set(names)) < len(names):
        raise UsageError(f"has the columns {', '.join(names)}, wanted each name once; rename them")
    return names


def _json(text: str) -> _Part:
    """An array or lines of objects, {"data": […]} as SQuAD has it, or columns as pandas writes them."""
    try:
        content, note = JSON.decode(text), "json"
    except (ValueError, RecursionError) as error:
        if text.lstrip()[:1] == "[":
            raise UsageError(f"is no whole JSON array ({error}); write it again, or as JSON lines") from error
        content, note = [_json_line(line) for line in text.split("\n") if line.strip()], "json lines"
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        content = [row for entry in content["data"] for row in _flat(entry)]
    columns = _columns(content) if isinstance(content, dict) else {}
    if columns:
        content, note = [dict(zip(columns, row)) for row in zip(*columns.values())], "json by columns"
    bad, good, escapes = [], {}, "\\u" in text
    for number, row in enumerate(content if isinstance(content, list) else [content], 1):
        if isinstance(row, dict) and not (escapes and HALF_CHARACTER.search(json.dumps(row, ensure_ascii=False))):
            good[number] = row
        else:
            what = "holds half a character" if isinstance(row, dict) else "is no whole JSON object"
            bad.append(f"row {number} {what}, {row!a:.50}")
    names = dict.fromkeys(name for row in good.values() for name in row)
    return _Part({name: [row.get(name) for row in good.values()] for name in names}, list(good), bad, note)


def _columns(content: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Lists of one length without lists in them, or objects whose keys count the rows; else none, for it is one row."""
    found = {}
    for name, cells in content.items():
        if isinstance(cells, dict) and cells and all(map(str.isdigit, cells)):
            found[name] = list(cells.values())
        elif isinstance(cells, list) and not any(isinstance(cell, (dict, list)) for cell in cells):
            found[name] = cells
    return found if len(found) == len(content) and len({*map(len, found.values())}) == 1 else {}


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
        wanted = "SQuAD's form, wanted paragraphs that hold context and qas"
        raise UsageError(f"lacks {error} of {wanted}; correct it") from error


class _Reading(NamedTuple):
    """A whole table in one dialect, or the line that contradicts it."""

    records: list[list[str]]
    lines: list[int]
    note: str = ""
    broken: int = 0
    ragged: int = 0  # rows of another length
    odd: int = 0  # cells that its writers write otherwise

    def faults(self) -> tuple[bool, int, int]:
        return self.broken > 0, self.ragged, self.odd


def _delimited(text: str, kind: str) -> _Part:
    if not text.strip():
        raise UsageError("is empty, wanted a table")
    records, lines, note, *_ = _best_reading(
        re.sub(r'\A"?sep=."?(?=\r?\n)', "", text, flags=re.IGNORECASE), kind
    )  # Excel's
    first = [cell.strip() for cell in records[0]]
    again = (cell == one[place].strip() for one in records[1:] for place, cell in enumerate(first[: len(one)]) if cell)
    known_name = any(cell.lower() in NAMES for cell in first)
    looks_like_a_row = any(map(NUMBER.fullmatch, first)) or any(again)
    counted_by_pandas = len(first) > 1 and first == ["", *map(str, range(len(first) - 1))]
    header = known_name or counted_by_pandas or not looks_like_a_row
    names = [cell if header and cell else f"column{place}" for place, cell in enumerate(first, 1)]
    _once(names)
    good, bad = [], []
    skipped = 1 if header else 0
    for index in range(skipped, len(records)):
        if len(records[index]) != len(names):
            bad.append(f"line {lines[index]} has {len(records[index])} fields, line {lines[0]} has {len(names)}")
        elif header and records[index] == records[0]:
            bad.append(f"line {lines[index]} repeats the names of the columns")
        else:
            good.append(index)
    columns = {name: [records[index][place] for index in good] for place, name in enumerate(names)}
    rows = [index + 1 - skipped for index in good]
    return _Part(columns, rows, bad, note + ("" if header else ", no names of columns"))


def _best_reading(text: str, kind: str) -> _Reading:
    """In the dialect that explains the whole file best: fewest ragged rows, then fewest odd cells."""
    usual = "\t,;|" if kind == ".tsv" else ",;\t|"
    head = re.sub(r'"[^"]*"', "", next(line for line in text.split("\n") if line.strip()))
    readings: list[_Reading] = []
    delimiters = [one for one in usual if one in head] or [usual[0]]
    for delimiter in delimiters[:1] if kind == ".tsv" else delimiters:
        quoted = _read_as("doubled", text, delimiter)
        perfect, tabs = not any(quoted.faults()), delimiter == "\t"
        escaped = [_read_as("after a backslash", text, delimiter)] if "\\" in text and (tabs or not perfect) else []
        plain = _read_as("as text", text, delimiter) if '"' in text and (tabs or quoted.broken) else quoted
        both = tabs and perfect and not any(plain.faults()) and len(plain.records[0]) > 1
        if both and len(plain.records) != len(quoted.records):
            what = "has quotes that are text, or that hold several lines: both fit"
            raise UsageError(f"{what}; write it as JSON lines")
        # As a rule nothing is quoted between tabs; between others only quotes that cannot be quoting are text.
        readings += [plain] if tabs else []
        readings += [quoted, *escaped]
        readings += [plain] if quoted.broken and not plain.ragged else []
    best = min(readings, key=_Reading.faults)
    if best.broken:
        where = f"has a quote in line {best.broken}"
        raise UsageError(f"{where} that stands inside a field, or that none closes; write it doubled")
    return best


def _read_as(style: str, text: str, delimiter: str) -> _Reading:
    d, backslash, plain = re.escape(delimiter), style == "after a backslash", style == "as text"
    match = re.compile(f"(?:{DIALECTS[style].replace('D', d)})({d}|\r?\n|\\Z)", re.DOTALL).match
    inside, outside = re.compile(r'\\(["\\\n])|"(")'), re.compile(rf'\\(["\\{d}\n\r])')
    records: list[list[str]] = []
    record: list[str] = []
    lines, blank, odd, at, line, start = [], [], 0, 0, 1, 1  # type: list[int], list[int], int, int, int, int
    while at < len(text) or record:
        found = match(text, at)
        if found is None:
            return _Reading([], [], broken=line)
        cell, bare, end = found.groups()
        if cell is not None:
            value = inside.sub(r"\1\2", cell) if backslash else cell.replace('""', '"')
        else:
            value = outside.sub(r"\1", bare) if backslash else bare
            odd += not plain and '"' in (outside.sub("", bare) if backslash else bare)
            value = value[:-1] if end == "\n" and value.endswith("\r") else value
        record.append(value)
        line += text.count("\n", at, found.end())
        at = found.end()
        if end == delimiter:
            continue
        one_column = bool(records) and len(records[0]) == 1
        if len(record) > 1 or cell is not None or value.strip() or (one_column and value):
            if one_column:  # there a blank line is an empty text, but for the last ones
                records += [[""] for _ in blank]
                lines += blank
            records.append(record)
            lines.append(start)
            blank = []
        else:
            blank.append(start)
        record, start = [], line
    if plain:
        odd += _cells_that_look_quoted(records)
    ragged = sum(len(record) != len(records[0]) for record in records)
    note = f"separated by {SEPARATORS[delimiter]}" + (f", quotes {style}" if '"' in text else "")
    return _Reading(records, lines, note, 0, ragged, odd)


def _cells_that_look_quoted(records: list[list[str]]) -> int:
    """Of a table read without quoting: all cells of a column that is quoted throughout, else those with a quote in quotes."""
    odd = 0
    for place in range(len(records[0])):
        column = [record[place] for record in records[1:] if place < len(record)]
        cells = [cell for cell in column if len(cell) > 1 and cell[0] == cell[-1] == '"']
        if len(cells) < len(column):
            cells = [cell for cell in cells if '""' in cell[1:-1] or "\r" in cell]
        odd += len(cells)
    return odd


# --- columns ---


class Columns(NamedTuple):
    text: str
    pair: str | None
    label: Any  # a name; None only where `unlabelled` allows it


def pick_columns(
    table: Table,
    text: str | None = None,
    pair: str | None = None,
    label: str | None = None,
    *,
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
        text, pair = own[known], pair or own.get(PAIRS.get(known, ""))
    label = label or next((own[name] for name in LABELS if name in own), None)
    if label is None and not unlabelled:
        raise UsageError(f"{seen} {'/'.join(LABELS)}; name yours with --label_column")
    used = " and ".join(repr(one) for one in (text, pair) if one)
    table.say(f"the text is in {used}" + (f", the label in {label!r}" if label else ""))
    empty = sum(not one.strip() for one in table.texts(text)) if unlabelled else 0  # else drop_missing says so
    if empty:
        table.say(f"{empty} of {len(table)} rows have no text in {text!r}")
    return Columns(text, pair, label)


def in_one_text(value: Any) -> Any:
    """A conversation whose turns are lists of parts, with the texts of each put together; what is none stays as it is."""
    if not isinstance(value, list):
        return value
    for turn in value:
        parts = turn.get("content") if isinstance(turn, dict) else None
        if isinstance(parts, list) and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in parts):
            turn["content"] = "".join(one["text"] for one in parts)
    return value


def conversation(value: Any) -> bool:
    """Turns with a role and a text; a call of a tool has none."""
    turns = value if isinstance(value, list) and all(isinstance(one, dict) for one in value) else []
    texts = [one.get("content", 0) for one in turns]  # 0: there is no such key
    roles = all(isinstance(one.get("role"), str) for one in turns)
    return bool(turns) and roles and all(text is None or isinstance(text, str) for text in texts)


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


def lengths_of(examples: Any) -> Any:
    """Tokens of each example, of Encoded or of any other data set that has `input_ids`, such as one of `datasets`."""
    if isinstance(examples, Encoded):
        return examples.lengths
    return np.array([len(example["input_ids"]) for example in examples])


def fingerprint_of(examples: Any) -> str:
    """For recognising a run's own checkpoints."""
    if isinstance(examples, Encoded):
        return examples.fingerprint()
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(sorted(example.items())).encode())
    return digest.hexdigest()[:16]
