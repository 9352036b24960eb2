"""Files, folders, what `datasets` has saved, or a data set of the hub: as data sets on disk in Arrow's
form. One worker of a machine prepares them, the others map the same file.

    with loading_turn():
        sets = label_sets(read_sets(data_args, "reviews.csv"), data_args)
"""

from __future__ import annotations

import csv
import gzip
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence

from kit.common import channel
from sm_spot import UsageError, first_line, say

from datasets import (
    ClassLabel,
    Dataset,
    DatasetDict,
    Features,
    Value,
    load_dataset,
    load_from_disk,
)

SAMPLES = Path(__file__).resolve().parent.parent / "sample"
KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".txt": "text",
}
SPLITS = {"train": "train", "validation": "val|dev|eval", "test": "test"}  # words in files' names
# The names that data sets use for their columns, in lower case.
TEXTS = ("text", "content", "sentence", "review", "tweet", "comment", "body", "document", "message")
PAIRS = {
    "sentence1": "sentence2",
    "premise": "hypothesis",
    "question1": "question2",
    "question": "sentence",
    "text1": "text2",
}
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
)
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
SPLIT_SEED = 20  # not --seed: runs with different seeds are compared on the same held-out examples


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
        metadata={"help": "csv, json, parquet, txt; or a folder, also of save_to_disk"},
    )
    validation_file: Optional[str] = field(default_factory=lambda: channel("validation", "test"))
    validation_split_percentage: int = field(
        default=5, metadata={"help": "held out where there is no validation file"}
    )
    encoding: Optional[str] = field(
        default=None, metadata={"help": "where it is not UTF-8: latin-1, cp1252, utf-16"}
    )
    text_column: Optional[str] = field(
        default=None, metadata={"help": "default: by the names that data sets use"}
    )
    max_train_samples: Optional[int] = None
    max_eval_samples: Optional[int] = None
    preprocessing_num_workers: Optional[int] = None
    overwrite_cache: bool = False


def read_sets(
    data_args: Any, sample: str, names: Sequence[str] = ("train", "validation")
) -> DatasetDict:
    """Those of `names` that there are: from files or channels, else the hub, else the bundled
    sample.
    """
    sets = DatasetDict()
    hub = data_args.dataset_name
    if data_args.train_file is None and hub not in {None, "sample"}:
        try:
            saved = Path(hub, "dataset_dict.json").is_file()
            parts = (
                load_from_disk(hub) if saved else load_dataset(hub, data_args.dataset_config_name)
            )
        except Exception as error:
            got = f"--dataset_name: got {hub!r}, which does not load ({first_line(error)})"
            raise UsageError(f"{got}; wanted a data set of the hub, or files") from error
        return DatasetDict({name: parts[name] for name in names if name in parts})
    for name in names:
        where = getattr(data_args, f"{name}_file")
        if where == "sample" or (name == "train" and not where):
            where = SAMPLES / sample
        if where:
            sets[name] = read_files(Path(where), name, data_args.encoding)
            say(f"--{name}_file: {len(sets[name])} rows of {where}")
    return sets


def read_files(root: Path, name: str, encoding: Optional[str] = None) -> Dataset:
    """A file, a folder's files of one split (else those of none), or what `save_to_disk` wrote."""
    flag = f"--{name}_file"
    if not root.exists():
        raise UsageError(
            f"{flag}: got {str(root)!r}, which does not exist; wanted a file or a folder"
        )
    for folder in (root / name, root):
        if (folder / "state.json").is_file():
            return load_from_disk(str(folder))
    files = [root]
    if root.is_dir():
        known = [path for path in sorted(root.rglob("*")) if kind_of(path) and path.name[0] != "."]
        files = [path for path in known if re.search(SPLITS[name], path.stem.lower())]
        words = "|".join(SPLITS.values())
        files = files or [path for path in known if not re.search(words, path.stem.lower())]
    kinds = {kind_of(path) for path in files}
    if len(kinds) != 1 or kinds == {None}:
        listed = ", ".join(path.name for path in files[:5]) or "no data file"
        wanted = f"wanted files for {name} of one kind: {', '.join(KINDS)}"
        raise UsageError(f"{flag}: got {listed} in {str(root)!r}, {wanted}; name the file")
    kind = kinds.pop()
    try:
        options: dict[str, Any] = {"encoding": encoding or "utf-8"}
        if kind == "csv":
            options.update(csv_options(files[0], options["encoding"]))
        elif kind == "parquet":
            options = {}
        dataset = load_dataset(
            kind, data_files=[str(path) for path in files], split="train", **options
        )
    except Exception as error:
        got = f"{flag}: {files[0].name} is not read ({first_line(error.__cause__ or error)})"
        raise UsageError(f"{got}; correct it, give --encoding, or write JSON lines") from error
    if len(dataset) == 0:
        raise UsageError(f"{flag}: got no row in {str(root)!r}, wanted a table or lines of text")
    return dataset


def kind_of(path: Path) -> Optional[str]:
    return KINDS.get(Path(path.name.removesuffix(".gz")).suffix.lower())


def csv_options(path: Path, encoding: str) -> dict[str, Any]:
    """For pandas, by the first lines. Every cell is read as text: what a column holds is known from
    all of it.
    """
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        data = file.read(1 << 20)
    text = data.decode(encoding, errors="ignore").removeprefix("\ufeff")
    header = text.partition("\n")[0]
    options: dict[str, Any] = {"sep": max(",;\t|", key=header.count), "keep_default_na": False}
    if options["sep"] == "\t" and '""' not in text and not text.startswith('"'):
        options["quoting"] = csv.QUOTE_NONE  # GLUE
    elif '\\"' in text:
        options["escapechar"] = "\\"
    names = next(csv.reader([header], delimiter=options["sep"]))
    if len(set(names)) < len(names):
        raise ValueError(f"a column twice among {', '.join(names)}")
    return {**options, "features": Features({name: Value("string") for name in names})}


# --- columns ---


def text_columns(columns: Sequence[str], args: Any, flag: str) -> list[str]:
    """The column of texts, or the two of pairs: by name where one is given, else as usual."""
    own = {column.lower(): column for column in reversed(columns)}
    given = [args.text_column, getattr(args, "text_pair_column", None)]
    chosen = [column for column in given if column is not None]
    for first, second in PAIRS.items():
        if not chosen and first in own and second in own:
            chosen = [own[first], own[second]]
    usual = [own[name] for name in TEXTS if name in own]
    chosen = chosen or usual[:1]
    if not chosen or not set(chosen) <= set(columns):
        wanted = ", ".join(chosen) or f"one of {', '.join(TEXTS)}"
        got = f"--{flag}: got the columns {', '.join(columns)}, wanted {wanted}"
        raise UsageError(f"{got}; name yours with --text_column (and --text_pair_column)")
    return chosen


def label_sets(sets: DatasetDict, args: Any, order: Sequence[str] = ()) -> DatasetDict:
    """The columns text, text_pair where there are pairs, and label: a ClassLabel, or a number. A
    set `validation` is a part of `train` where there is none; rows without text or label are left
    out, but of `test`, which needs no labels.

    Classes have the numbers of `order`, a model's own names, where they are the same.
    """
    names: Optional[list[str]] = None
    for name, dataset in sets.items():
        columns = text_columns(dataset.column_names, args, name)
        own = {column.lower(): column for column in reversed(dataset.column_names)}
        label: Any = args.label_column or next((own[one] for one in LABELS if one in own), None)
        renamed = dict(zip(columns, ("text", "text_pair")))
        if name != "test":
            if label not in dataset.column_names:
                listed = ", ".join(dataset.column_names)
                wanted = f"wanted {args.label_column or ', '.join(LABELS)}; give --label_column"
                raise UsageError(f"--{name}: got the columns {listed}, {wanted}")
            renamed[label] = "label"
        chosen = dataset.select_columns(list(renamed)).rename_columns(
            {old: new for old, new in renamed.items() if old != new}
        )
        if name != "test":
            whole = chosen.filter(_is_whole)
            if len(whole) < len(chosen):
                say(f"--{name}: left out {len(chosen) - len(whole)} rows without text or label")
            chosen, names = _labelled(whole, name, names, args.num_labels, order)
        sets[name] = chosen
    if "validation" not in sets:
        sets["train"], sets["validation"] = hold_out(sets["train"], args.validation_fraction)
    return sets


def _is_whole(row: Mapping[str, Any]) -> bool:
    return all(
        value is not None and str(value).strip() not in {"", "nan"} for value in row.values()
    )


def _labelled(
    dataset: Dataset,
    flag: str,
    names: Optional[list[str]],
    num_labels: Optional[int],
    order: Sequence[str],
) -> tuple[Dataset, list[str]]:
    """With classes, or scores where `names` is empty; `names` are those of training, if known."""
    feature = dataset.features["label"]
    if not isinstance(feature, (ClassLabel, Value)):
        raise UsageError(f"--{flag}: got several labels in a row, wanted one class or score")
    if isinstance(feature, Value):
        texts = [str(value) for value in dataset.unique("label")]
        if names is None and num_labels is None:
            num_labels = 1 if all(map(NUMBER.fullmatch, texts)) and "." in "".join(texts) else None
        if names == [] or num_labels == 1:
            wrong = [text for text in texts if not NUMBER.fullmatch(text)]
            if wrong:
                got = f"--{flag}: got the label {wrong[0]!r}"
                raise UsageError(f"{got}, wanted a number: the labels are scores")
            return dataset.cast_column("label", Value("float32")), []
        dataset = dataset.class_encode_column("label")
    own = dataset.features["label"].names
    if names is None:
        names = list(own)
        if len(own) < 2 or "-1" in own or len(own) != (num_labels or len(own)):
            wanted = f"wanted {num_labels or 'two or more, and none that is -1'}"
            got = f"--{flag}: got the labels {', '.join(own[:10])}"
            raise UsageError(f"{got}, {wanted}; check --label_column and --num_labels")
        if sorted(map(str.casefold, order)) == sorted(map(str.casefold, own)):
            names = list(order)
    unknown = set(map(str.lower, own)) - set(map(str.lower, names))
    if unknown:
        wanted = f"wanted those of the training data: {', '.join(names[:10])}"
        raise UsageError(f"--{flag}: got the label {min(unknown)!r}, {wanted}; correct it")
    numbers = {name: number for number, name in enumerate(names)}
    return dataset.align_labels_with_mapping(numbers, "label"), names


def hold_out(dataset: Dataset, fraction: float) -> tuple[Dataset, Dataset]:
    """What to train on and what is held out, with like shares of each class where that can be."""
    if len(dataset) < 2:
        raise UsageError(f"--train_file: got {len(dataset)} rows, wanted two to hold one out")
    count = max(1, round(len(dataset) * fraction))
    options: dict[str, Any] = {"test_size": count, "seed": SPLIT_SEED}
    try:
        parts = dataset.train_test_split(stratify_by_column="label", **options)
    except ValueError:
        parts = dataset.train_test_split(**options)
    return parts["train"], parts["test"]
