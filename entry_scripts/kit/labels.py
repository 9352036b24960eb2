"""Labels of a table: classes or scores, rows that lack something, and what is held out.

    labels = labels_of(table, columns.label)                # class numbers, or scores where `names` is empty
    table, labels = drop_missing(table, columns, labels)    # not for test data: there every row stays
    (train, y), (held_out, z) = split(table, labels, 0.1, seed=20)

Messages name the flags --label_column and --num_labels.
"""

from __future__ import annotations

import math
import random
import re
from typing import Any, NamedTuple, Sequence

from kit.data import NUMBER, Columns, Table, some
from sm_spot import UsageError


class Labels(NamedTuple):
    """For each row a class number, or a score where `names` is empty; None: the row has no label."""

    values: list[Any]
    names: list[str]

    def take(self, chosen: Sequence[int]) -> Labels:
        return Labels([self.values[i] for i in chosen], self.names)

    def numbered_as(self, names: Sequence[str]) -> Labels:
        """With the numbers that a model has for them, if it knows the same classes."""
        if len(names) != len(self.names) or {*names} != {*self.names}:
            return self
        numbers = [names.index(name) for name in self.names]
        return Labels([None if value is None else numbers[value] for value in self.values], list(names))


def labels_of(
    table: Table, column: str, *, num_labels: int | None = None, names: Sequence[str] | None = None
) -> Labels:
    """Classes, or scores (fractions, or num_labels=1). `names` are those of training: [] means scores.

    Where the file itself names its classes, their order is the file's.
    """
    if names is None and num_labels in {None, len(table.classes.get(column, []))}:
        names = table.classes.get(column)
    column_values = table.columns[column]
    if all(value is None or (isinstance(value, list) and len(value) == 1) for value in column_values):
        column_values = [value and value[0] for value in column_values]  # one each, in a list
    found = [_label(value, table, index) for index, value in enumerate(column_values)]
    distinct = set(found) - {None}
    words = {one for one in distinct if not NUMBER.fullmatch(one)}
    gaps = {one for one in words if one.lower() in {"nan", "na", "n/a", "null", "none"}} if words < distinct else set()
    _refuse_words(words, gaps, found, table)
    if gaps and gaps == words:  # among numbers only
        found, distinct, words = [None if one in gaps else one for one in found], distinct - gaps, set()
    if len(words) > 2 and "-" in words and "+" not in words:  # as in SNLI
        found, distinct = [None if one == "-" else one for one in found], distinct - {"-"}
    fractions = not words and any(not float(one).is_integer() for one in distinct)
    if _are_scores(names, num_labels, fractions=fractions):
        for one in distinct:
            if one in words or math.isinf(float(one)):
                raise table.wrong(found.index(one), f"has the label {one!r}, wanted a number: the labels are scores")
        return Labels([None if one is None else float(one) for one in found], [])
    if not words:  # 1.0 is 1: so a column of numbers with gaps is often written
        found = [str(int(float(one))) if one and re.search(r"[.eE+]", one) else one for one in found]
        distinct = set(found) - {None}
    classes = distinct - {"-1"}  # which is a class, or says as in GLUE that a row has no label
    if names is None and num_labels is None and "-1" in distinct and "0" in classes:
        got = f"--{table.name}: got the labels {some(sorted(distinct))}, wanted to know what -1 is"
        raise UsageError(f"{got}; give --num_labels {len(distinct)} if a class, {len(classes)} if it means no label")
    if not classes or ("-1" not in names if names is not None else num_labels == len(classes)):
        found, distinct = [None if one == "-1" else one for one in found], classes
    names = _class_names(distinct, num_labels, table) if names is None else list(names)
    for one in sorted(distinct - set(names)):
        known = f"{some(names, 10)} as in the training data"
        raise table.wrong(found.index(one), f"has the label {one!r}, wanted {known}; correct it")
    _say_near(distinct, table)
    numbers = {name: number for number, name in enumerate(names)}
    return Labels([None if one is None else numbers[one] for one in found], names)


def _are_scores(names: Sequence[str] | None, num_labels: int | None, *, fractions: bool) -> bool:
    """As in training where that is known, else by what was asked for and what the values are."""
    if names is not None:
        return len(names) == 0
    return num_labels == 1 or fractions


def _refuse_words(words: set[Any], gaps: set[Any], found: list[Any], table: Table) -> None:
    """Those that are no class: several labels in one, a score in another form, and a slip among scores."""
    distinct = set(found) - {None}
    scores = sum(not float(one).is_integer() for one in distinct - words)
    slips = words - gaps
    for one in sorted(words):
        index, several = found.index(one), any(cut in one and {*one.split(cut)} <= distinct for cut in ",;|")
        if several or re.fullmatch(r"\[.*\]|[0-9]+([,;|][0-9]+)+|[0-9.]+ ?%", one):
            got = f"has several labels (multi-label), a decimal comma or a percentage, {one!r}"
            raise table.wrong(index, f"{got}; wanted one class or score, as 0.5")
        if one.isdigit():
            raise table.wrong(index, f"has the label {one!r}, wanted the digits 0 to 9, or a word; correct it")
        infinite = re.fullmatch("[+-]?inf(inity)?", one.lower()) and words < distinct
        if one in slips and (infinite or scores > len(slips)):
            raise table.wrong(index, f"has the label {one!r}, wanted a finite number as the others have; correct it")


def _say_near(distinct: set[str], table: Table) -> None:
    """Two classes that only the case tells apart are seldom meant."""
    spellings: dict[str, list[str]] = {}
    for one in sorted(distinct):
        spellings.setdefault(one.casefold(), []).append(one)
    for alike in spellings.values():
        if len(alike) > 1:
            table.say(f"{' and '.join(map(repr, alike))} are different classes, though only the case tells them apart")


def _label(value: Any, table: Table, index: int) -> Any:
    """As text; None: there is none."""
    if isinstance(value, (list, tuple, dict)):
        raise table.wrong(index, f"has several labels (multi-label), {value!r:.50}; wanted one class or score")
    if isinstance(value, float) and (math.isnan(value) or value.is_integer()):
        return None if math.isnan(value) else str(int(value))
    return None if value is None or value == "\\N" else str(value).strip() or None


def _class_names(distinct: set[str], num_labels: int | None, table: Table) -> list[str]:
    """In the order of their numbers. Labels that count from 0 keep their number."""
    count = num_labels or len(distinct)
    if all(re.fullmatch("0|-?[1-9][0-9]*", one) for one in distinct):
        names = sorted(distinct, key=int)
        if count >= 2 and names and int(names[0]) >= 0 and int(names[-1]) < count:
            return [str(number) for number in range(count)]
    else:
        names = sorted(distinct)
    if count < 2 or len(names) != count:
        wanted = "at least 2 different ones" if num_labels is None else f"{num_labels} (--num_labels)"
        got = f"--{table.name}: got {len(names)} labels ({some(names, 10)}), wanted {wanted}"
        raise UsageError(f"{got}; check --label_column and --num_labels")
    return names


def drop_missing(table: Table, columns: Columns, labels: Labels) -> tuple[Table, Labels]:
    """Only the rows with text and label, and a sentence about the others. Not for test data."""
    whole = {*range(len(table))}
    for column in columns[:2]:
        if column:
            empty = [index for index, text in enumerate(table.texts(column)) if not text.strip()]
            whole -= _said_empty(table, column, empty)
    whole -= _said_empty(table, "label", [index for index, value in enumerate(labels.values) if value is None])
    chosen = sorted(whole)
    if not chosen:
        raise UsageError(f"--{table.name}: got no row with both text and label, wanted some; fill the gaps")
    return table.take(chosen), labels.take(chosen)


def _said_empty(table: Table, column: str, empty: list[int]) -> set[int]:
    if empty:
        rows = [table.rows[index] for index in empty]
        table.say(f"left out {len(rows)} rows, which have no {column}: {some(rows)}")
    return set(empty)


def split(
    table: Table, labels: Labels, fraction: float, *, seed: int
) -> tuple[tuple[Table, Labels], tuple[Table, Labels]]:
    """What to train on and what is held out, with like shares of each class. The same rows are split the same way."""
    classes: dict[Any, list[int]] = {}
    for index, value in enumerate(labels.values):
        classes.setdefault(value if labels.names else 0, []).append(index)
    alone = [labels.names[value] for value, members in classes.items() if labels.names and len(members) == 1]
    if alone:
        table.say(f"{some(alone)}: one row each, so they are trained on and not held out")
    groups = [members for members in classes.values() if len(members) > 1]
    count = sum(map(len, groups))
    wanted = min(max(1, round(len(table) * fraction)), count - len(groups))  # of each class one row is trained on
    if wanted < 1:
        raise UsageError(f"--{table.name}: got {len(table)} rows, wanted two of a class to hold one out; add rows")
    shares = [wanted * len(members) / count for members in groups]
    held = [int(share) for share in shares]
    while sum(held) < wanted:
        for place in sorted(range(len(groups)), key=lambda place: held[place] - shares[place]):
            if sum(held) < wanted and held[place] < len(groups[place]) - 1:
                held[place] += 1
    draw = random.Random(seed)  # noqa: S311 - a split, no secret
    out = {index for members, part in zip(groups, held) for index in draw.sample(members, part)}
    parts = [[index for index in range(len(table)) if (index in out) == held_out] for held_out in (False, True)]
    (one, y), (other, z) = [(table.take(part), labels.take(part)) for part in parts]
    return (one, y), (other, z)
