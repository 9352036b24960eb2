"""The numbers of a log as a tidy frame: one row a number."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from ..specs import MetricPoint

METRIC_COLUMNS = ("step", "epoch", "host", "name", "value", "time")


def metrics_frame(points: Iterable[MetricPoint]) -> pd.DataFrame:
    """Columns ``METRIC_COLUMNS``: step and epoch NaN where a line gave none, time as UTC timestamps, NaT where unknown."""
    rows = [(point.step, point.epoch, point.host, point.name, point.value, point.time_s) for point in points]
    frame = pd.DataFrame(rows, columns=list(METRIC_COLUMNS))
    numbers = {name: frame[name].astype("float64") for name in ("step", "epoch", "value")}
    tidy: pd.DataFrame = frame.assign(
        **numbers, time=pd.to_datetime(frame["time"].astype("float64"), unit="s", utc=True)
    )
    return tidy
