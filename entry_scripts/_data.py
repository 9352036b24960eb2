"""Owns labelled texts as they lie in files, their labels and the held-out split; must not know tokens or tensors."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any, Collection, Iterable, Iterator, NamedTuple, Sequence, TypeVar

from _console import Mistake

T = TypeVar("T")
SAMPLES = Path(__file__).resolve().parent / "sample"
REVIEWS = SAMPLES / "reviews.csv"
TEXT_COLUMNS = ("text", "content")
LABEL_COLUMNS = ("sentiment", "label")
SPLIT_SEED = 20  # not --seed: runs with different seeds are compared on the same held-out texts


class Rows(NamedTuple):
    """Texts with their labels as written in the files, and how many rows could not be used."""

    texts: list[str]
    labels: list[str]
    skipped: int


# --- files ---


def read_rows(where: str, flag: str) -> Rows:
    """A file, a folder of files of one kind (a SageMaker channel), or `sample`."""
    paths = files_of(REVIEWS if where == "sample" else Path(where), flag)
    texts: list[str] = []
    labels: list[str] = []
    skipped = 0
    for path in paths:
        for row in _records(path, flag):
            text, label = row
            if text and label:
                texts.append(text)
                labels.append(label)
            else:
                skipped += 1
    if not texts:
        raise Mistake(f"--{flag}: got no usable row in {where!r} ({skipped} skipped), wanted texts with labels")
    return Rows(texts, labels, skipped)


def files_of(where: Path, flag: str, kinds: Collection[str] = ()) -> list[Path]:
    """One file, or a folder's files of one kind; `kinds` are the endings that may be read, by default tables'."""
    wanted = kinds or READERS
    if not where.exists():
        raise Mistake(f"--{flag}: got {str(where)!r}, which does not exist; wanted a file, a folder, or 'sample'")
    if where.is_file():
        return [where]
    found = sorted(path for path in where.rglob("*") if path.is_file() and not path.name.startswith("."))
    usable = [path for path in found if path.suffix in wanted]
    kinds = sorted({path.suffix for path in usable})
    if len(kinds) != 1:
        names = ", ".join(path.name for path in found[:5]) or "nothing"
        raise Mistake(
            f"--{flag}: got a folder with {names}, wanted files of one kind out of {', '.join(wanted)}; "
            "leave one kind there, or name the file (a saved `datasets` folder: export it with to_csv)"
        )
    return usable


def _records(path: Path, flag: str) -> Iterator[tuple[str, str]]:
    """Text and label of each row; empty strings for a row that cannot be used."""
    if path.suffix not in READERS:
        raise Mistake(f"--{flag}: got {path.name!r}, wanted a file that ends in {', '.join(READERS)}")
    columns: tuple[str, str] | None = None
    for row in READERS[path.suffix](path):
        if columns is None and row:
            columns = _columns(path, flag, row)
        yield _pair(row, columns) if columns else ("", "")


def _columns(path: Path, flag: str, row: dict[str, Any]) -> tuple[str, str]:
    text = next((name for name in TEXT_COLUMNS if name in row), None)
    label = next((name for name in LABEL_COLUMNS if name in row), None)
    if text is None or label is None:
        raise Mistake(
            f"--{flag}: {path.name} has the columns {', '.join(map(str, row))}, "
            f"wanted one of {'/'.join(TEXT_COLUMNS)} and one of {'/'.join(LABEL_COLUMNS)}; rename them"
        )
    return text, label


def _pair(row: dict[str, Any], columns: tuple[str, str]) -> tuple[str, str]:
    text, label = (row.get(name) for name in columns)
    if isinstance(label, float):
        label = int(label) if label.is_integer() else None  # a table with a gap holds 1.0 for 1, and NaN
    return ("" if text is None else str(text).strip()), ("" if label is None else str(label).strip())


def _read_csv(path: Path, delimiter: str = ",") -> Iterator[dict[str, Any]]:
    """Rows as dictionaries; an empty one for a line with too few or too many fields."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = csv.reader(file, delimiter=delimiter, escapechar="\\")
        header = next(lines, [])
        while True:
            try:
                fields = next(lines)
            except StopIteration:
                return
            except csv.Error:
                fields = []
            yield dict(zip(header, fields)) if len(fields) == len(header) else {}


def _read_tsv(path: Path) -> Iterator[dict[str, Any]]:
    return _read_csv(path, delimiter="\t")


def _read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            try:
                row = json.loads(line) if line.strip() else None
            except ValueError:
                row = {}
            if row is not None:
                yield row if isinstance(row, dict) else {}


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        import pandas as pd

        table = pd.read_parquet(path)
    except ImportError as error:
        raise Mistake(
            f"data: got {path.name!r}, wanted pandas and pyarrow to read it ({error}); or a csv file"
        ) from error
    yield from ({str(name): value for name, value in row.items()} for row in table.to_dict("records"))


READERS = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_jsonl,
    ".json": _read_jsonl,
    ".parquet": _read_parquet,
}


# --- labels and splits ---


def label_names(labels: Sequence[str], num_labels: int | None) -> list[str]:
    """Names in the order of their numbers. Labels that already count from 0 keep their number."""
    distinct = sorted(set(labels))
    count = num_labels or len(distinct)
    if all(label.isdigit() for label in distinct):
        numbers = sorted(int(label) for label in distinct)
        if numbers[-1] < count and count >= 2:
            return [str(number) for number in range(count)]
        distinct = [str(number) for number in numbers]
    if count < 2 or len(distinct) != count:
        shown = ", ".join(distinct[:10]) + (", …" if len(distinct) > 10 else "")
        wanted = "at least 2 different ones" if num_labels is None else f"{num_labels} (--num_labels)"
        raise Mistake(f"labels: got {len(distinct)} ({shown}), wanted {wanted}; check the label column or --num_labels")
    return distinct


def label_numbers(labels: Sequence[str], names: Sequence[str], flag: str) -> list[int]:
    numbers = {name: number for number, name in enumerate(names)}
    unknown = sorted(set(labels) - set(names))
    if unknown:
        raise Mistake(
            f"--{flag}: got the labels {', '.join(unknown[:10])}, wanted only {', '.join(names)}, which the training "
            "data has; correct the file or give --num_labels"
        )
    return [numbers[label] for label in labels]


def read_parts(train: str, validation: str | None, fraction: float) -> tuple[Rows, Rows, int]:
    """Training rows, held-out rows (a fraction of the former where there are none), and how many were unusable."""
    rows = read_rows(train, "train")
    if validation is None:
        return (*split(rows, fraction), rows.skipped)
    held_out = read_rows(validation, "validation")
    return rows, held_out, rows.skipped + held_out.skipped


def split(rows: Rows, fraction: float) -> tuple[Rows, Rows]:
    """Training and held-out rows: the same for the same rows, whatever the seed of the run."""
    train, held_out = cut(range(len(rows.texts)), fraction)
    return _take(rows, train), _take(rows, held_out)


def cut(items: Sequence[T], fraction: float) -> tuple[list[T], list[T]]:
    """The same parts for the same number of items, each in the items' own order."""
    order = list(range(len(items)))
    random.Random(SPLIT_SEED).shuffle(order)  # noqa: S311 - a split, no secret
    held = max(1, round(len(order) * fraction))
    return [items[number] for number in sorted(order[held:])], [items[number] for number in sorted(order[:held])]


def _take(rows: Rows, indices: Iterable[int]) -> Rows:
    chosen = list(indices)
    return Rows([rows.texts[i] for i in chosen], [rows.labels[i] for i in chosen], rows.skipped)
