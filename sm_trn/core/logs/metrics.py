"""Metric lines of a whole log: who said what at which step, copies of other ranks and trial runs left out."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from typing import NamedTuple

from ..specs.metrics import MetricPoint, MetricRule
from .dicts import dicts, dicts_of, whole_dicts
from .events import LogEvent
from .marks import BRACE, COMPILER
from .prefixes import prefix_of
from .rules import RuleReader

_PLACE = frozenset({"step", "epoch"})
# neuron_parallel_compile first runs the script for its graphs and says itself that the numbers mean nothing; its next
# line comes when that run is over.
_TRIAL = "Running trial run"
_REMEMBERED = 4096  # distinct metric lines; copies of other ranks come within seconds
AT_ONCE = 256  # lines that are decoded together
_BETWEEN_COLLECTIONS = 16 * AT_ONCE
_ECHO_S = 5.0  # workers without a prefix: the same step and the same values again within this time are another worker's

_NEW_LINE = tuple.__new__  # a named tuple's own way there is a function call longer
Values = Mapping[str, float]
Key = tuple[object, ...]  # the names, then the values
Worker = tuple[str, "int | None"]  # host and rank


class MetricLine(NamedTuple):
    """The numbers of one printed dict, or of the rules that matched one line. (A tuple: logs hold a great many.)"""

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
        self._ruled = bool(self.rules)
        self._copies = _Copies()
        self._trials: set[str] = set()

    def read(self, events: Iterable[LogEvent]) -> Iterator[MetricPoint]:
        """Every number of every metric line."""
        for line in self.lines(events):
            yield from line.points()

    def lines(self, events: Iterable[LogEvent]) -> Iterator[MetricLine]:
        """The metric lines. What is all there – a list, a tuple – is read in parts; of an iterator each event as it comes."""
        if isinstance(events, (list, tuple)):
            matches = self.rules.may_match
            if self._ruled:
                marked = [e for e in events if BRACE in e.text or COMPILER in e.text or matches(e.text)]
            else:
                marked = [e for e in events if BRACE in e.text or COMPILER in e.text]
            for start in range(0, len(marked), _BETWEEN_COLLECTIONS):
                with uncollected():
                    news = [self._part(marked[at : at + AT_ONCE])
                            for at in range(start, min(start + _BETWEEN_COLLECTIONS, len(marked)), AT_ONCE)]  # fmt: skip
                yield from chain.from_iterable(news)
            return
        for event in events:
            text = event.text
            if BRACE in text or COMPILER in text or (self._ruled and self.rules.may_match(text)):
                time_s = event.time_s if event.time_s == event.time_s else None  # NaN: not known
                yield from self.feed(event.host, text, time_s)

    def _part(self, events: Sequence[LogEvent]) -> list[MetricLine]:
        hosts = [event.host for event in events]
        times = [event.time_s if event.time_s == event.time_s else None for event in events]
        texts = [event.text for event in events]
        found = self.whole(texts, hosts, times)
        return self.mixed(texts, hosts, times) if found is None else found

    def mixed(self, texts: Sequence[str], hosts: Sequence[str], times: Sequence[float | None]) -> list[MetricLine]:
        """The news of any lines, in order."""
        if self._ruled or self._trials or any(COMPILER in text for text in texts):
            fed = (self.feed(*said) for said in zip(hosts, texts, times, strict=True))
            return [line for lines in fed for line in lines]
        news: list[MetricLine] = []
        for text, found, host, time_s in zip(texts, dicts_of(texts), hosts, times, strict=True):
            if not found:
                continue
            who = host, prefix_of(text).rank
            new = [values for values in found if not self._copies.copy(values, who, time_s)]
            news.extend(_NEW_LINE(MetricLine, (values, time_s, *who)) for values in new)
        return news

    def whole(
        self, texts: Sequence[str], hosts: Sequence[str], times: Sequence[float | None]
    ) -> list[MetricLine] | None:
        """The news of lines that are one dict each, in a fraction of ``feed``'s time. None, and nothing was read, when one of
        them is something else."""
        trees = None if self._trials else whole_dicts(texts)
        if trees is None:
            return None
        ruled = self.rules.of_lines(texts, trees) if self._ruled else trees
        told = [tree or values for tree, values in zip(trees, ruled, strict=True)] if self._ruled else trees
        if not all(told):
            there = [bool(values) for values in told]
            trees, ruled, told = (list(compress(dicts, there)) for dicts in (trees, ruled, told))
            hosts, times = list(compress(hosts, there)), list(compress(times, there))
        keys = [(*values, *values.values()) for values in told]
        if keys and not self._copies.add(keys, hosts, times):
            copy = self._copies.copy
            news = [not copy(*said) for said in zip(told, ((host, None) for host in hosts), times, strict=True)]
            trees, ruled = list(compress(trees, news)), list(compress(ruled, news))
            hosts, times = list(compress(hosts, news)), list(compress(times, news))
        if not self._ruled:
            return list(map(_NEW_LINE, repeat(MetricLine), zip(trees, times, hosts, repeat(None), strict=False)))
        return [
            _NEW_LINE(MetricLine, (values, time_s, host, None))
            for pair, time_s, host in zip(zip(trees, ruled, strict=True), times, hosts, strict=True)
            for values in pair
            if values
        ]

    def feed(self, host: str, text: str, time_s: float | None) -> list[MetricLine]:
        """The news of one log line."""
        if COMPILER in text:
            (self._trials.add if _TRIAL in text else self._trials.discard)(host)
        if host in self._trials:
            return []
        found: list[dict[str, float]] = dicts(text)
        ruled: dict[str, float] = {}
        if self._ruled:
            ruled = self.rules.values(text, {name for values in found for name in values})
        if not found and not ruled:
            return []
        rank = prefix_of(text).rank
        who = host, rank
        news = [values for values in found or [ruled] if not self._copies.copy(values, who, time_s)]
        if found and news and ruled:  # one line, one worker: what the rules find in it is news with its dict
            news.append(ruled)
        return [MetricLine(values, time_s, host, rank) for values in news]


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No search for garbage meanwhile: a hundred thousand lines that all stay are looked through again and again, for a third
    of the time. None of them is in a cycle, and those of others wait."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def points(events: Iterable[LogEvent]) -> Iterator[MetricPoint]:
    """Every number of every dict line, with the line's own step and epoch; see ``MetricReader``."""
    return MetricReader().read(events)


class _Tally:
    """How often each worker has said a line, how often that was news, and when each host last began to say it."""

    __slots__ = ("_since", "news", "said")

    def __init__(self, who: Worker, time_s: float | None) -> None:
        self.news = 1
        self.said = {who: 1}
        self._since = {} if time_s is None else {who[0]: time_s}

    def echo(self, host: str, time_s: float | None, adjacent: bool) -> bool:
        """Workers of one host without a prefix: who speaks is not known, but nobody repeats a step that fast."""
        if time_s is None:
            return adjacent
        before = self._since.get(host)
        if before is not None and 0 <= time_s - before < _ECHO_S:
            return True
        self._since[host] = time_s
        return False


class _Copies:
    """Recognises what several ranks say about the same step. The n-th time that a rank says a line is news only if no
    other rank has said it n times."""

    def __init__(self) -> None:
        # What was said once, by whom and when; a tally only where it was said again. Two generations bound the memory.
        self._young: dict[Key, tuple[Worker, float | None] | _Tally] = {}
        self._old: dict[Key, tuple[Worker, float | None] | _Tally] = {}
        self._latest: dict[str, Key] = {}

    def add(self, keys: Sequence[Key], hosts: Sequence[str], times: Sequence[float | None]) -> bool:
        """Remember lines, of workers without a prefix, if nobody has said any of them before, and return whether that is so."""
        workers: dict[str, Worker] = {host: (host, None) for host in {*hosts}}
        new: dict[Key, tuple[Worker, float | None] | _Tally]
        if (
            len(workers) == 1 and times[0] is None and times[-1] is None and not any(times)
        ):  # a text, not a service's events
            new = dict.fromkeys(keys, (workers[hosts[0]], None))
        else:
            new = dict(zip(keys, zip(map(workers.__getitem__, hosts), times, strict=True), strict=True))
        if len(new) < len(keys) or not self._young.keys().isdisjoint(new) or not self._old.keys().isdisjoint(new):
            return False
        self._young.update(new)
        self._latest.update(zip(hosts, keys, strict=True))
        if len(self._young) >= _REMEMBERED:
            self._young, self._old = {}, self._young
        return True

    def copy(self, values: Values, who: Worker, time_s: float | None) -> bool:
        key = (*values, *values.values())
        first = who, time_s
        said = self._young.setdefault(key, first)
        if said is first and self._old:
            said = self._old.pop(key, first)
        if said is first:
            self._latest[who[0]] = key
            if len(self._young) >= _REMEMBERED:
                self._young, self._old = {}, self._young
            return False
        before, self._latest[who[0]] = self._latest.get(who[0]), key
        tally = said if isinstance(said, _Tally) else _Tally(*said)
        self._young[key] = tally
        if who[1] is None and ("step" in values or "epoch" in values) and tally.echo(who[0], time_s, before == key):
            return True
        times = tally.said[who] = tally.said.get(who, 0) + 1
        if times <= tally.news:
            return True
        tally.news = times
        return False
