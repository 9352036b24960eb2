"""Files of people: the rows that they hold, or one sentence; labels; what `datasets` has saved; memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

datasets = pytest.importorskip("datasets")
pytest.importorskip("transformers")

from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from kit.data import DataArguments, label_sets, read_files, read_sets
from sm_spot import UsageError

from launch import SCRIPTS

pytestmark = pytest.mark.local
TEXT, OTHER = "it was good", 'a "bad" one, they said'
ROWS = [{"text": TEXT, "label": "1"}, {"text": OTHER, "label": "0"}]
QUOTED = f'text,label\n{TEXT},1\n"a ""bad"" one, they said",0\n'

FILES = [
    # a name, what is in the file, and its rows or a part of the refusal
    ("commas.csv", QUOTED, ROWS),
    ("windows.csv", QUOTED.replace("\n", "\r\n"), ROWS),
    ("mark.csv", "\ufeff" + QUOTED, ROWS),
    ("semicolons.csv", f'text;label\n{TEXT};1\n"a ""bad"" one, they said";0\n', ROWS),
    ("escaped.csv", f'text,label\n{TEXT},1\n"a \\"bad\\" one, they said",0\n', ROWS),
    ("glue.tsv", f"text\tlabel\n{TEXT}\t1\n{OTHER}\t0\n", ROWS),
    ("bars.csv", f"text|label\n{TEXT}|1\n{OTHER.replace(chr(34), '')}|0\n", [ROWS[0], {"text": "a bad one, they said", "label": "0"}]),
    ("words.csv", "text,label\nnan,1\nNA,0\n", [{"text": "nan", "label": "1"}, {"text": "NA", "label": "0"}]),
    ("line.csv", 'text,label\n"two\nlines",1\n', [{"text": "two\nlines", "label": "1"}]),
    ("lines.jsonl", "\n".join(json.dumps(row) for row in ROWS), ROWS),
    ("array.json", json.dumps(ROWS), ROWS),
    ("plain.txt", f"{TEXT}\n{OTHER}\n", [{"text": TEXT}, {"text": OTHER}]),
    ("ragged.csv", QUOTED + "one,two,three\n", "ragged.csv is not read (Error tokenizing data"),
    ("twice.csv", "text,text\na,b\n", "twice.csv is not read (a column twice among text, text)"),
    ("half.jsonl", json.dumps(ROWS[0]) + "\n{\n", "half.jsonl is not read ("),
    ("latin.csv", QUOTED.replace("bad", "bäd").encode("latin-1"), "latin.csv is not read ('utf-8' codec can't decode"),
    ("empty.csv", "", "empty.csv is not read ("),
    ("header.csv", "text,label\n", "header.csv is not read ("),
    ("book.xlsx", b"PK\x03\x04", "wanted files for train of one kind: .csv, .tsv"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "wanted"), FILES, ids=[row[0] for row in FILES])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_gives_its_rows_or_is_refused_in_a_sentence(
    name: str, content: str | bytes, wanted: Any, packed: bool, tmp_path: Path
) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(data) if packed else data)
    if isinstance(wanted, str):
        with pytest.raises(UsageError) as error:
            read_files(path, "train")
        assert wanted.replace(name, path.name) in str(error.value)
        assert "\n" not in str(error.value)
    else:
        assert wanted == read_files(path, "train").to_list()


def test_other_encodings_are_named_by_a_flag(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text,label\nschön,1\n".encode("latin-1"))
    assert ["schön"] == read_files(tmp_path / "a.csv", "train", "latin-1")["text"][:]


def test_a_folder_is_read_by_split_and_of_one_kind(tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.csv").write_text(f"text,label\n{name},1\n")
    assert [["train"], ["dev"], ["test"]] == [
        read_files(tmp_path, split)["text"][:] for split in ("train", "validation", "test")
    ]
    (tmp_path / "train.jsonl").write_text(json.dumps(ROWS[0]))
    with pytest.raises(UsageError, match="wanted files for train of one kind"):
        read_files(tmp_path, "train")


@pytest.mark.parametrize("form", ["set", "sets"])
def test_what_save_to_disk_wrote_is_a_channel(form: str, tmp_path: Path) -> None:
    """As Hugging Face's notebooks for SageMaker upload it: a set for each channel, or all in one folder."""
    saved = Dataset.from_list(ROWS)
    if form == "set":
        saved.save_to_disk(tmp_path / "all")
    else:
        DatasetDict(train=saved, test=saved.select([0])).save_to_disk(tmp_path / "all")
    sets = read_sets(DataArguments(train_file=str(tmp_path / "all")), "reviews.csv")
    assert {"train": ROWS} == {name: part.to_list() for name, part in sets.items()}
    named = (
        read_sets(DataArguments(dataset_name=str(tmp_path / "all")), "", ("train", "test")) if form == "sets" else {}
    )
    assert form == "set" or ["train", "test"] == list(named)


# --- labels ---


def arguments(**changes: Any) -> SimpleNamespace:
    usual = {"text_column": None, "label_column": None, "num_labels": None, "validation_fraction": 0.5}
    return SimpleNamespace(**{**usual, **changes})


def labelled(values: list[Any], features: Features | None = None, **changes: Any) -> DatasetDict:
    rows = {"content": [f"text {number}" for number in range(len(values))], "Stars": values}
    order = changes.pop("order", ())
    sets = DatasetDict(train=Dataset.from_dict(rows, features=features))
    return label_sets(sets, arguments(**changes), order)


NAMED = Features({"content": Value("string"), "Stars": ClassLabel(names=["wonderful", "awful"])})
LABELS = [
    (["b", "a", "b", "a"], {}, ["a", "b"], [1, 0, 1, 0]),
    (["1", "0", "1", "0"], {}, ["0", "1"], [1, 0, 1, 0]),
    ([2, 0, 1, 0, 2, 1], {}, ["0", "1", "2"], [2, 0, 1, 0, 2, 1]),
    ([1, 0, 1, 0], {"features": NAMED}, ["wonderful", "awful"], [1, 0, 1, 0]),
    (["no", "yes"] * 2, {"order": ["YES", "NO"]}, ["YES", "NO"], [1, 0, 1, 0]),
    (["a", "", "b", None, "a", "b"], {}, ["a", "b"], [0, 1, 0, 1]),
    (["0.5", "2.5"] * 2, {}, None, [0.5, 2.5, 0.5, 2.5]),
    ([0.5, 2.5] * 2, {}, None, [0.5, 2.5, 0.5, 2.5]),
    (["3", "4"] * 2, {"num_labels": 1}, None, [3.0, 4.0, 3.0, 4.0]),
]


@pytest.mark.parametrize(("values", "options", "names", "wanted"), LABELS)
def test_labels_are_classes_with_their_names_or_scores(
    values: list[Any], options: dict[str, Any], names: list[str] | None, wanted: list[Any]
) -> None:
    sets = labelled(values, **options)
    assert {"text", "label"} == set(sets["train"].column_names)
    rows = sorted((row["text"], row["label"]) for part in sets.values() for row in part)
    assert wanted == [label for _, label in rows]
    assert names == getattr(sets["train"].features["label"], "names", None)
    assert sets["train"].features == sets["validation"].features


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["a"] * 4, {}, "got the labels a, wanted two or more"),
        (["a", "b"] * 2, {"num_labels": 3}, "got the labels a, b, wanted 3"),
        ([-1, 0, 1, 0], {}, "none that is -1"),
        ([["a"], ["a", "b"]], {}, "got several labels in a row"),
        (["good", "3"], {"num_labels": 1}, "got the label 'good', wanted a number"),
        (["a", "b"], {"label_column": "grade"}, "got the columns content, Stars, wanted grade"),
        (["a", "b"], {"text_column": "body"}, "got the columns content, Stars, wanted body"),
    ],
)
def test_labels_that_cannot_be_trained_are_refused(values: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        labelled(values, **options)


def test_other_labels_in_the_held_out_set_are_refused_and_test_data_keeps_every_row() -> None:
    train = Dataset.from_dict({"text": ["a", "b"], "label": ["x", "y"]})
    test = Dataset.from_dict({"text": ["a", "", "c"], "label": ["x", "", "?"]})
    sets = label_sets(DatasetDict(train=train, validation=train, test=test), arguments())
    assert ["a", "", "c"] == sets["test"]["text"][:]
    other = Dataset.from_dict({"text": ["c"], "label": ["z"]})
    with pytest.raises(UsageError, match="--validation: got the label 'z', wanted those of the training data: x, y"):
        label_sets(DatasetDict(train=train, validation=other), arguments())


def test_pairs_are_found_by_the_names_that_data_sets_use() -> None:
    rows = Dataset.from_dict({"Premise": ["a", "b"], "hypothesis": ["c", "d"], "gold_label": ["x", "y"], "idx": [1, 2]})
    sets = label_sets(DatasetDict(train=rows, validation=rows), arguments())
    assert [{"text": "a", "text_pair": "c", "label": 0}, {"text": "b", "text_pair": "d", "label": 1}] == sets[
        "train"
    ].to_list()


# --- size ---


def test_a_large_file_is_mapped_and_not_held_in_memory(tmp_path: Path) -> None:
    (tmp_path / "large.csv").write_text(
        "text,label\n" + "".join(f"{'a good film ' * 20},{row % 2}\n" for row in range(80_000))
    )
    code = (
        "import resource, sys; from kit.data import *; from types import SimpleNamespace\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "args = SimpleNamespace(text_column=None, label_column=None, num_labels=None, validation_fraction=0.1)\n"
        "sets = label_sets(read_sets(DataArguments(train_file=sys.argv[1]), ''), args)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    environment = {"PYTHONPATH": str(SCRIPTS), "HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "HF_HUB_OFFLINE": "1"}
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "large.csv")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(out.stdout.splitlines()[-1]) < 150_000  # kB, of a file of 20 MB; a list of its rows has 240,000
