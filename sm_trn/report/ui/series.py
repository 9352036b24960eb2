"""Curves of one job for a screen: every metric in a bounded number of points, however long the job runs."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...core.specs.metrics import MetricPoint
from ..watch.progress import Newest

POINTS = 400  # of one curve, at most twice as many: a figure is hardly wider in pixels
METRICS = 40  # of one job; a script that prints more names is shown the first
_RECENT = 600  # numbers of all metrics: enough for the rate of the last minutes


@dataclass(slots=True)
class Series:
    """One metric, taken evenly from the whole run, the newest always last. What is not a number is NaN."""

    name: str
    steps: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    last: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    low: float = math.inf
    high: float = -math.inf
    seen: int = 0
    broken_step: float | None = None  # where it first was no number
    _apart: int = 1

    def add(self, point: MetricPoint) -> None:
        step = math.nan if point.step is None else point.step
        time_s = math.nan if point.time_s is None else point.time_s
        self.last = (step, time_s, point.value)
        if self.seen % self._apart == 0:
            for column, value in zip((self.steps, self.times, self.values), self.last, strict=True):
                column.append(value)
        self.seen += 1
        if math.isfinite(point.value):
            self.low, self.high = min(self.low, point.value), max(self.high, point.value)
        elif self.broken_step is None:
            self.broken_step = step
        if len(self.values) == 2 * POINTS:
            self.steps, self.times, self.values = self.steps[::2], self.times[::2], self.values[::2]
            self._apart *= 2

    def rows(self) -> Iterator[tuple[float, float, float]]:
        """Step, epoch seconds and value."""
        yield from zip(self.steps, self.times, self.values, strict=True)
        if self.seen and (self.seen - 1) % self._apart:
            yield self.last


@dataclass(slots=True)
class Recent(Newest):
    """The newest numbers of a job that is in the list."""

    _points: deque[MetricPoint] = field(default_factory=lambda: deque(maxlen=_RECENT))


@dataclass(slots=True)
class Curves(Recent):
    """The same of a job that is looked at, and a curve for every metric."""

    series: dict[str, Series] = field(default_factory=dict)

    def add(self, point: MetricPoint) -> None:
        Newest.add(self, point)
        if point.name not in self.series:
            if len(self.series) >= METRICS:
                return
            self.series[point.name] = Series(point.name)
        self.series[point.name].add(point)
