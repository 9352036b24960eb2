"""Owns labelled texts and pairs of texts, of GLUE or like it; must not know tokens, models or Trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

from _console import Mistake
from _corpus import import_datasets, load_hub
from _data import LABEL_COLUMNS, READERS, REVIEWS, files_of

# GLUE's tasks with labels that are classes. https://huggingface.co/datasets/nyu-mll/glue
TASKS = {
    "cola": ("sentence", None),
    "mnli": ("premise", "hypothesis"),
    "mrpc": ("sentence1", "sentence2"),
    "qnli": ("question", "sentence"),
    "qqp": ("question1", "question2"),
    "rte": ("sentence1", "sentence2"),
    "sst2": ("sentence", None),
    "wnli": ("sentence1", "sentence2"),
}
COLUMNS = (
    *dict.fromkeys(pair for pair in TASKS.values() if pair[1]),
    ("sentence", None),
    ("text", None),
    ("content", None),
)
UNLABELLED = "-1"  # how GLUE marks what is to be predicted


class Pair(NamedTuple):
    first: str
    second: str  # empty: there is one text only
    label: str


def read_pairs(where: str, flag: str, *, labelled: bool = True) -> list[Pair]:
    """A file, a folder of files of one kind, or `sample`. Rows without a text or a label are left out."""
    paths = files_of(REVIEWS if where == "sample" else Path(where), flag)
    pairs = [pair for path in paths for pair in _parse(_records(path, flag), path.name, flag, labelled=labelled)]
    if not pairs:
        raise Mistake(f"--{flag}: got no usable row in {where!r}, wanted texts{' with labels' if labelled else ''}")
    return pairs


def _records(path: Path, flag: str) -> Iterator[dict[str, Any]]:
    if path.suffix not in READERS:
        raise Mistake(f"--{flag}: got {path.name!r}, wanted a file that ends in {', '.join(READERS)}")
    return (row for row in READERS[path.suffix](path) if row)


def _parse(rows: Iterable[dict[str, Any]], name: str, flag: str, *, labelled: bool) -> Iterator[Pair]:
    for row in rows:
        columns = _columns(row, name, flag)
        label = next((row[column] for column in LABEL_COLUMNS if column in row), None)
        if labelled and not any(column in row for column in LABEL_COLUMNS):
            raise Mistake(f"--{flag}: {name} has the columns {', '.join(map(str, row))}, wanted one called label")
        first = str(row[columns[0]] or "").strip()
        second = str(row[columns[1]] or "").strip() if columns[1] else ""
        text = "" if label is None else str(label).strip()
        if first and (second or not columns[1]) and ((text and text != UNLABELLED) or not labelled):
            yield Pair(first, second, text)


def _columns(row: dict[str, Any], name: str, flag: str) -> tuple[str, str | None]:
    for first, second in COLUMNS:
        if first in row and (second is None or second in row):
            return first, second
    wanted = ", ".join(first + (f" and {second}" if second else "") for first, second in COLUMNS)
    raise Mistake(f"--{flag}: {name} has the columns {', '.join(map(str, row))}, wanted one of: {wanted}")


def task_pairs(name: str) -> dict[str, list[Pair]]:
    """The sets of a task by name; MNLI is judged on two."""
    task = name.lower().replace("-", "").replace("_", "")
    if task not in TASKS:
        raise Mistake(f"--task_name: got {name!r}, wanted one of {', '.join(TASKS)}; or give --train_file")
    parts = load_hub(import_datasets(), "nyu-mll/glue", task)
    if task == "mnli":
        judged: Sequence[tuple[str, str]] = (("eval", "validation_matched"), ("eval_mm", "validation_mismatched"))
        test = "test_matched"
    else:
        judged, test = (("eval", "validation"),), "test"
    sets = {
        own: list(_parse(parts[part], task, "task_name", labelled=True)) for own, part in (("train", "train"), *judged)
    }
    return {**sets, "test": list(_parse(parts[test], task, "task_name", labelled=False))}
