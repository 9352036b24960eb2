"""Metric lines of a whole log: who said what at which step. Copies of other ranks, trial runs, tracebacks and settings are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ..specs.metrics import MetricPoint, MetricRule
from .dicts import dicts
from .events import LogEvent
from .marks import BRACE, COMPILER
from .prefixes import prefix_of
from .rules import RuleReader
from .script import TRACEBACK, ScriptLines, raised
from .suggestions import guessed

_PLACE = frozenset({"step", "epoch"})
# neuron_parallel_compile first runs the script for its graphs and says itself that the numbers mean nothing; its next
# line comes when that run is over.
_TRIAL = "Running trial run"
_REMEMBERED = 4096  # distinct metric lines; copies of other ranks come within seconds
_ECHO_S = 5.0  # workers without a prefix: the same step and the same values again within this time are another worker's
_LONGEST_TRACEBACK = 400  # lines
# Names that a dictionary of settings has and one of results has not: of argparse, transformers' TrainingArguments, peft, hydra.
_SETTING = re.compile(
    r"(?:\w+_)?(?:seed|batch_size|num_workers|num_labels|num_layers|num_heads|hidden_size|hidden_dim|vocab_size|dropout|weight_decay"
    r"|warmup_steps|warmup_ratio|eval_steps|save_steps|logging_steps|max_steps|accumulation_steps|epochs|max_length|max_seq_length"
    r"|block_size|patience|momentum|max_grad_norm|world_size|lora_r|lora_alpha|adam_beta[12]|adam_epsilon)"
)

Values = Mapping[str, float]
Key = tuple[object, ...]  # the names, then the values
Worker = tuple[str, "int | None"]  # host and rank


class MetricLine(NamedTuple):
    """The numbers of one line: of a printed dict, of the rules that matched it, or ``guessed``. (A tuple: logs hold a great many.)"""

    values: Values
    time_s: float | None
    host: str
    rank: int | None
    guessed: bool = False

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
                place = {"step": self.step, "epoch": self.epoch, "time_s": self.time_s, "host": self.host}
                yield MetricPoint(name, value, guessed=self.guessed, **place)  # type: ignore[arg-type]  # four kinds of values


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
    stay. ``rules`` are the job's own expressions: a number that one of them finds is right, whatever a dict calls so. Without
    rules, numbers of ordinary lines (``step 3 loss: 0.41``) are guessed, but for those that a printed dict gave before.
    """

    def __init__(self, rules: Iterable[MetricRule] = ()) -> None:
        self.rules = RuleReader(rules)
        self._of_rules: set[str] = set()  # names for which a rule has found a number
        self._of_dicts: set[str] = set()  # names that a printed dict gave
        self._copies = _Copies()
        self._trials: set[str] = set()
        self._tracebacks: dict[Worker, int] = {}  # how many lines of it have come
        self._script = ScriptLines()

    def read(self, events: Iterable[LogEvent]) -> Iterator[MetricPoint]:
        """Every number of every metric line."""
        for line in self.lines(events):
            yield from line.points()

    def lines(self, events: Iterable[LogEvent]) -> Iterator[MetricLine]:
        """The metric lines, each as its event comes."""
        for event in events:
            yield from self.feed(event)

    def feed(self, event: LogEvent) -> list[MetricLine]:
        """The news of one log line."""
        text, host = event.text, event.host
        if COMPILER in text:
            (self._trials.add if _TRIAL in text else self._trials.discard)(host)
        script = self._script.wants(event) if not self.rules else False
        if host in self._trials or self._in_traceback(event):
            return []
        found = [values for values in dicts(text) if not _is_dump(tuple(values))] if BRACE in text else []
        ruled = self.rules.values(text) if self.rules and self.rules.may_match(text) else {}
        if ruled or self._of_rules:
            self._of_rules |= ruled.keys()
            found = [{name: values[name] for name in values if name not in self._of_rules} for values in found] or [{}]
            found[-1] |= ruled
        self._of_dicts.update(*found)
        guess = guessed(text) if script and BRACE not in text else {}
        if not self._of_dicts.isdisjoint(guess.keys() - _PLACE):
            guess = {}
        if not any(found) and not guess:
            return []
        who = host, prefix_of(text).rank
        time_s = event.time_s if event.time_s == event.time_s else None  # NaN: not known
        news = [values for values in found or [guess] if values and not self._copies.copy(values, who, time_s)]
        return [MetricLine(values, time_s, *who, guessed=bool(guess)) for values in news]

    def _in_traceback(self, event: LogEvent) -> bool:
        """Return True for the lines between the head of a traceback and the exception that it names."""
        if not self._tracebacks and TRACEBACK not in event.text:
            return False
        prefix = prefix_of(event.text)
        who, line = (event.host, prefix.rank), event.text[prefix.length :]
        if TRACEBACK in line:
            self._tracebacks[who] = 0
        elif who not in self._tracebacks:
            return False
        self._tracebacks[who] += 1
        if raised(line.strip()) or self._tracebacks[who] > _LONGEST_TRACEBACK:
            del self._tracebacks[who]
        return True


def of_settings(text: str) -> bool:
    """Return True for a line whose dicts are settings."""
    found = dicts(text) if BRACE in text else []
    return bool(found) and all(_is_dump(tuple(values)) for values in found)


@lru_cache(maxsize=256)  # a job's lines have few different sets of names
def _is_dump(names: tuple[str, ...]) -> bool:
    """Return True for the names of a dictionary of settings, which says no step and no epoch."""
    return _PLACE.isdisjoint(names) and any(map(_SETTING.fullmatch, names))


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
