"""Labels of a table: classes or scores, rows that lack something, and the data set that is made of
them.

    labels = labels_of(table, columns.label)                # class numbers, or scores where `names` is empty
    table, labels = drop_missing(table, columns, labels)    # not for test data: there every row stays
    examples = classified(table, columns, labels)           # datasets.Dataset: text, text_pair, label (ClassLabel)
    train, held_out = hold_out(examples, 0.1, table=table)

Messages name the flags --label_column and --num_labels.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any, NamedTuple, Sequence

from kit.data import NUMBER, Columns, Table, some
from sm_spot import UsageError

from datasets import ClassLabel, Dataset, Features, Value, concatenate_datasets

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
        if len(names) != len(self.names) or set(names) != set(self.names):
            return self
        values: list[Any] = []
        for value in self.values:
            number = None
            if value is not None:
                number = names.index(self.names[value])
            values.append(number)
        return Labels(values, list(names))


def labels_of(
    table: Table, column: str, *, num_labels: int | None = None, names: Sequence[str] | None = None
) -> Labels:
    """Classes, or scores (fractions, or num_labels=1). `names` are those of training: [] means
    scores.

    Where the file itself names its classes, their order is the file's.
    """
    if names is None and num_labels in {None, len(table.classes.get(column, []))}:
        names = table.classes.get(column)
    labels = _as_texts(table, column)
    labels = _without_gaps(labels, table)
    distinct = set(labels) - {None}
    numeric = all(NUMBER.fullmatch(label) for label in distinct)
    fractions = numeric and not all(float(label).is_integer() for label in distinct)
    if _are_scores(names, num_labels, fractions=fractions):
        return _scores(labels, table)
    if numeric:
        labels = _whole_numbers(labels)
    labels = _without_minus_one(labels, table, num_labels, names)
    distinct = set(labels) - {None}
    if names is None:
        names = _class_names(distinct, num_labels, table)
    for label in sorted(distinct - set(names)):
        listed = some(names, 10)
        known = f"{listed} as in the training data"
        raise table.wrong(
            labels.index(label), f"has the label {label!r}, wanted {known}; correct it"
        )
    _say_near(distinct, table)
    numbers = {name: number for number, name in enumerate(names)}
    numbers[None] = None  # type: ignore[index,assignment]  # a row without a label
    return Labels([numbers[label] for label in labels], list(names))


def _as_texts(table: Table, column: str) -> list[Any]:
    """Each label as it is written; None: there is none."""
    values = list(table.columns[column])
    if all(value is None or (isinstance(value, list) and len(value) == 1) for value in values):
        for index, value in enumerate(values):  # one each, in a list
            if value is not None:
                values[index] = value[0]
    texts: list[Any] = []
    for index, value in enumerate(values):
        if isinstance(value, (list, tuple, dict)):
            got = f"has several labels (multi-label), {value!r:.50}"
            raise table.wrong(index, f"{got}; wanted one class or score")
        text = str(value).strip()
        if isinstance(value, float) and value.is_integer():
            text = str(int(value))
        missing = value is None or value == "\\N" or value != value  # noqa: PLR0124 - NaN is not itself
        texts.append(None if missing else text or None)
    return texts


def _without_gaps(labels: list[Any], table: Table) -> list[Any]:
    """Words that say that there is no label, among numbers; and "-", as in SNLI. Refuses words that
    can be no class.
    """
    distinct = set(labels) - {None}
    words = {label for label in distinct if not NUMBER.fullmatch(label)}
    gaps = {word for word in words if word.lower() in MISSING_WORDS}
    if words == distinct:  # a class may be called so
        gaps = set()
    _refuse_words(words, words - gaps, labels, table)
    if gaps and gaps == words:
        return without(labels, gaps)
    if len(words) > 2 and "-" in words and "+" not in words:
        return without(labels, {"-"})
    return labels


def without(labels: list[Any], gaps: set[Any]) -> list[Any]:
    """None in the place of these labels."""
    kept = list(labels)
    for index, label in enumerate(labels):
        if label in gaps:
            kept[index] = None
    return kept


def _refuse_words(words: set[Any], slips: set[Any], labels: list[Any], table: Table) -> None:
    """Those that are no class: several labels in one, a score in another form, and a slip among
    scores.
    """
    distinct = set(labels) - {None}
    scores = 0
    for number in distinct - words:
        scores += not float(number).is_integer()
    for word in sorted(words):
        index = labels.index(word)
        if _is_several(word, distinct) or re.fullmatch(
            r"\[.*\]|[0-9]+([,;|][0-9]+)+|[0-9.]+ ?%", word
        ):
            got = f"has several labels (multi-label), a decimal comma or a percentage, {word!r}"
            raise table.wrong(index, f"{got}; wanted one class or score, as 0.5")
        if word.isdigit():
            raise table.wrong(
                index, f"has the label {word!r}, wanted the digits 0 to 9, or a word; correct it"
            )
        infinite = re.fullmatch("[+-]?inf(inity)?", word.lower()) and words < distinct
        if word in slips and (infinite or scores > len(slips)):
            raise table.wrong(
                index,
                f"has the label {word!r}, wanted a finite number as the others have; correct it",
            )


def _is_several(word: str, distinct: set[Any]) -> bool:
    """`joy,anger`, where there are also `joy` and `anger`."""
    for separator in ",;|":
        if separator in word and set(word.split(separator)) <= distinct:
            return True
    return False


def _are_scores(names: Sequence[str] | None, num_labels: int | None, *, fractions: bool) -> bool:
    """As in training where that is known, else by what was asked for and what the values are."""
    if names is not None:
        return len(names) == 0
    return num_labels == 1 or fractions


def _scores(labels: list[Any], table: Table) -> Labels:
    scores: list[Any] = []
    for index, label in enumerate(labels):
        if label is None:
            scores.append(None)
            continue
        if not NUMBER.fullmatch(label) or math.isinf(float(label)):
            raise table.wrong(
                index, f"has the label {label!r}, wanted a number: the labels are scores"
            )
        scores.append(float(label))
    return Labels(scores, [])


def _whole_numbers(labels: list[Any]) -> list[Any]:
    """1.0 is 1: so a column of numbers with gaps is often written."""
    whole = list(labels)
    for index, label in enumerate(labels):
        if label and re.search(r"[.eE+]", label):
            whole[index] = str(int(float(label)))
    return whole


def _without_minus_one(
    labels: list[Any], table: Table, num_labels: int | None, names: Sequence[str] | None
) -> list[Any]:
    """-1 is a class, or says as in GLUE that a row has no label."""
    distinct = set(labels) - {None}
    classes = distinct - {"-1"}
    if names is None and num_labels is None and "-1" in distinct and "0" in classes:
        listed = some(sorted(distinct))
        got = f"--{table.name}: got the labels {listed}, wanted to know what -1 is"
        raise UsageError(
            f"{got}; give --num_labels {len(distinct)} if a class, {len(classes)} if it means no label"
        )
    if names is None:
        no_class = num_labels == len(classes)
    else:
        no_class = "-1" not in names
    if no_class or not classes:
        return without(labels, {"-1"})
    return labels


def _class_names(distinct: set[str], num_labels: int | None, table: Table) -> list[str]:
    """In the order of their numbers. Labels that count from 0 keep their number."""
    count = num_labels or len(distinct)
    names = sorted(distinct)
    if all(WHOLE_NUMBER.fullmatch(label) for label in distinct):
        names.sort(key=int)
        counted = [str(number) for number in range(count)]
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


def drop_missing(table: Table, columns: Columns, labels: Labels) -> tuple[Table, Labels]:
    """Only the rows with text and label, and a sentence about the others. Not for test data."""
    contents: dict[str, list[Any]] = {columns.text: table.texts(columns.text)}
    if columns.pair:
        contents[columns.pair] = table.texts(columns.pair)
    contents["label"] = labels.values
    missing: set[int] = set()
    for column, values in contents.items():
        empty = [
            index for index, value in enumerate(values) if value is None or not str(value).strip()
        ]
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
        (alone if number in single else rest).append(row)
    classes = max(1, len(sizes) - len(single))
    wanted = max(classes, round(len(examples) * fraction))
    wanted = min(wanted, len(rest) - classes)  # of each class one row is trained on
    if wanted < 1:
        got = f"--{table.name}: got {len(examples)} rows"
        raise UsageError(f"{got}, wanted two of a class to hold one out; add rows")
    by_class = "label" if sizes and wanted >= classes else None
    parts = examples.select(rest).train_test_split(
        wanted, seed=SPLIT_SEED, stratify_by_column=by_class
    )
    train = parts["train"]
    if alone:
        train = concatenate_datasets([train, examples.select(alone)])
    return train, parts["test"]
