"""Metric lines of a whole log: who said what at which step, copies of other ranks and trial runs left out."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..specs import MetricPoint, MetricRule
from .dicts import dicts
from .events import LogEvent
from .prefixes import prefix_of
from .rules import RuleReader

_PLACE = frozenset({"step", "epoch"})
# neuron_parallel_compile first runs the script for its graphs and says itself that the numbers mean nothing; its next
# line comes when that run is over.
_COMPILER, _TRIAL = "PARALLEL_COMPILE||:", "Running trial run"
_REMEMBERED = 4096  # distinct metric lines; copies of other ranks come within seconds
_ECHO_S = 5.0  # workers without a prefix: the same step and the same values again within this time are another worker's

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLine:
    """The numbers of one printed dict, or of the rules that matched one line."""

    values: Values
    time_s: float | None
    host: str
    rank: int | None

    @property
    def step(self) -> float | None:
        return self.values.get("step")

    @property
    def epoch(self) -> float | None:
        return self.values.get("epoch")

    @property
    def view(self) -> str:
        """``train`` (has a loss), ``eval``, ``summary`` (the Trainer's last words) or ``other``."""
        if "loss" in self.values:
            return "train"
        if any(name.startswith("eval_") for name in self.values):
            return "eval"
        return "summary" if "train_runtime" in self.values else "other"

    def points(self) -> Iterator[MetricPoint]:
        """One point a number; step and epoch are where the others stand, unless nothing else was said."""
        for name, value in self.values.items():
            if name not in _PLACE or len(self.values) == 1:
                yield MetricPoint(name, value, step=self.step, epoch=self.epoch, time_s=self.time_s, host=self.host)


@dataclass(frozen=True, slots=True)
class MetricLog:
    """All metric lines of a log, in order, and the views that a training run is read in."""

    lines: tuple[MetricLine, ...] = ()

    @property
    def points(self) -> tuple[MetricPoint, ...]:
        return tuple(point for line in self.lines for point in line.points())

    def view(self, name: str) -> tuple[MetricLine, ...]:
        return tuple(line for line in self.lines if line.view == name)

    @property
    def train(self) -> tuple[Values, ...]:
        """What was logged while training: loss, learning_rate, epoch, …"""
        return tuple(line.values for line in self.view("train"))

    @property
    def eval(self) -> tuple[Values, ...]:
        return tuple(line.values for line in self.view("eval"))

    @property
    def summary(self) -> Values:
        """train_runtime, train_samples_per_second, … – the last word of each."""
        merged: dict[str, float] = {}
        for line in self.view("summary"):
            merged.update(line.values)
        return merged


class MetricReader:
    """Reads a log piece by piece; keep one per job. Memory does not grow with the log.

    A line that another rank has said already is left out; the same values again from the same rank are a real repeat and
    stay. ``rules`` are the job's own expressions; where a dict of the same line has a name already, the dict is right.
    """

    def __init__(self, rules: Iterable[MetricRule] = ()) -> None:
        self.rules = RuleReader(rules)
        self._copies = _Copies()
        self._trials: set[str] = set()

    def read(self, events: Iterable[LogEvent]) -> Iterator[MetricPoint]:
        """Every number of every metric line."""
        for line in self.lines(events):
            yield from line.points()

    def lines(self, events: Iterable[LogEvent]) -> Iterator[MetricLine]:
        for event in events:
            text = event.text
            if _COMPILER in text:
                self._trial(event)
            if ("{" in text or self.rules) and not (self._trials and event.host in self._trials):
                yield from self._of(event)

    def _of(self, event: LogEvent) -> Iterator[MetricLine]:
        prefix = prefix_of(event.text)
        host = prefix.host or event.host
        time_s = None if math.isnan(event.time_s) else event.time_s
        for values in self._values(event.text):
            if not self._copies.copy(values, host, prefix.rank, time_s):
                yield MetricLine(values=values, time_s=time_s, host=event.host, rank=prefix.rank)

    def _values(self, text: str) -> Iterator[Values]:
        found = list(dicts(text))
        yield from found
        if self.rules:
            known = {name for values in found for name in values}
            ruled = {name: value for name, value in self.rules.values(text).items() if name not in known}
            if ruled:
                yield ruled

    def _trial(self, event: LogEvent) -> None:
        if _TRIAL in event.text:
            self._trials.add(event.host)
        else:
            self._trials.discard(event.host)


def points(events: Iterable[LogEvent]) -> Iterator[MetricPoint]:
    """Every number of every dict line, with the line's own step and epoch; see ``MetricReader``."""
    return MetricReader().read(events)


@dataclass(slots=True)
class _Tally:
    """How often each worker has said a line, and how often that was news."""

    news: int = 0
    said: dict[tuple[str, int | None], int] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)


class _Copies:
    """Recognises what several ranks say about the same step. The n-th time that a rank says a line is news only if no
    other rank has said it n times."""

    def __init__(self) -> None:
        self._tallies: OrderedDict[frozenset[tuple[str, object]], _Tally] = OrderedDict()
        self._latest: dict[str, frozenset[tuple[str, object]]] = {}

    def copy(self, values: Values, host: str, rank: int | None, time_s: float | None) -> bool:
        key = frozenset((name, value if value == value else "nan") for name, value in values.items())  # noqa: PLR0124 - NaN
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = _Tally()
            if len(self._tallies) > _REMEMBERED:
                self._tallies.popitem(last=False)
        latest = self._latest.get(host)
        self._latest[host] = key
        if rank is None and not _PLACE.isdisjoint(values) and self._echo(tally, host, time_s, key == latest):
            return True
        times = tally.said[host, rank] = tally.said.get((host, rank), 0) + 1
        if times <= tally.news:
            return True
        tally.news = times
        return False

    @staticmethod
    def _echo(tally: _Tally, host: str, time_s: float | None, adjacent: bool) -> bool:
        """Workers of one host without a prefix: who speaks is not known, but nobody repeats a step that fast."""
        if time_s is None:
            return adjacent
        before = tally.since.get(host)
        if before is not None and 0 <= time_s - before < _ECHO_S:
            return True
        tally.since[host] = time_s
        return False
