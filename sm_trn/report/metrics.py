"""The numbers of a log as frames: one row a number, or one row a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from ..core.logs.metrics import MetricLine
from ..core.specs.metrics import MetricPoint

METRIC_COLUMNS = ("step", "epoch", "host", "name", "value", "time", "guessed")
LINE_COLUMNS = ("step", "epoch", "host", "rank", "time")
FINAL_COLUMNS = ("name", "value", "log_value", "time")


def metrics_frame(points: Iterable[MetricPoint]) -> pd.DataFrame:
    """Columns ``METRIC_COLUMNS``: step and epoch NaN and time (UTC) NaT where unknown; guessed: neither by dict nor by rule."""
    rows = [(p.step, p.epoch, p.host, p.name, p.value, p.time_s, p.guessed) for p in points]
    frame = pd.DataFrame(rows, columns=list(METRIC_COLUMNS))
    numbers = {name: frame[name].astype("float64") for name in ("step", "epoch", "value")}
    tidy: pd.DataFrame = frame.assign(
        **numbers, time=pd.to_datetime(frame["time"].astype("float64"), unit="s", utc=True)
    )
    return tidy


def lines_frame(lines: Sequence[MetricLine]) -> pd.DataFrame:
    """Columns ``LINE_COLUMNS``, then every name that a line has, in order of appearance; NaN where a line has it not."""
    names = list(dict.fromkeys(name for line in lines for name in line.values if name not in LINE_COLUMNS))
    columns: dict[str, pd.Series[Any]] = {
        "step": pd.Series([line.step for line in lines], dtype="float64"),
        "epoch": pd.Series([line.epoch for line in lines], dtype="float64"),
        "host": pd.Series([line.host for line in lines], dtype="object"),
        "rank": pd.Series([line.rank for line in lines], dtype="Int64"),
        "time": _times([line.time_s for line in lines]),
    }
    columns |= {name: pd.Series([line.values.get(name) for line in lines], dtype="float64") for name in names}
    frame: pd.DataFrame = pd.DataFrame(columns)
    return frame


def final_frame(rows: Sequence[tuple[str, float, float | None, float | None]]) -> pd.DataFrame:
    """Columns ``FINAL_COLUMNS`` of (name, the service's value, epoch seconds, the log's value)."""
    frame: pd.DataFrame = pd.DataFrame(
        [(name, value, logged, time) for name, value, time, logged in rows], columns=list(FINAL_COLUMNS)
    )
    numbers: pd.DataFrame = frame.astype({"value": "float64", "log_value": "float64"})
    numbers["time"] = _times([row[2] for row in rows])
    return numbers


def _times(seconds: Sequence[float | None]) -> pd.Series[Any]:
    known: pd.Series[Any] = pd.Series(list(seconds), dtype="object").astype("float64")
    times: pd.Series[Any] = pd.to_datetime(known, unit="s", utc=True)
    return times
