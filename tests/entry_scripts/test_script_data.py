"""From files to labelled texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from _console import Mistake
from _data import Rows, label_names, label_numbers, read_rows, split


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_tweets_are_read_with_their_quotes_and_escapes(tmp_path: Path) -> None:
    where = write(
        tmp_path / "t.csv", '"text","sentiment"\n"a \\"fine\\" day, really","positive"\n"two ""dull""","negative"\n'
    )
    assert Rows(['a "fine" day, really', 'two "dull"'], ["positive", "negative"], 0) == read_rows(where, "train")


def test_broken_rows_are_skipped_and_counted(tmp_path: Path) -> None:
    where = write(tmp_path / "t.csv", "text,sentiment\ngood,1\nonly one field\na,b,c\n,1\nbad,0\nno label,\n")
    assert Rows(["good", "bad"], ["1", "0"], 4) == read_rows(where, "train")


@pytest.mark.parametrize("columns", [("text", "label"), ("content", "label"), ("text", "sentiment")])
def test_every_known_pair_of_columns_is_found_among_others(tmp_path: Path, columns: tuple[str, str]) -> None:
    where = write(tmp_path / "t.csv", f"id,{columns[1]},title,{columns[0]}\n7,1,x,fine\n8,0,y,bad\n")
    assert Rows(["fine", "bad"], ["1", "0"], 0) == read_rows(where, "train")


def test_a_channel_folder_may_hold_several_files_of_one_kind(tmp_path: Path) -> None:
    for name, label in (("b", 1), ("a", 0)):
        write(tmp_path / "channel" / f"{name}.jsonl", json.dumps({"content": name, "label": label}) + "\n\nnot json\n")
    assert Rows(["a", "b"], ["0", "1"], 2) == read_rows(str(tmp_path / "channel"), "train")


def test_parquet_is_read_where_pandas_can(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"text": ["a", "b"], "label": [1.0, None]}).to_parquet(tmp_path / "t.parquet")
    assert Rows(["a"], ["1"], 1) == read_rows(str(tmp_path / "t.parquet"), "train")


def test_a_folder_of_two_kinds_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "text,label\n")
    write(tmp_path / "a.jsonl", "{}\n")
    with pytest.raises(Mistake, match=r"--train: got a folder with a\.csv, a\.jsonl, wanted files of one kind"):
        read_rows(str(tmp_path), "train")


def test_a_missing_path_is_named_with_its_flag(tmp_path: Path) -> None:
    with pytest.raises(
        Mistake, match=r"--validation: got .*nowhere.* does not exist; wanted a file, a folder, or 'sample'"
    ):
        read_rows(str(tmp_path / "nowhere"), "validation")


def test_unknown_columns_are_listed(tmp_path: Path) -> None:
    with pytest.raises(
        Mistake, match="has the columns review, stars, wanted one of text/content and one of sentiment/label"
    ):
        read_rows(write(tmp_path / "t.csv", "review,stars\nfine,5\n"), "train")


def test_labels_that_count_from_zero_keep_their_number() -> None:
    assert ["0", "1", "2"] == label_names(["2", "0", "2"], 3)
    assert [2, 0] == label_numbers(["2", "0"], ["0", "1", "2"], "train")


def test_words_and_other_numbers_are_sorted() -> None:
    assert ["negative", "neutral", "positive"] == label_names(["positive", "negative", "neutral", "positive"], None)
    assert ["2", "10"] == label_names(["10", "2"], None)


@pytest.mark.parametrize(
    ("labels", "num_labels"), [(["5", "1"], 3), (["a", "a"], None), (["a", "b", "c"], 2), (["0"], None)]
)
def test_labels_out_of_range_are_refused(labels: list[str], num_labels: int | None) -> None:
    with pytest.raises(Mistake, match=r"labels: got .* wanted"):
        label_names(labels, num_labels)


def test_a_validation_label_that_training_lacks_is_refused() -> None:
    with pytest.raises(Mistake, match="--validation: got the labels neutral, wanted only negative, positive"):
        label_numbers(["positive", "neutral"], ["negative", "positive"], "validation")


def test_the_split_is_the_same_every_time_and_loses_nothing() -> None:
    rows = Rows([f"text {i}" for i in range(101)], [str(i % 2) for i in range(101)], 0)
    train, held_out = split(rows, 0.1)
    assert (train, held_out) == split(rows, 0.1)
    assert 10 == len(held_out.texts)
    assert sorted(rows.texts) == sorted(train.texts + held_out.texts)
    assert all(
        label == str(int(text.split()[1]) % 2) for text, label in zip(held_out.texts, held_out.labels, strict=True)
    )
