"""Which column of a table of jobs goes under which other one where the table's container has no room for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..document import folds_at

Values = Mapping[str, tuple[str, str, bool]]  # by job: what is shown, what stands under it, whether it is missing
Column = tuple[str, str, Values]  # with its name and unit


@dataclass(frozen=True, slots=True)
class Fold:
    """In containers of at most ``width`` pixels the column number ``out`` stands under column number ``under`` as ``words``."""

    out: int
    under: int
    width: int
    words: str


# The first to go, the columns under which they go, and how they are read there.
_ORDER: tuple[tuple[tuple[str, str], tuple[str, ...], str], ...] = (
    (("Cost", "USD per epoch"), ("Cost",), "{} per epoch"),
    (("Steady cost", "USD per 1,000 iterations"), ("Cost",), "{} per 1,000 it"),
    (("Steady cost", "USD per 1,000 samples"), ("Cost",), "{} per 1,000 samples"),
    (("Not training", "share of billable"), ("Billable", "Billed"), "{} not training"),
    (("Final loss", "training"), ("Accuracy", "eval_accuracy"), "loss {}"),
    (("Trained", "s/instance"), ("Billed",), "of {} trained"),
    (("Spot saved", "USD"), ("Cost",), "spot saved {}"),
    (("Throughput", "it/s"), ("Time",), "{} it/s"),
    (("Throughput", "samples/s"), ("Time",), "{} samples/s"),
)


def words(column: Column) -> list[str]:
    """What decides a column's width: a long name breaks at its underscores."""
    name, unit, values = column
    return [*name.split("_"), unit, *(each for value, under, _ in values.values() for each in (value, under))]


def folds(columns: Sequence[Column], beside: Sequence[Sequence[str]] = ()) -> tuple[tuple[Fold, ...], str]:
    """The columns that fold, the first to go first, and the class that folds all rows where that is not enough.

    ``beside`` are the texts of columns that never go.
    """
    texts = {number: words(column) for number, column in enumerate(columns)}
    found = []
    for (name, unit), targets, told in _ORDER:
        out = next((number for number in texts if columns[number][:2] == (name, unit)), None)
        under = next((number for number in texts if number != out and columns[number][0] in targets), None)
        if out is None or under is None:
            continue
        width = folds_at([*beside, *texts.values()])
        found.append(Fold(out, under, width, told))
        texts[under] += [told.format(value) for value, _, missing in columns[out][2].values() if not missing]
        del texts[out]
    return tuple(found), f"fold-{folds_at([*beside, *texts.values()])}"
