"""How fast a job worked once warm, from the windows that its log gives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..specs.metrics import MetricPoint

# name of the windowed rate, name of the run's average, unit
_RATES = (
    ("steps_per_second", "train_steps_per_second", "it/s"),
    ("samples_per_second", "train_samples_per_second", "samples/s"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """``median`` over ``windows`` windows with its 5th and 95th percentile, or the log's own average (windows = 0)."""

    unit: str
    median: float
    low: float | None
    high: float | None
    windows: int


def throughput(points: Iterable[MetricPoint], *, unit: str) -> Throughput | None:
    """The rate in ``unit`` (``it/s`` or ``samples/s``) of all workers together; None when the log has none.

    The first window holds compilation and warm-up and is left out when there are others.
    """
    window, average, _ = next(rate for rate in _RATES if rate[2] == unit)
    known = [point for point in points if not point.guessed]
    values = [point.value for point in known if point.name == window and math.isfinite(point.value)]
    steady = sorted(values[1:] or values)
    if steady:
        return Throughput(
            unit=unit,
            median=_quantile(steady, 0.5),
            low=_quantile(steady, 0.05),
            high=_quantile(steady, 0.95),
            windows=len(steady),
        )
    whole = [point.value for point in known if point.name == average and math.isfinite(point.value)]
    return Throughput(unit=unit, median=whole[-1], low=None, high=None, windows=0) if whole else None


def _quantile(ordered: list[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    lower = math.floor(place)
    upper = min(lower + 1, len(ordered) - 1)
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (place - lower)
