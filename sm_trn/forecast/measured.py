"""Seconds of an optimizer step as a job's own log tells them: of a first run of a few steps, or of an earlier one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from ..core.logs.events import LogEvent
from ..core.logs.metrics import MetricReader
from ..core.logs.throughput import throughput
from ..core.specs.metrics import MetricPoint, MetricRule
from .step import Interval

WARM_UP = 10  # first steps of a progress bar that are not timed: compilation, allocation, caches
SHORTEST_S = 20  # a bar's clock has whole seconds: less would be wrong by more than five per cent
# How a whole run's step compares to its first fifty: 0.99 to 1.22 times as long in eight public logs, for a run also evaluates and saves.
FASTER, SLOWER = 0.95, 1.2
# A bar of tqdm without a description, in steps: "50/500 [01:23<12:30, 1.67s/it". Bars of downloads and of `map` have other units.
_BAR = re.compile(r"\b(\d{1,9})/(\d{1,9}) \[(?:(\d{1,4}):)?(\d{1,2}):(\d{2})<[^\]]{0,40}(?:it/s|s/it)")
_DESCRIBED = re.compile(r"[A-Za-z)\]]: *\d{1,3}%\|")


def logged_step(events: Iterable[LogEvent], *, batch: float, rules: Iterable[MetricRule] = ()) -> Interval | None:
    """The seconds of an optimizer step as a log tells them; None where it says nothing.

    ``batch`` is the global batch: it makes steps of samples a second. The first of these that the log has is taken: windows of
    steps or samples a second, the progress bar of the training, the averages that the Trainer prints at its end.
    """
    points: list[MetricPoint] = []
    bars: dict[int, list[tuple[int, int]]] = defaultdict(list)
    reader = MetricReader(rules)
    for event in events:
        points.extend(reader.read([event]))
        for part in event.text.split("\r"):
            match = _BAR.search(part)
            if match and not _DESCRIBED.search(part):
                done, whole, hours, minutes, seconds = (int(each or 0) for each in match.groups())
                bars[whole].append((done, hours * 3600 + minutes * 60 + seconds))
    step_s = _rate(points, batch, windows=True) or _of_bar(bars) or _rate(points, batch, windows=False)
    return Interval(step_s * FASTER, step_s, step_s * SLOWER) if step_s else None


def _of_bar(bars: Mapping[int, list[tuple[int, int]]]) -> float:
    """The bar that took longest is the training's: those of evaluations run within it."""
    states = max(bars.values(), key=lambda each: max(elapsed for _, elapsed in each), default=[])
    warm = [state for state in states if state[0] >= WARM_UP]
    (first, began), (last, ended) = min(warm, default=(0, 0)), max(warm, default=(0, 0))
    return (ended - began) / (last - first) if last > first and ended - began >= SHORTEST_S else 0.0


def _rate(points: list[MetricPoint], batch: float, *, windows: bool) -> float:
    for unit, samples in (("it/s", 1.0), ("samples/s", batch)):
        rate = throughput(points, unit=unit)
        if rate is not None and rate.median > 0 and (rate.windows > 0) is windows:
            return samples / rate.median
    return 0.0
