"""Data that nobody prepared: files to tables. Nothing is lost without a sentence in `said`.

    table = read_table(data_args.train_file, "train_file")  # csv, tsv, json, jsonl, parquet or txt, also .gz; or a folder
    columns = pick_columns(table, label=data_args.label_column)  # by the names that data sets use, or by those given
    print(*table.said, sep="\\n")

kit.labels and kit.questions make data sets of the library `datasets` of tables. Messages name the
flags --encoding, --text_column, --text_pair_column and --label_column.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

import sm_spot
from kit.delimited import Part, read_delimited, refuse_twice
from kit.job import SAMPLES, channel
from kit.names import LABELS, NAMES, PAIRS, TEXTS
from sm_spot import UsageError, first_line

from datasets import ClassLabel, Features, load_dataset

KINDS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".txt")
# which `datasets` writes too
BESIDE = (
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "state.json",
)
SPLITS = {  # by a word in the name of a file or its folder
    "test": re.compile(r"(test(ing)?|eval(uation)?)(set|data|file|split)?"),
    "validation": re.compile(r"(val(id(ation)?)?|dev)(set|data|file|split)?"),
    "train": re.compile(r"train(ing)?(set|data|file|split)?"),
}
# first bytes, and what is said of such a file
NO_TABLES = {
    b"PK\x03\x04": "is a zip archive or a workbook of Excel by its first bytes, wanted text; save it as CSV",
    b"PAR1": "is Parquet by its first bytes, wanted text; name it by what it is",
    b"version https://git-lfs.github.com/": "is a pointer of Git LFS, wanted the file itself; git lfs pull fetches it",
}
HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # half of a surrogate pair: JSON can write it


@dataclass
class DataArguments:
    """The data, as in Hugging Face's examples: files, a data set of the hub, or the bundled
    sample.
    """

    dataset_name: Optional[str] = field(
        default=None, metadata={"help": "of the Hugging Face hub, or `sample`"}
    )
    dataset_config_name: Optional[str] = None
    train_file: Optional[str] = field(
        default_factory=lambda: channel("train", "training"),
        metadata={"help": "csv, json, parquet, txt; or a folder"},
    )
    validation_file: Optional[str] = field(default_factory=lambda: channel("validation", "test"))
    encoding: Optional[str] = field(
        default=None, metadata={"help": "where it is not UTF-8: latin-1, cp1252, utf-16"}
    )
    text_column: Optional[str] = field(
        default=None, metadata={"help": "default: by the names that data sets use"}
    )
    max_train_samples: Optional[int] = None
    max_eval_samples: Optional[int] = None


@dataclass
class Table:
    """Columns of one length, where each row comes from, and the sentences that were printed about
    them.
    """

    name: str  # of the flag
    columns: dict[str, Any]
    rows: list[int]  # in their file; the first row is 1, and the names of columns are no row
    files: list[str]
    said: list[str] = field(default_factory=list)
    # names of a column's numbers, where the file has them
    classes: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: Sequence[int]) -> Table:
        columns = {}
        for name, values in self.columns.items():
            columns[name] = [values[index] for index in chosen]
        return replace(
            self,
            columns=columns,
            rows=[self.rows[index] for index in chosen],
            files=[self.files[index] for index in chosen],
        )

    def name_classes(self, classes: Mapping[str, list[str]]) -> None:
        """Numbers of classes become their names, -1 becomes a gap."""
        self.classes.update(classes)
        for column, names in classes.items():
            known = dict(enumerate(names))
            numbers = self.columns[column]
            self.columns[column] = list(map(known.get, numbers))

    def texts(self, column: str) -> list[str]:
        """As they are written; a missing one is empty."""
        texts = []
        for index, value in enumerate(self.columns[column]):
            if isinstance(value, (list, dict, bytes)):
                raise self.wrong(
                    index,
                    f"has a {type(value).__name__} in {column!r}, wanted text; give --text_column",
                )
            texts.append("" if value is None else str(value))
        return texts

    def say(self, sentence: str) -> None:
        line = f"--{self.name}: {sentence}."
        self.said.append(line)
        sm_spot.say(line)

    def wrong(self, index: int, message: str) -> UsageError:
        return UsageError(f"--{self.name}: row {self.rows[index]} of {self.files[index]} {message}")


def table_from(columns: dict[str, Any], name: str, classes: Any = None) -> Table:
    """Of columns that a library has read, such as `datasets`."""
    count = len(next(iter(columns.values()), []))
    rows = list(range(1, count + 1))
    table = Table(name, dict(columns), rows, [name] * count)
    table.name_classes(classes or {})
    return table


def class_names(features: Features) -> dict[str, list[str]]:
    """Of the columns whose numbers `datasets` knows as classes."""
    classes = {}
    for column, feature in features.items():
        if isinstance(feature, ClassLabel):
            classes[column] = feature.names
    return classes


def some(names: Sequence[Any], count: int = 5, comma: str = ", ") -> str:
    listed = comma.join(map(str, names[:count]))
    if len(names) > count:
        listed += f"{comma}…"
    return listed


# --- the sets of a run ---


def read_sets(
    data_args: Any, sample: str, names: Sequence[str] = ("train", "validation")
) -> dict[str, Table]:
    """Those of `names` that there are: from files or channels, else the hub, else the bundled
    sample.
    """
    if data_args.train_file is None and data_args.dataset_name not in {None, "sample"}:
        parts = load_hub(data_args.dataset_name, data_args.dataset_config_name)
        return {name: parts[name] for name in names if name in parts}
    tables: dict[str, Table] = {}
    for name in names:
        where = getattr(data_args, f"{name}_file")
        if name == "train" and where in {None, "", "sample"}:
            where = SAMPLES / sample
        if where:
            tables[name] = read_table(
                where, f"{name}_file", split=name, encoding=data_args.encoding
            )
    return tables


def load_hub(name: str, config: str | None) -> dict[str, Table]:
    """A data set of the hub, or a local folder in its form."""
    tables = {}
    try:
        for split, part in load_dataset(name, config).items():
            tables[split] = table_from(part[:], split, class_names(part.features))
    except Exception as error:
        raise UsageError(
            f"--dataset_name: got {name!r} ({config}), which does not load ({first_line(error)}); wanted a data set of the "
            "hub, or files"
        ) from error
    return tables


def first_examples(examples: Any, count: int | None) -> Any:
    """Of a data set, at most `count`; None: all."""
    total = len(examples)
    return examples.select(range(min(total, count or total)))


# --- files ---


def read_table(
    where: str | Path, name: str, *, split: str = "train", encoding: str | None = None
) -> Table:
    """A file, or a folder's files of one split (else those of none). Of "test" no row is left
    out.
    """
    if not str(where):
        raise UsageError(f"--{name}: got an empty name, wanted a file or a folder")
    paths, left_out = _files(Path(where), name, split)
    table = Table(name, {}, [], [])
    if left_out:
        table.say(f"left out {some([path.name for path in left_out])}, which is not for {split}")
    rows: list[dict[str, Any]] = []
    classes: dict[str, list[str]] = {}
    for path in paths:
        try:
            part = _read(path, encoding)
            _check(part, rows, split)
        except UsageError as error:
            raise UsageError(f"--{name}: {path.name} {error}") from error
        rows += part.rows
        table.rows += part.numbers
        table.files += [path.name] * len(part.rows)
        classes.update(part.classes)
        table.say(f"read {len(part.rows)} rows of {path.name} ({part.note})")
        if part.bad:
            table.say(f"left out {len(part.bad)} rows of {path.name}: {some(part.bad, 3, '; ')}")
    if not rows:
        raise UsageError(
            f"--{name}: got no row in {str(where)!r}, wanted a table or lines of text; check the file"
        )
    for row in rows:
        for column in row:
            table.columns.setdefault(column, [])
    for column, values in table.columns.items():
        values.extend(row.get(column) for row in rows)
    table.name_classes(classes)
    return table


def _check(part: Part, before: Sequence[Mapping[str, Any]], split: str) -> None:
    """UsageError where too many rows cannot be read, or the columns are other ones than before."""
    unread = len(part.bad)
    total = len(part.rows) + unread
    too_many = split == "test" or unread * 10 > total
    if unread and too_many:
        got = f"has {unread} of {total} rows that cannot be read"
        raise UsageError(f"{got}: {part.bad[0]}; correct them")
    if not (part.rows and before) or "json" in part.note:
        return
    own = list(part.rows[0])
    others = list(before[0])
    if set(own) != set(others):
        got = f"has the columns {', '.join(own)}, files before it have {', '.join(others)}"
        raise UsageError(f"{got}; wanted the same in all files")


def _files(root: Path, name: str, split: str) -> tuple[list[Path], list[Path]]:
    """The files to read, in the order of their names, and those beside them that are not for this
    split.
    """
    if not root.exists():
        raise UsageError(
            f"--{name}: got {str(root)!r}, which does not exist; wanted a file or a folder"
        )
    by_split: dict[str, list[Path]] = {split: []}
    if root.is_dir():
        for path in sorted(root.rglob("*")):
            own = path.relative_to(root)
            if path.is_file() and _kind(path) in KINDS and not _is_hidden(own):
                by_split.setdefault(_split_of(own), []).append(path)
    else:
        by_split[split].append(root)
    paths = by_split[split] or by_split.get("", [])  # else those whose names say nothing
    left_out: list[Path] = []
    for files in by_split.values():
        if files is not paths:
            left_out += files
    kinds = {_kind(path) for path in paths}
    once = {str(path).removesuffix(".gz") for path in paths}
    if len(kinds) != 1 or not kinds <= set(KINDS) or len(once) < len(paths):
        names = [path.name for path in paths or left_out]
        got = f"--{name}: got {some(names) or 'no data file'} in {str(root)!r}"
        wanted = f"wanted files for {split} of one kind, each once, that end in {', '.join(KINDS)}"
        raise UsageError(
            f"{got}, {wanted}; leave only them there, or name the file (what `datasets` saved: export with to_csv)"
        )
    return paths, left_out


def _is_hidden(path: Path) -> bool:
    return path.name in BESIDE or any(part.startswith((".", "_")) for part in path.parts)


def _split_of(path: Path) -> str:
    for part in reversed(path.parts):  # a file's own name says more than its folder's
        words = re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", part).lower())
        for split, pattern in SPLITS.items():
            if any(map(pattern.fullmatch, words)):
                return split
    return ""


def _kind(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _read(path: Path, encoding: str | None) -> Part:
    if _kind(path) == ".parquet":
        return _parquet(path)
    text, code = _text_of(path, encoding)
    if _kind(path) == ".txt":
        lines = io.StringIO(text, newline=None)
        part = _part([{"text": line.rstrip("\n")} for line in lines], "lines")
    elif "json" in _kind(path):
        part = _json(text)
    else:
        part = read_delimited(text, _kind(path), NAMES)
    return part._replace(note=f"{part.note}, {code}")


def _part(rows: list[Any], note: str) -> Part:
    return Part(rows, list(range(1, len(rows) + 1)), [], note)


def _text_of(path: Path, encoding: str | None) -> tuple[str, str]:
    """The text of a file with plain line ends, and the encoding that it is in."""
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(
            f"cannot be read ({error}); wanted a whole file that this user may read"
        ) from error
    for mark, sentence in NO_TABLES.items():
        if data.startswith(mark):
            raise UsageError(sentence)
    code = encoding or json.detect_encoding(data)
    text = _decoded(data, code)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UsageError(
            f"has a zero byte in line {line}, wanted text; if it is UTF-16, give --encoding utf-16"
        )
    text = text.removeprefix("\ufeff")
    if re.match(r"[^\n]*\r\r\n", text):  # Windows has made a whole line end of the \n of each
        text = text.replace("\r\r\n", "\n")
    return text, code


def _decoded(data: bytes, code: str) -> str:
    try:
        return data.decode(code)
    except LookupError as error:
        raise UsageError(
            f"is not read: --encoding {code!r} is unknown, wanted one such as latin-1"
        ) from error
    except UnicodeDecodeError as error:
        got = f"is not {code}: line {data.count(10, 0, error.start) + 1} has the byte 0x{data[error.start]:02x}"
        raise UsageError(
            f"{got}; give its --encoding (latin-1, cp1252, utf-16 …), or convert it to UTF-8"
        ) from error


def _parquet(path: Path) -> Part:
    from pyarrow import parquet

    try:
        with path.open("rb") as file:
            content = parquet.ParquetFile(file).read()
        refuse_twice(content.column_names)
        rows = content.to_pylist()
        classes = class_names(Features.from_arrow_schema(content.schema))
    except (ValueError, OSError, NotImplementedError, LookupError) as error:
        raise UsageError(f"is no readable Parquet file ({error}); write it again") from error
    for row in rows:
        for name, value in row.items():
            if value != value:  # noqa: PLR0124 - NaN is not itself
                row[name] = None
    return _part(rows, "parquet")._replace(classes=classes)


# --- JSON ---


def _nan_is_a_gap(constant: str) -> float | None:
    return None if constant == "NaN" else float(constant)


JSON = json.JSONDecoder(parse_constant=_nan_is_a_gap)


def _json(text: str) -> Part:
    """An array or lines of objects, {"data": […]} as SQuAD has it, or columns as pandas writes
    them.
    """
    rows, note = _json_rows(text)
    part = Part([], [], [], note)
    escapes = "\\u" in text
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            part.bad.append(f"row {number} is no whole JSON object, {row!a:.50}")
        elif escapes and HALF_CHARACTER.search(json.dumps(row, ensure_ascii=False)):
            part.bad.append(f"row {number} holds half a character, {row!a:.50}")
        else:
            part.rows.append(row)
            part.numbers.append(number)
    return part


def _json_rows(text: str) -> tuple[list[Any], str]:
    try:
        content = JSON.decode(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("["):
            raise UsageError(
                f"is no whole JSON array ({error}); write it again, or as JSON lines"
            ) from error
        return [_json_line(line) for line in text.split("\n") if line.strip()], "json lines"
    if not isinstance(content, dict):
        return (content if isinstance(content, list) else [content]), "json"
    if isinstance(content.get("data"), list):
        return [row for entry in content["data"] for row in _flat(entry)], "json"
    by_columns = _rows_of_columns(content)
    if by_columns:
        return by_columns, "json by columns"
    return [content], "json"


def _rows_of_columns(content: Mapping[str, Any]) -> list[Any]:
    """Of lists of one length without lists in them, or objects whose keys count the rows; else
    none, for it is one row.
    """
    columns = []
    for cells in content.values():
        values = cells
        if isinstance(cells, dict) and cells and all(map(str.isdigit, cells)):
            values = list(cells.values())
        elif not isinstance(cells, list) or any(isinstance(cell, (dict, list)) for cell in cells):
            return []
        columns.append(values)
    if len(set(map(len, columns))) != 1:
        return []
    return [dict(zip(content, cells)) for cells in zip(*columns)]


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
            for question in paragraph["qas"]:
                yield {**question, "context": paragraph["context"]}
    except (KeyError, TypeError) as error:
        wanted = "SQuAD's form, wanted paragraphs that hold context and qas"
        raise UsageError(f"lacks {error} of {wanted}; correct it") from error


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
    asked = {"text_column": text, "text_pair_column": pair, "label_column": label}
    for flag, column in asked.items():
        if column is not None and column not in table.columns:
            raise UsageError(f"{seen} {column!r} (--{flag}); name one that is there")
    if text is None:
        usual = _usual_text(own)
        if usual is None:
            known = "/".join(TEXTS)
            raise UsageError(
                f"{seen} {known}; name yours with --text_column (and --text_pair_column)"
            )
        text = own[usual]
        pair = pair or own.get(PAIRS.get(usual, ""))
    for name in LABELS:
        if label is None:
            label = own.get(name)
    if label is None and not unlabelled:
        raise UsageError(f"{seen} {'/'.join(LABELS)}; name yours with --label_column")
    used = f"the text is in {text!r}"
    if pair:
        used += f" and {pair!r}"
    if label:
        used += f", the label in {label!r}"
    table.say(used)
    empty = sum(not one.strip() for one in table.texts(text))
    if unlabelled and empty:  # else drop_missing says so
        table.say(f"{empty} of {len(table)} rows have no text in {text!r}")
    return Columns(text, pair, label)


def _usual_text(own: Mapping[str, str]) -> str | None:
    """The first column of a pair that is there whole, else a column of texts."""
    for first, second in PAIRS.items():
        if first in own and second in own:
            return first
    return next((name for name in TEXTS if name in own), None)
