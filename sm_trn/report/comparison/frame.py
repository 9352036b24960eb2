"""A comparison as a pandas DataFrame. The only module that knows pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .table import COLUMNS

_TEXT = ("job", "status", "origin", "instance", "workload", "price_as_of")
_WHOLE = ("instances", "interruptions")


def frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per job, ``COLUMNS`` in order: text as object (None where missing), numbers as float64 (NaN where missing)."""
    columns: dict[str, pd.Series[Any]] = {}
    for name in COLUMNS:
        kind = "object" if name in _TEXT else "bool" if name == "emulated" else "int64" if name in _WHOLE else "float64"
        columns[name] = pd.Series([row[name] for row in rows], dtype=kind)
    table: pd.DataFrame = pd.DataFrame(columns, columns=list(COLUMNS))
    return table
