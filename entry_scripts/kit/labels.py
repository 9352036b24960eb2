"""Labels of a table: classes or scores, rows that lack something, and the data set that is made of
them.

    labels = labels_of(table, columns.label)                # class numbers, or scores where `names` is empty
    examples = classified(table, columns, labels)           # datasets.Dataset: text, text_pair, label (ClassLabel)
    examples = drop_missing(table, examples)                # not for test data: there every row stays
    train, held_out = hold_out(examples, 0.1, table=table)
    raw_datasets = classified_sets(tables, args)            # all of that, for every set

Messages name the flags --label_column and --num_labels.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any, Mapping, NamedTuple, Sequence

from kit.data import Columns, Table, pick_columns, some
from kit.delimited import NUMBER
from sm_spot import UsageError, first_line

from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

SPLIT_SEED = 20  # not --seed: runs with different seeds are compared on the same held-out examples
WHOLE_NUMBER = re.compile("0|-?[1-9][0-9]*")
OTHER_FORM = re.compile(r"\[.*\]|[0-9]+([,;|][0-9]+)+|[0-9.]+ ?%")
INFINITE = re.compile("[+-]?inf(inity)?")
UNNAMED = re.compile("(LABEL_)?[0-9]+")  # transformers' own names for what nobody has named
MISSING_WORDS = ("nan", "na", "n/a", "null", "none")


class Labels(NamedTuple):
    """For each row a class number, or a score where `names` is empty; None: the row has no
    label.
    """

    values: list[Any]
    names: list[str]


def labels_of(
    table: Table,
    column: str,
    *,
    num_labels: int | None = None,
    names: Sequence[str] | None = None,
    order: Sequence[str] = (),
) -> Labels:
    """Classes, or scores (fractions, or num_labels=1). `names` are those of training: [] means
    scores.

    Where the file itself names its classes, their order is the file's; but `order`, a model's own
    names, goes first where they are the same but for their case.
    """
    training = names is None
    if names is None and num_labels in {None, len(table.classes.get(column, []))}:
        names = table.classes.get(column)
    texts = _as_texts(table, column)
    numbers: set[str] = set()
    words: set[str] = set()
    fractions = 0
    for text in set(texts) - {None}:
        if NUMBER.fullmatch(text):
            numbers.add(text)
            fractions += not float(text).is_integer()
        else:
            words.add(text)
    gaps = _gaps(words, numbers)
    texts = _without(gaps, texts)
    words -= gaps
    _refuse_words(table, texts, words, numbers, fractions)
    if _are_scores(names, num_labels, fractions=fractions > 0 and not words):
        return Labels(_scores(table, texts), [])
    if not words:
        texts = _whole(texts)
    distinct = set(texts) - {None}
    if "-1" in distinct and _is_gap(distinct, table, num_labels, names):
        distinct.remove("-1")
        texts = _without({"-1"}, texts)
    if names is None:
        names = _class_names(distinct, num_labels, table)
    if training:
        names = _numbered_as(order, names, table)
    for label in sorted(distinct - set(names)):
        wanted = f"wanted {some(names, 10)} as in the training data"
        raise table.wrong(texts.index(label), f"has the label {label!r}, {wanted}; correct it")
    _say_near(distinct, table)
    numbered: dict[Any, int] = {name: number for number, name in enumerate(names)}
    return Labels(list(map(numbered.get, texts)), list(names))


def _without(gaps: set[str], texts: list[Any]) -> list[Any]:
    return [None if text in gaps else text for text in texts]


def _are_scores(names: Sequence[str] | None, num_labels: int | None, *, fractions: bool) -> bool:
    """As in training where that is known, else by what was asked for and what the values are."""
    if names is not None:
        return len(names) == 0
    return num_labels == 1 or fractions


def _as_texts(table: Table, column: str) -> list[Any]:
    """Each label as it is written; None: there is none."""
    texts: list[Any] = []
    for index, value in enumerate(table.columns[column]):
        if isinstance(value, (list, tuple, dict)):
            got = f"has several labels (multi-label), {value!r:.50}"
            raise table.wrong(index, f"{got}; wanted one class or score")
        text = str(value).strip()
        if isinstance(value, float) and value.is_integer():
            text = str(int(value))
        missing = value is None or value != value  # noqa: PLR0124 - NaN is not itself
        texts.append(None if missing or text in {"", "\\N"} else text)
    return texts


def _gaps(words: set[str], numbers: set[str]) -> set[str]:
    """Words that say that there is no label, among numbers; and "-", as in SNLI."""
    gaps = {word for word in words if word.lower() in MISSING_WORDS}
    if numbers and gaps == words:  # else a class may be called so
        return gaps
    if len(words) > 2 and "+" not in words:
        return {"-"} & words
    return set()


def _refuse_words(
    table: Table, texts: list[Any], words: set[str], numbers: set[str], fractions: int
) -> None:
    """Those that are no class: several labels in one, a score in another form, and a slip among
    scores.
    """
    for word in sorted(words):
        index = texts.index(word)
        parts = set(re.split("[,;|]", word))
        several = len(parts) > 1 and parts <= words  # `joy,anger`, where there are both
        if several or OTHER_FORM.fullmatch(word):
            got = f"has several labels (multi-label), a decimal comma or a percentage, {word!r}"
            raise table.wrong(index, f"{got}; wanted one class or score, as 0.5")
        infinite = numbers and INFINITE.fullmatch(word.lower())
        if infinite or fractions > len(words):
            wanted = "wanted a finite number as the others have"
            raise table.wrong(index, f"has the label {word!r}, {wanted}; correct it")


def _scores(table: Table, texts: list[Any]) -> list[float | None]:
    scores = []
    for index, text in enumerate(texts):
        if text is not None and not (NUMBER.fullmatch(text) and math.isfinite(float(text))):
            wanted = "wanted a number: the labels are scores"
            raise table.wrong(index, f"has the label {text!r}, {wanted}")
        scores.append(None if text is None else float(text))
    return scores


def _whole(texts: list[Any]) -> list[Any]:
    """1.0 is 1: so a column of numbers with gaps is often written."""
    whole = []
    for text in texts:
        if text is not None and re.search(r"[.eE+]", text):
            whole.append(str(int(float(text))))
        else:
            whole.append(text)
    return whole


def _is_gap(
    classes: set[str], table: Table, num_labels: int | None, names: Sequence[str] | None
) -> bool:
    """-1 is a class, or says as in GLUE that a row has no label."""
    count = len(classes)
    if names is not None:
        return "-1" not in names
    if num_labels is None and "0" in classes:
        listed = some(sorted(classes))
        got = f"--{table.name}: got the labels {listed}, wanted to know what -1 is"
        others = count - 1
        raise UsageError(
            f"{got}; give --num_labels {count} if a class, {others} if it means no label"
        )
    return count == 1 or num_labels == count - 1


def _class_names(distinct: set[str], num_labels: int | None, table: Table) -> list[str]:
    """In the order of their numbers. Labels that count from 0 keep their number."""
    count = num_labels or len(distinct)
    names = sorted(distinct)
    if all(map(WHOLE_NUMBER.fullmatch, distinct)):
        names.sort(key=int)
        counted = [str(number) for number in range(count)]
        if count >= 2 and distinct <= set(counted):
            return counted
    if count < 2 or len(names) != count:
        wanted = f"{num_labels} (--num_labels)" if num_labels else "at least 2 different ones"
        got = f"--{table.name}: got {len(names)} labels ({some(names, 10)}), wanted {wanted}"
        raise UsageError(f"{got}; check --label_column and --num_labels")
    return names


def _numbered_as(order: Sequence[str], names: Sequence[str], table: Table) -> Sequence[str]:
    """The names by the numbers that a trained model has for them; a sentence where its own are
    others.
    """
    own = [name.casefold() for name in order]
    if sorted(own) == sorted(map(str.casefold, names)):
        return sorted(names, key=lambda name: own.index(name.casefold()))
    for kind in (order, names):
        if all(map(UNNAMED.fullmatch, kind)):
            return names
    if len(order) == len(names):
        others = f"the model's own labels are {some(order)}, those of the data {some(names)}"
        table.say(f"{others}: the model's first is taken for the data's first, and so on")
    return names


def _say_near(distinct: set[str], table: Table) -> None:
    """Two classes that only the case tells apart are seldom meant."""
    spellings = Counter(map(str.casefold, distinct))
    alike = [repr(name) for name in sorted(distinct) if spellings[name.casefold()] > 1]
    if alike:
        names = " and ".join(alike)
        table.say(f"{names} are different classes, though only the case tells them apart")


def classified(table: Table, columns: Columns, labels: Labels | None) -> Dataset:
    """The columns text, text_pair where there are pairs, and label: a ClassLabel, or a number for
    scores.
    """
    content: dict[str, Any] = {"text": table.texts(columns.text)}
    features: dict[str, Any] = {"text": Value("string")}
    if columns.pair:
        content["text_pair"] = table.texts(columns.pair)
        features["text_pair"] = Value("string")
    if labels is not None:
        content["label"] = labels.values
        features["label"] = Value("float32")
        if labels.names:
            features["label"] = ClassLabel(names=labels.names)
    return Dataset.from_dict(content, features=Features(features))


def drop_missing(table: Table, examples: Dataset) -> Dataset:
    """Only those with text and label, and a sentence about the others. Not for test data."""
    whole: list[int] = []
    lost: list[int] = []
    columns = [examples[name][:] for name in examples.column_names]
    for index, values in enumerate(zip(*columns)):
        if all(value is not None and str(value).strip() for value in values):
            whole.append(index)
        else:
            lost.append(table.rows[index])
    if lost:
        table.say(f"left out {len(lost)} rows, which have no text or no label: {some(lost)}")
    if not whole:
        raise UsageError(
            f"--{table.name}: got no row with both text and label, wanted some; fill the gaps"
        )
    return examples.select(whole)


def hold_out(examples: Dataset, fraction: float, table: Table) -> tuple[Dataset, Dataset]:
    """What to train on and what is held out, with like shares of each class. The same rows are
    split the same way.
    """
    if len(examples) < 2:
        got = f"--{table.name}: got {len(examples)} rows"
        raise UsageError(f"{got}, wanted two to hold one out; add rows")
    wanted = max(1, round(len(examples) * fraction))
    classes = len(set(examples["label"][:]))
    of_each = max(wanted, classes)
    try:
        parts = examples.train_test_split(of_each, seed=SPLIT_SEED, stratify_by_column="label")
    except ValueError as error:
        if isinstance(examples.features["label"], ClassLabel):
            table.say(f"held out without regard to the classes ({first_line(error)})")
        wanted = min(wanted, len(examples) - 1)
        parts = examples.train_test_split(wanted, seed=SPLIT_SEED)
    return parts["train"], parts["test"]


def classified_sets(
    tables: Mapping[str, Table], args: Any, order: Sequence[str] = ()
) -> DatasetDict:
    """`train`, `test` without labels, and under each other name a set to be judged on; `eval` is a
    part of `train` where there is no other.

    Labels have the numbers of `order`, a model's own names, where they are the same.
    """
    raw_datasets = DatasetDict()
    names = None
    for name, table in tables.items():
        pair_column = getattr(args, "text_pair_column", None)
        columns = pick_columns(
            table, args.text_column, pair_column, args.label_column, unlabelled=name == "test"
        )
        if name == "test":
            raw_datasets[name] = classified(table, columns, None)
            continue
        labels = labels_of(
            table, columns.label, num_labels=args.num_labels, names=names, order=order
        )
        names = labels.names
        raw_datasets[name] = drop_missing(table, classified(table, columns, labels))
        if name == "train" and "eval" not in tables:
            parts = hold_out(raw_datasets["train"], args.validation_fraction, table)
            raw_datasets["train"], raw_datasets["eval"] = parts
    return raw_datasets


def head_for(examples: Dataset) -> dict[str, Any]:
    """For a model's configuration: the names of its classes, or that it gives scores."""
    feature = examples.features["label"]
    if not isinstance(feature, ClassLabel):
        return {"num_labels": 1, "problem_type": "regression"}
    names = feature.names
    numbers = range(len(names))
    return {"id2label": dict(zip(numbers, names)), "label2id": dict(zip(names, numbers))}


def tokenized(raw_datasets: DatasetDict, tokenizer: Any, max_length: int) -> DatasetDict:
    """The texts, or pairs of them, as a model takes them, and the column length."""
    texts = [name for name in ("text", "text_pair") if name in raw_datasets["train"].features]

    def preprocess(examples: Any) -> Any:
        columns = [examples[name] for name in texts]
        return tokenizer(*columns, truncation=True, max_length=max_length, return_length=True)

    return raw_datasets.map(preprocess, batched=True, remove_columns=texts)
