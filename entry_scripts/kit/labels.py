"""Labels of a table: classes or scores, rows that lack something, and the data set that is made of
them.

    labels = labels_of(table, columns.label)                # class numbers, or scores where `names` is empty
    table, labels = drop_missing(table, columns, labels)    # not for test data: there every row stays
    examples = classified(table, columns, labels)           # datasets.Dataset: text, text_pair, label (ClassLabel)
    train, held_out = hold_out(examples, 0.1, table=table)
    raw_datasets = classified_sets(tables, args)            # all of that, for every set

Messages name the flags --label_column and --num_labels.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any, Mapping, NamedTuple, Sequence

from kit.data import NUMBER, Columns, Table, pick_columns, some
from sm_spot import UsageError

from datasets import ClassLabel, Dataset, DatasetDict, Features, Value, concatenate_datasets

SPLIT_SEED = 20  # not --seed: runs with different seeds are compared on the same held-out examples
WHOLE_NUMBER = re.compile("0|-?[1-9][0-9]*")
MISSING_WORDS = ("nan", "na", "n/a", "null", "none")


class Labels(NamedTuple):
    """For each row a class number, or a score where `names` is empty; None: the row has no
    label.
    """

    values: list[Any]
    names: list[str]

    def take(self, chosen: Sequence[int]) -> Labels:
        return Labels([self.values[i] for i in chosen], self.names)

    def numbered_as(self, names: Sequence[str]) -> Labels:
        """With the numbers that a model has for them, if it knows the same classes."""
        if not self.names or sorted(names) != sorted(self.names):
            return self
        numbers = dict(enumerate(map(list(names).index, self.names)))
        return Labels(list(map(numbers.get, self.values)), list(names))


def labels_of(
    table: Table, column: str, *, num_labels: int | None = None, names: Sequence[str] | None = None
) -> Labels:
    """Classes, or scores (fractions, or num_labels=1). `names` are those of training: [] means
    scores.

    Where the file itself names its classes, their order is the file's.
    """
    if names is None and num_labels in {None, len(table.classes.get(column, []))}:
        names = table.classes.get(column)
    texts = _as_texts(table, column)
    distinct = set(texts) - {None}
    distinct -= _gaps(distinct, texts, table)
    numeric = all(map(NUMBER.fullmatch, distinct))
    fractions = numeric and not all(map(float.is_integer, map(float, distinct)))
    if _are_scores(names, num_labels, fractions=fractions):
        scores = {text: _score(text, texts, table) for text in distinct}
        return Labels(list(map(scores.get, texts)), [])
    spelled = dict(zip(distinct, distinct))
    if numeric:
        spelled = {text: _whole(text) for text in distinct}
    classes = set(spelled.values())
    if "-1" in classes and _is_gap(classes, table, num_labels, names):
        classes.remove("-1")
    if names is None:
        names = _class_names(classes, num_labels, table)
    labels = list(map(spelled.get, texts))
    for label in sorted(classes - set(names)):
        index = labels.index(label)
        known = some(names, 10)
        wanted = f"wanted {known} as in the training data"
        raise table.wrong(index, f"has the label {label!r}, {wanted}; correct it")
    _say_near(classes, table)
    numbers: dict[Any, int] = {name: number for number, name in enumerate(names)}
    return Labels(list(map(numbers.get, labels)), list(names))


def _are_scores(names: Sequence[str] | None, num_labels: int | None, *, fractions: bool) -> bool:
    """As in training where that is known, else by what was asked for and what the values are."""
    if names is not None:
        return len(names) == 0
    return num_labels == 1 or fractions


def _as_texts(table: Table, column: str) -> list[Any]:
    """Each label as it is written; None: there is none."""
    values = table.columns[column]
    one_each = all(cell is None or (isinstance(cell, list) and len(cell) == 1) for cell in values)
    texts: list[Any] = []
    for index, cell in enumerate(values):
        value = cell
        if one_each and cell is not None:
            value = cell[0]
        if isinstance(value, (list, tuple, dict)):
            got = f"has several labels (multi-label), {value!r:.50}"
            raise table.wrong(index, f"{got}; wanted one class or score")
        text = str(value).strip()
        if isinstance(value, float) and value.is_integer():
            text = str(int(value))
        missing = value is None or value != value  # noqa: PLR0124 - NaN is not itself
        if missing or text in {"", "\\N"}:
            texts.append(None)
        else:
            texts.append(text)
    return texts


def _gaps(distinct: set[Any], texts: list[Any], table: Table) -> set[Any]:
    """Words that say that there is no label, among numbers; and "-", as in SNLI. Refuses words that
    can be no class.
    """
    words = {text for text in distinct if not NUMBER.fullmatch(text)}
    gaps = {word for word in words if word.lower() in MISSING_WORDS}
    if words == distinct:  # a class may be called so
        gaps = set()
    _refuse_words(words, words - gaps, texts, table)
    if gaps == words:
        return gaps
    if len(words) > 2 and "+" not in words:
        return {"-"} & words
    return set()


def _refuse_words(words: set[Any], slips: set[Any], texts: list[Any], table: Table) -> None:
    """Those that are no class: several labels in one, a score in another form, and a slip among
    scores.
    """
    distinct = set(texts) - {None}
    scores = 0
    for number in distinct - words:
        scores += not float(number).is_integer()
    for word in sorted(words):
        index = texts.index(word)
        parts = set(re.split("[,;|]", word))
        several = len(parts) > 1 and parts <= distinct  # `joy,anger`, where there are both
        other_form = re.fullmatch(r"\[.*\]|[0-9]+([,;|][0-9]+)+|[0-9.]+ ?%", word)
        if several or other_form:
            got = f"has several labels (multi-label), a decimal comma or a percentage, {word!r}"
            raise table.wrong(index, f"{got}; wanted one class or score, as 0.5")
        got = f"has the label {word!r}"
        if word.isdigit():
            raise table.wrong(index, f"{got}, wanted the digits 0 to 9, or a word; correct it")
        infinite = re.fullmatch("[+-]?inf(inity)?", word.lower())
        among_numbers = infinite and words < distinct
        if word in slips and (among_numbers or scores > len(slips)):
            wanted = "wanted a finite number as the others have"
            raise table.wrong(index, f"{got}, {wanted}; correct it")


def _score(text: str, texts: list[Any], table: Table) -> float:
    if NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    index = texts.index(text)
    raise table.wrong(index, f"has the label {text!r}, wanted a number: the labels are scores")


def _whole(text: str) -> str:
    """1.0 is 1: so a column of numbers with gaps is often written."""
    if re.search(r"[.eE+]", text):
        return str(int(float(text)))
    return text


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
        counted = list(map(str, range(count)))
        if count >= 2 and distinct <= set(counted):
            return counted
    if count < 2 or len(names) != count:
        wanted = "at least 2 different ones"
        if num_labels is not None:
            wanted = f"{num_labels} (--num_labels)"
        listed = some(names, 10)
        got = f"--{table.name}: got {len(names)} labels ({listed}), wanted {wanted}"
        raise UsageError(f"{got}; check --label_column and --num_labels")
    return names


def _say_near(distinct: set[str], table: Table) -> None:
    """Two classes that only the case tells apart are seldom meant."""
    spellings: dict[str, list[str]] = {}
    for label in sorted(distinct):
        spellings.setdefault(label.casefold(), []).append(label)
    for alike in spellings.values():
        if len(alike) > 1:
            names = " and ".join(map(repr, alike))
            table.say(f"{names} are different classes, though only the case tells them apart")


def is_empty(value: Any) -> bool:
    return value is None or not str(value).strip()


def drop_missing(table: Table, columns: Columns, labels: Labels) -> tuple[Table, Labels]:
    """Only the rows with text and label, and a sentence about the others. Not for test data."""
    contents: dict[str, list[Any]] = {columns.text: table.texts(columns.text)}
    if columns.pair:
        contents[columns.pair] = table.texts(columns.pair)
    contents["label"] = labels.values
    missing: set[int] = set()
    for column, values in contents.items():
        empty = [index for index, value in enumerate(values) if is_empty(value)]
        missing.update(empty)
        if empty:
            rows = some([table.rows[index] for index in empty])
            table.say(f"left out {len(empty)} rows, which have no {column}: {rows}")
    whole = [index for index in range(len(table)) if index not in missing]
    if not whole:
        raise UsageError(
            f"--{table.name}: got no row with both text and label, wanted some; fill the gaps"
        )
    return table.take(whole), labels.take(whole)


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


def hold_out(examples: Dataset, fraction: float, table: Table) -> tuple[Dataset, Dataset]:
    """What to train on and what is held out, with like shares of each class. The same rows are
    split the same way.
    """
    feature = examples.features["label"]
    labels = examples["label"][:]
    sizes: Counter[Any] = Counter()
    if isinstance(feature, ClassLabel):
        sizes.update(labels)
    single = [number for number, size in sorted(sizes.items()) if size == 1]
    if single:
        names = some([feature.names[number] for number in single])
        table.say(f"{names}: one row each, so they are trained on and not held out")
    alone: list[int] = []
    rest: list[int] = []
    for row, number in enumerate(labels):
        if number in single:
            alone.append(row)
        else:
            rest.append(row)
    classes = max(1, len(sizes) - len(single))
    wanted = max(classes, round(len(examples) * fraction))
    wanted = min(wanted, len(rest) - classes)  # of each class one row is trained on
    if wanted < 1:
        got = f"--{table.name}: got {len(examples)} rows"
        raise UsageError(f"{got}, wanted two of a class to hold one out; add rows")
    by_class = "label" if sizes and wanted >= classes else None
    several = examples.select(rest)
    parts = several.train_test_split(wanted, seed=SPLIT_SEED, stratify_by_column=by_class)
    train = parts["train"]
    if alone:
        train = concatenate_datasets([train, examples.select(alone)])
    return train, parts["test"]


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
        labels = labels_of(table, columns.label, num_labels=args.num_labels, names=names)
        if names is None:
            labels = labels.numbered_as(order)
            names = labels.names
        whole, labels = drop_missing(table, columns, labels)
        raw_datasets[name] = classified(whole, columns, labels)
        if name == "train" and "eval" not in tables:
            parts = hold_out(raw_datasets["train"], args.validation_fraction, whole)
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
