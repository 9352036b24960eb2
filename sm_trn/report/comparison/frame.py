"""A comparison as a pandas DataFrame. The only module that knows pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .table import COLUMNS

_TEXT = ("job", "status", "origin", "instance", "workload", "price_as_of")
_WHOLE = ("instances", "interruptions")


def frame(rows: Sequence[Mapping[str, Any]], names: Sequence[str] = COLUMNS) -> pd.DataFrame:
    """One row per job, the columns ``names`` in order: text as object (None where missing), numbers as float64 (NaN where missing).

    A hyperparameter whose values are not all numbers is text.
    """
    columns: dict[str, pd.Series[Any]] = {}
    for name in names:
        values = [row[name] for row in rows]
        columns[name] = pd.Series(values, dtype=_kind(name, values))
    table: pd.DataFrame = pd.DataFrame(columns, columns=list(names))
    return table


def _kind(name: str, values: Sequence[object]) -> str:
    if name in _TEXT or (name not in COLUMNS and any(isinstance(value, str) for value in values)):
        return "object"
    return "bool" if name == "emulated" else "int64" if name in _WHOLE else "float64"
