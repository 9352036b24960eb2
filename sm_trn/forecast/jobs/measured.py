"""Seconds of an optimizer step as a job's own log tells them: the log of a trial, or of an earlier run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...core.logs.events import LogEvent
from ...core.logs.metrics import MetricReader
from ...core.logs.throughput import throughput
from ...core.specs.metrics import MetricPoint, MetricRule
from ..intervals import Interval

WARM_UP = 10  # first steps of a progress bar that are not timed: compilation, allocation, caches
SHORTEST_S = 20  # a bar's clock has whole seconds: less would be wrong by more than five per cent
# How a whole run's step compares to its first fifty: 0.99 to 1.22 times as long in eight public logs, for a run also evaluates and saves.
FASTER, SLOWER = 0.95, 1.2
# A bar of tqdm without a description, in steps: "50/500 [01:23<12:30, 1.67s/it". Bars of downloads and of `map` have other units.
_BAR = re.compile(r"\b(\d{1,9})/(\d{1,9}) \[(?:(\d{1,4}):)?(\d{1,2}):(\d{2})<[^\]]{0,40}(?:it/s|s/it)")
_DESCRIBED = re.compile(r"[A-Za-z)\]]: *\d{1,3}%\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """``step_s`` is seconds of one optimizer step. ``steps`` were timed after the warm-up (0: the log gives an average alone) by
    ``source``, in words."""

    step_s: Interval
    steps: int
    source: str


def step_times(events: Iterable[LogEvent], *, batch: float, rules: Iterable[MetricRule] = ()) -> StepTimes | None:
    """What a log says of the seconds of an optimizer step; None where it says nothing.

    ``batch`` is the global batch: it makes steps of samples a second. The first of these that the log has is taken: windows of
    steps or samples a second, the progress bar of the training, the averages that the Trainer prints at its end.
    """
    points: list[MetricPoint] = []
    bars: dict[int, list[tuple[int, int]]] = defaultdict(list)
    reader = MetricReader(rules)
    for event in events:
        points.extend(reader.read([event]))
        for total, done, elapsed_s in _bars(event.text):
            bars[total].append((done, elapsed_s))
    return _rates(points, batch, windows=True) or _of_bar(bars) or _rates(points, batch, windows=False)


def _bars(text: str) -> Iterator[tuple[int, int, int]]:
    """Total, done and elapsed seconds of each state of a progress bar in a line."""
    for part in text.split("\r"):
        found = _BAR.search(part)
        if found and not _DESCRIBED.search(part):
            done, total, hours, minutes, seconds = (int(each or 0) for each in found.groups())
            yield total, done, hours * 3600 + minutes * 60 + seconds


def _of_bar(bars: dict[int, list[tuple[int, int]]]) -> StepTimes | None:
    """The bar that took longest is the training's: those of evaluations run within it."""
    if not bars:
        return None
    states = max(bars.values(), key=lambda each: max(elapsed_s for _, elapsed_s in each))
    warm = [(done, elapsed_s) for done, elapsed_s in states if done >= WARM_UP]
    if not warm:
        return None
    (first, began_s), (last, ended_s) = min(warm), max(warm)
    if last <= first or ended_s - began_s < SHORTEST_S:
        return None
    return _times((ended_s - began_s) / (last - first), last - first, "its progress bar")


def _rates(points: list[MetricPoint], batch: float, *, windows: bool) -> StepTimes | None:
    for unit, samples in (("it/s", 1.0), ("samples/s", batch)):
        rate = throughput(points, unit=unit)
        if rate is None or rate.median <= 0 or (rate.windows > 0) is not windows:
            continue
        steps = [point.step for point in points if point.step is not None]
        timed = int(max(steps) - min(steps)) if steps and windows else 0
        return _times(samples / rate.median, timed, f"the {unit} that it prints")
    return None


def _times(step_s: float, steps: int, source: str) -> StepTimes:
    return StepTimes(step_s=Interval(step_s * FASTER, step_s, step_s * SLOWER), steps=steps, source=source)
