"""Data that nobody prepared: the right rows or a clear refusal, and nothing lost without a sentence.

SM_TRN_EXAMPLES asks for more tables of each kind.
"""

from __future__ import annotations

import copy
import csv
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("numpy")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from kit.data import KINDS, Table, pick_columns, read_table, table_from
from kit.labels import Labels, classified, drop_missing, hold_out, labels_of
from kit.questions import questions_of
from sm_spot import UsageError
from train_language_model import blocks_of
from train_question_answering import QuestionArguments, load_questions, windows_of

from zoo import CASES, ESCAPED, TAME, Case, Rows, by_pandas, joined, json_array, json_lines, parquet, written

pytestmark = pytest.mark.local
T = TypeVar("T")


def rows_of(table: Table) -> Rows:
    assert all(len(values) == len(table) == len(table.files) for values in table.columns.values())
    return list(zip(*table.columns.values(), strict=True))


# --- files ---


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_file_gives_its_rows_or_says_what_is_wrong(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    if isinstance(case.wanted, str):
        with pytest.raises(UsageError, match=case.wanted):
            read_table(path, "train_file", **case.options)
        return
    table = read_table(path, "train_file", **case.options)
    assert case.columns == tuple(table.columns)
    assert case.wanted == rows_of(table)
    assert (case.numbers or list(range(1, len(table) + 1))) == table.rows
    assert case.said in "\n".join(table.said)
    assert f"read {sum(name == table.files[0] for name in table.files)} rows of {table.files[0]}" in "\n".join(
        table.said
    )


@pytest.mark.parametrize("case", [case for case in CASES if case.oracle], ids=lambda case: case.name)
def test_other_readers_find_the_same_rows_in_the_files(case: Case) -> None:
    assert case.oracle
    (content,) = case.files.values()
    assert case.wanted == case.oracle(content)


def test_there_are_as_many_files_as_promised_and_each_has_a_name_of_its_own() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


# --- any rows at all, in every form ---

NASTY = st.text(st.sampled_from('",;|\t\n\r\\ abé🙂\u2028\x0b'), max_size=8)
TABLES = st.lists(st.tuples(NASTY, NASTY), min_size=1, max_size=6)
EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "100"))
QUIET = settings(
    derandomize=True, deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NAMES = ("text", "label")
QUOTES = ('a "b", c', "1")  # no dialect can be told from another where no text has a quote


def read(path: Path, content: str | bytes) -> Rows:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return rows_of(read_table(path, "train_file"))


def outcome(act: Callable[[], T]) -> T | str:
    """What comes of it, or the words of the refusal."""
    try:
        return act()
    except UsageError as error:
        return str(error)


@QUIET
@given(rows=TABLES)
@example(rows=[("\t\r", "")])
@example(rows=[("", ""), ("", "\r")])
@pytest.mark.parametrize("dialect", csv.list_dialects())
def test_what_csv_writes_is_read(rows: Rows, dialect: str, tmp_path: Path) -> None:
    content = written(rows, NAMES, dialect=dialect)
    if dialect != "excel-tab":
        assert rows == read(tmp_path / "a.csv", content)
        return
    found = outcome(lambda: read(tmp_path / "a.tsv", content))
    if found != rows:
        assert "both fit" in found  # the lines are a table as they stand
        assert {1} == {line.count("\t") for line in re.split(r"\r?\n|\r", content)[:-1] if line}


@QUIET
@given(rows=TABLES, delimiter=st.sampled_from(",;|"), quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_every_delimiter_and_quoting_is_read(rows: Rows, delimiter: str, quoting: Any, tmp_path: Path) -> None:
    assert rows == read(tmp_path / "a.csv", written(rows, NAMES, delimiter=delimiter, quoting=quoting))


@QUIET
@given(rows=TABLES)
def test_backslash_escapes_are_read(rows: Rows, tmp_path: Path) -> None:
    rows = [*rows, QUOTES]
    assert rows == read(tmp_path / "a.csv", written(rows, NAMES, quoting=csv.QUOTE_ALL, **ESCAPED))


@QUIET
@given(rows=TABLES)
def test_what_pandas_writes_is_read(rows: Rows, tmp_path: Path) -> None:
    rows = [tuple(text.replace("\r", "") for text in row) for row in rows]  # pandas leaves it bare and reads two rows
    assert rows == read(tmp_path / "a.csv", by_pandas(rows))


@QUIET
@given(rows=TABLES)
def test_tables_without_any_quoting_are_read_or_can_be_read_in_two_ways(rows: Rows, tmp_path: Path) -> None:
    rows = [tuple(re.sub(r"[\t\n\r]", " ", text) for text in row) for row in rows]
    assume(not any(re.fullmatch('".*"', text) for row in rows for text in row))  # which may be quoting
    found = outcome(lambda: read(tmp_path / "a.tsv", joined(rows)))
    assert found == rows or "both fit" in found


@QUIET
@given(rows=TABLES)
def test_one_column_is_read(rows: Rows, tmp_path: Path) -> None:
    rows = [row[:1] for row in rows]
    assert rows == read(tmp_path / "a.csv", written(rows, ("text",)))


@QUIET
@given(rows=TABLES, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_json_and_parquet_are_read(rows: Rows, ascii_only: bool, indent: int | None, tmp_path: Path) -> None:
    assert rows == read(tmp_path / "a.jsonl", json_lines(rows, ensure_ascii=ascii_only))
    assert rows == read(tmp_path / "a.json", json_array(rows, ensure_ascii=ascii_only, indent=indent))
    assert rows == read(tmp_path / "a.parquet", parquet(rows))


@QUIET
@given(content=st.text(st.sampled_from('",\t\n\r\\ a;1'), max_size=40), ending=st.sampled_from(KINDS))
def test_no_file_ends_in_a_traceback(content: str, ending: str, tmp_path: Path) -> None:
    found = outcome(lambda: read(tmp_path / f"a{ending}", content))
    assert isinstance(found, list) or found.startswith("--train_file: ")


@QUIET
@given(rows=TABLES, place=st.integers(0, 200))
def test_a_row_behind_hundreds_of_tame_ones_counts_as_much(rows: Rows, place: int, tmp_path: Path) -> None:
    rows = [*TAME[:place], *rows, *TAME[place:]]
    assert rows == read(tmp_path / "a.csv", written(rows))
    assert [*rows, QUOTES] == read(tmp_path / "b.csv", written([*rows, QUOTES], quoting=csv.QUOTE_ALL, **ESCAPED))


# --- columns ---


@pytest.mark.parametrize(
    ("names", "text", "pair", "label"),
    [
        ("idx sentence label", "sentence", None, "label"),
        ("id Text Sentiment", "Text", None, "Sentiment"),
        ("premise hypothesis label", "premise", "hypothesis", "label"),
        ("index question sentence label", "question", "sentence", "label"),
        ("Quality,#1 ID,#2 ID,#1 String,#2 String", "#1 String", "#2 String", "Quality"),
        ("content title label", "content", None, "label"),
        ("score sentence2 sentence1", "sentence1", "sentence2", "score"),
    ],
)
def test_columns_are_found_by_the_names_that_data_sets_use(names: str, text: str, pair: str | None, label: str) -> None:
    table = table_from({name: ["x"] for name in names.split("," if "," in names else None)}, "train_file")
    assert (text, pair, label) == pick_columns(table)
    assert repr(text) in table.said[-1]
    assert repr(label) in table.said[-1]


def test_columns_that_are_named_go_first() -> None:
    table = table_from({name: ["x"] for name in ("text", "title", "label", "stars")}, "train_file")
    assert ("title", "text", "stars") == pick_columns(table, text="title", pair="text", label="stars")


@pytest.mark.parametrize(
    ("names", "given_names", "message"),
    [
        ("review_body stars", {}, r"got the columns review_body, stars, wanted text/.*; name yours with --text_column"),
        ("text kind", {}, r"got the columns text, kind, wanted label/labels/.*; name yours with --label_column"),
        ("text label", {"text": "texts"}, r"got the columns text, label, wanted 'texts' \(--text_column\)"),
        ("text label", {"label": "labels"}, r"wanted 'labels' \(--label_column\)"),
    ],
)
def test_columns_that_are_not_there_are_named_with_the_flags(
    names: str, given_names: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=f"^--train_file: {message}" if message.startswith("got") else message):
        pick_columns(table_from({name: ["x"] for name in names.split()}, "train_file"), **given_names)
    columns = pick_columns(table_from({"text": ["x"]}, "test_file"), unlabelled=True)
    assert ("text", None, None) == columns


def test_a_text_is_as_it_is_written_and_other_things_are_no_text() -> None:
    table = table_from({"text": [" a ", None, 7, True], "tokens": [["a"], [], [], []]}, "train_file")
    assert [" a ", "", "7", "True"] == table.texts("text")
    with pytest.raises(UsageError, match="row 1 of train_file has a list in 'tokens', wanted text"):
        table.texts("tokens")


# --- labels ---


def labels(*values: Any, **options: Any) -> Labels:
    return labels_of(table_from({"label": list(values)}, "train_file"), "label", **options)


@pytest.mark.parametrize(
    ("values", "options", "numbers", "names"),
    [
        (["pos", "neg", "pos"], {}, [1, 0, 1], ["neg", "pos"]),
        (["1", "0", "1"], {}, [1, 0, 1], ["0", "1"]),
        ([2, 0, 2], {"num_labels": 3}, [2, 0, 2], ["0", "1", "2"]),
        (["10", "2"], {}, [1, 0], ["2", "10"]),
        ([True, False], {}, [1, 0], ["False", "True"]),
        ([1.0, 0.0, None], {}, [1, 0, None], ["0", "1"]),
        (["1.0", "0.0", "nan", ""], {}, [1, 0, None, None], ["0", "1"]),
        ([1.0, 0.0, math.nan], {}, [1, 0, None], ["0", "1"]),
        ([" a ", "b", "nan"], {}, [0, 1, 2], ["a", "b", "nan"]),
        (["a", "b", "\\N"], {}, [0, 1, None], ["a", "b"]),  # as MySQL and PostgreSQL write that there is none
        (["01", "1"], {}, [0, 1], ["01", "1"]),
        (["yes", "no", "-", "maybe"], {}, [2, 1, None, 0], ["maybe", "no", "yes"]),  # as in SNLI
        (["+", "-", "0"], {}, [0, 1, 2], ["+", "-", "0"]),
        (["1.5", "1.6", "a", "b"], {}, [0, 1, 2, 3], ["1.5", "1.6", "a", "b"]),
        (["10000000000000001", "10000000000000002"], {}, [0, 1], ["10000000000000001", "10000000000000002"]),
        ([-1, 1], {}, [0, 1], ["-1", "1"]),
        ([-1, 0, 1], {"num_labels": 3}, [0, 1, 2], ["-1", "0", "1"]),
        ([-1, 0, 1], {"num_labels": 2}, [None, 0, 1], ["0", "1"]),
        ([-1, -1], {"names": ["0", "1"]}, [None, None], ["0", "1"]),
        ([1.0, 0.0], {"names": ["0", "1"]}, [1, 0], ["0", "1"]),
        ([], {"names": ["0", "1"]}, [], ["0", "1"]),
        (["0.5", "1.2", "3.4"], {}, [0.5, 1.2, 3.4], []),
        (["5.000", "3.800", ""], {}, [5.0, 3.8, None], []),
        ([1, 2, 3], {"num_labels": 1}, [1.0, 2.0, 3.0], []),
        ([1, 2], {"names": []}, [1.0, 2.0], []),
        ([".5", "-2", "1e-3"], {}, [0.5, -2.0, 0.001], []),
    ],
)
def test_labels_are_classes_or_scores(
    values: list[Any], options: dict[str, Any], numbers: list[Any], names: list[str]
) -> None:
    assert Labels(numbers, names) == labels(*values, **options)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([["a", "b"], ["a"]], {}, "row 1 of train_file has several labels (multi-label), ['a', 'b']"),
        (["a", "[0, 1]"], {}, "row 2 of train_file has several labels (multi-label)"),
        (["joy", "anger", "joy,anger"], {}, "row 3 of train_file has several labels (multi-label)"),
        (["0,5", "1,2"], {}, "a decimal comma or a percentage, '0,5'; wanted one class or score, as 0.5"),
        (["12%", "40%"], {}, "or a percentage, '12%'; wanted one class or score, as 0.5"),
        (["2.5", "-inf", "5.5"], {}, "row 2 of train_file has the label '-inf', wanted a finite number"),
        (["2.5", "4.2S", "5.5"], {}, "row 2 of train_file has the label '4.2S', wanted a finite number as the others"),
        ([0.5, float("inf"), 1.0], {}, "row 2 of train_file has the label 'inf', wanted a finite number"),
        (["2", "Infinity", "nan"], {}, "row 2 of train_file has the label 'Infinity', wanted a finite number"),
        (["a", "a"], {}, "got 1 labels (a), wanted at least 2 different ones"),
        (["0"], {}, "got 1 labels (0), wanted at least 2 different ones"),
        ([None, None], {}, "got 0 labels (), wanted at least 2 different ones"),
        (["a", "b", "c"], {"num_labels": 2}, "got 3 labels (a, b, c), wanted 2 (--num_labels)"),
        (["5", "1"], {"num_labels": 3}, "got 2 labels (1, 5), wanted 3 (--num_labels)"),
        ([-1, 0, 1], {}, "wanted to know what -1 is; give --num_labels 3 if a class, 2 if it means no label"),
        (
            ["a", "x"],
            {"names": ["a", "b"]},
            "row 2 of train_file has the label 'x', wanted a, b as in the training data",
        ),
        (["0.5", "b"], {"names": []}, "row 2 of train_file has the label 'b', wanted a number: the labels are scores"),
        (["0.5", "1e999"], {}, "row 2 of train_file has the label '1e999', wanted a number"),
    ],
)
def test_labels_that_cannot_be_trained_are_refused(values: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        labels(*values, **options)


ANY_LABEL = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["1.0", "nan", "-1", "²", "½"]),
)


@QUIET
@given(values=st.lists(ANY_LABEL, max_size=8), num_labels=st.sampled_from([None, 1, 2, 3]))
def test_every_row_keeps_its_label_or_the_labels_are_refused(values: list[Any], num_labels: int | None) -> None:
    found = outcome(lambda: labels(*values, num_labels=num_labels))
    if isinstance(found, str):
        assert "--train_file: " in found
        return
    assert len(values) == len(found.values)
    for value, number in zip(values, found.values, strict=True):
        missing = value is None or str(value).strip().lower() in {"", "nan", "-1", "-1.0"}
        assert missing or number is not None
        if number is not None and found.names:
            written_as = found.names[number]
            assert str(value).strip() == written_as or float(value) == float(written_as)


# --- rows that lack something ---


def test_rows_without_text_or_label_are_left_out_of_training_and_named() -> None:
    rows: dict[str, list[Any]] = {"text": ["a", "", "b", None, "c", " "], "label": ["x", "y", "", "x", "y", None]}
    table = table_from(rows, "train_file")
    columns = pick_columns(table)
    examples = classified(table, columns, labels_of(table, "label"))
    kept = drop_missing(table, examples)
    assert (["a", "c"], [0, 1]) == (kept["text"][:], kept["label"][:])
    assert "--train_file: left out 4 rows, which have no text or no label: 2, 3, 4, 6." in table.said
    with pytest.raises(UsageError, match="got no row with both text and label"):
        drop_missing(table, examples.select([1, 2]))


def test_gaps_of_parquet_are_neither_a_class_nor_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet([("a", 1.0), ("b", None), (None, 0.0), ("c", 0.0)]))
    table = read_table(tmp_path / "a.parquet", "train_file")
    kept = drop_missing(table, classified(table, pick_columns(table), labels_of(table, "label")))
    assert (["a", "c"], [1, 0]) == (kept["text"][:], kept["label"][:])
    assert ["0", "1"] == kept.features["label"].names


def test_test_data_keeps_every_row_and_its_number(tmp_path: Path) -> None:
    content = 'text,label\n"",1\nfine,\n,\n" ",x\n'
    (tmp_path / "test.csv").write_text(content)
    table = read_table(tmp_path / "test.csv", "test_file", split="test")
    assert (["", "fine", "", " "], [1, 2, 3, 4]) == (table.texts("text"), table.rows)
    pick_columns(table, unlabelled=True)
    assert "--test_file: 3 of 4 rows have no text in 'text'." == table.said[-1]


# --- splits ---

CLASSES = st.lists(st.sampled_from("aaaabbc"), min_size=2, max_size=60)


def held_out(rows: dict[str, list[Any]], fraction: float) -> tuple[Any, Any, Table]:
    table = table_from({"text": [str(n) for n in range(len(rows["label"]))], **rows}, "train_file")
    columns = pick_columns(table)
    train, test = hold_out(classified(table, columns, labels_of(table, "label")), fraction, table)
    return train, test, table


@settings(QUIET, max_examples=60)
@given(classes=CLASSES, fraction=st.floats(0.01, 0.99))
def test_a_split_loses_nothing_and_is_the_same_again(classes: list[str], fraction: float) -> None:
    assume(len(sizes := Counter(classes)) > 1)
    train, test, table = held_out({"label": list(classes)}, fraction)
    assert sorted(map(int, [*train["text"], *test["text"]])) == [*range(len(classes))]
    wanted = max(1, round(len(classes) * fraction))
    regardless = "held out without regard to the classes" in table.said[-1]
    assert (min(wanted, len(classes) - 1) if regardless else max(wanted, len(sizes))) == len(test)
    if not regardless:
        whole = {n for n, name in enumerate(sorted(sizes)) if sizes[name] * len(train) >= len(classes)}  # a row or more
        assert whole <= set(train["label"])
    assert regardless or min(sizes.values()) > 1
    again = held_out({"label": list(classes)}, fraction)[1]
    assert test["text"][:] == again["text"][:]


def test_a_split_keeps_the_shares_of_the_classes() -> None:
    train, test, _ = held_out({"label": ["a"] * 60 + ["b"] * 40}, 0.1)
    assert ([6, 4], [54, 36]) == tuple([part["label"][:].count(number) for number in (0, 1)] for part in (test, train))


def test_scores_are_split_too_and_stay_numbers() -> None:
    train, test, _ = held_out({"label": [n / 7 for n in range(100)]}, 0.1)
    assert (90, 10) == (len(train), len(test))
    assert test["label"][:] == pytest.approx([int(text) / 7 for text in test["text"]])


def test_classes_of_one_row_each_are_split_without_regard_to_them() -> None:
    train, test, table = held_out({"label": ["a", "b"]}, 0.5)
    assert (1, 1) == (len(train), len(test))
    assert "--train_file: held out without regard to the classes" in table.said[-1]
    with pytest.raises(UsageError, match="--train_file: got 1 rows, wanted two to hold one out"):
        hold_out(train, 0.5, table)


def test_classes_are_numbers_with_names_in_the_data_set() -> None:
    table = table_from({"text": ["a", "b", "c"], "label": ["no", "yes", "no"]}, "train_file")
    examples = classified(table, pick_columns(table), labels_of(table, "label", order=["yes", "no"]))
    assert (["yes", "no"], [1, 0, 1]) == (examples.features["label"].names, examples["label"][:])


# --- tokens ---

WORDS = [
    "a",
    "the",
    "red",
    "box",
    "was",
    "not",
    "good",
    ".",
    ",",
    "who",
    "bought",
    "it",
    "Ann",
    "Bob",
    "on",
    "Monday",
    "my",
    "sister",
    "is",
    "¿",
    "naïve",
]
SENTENCES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join), min_size=1, max_size=9)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Words, with BERT's frame of special tokens."""
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "</s>", *WORDS])}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    frame = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=model, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **frame
    )


@pytest.fixture(scope="module")
def bare_tokenizer() -> Any:
    """The same words, nothing around them, and an end-of-text token: like GPT-2's."""
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    vocabulary = {word: number for number, word in enumerate(["[UNK]", "</s>", *WORDS])}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=model, unk_token="[UNK]", eos_token="</s>")


@QUIET
@given(texts=SENTENCES, size=st.integers(1, 9), limit=st.one_of(st.none(), st.integers(1, 5)))
def test_blocks_are_all_texts_one_after_another(
    bare_tokenizer: Any, texts: list[str], size: int, limit: int | None
) -> None:
    wanted = [token for text in texts for token in [*bare_tokenizer(text)["input_ids"], bare_tokenizer.eos_token_id]]
    count = min(len(wanted) // size, limit or len(wanted))
    found = outcome(lambda: blocks_of(bare_tokenizer, texts, size, limit=limit))
    if isinstance(found, str):
        assert count == 0
        assert f"--block_size: got {size}, wanted at most {len(wanted)}" in found
        return
    blocks = [found[number] for number in range(len(found))]
    assert wanted[: count * size] == [token for block in blocks for token in block["input_ids"]]
    assert all(block["labels"] == block["input_ids"] for block in blocks)


def test_a_text_that_ends_in_a_separator_gets_no_other_end(tokenizer: Any) -> None:
    both = copy.deepcopy(tokenizer)
    both.eos_token = "</s>"
    for one in (tokenizer, both):
        found = blocks_of(one, ["a box", "who"], 7)
        assert 1 == len(found)
        assert [2, 5, 8, 3, 2, 14, 3] == found[0]["input_ids"]


# --- questions ---

CONTEXT = "It was Ann, who bought the red box on Monday."
ASKED = {"id": "7", "question": " Who bought it?", "context": CONTEXT}


def asked(**more: Any) -> Table:
    return table_from({name: [value] for name, value in {**ASKED, **more}.items()}, "train_file")


@pytest.mark.parametrize(
    "answers",
    [
        {"answers": {"text": ["Ann"], "answer_start": [7]}},
        {"answers": [{"text": "Ann", "answer_start": 7}]},
        {"answers": {"text": "Ann", "answer_start": 7}},
        {"answers": '{"text": ["Ann"], "answer_start": [7]}'},
        {"answers": "{'text': ['Ann'], 'answer_start': [7]}"},
        {"answers": "[{'text': 'Ann', 'answer_start': 7}]"},
        {"answer": "Ann", "answer_start": "7"},
        {"answer": "Ann", "answer_start": 7.0},
        {"answer": "Ann", "answer_start": "7.0"},  # as pandas writes a column with gaps
        {"answer": "Ann"},  # which is there once
    ],
)
def test_every_common_form_of_an_answer_is_read(answers: dict[str, Any]) -> None:
    wanted = {**ASKED, "answers": {"text": ["Ann"], "answer_start": [7]}}
    assert [wanted] == questions_of(asked(**answers)).to_list()


@pytest.mark.parametrize(
    "answers", [{"answers": []}, {"answers": None}, {"answers": {"text": [], "answer_start": []}}, {"answer": ""}]
)
def test_a_question_may_have_no_answer(answers: dict[str, Any]) -> None:
    assert {"text": [], "answer_start": []} == questions_of(asked(**answers))[0]["answers"]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({}, "got the columns id, question, context, wanted question, context and answers"),
        ({"answers": "Ann"}, "row 1 of train_file has the answers 'Ann', wanted text and answer_start"),
        ({"answers": {"text": ["Ann"], "answer_start": ["x"]}}, "row 1 of train_file has the answers"),
        ({"answer": "Bob", "answer_start": 7}, "got no row with its answer in its context"),
        ({"answer": "Ann", "answer_start": 6}, "got no row with its answer in its context"),
    ],
)
def test_answers_that_cannot_be_used_are_refused(answers: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        questions_of(asked(**answers))


def test_answers_at_no_place_are_left_out_of_training_and_kept_for_judging() -> None:
    contexts = [CONTEXT, "It was Ann or Ann.", CONTEXT, ""]
    columns: dict[str, list[Any]] = {
        "question": ["Who?"] * 4,
        "context": contexts,
        "answer": ["Bob", "Ann", " Ann", "Ann"],
        "answer_start": [0, 0, 6, 0],
    }
    table = table_from({**columns}, "train_file")
    (left,) = questions_of(table)
    assert ("2", [7]) == (left["id"], left["answers"]["answer_start"])
    assert (
        "--train_file: left out 3 rows, which lack a question, a context, or the answer at its place: 1, 2, 4."
        in table.said
    )
    assert ["0", "1", "2", "3"] == questions_of(table, judged=True)["id"][:]


def test_two_questions_of_one_id_are_refused() -> None:
    table = table_from(
        {"id": ["1", "1"], "question": ["Who?"] * 2, "context": [CONTEXT] * 2, "answer": ["Ann"] * 2}, "train_file"
    )
    with pytest.raises(UsageError, match="--train_file: got the id '1' in 2 rows, wanted each once"):
        questions_of(table)


@QUIET
@given(
    before=st.lists(st.sampled_from(WORDS), max_size=30),
    answer=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    after=st.lists(st.sampled_from(WORDS), max_size=30),
    blanks=st.tuples(st.sampled_from(["", " "]), st.sampled_from(["", " "])),
    max_length=st.integers(20, 40),
    stride=st.integers(5, 9),
)
def test_every_answer_is_found_again_in_the_windows(
    tokenizer: Any,
    before: list[str],
    answer: list[str],
    after: list[str],
    blanks: tuple[str, str],
    max_length: int,
    stride: int,
) -> None:
    context = " " + " ".join([*before, *answer, *after]) + " "
    begin = len(" ".join(["", *before, ""]))
    assert context[begin:].startswith(" ".join(answer))
    text = blanks[0] + " ".join(answer) + blanks[1]
    columns: dict[str, list[Any]] = {
        "question": [" who was it"],
        "context": [context],
        "answer": [text],
        "answer_start": [begin - len(blanks[0])],
    }
    questions = questions_of(table_from(columns, "train_file"))
    windows = windows_of(tokenizer, questions, max_length=max_length, stride=stride)
    found = set()
    for window in windows:
        places, first, last = window["offsets"], window["start_positions"], window["end_positions"]
        assert len(places) == window["length"] == len(window["input_ids"]) <= max_length
        if first:
            found.add(context[places[first][0] : places[last][1]])
    assert {" ".join(answer)} == found
    assert {0} == set(windows["question"])
    covered = [place for window in windows for place in window["offsets"] if place != [-1, -1]]
    assert set(range(len(context.split()))) == {context[: place[0]].count(" ") - 1 for place in covered}


@pytest.mark.parametrize(
    ("question", "options", "message"),
    [
        ("who " * 40, {"max_length": 30, "stride": 5}, "which leaves 0 tokens beside a question of 40"),
        ("who " * 20, {"max_length": 30, "stride": 8}, "beside a question of 20; wanted more than --doc_stride 8"),
        ("who " * 19, {"max_length": 30, "stride": 8}, "which leaves 8 tokens beside a question of 19"),
        ("who", {"max_length": 30, "stride": 200}, "which leaves 26 tokens beside a question of 1"),
    ],
)
def test_windows_without_room_are_refused(tokenizer: Any, question: str, options: dict[str, int], message: str) -> None:
    questions = questions_of(asked(question=question, context="It was Ann " * 20, answer="", answer_start=7))
    with pytest.raises(UsageError, match=re.escape(message)):
        windows_of(tokenizer, questions, **options)


def test_each_window_belongs_to_its_question(tokenizer: Any) -> None:
    contexts = [" ".join(["box"] * (3 * number) + ["Ann", "was", "red"]) for number in range(250)]
    columns: dict[str, list[Any]] = {"question": ["who"] * 250, "context": contexts, "answer": ["Ann"] * 250}
    windows = windows_of(tokenizer, questions_of(table_from(columns, "train_file")), max_length=20, stride=4)
    found = set()
    for window in windows:
        place = window["offsets"][window["start_positions"]]
        assert window["start_positions"] == window["end_positions"]
        if place != [-1, -1]:
            assert "Ann" == contexts[window["question"]][slice(*place)]
            found.add(window["question"])
    assert set(range(250)) == found == set(windows["question"])


def test_a_window_may_share_all_tokens_but_one_with_the_next(tokenizer: Any) -> None:
    questions = questions_of(asked(question="who " * 18, context="It was Ann " * 20, answer="", answer_start=7))
    windows = windows_of(tokenizer, questions, max_length=30, stride=8)
    assert 60 - 8 == len(windows)


def test_a_tokenizer_that_does_not_know_where_tokens_stand_is_refused(tokenizer: Any) -> None:
    class Slow:
        """As PreTrainedTokenizer's (transformers 4.57, tokenization_utils.py, `is_fast`)."""

        is_fast = False

    with pytest.raises(UsageError, match="--tokenizer_name: got Slow, wanted a fast one"):
        windows_of(Slow(), questions_of(asked(answer="Ann")), max_length=30, stride=8)


def test_questions_are_split_without_loss(tmp_path: Path) -> None:
    rows = [{"question": "Who?", "context": CONTEXT, "answer": "Ann", "id": str(number)} for number in range(50)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data_args = QuestionArguments(train_file=str(tmp_path / "a.jsonl"))
    train, judged = load_questions(data_args)
    assert (45, 5) == (len(train), len(judged))
    assert {str(number) for number in range(50)} == {*train["id"], *judged["id"]}
    (tmp_path / "a.jsonl").write_text(json.dumps(rows[0]))
    with pytest.raises(UsageError, match=r"arguments: .*n_samples=1"):
        load_questions(data_args)
