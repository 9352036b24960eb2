"""Numbers out of log lines: the Trainer's dict lines, which our scripts print too. Nothing in a line is evaluated."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping

from ..specs import MetricPoint
from .events import LogEvent

_DICT = re.compile(r"\{[^{}]*\}")
_PAIR = re.compile(
    r"""(?P<quote>['"])(?P<key>[A-Za-z_][\w/.\-]*)(?P=quote)\s*:\s*
        (?P<mark>['"]?)(?P<value>[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|nan|NaN|inf|Infinity))(?P=mark)\s*(?=[,}])""",
    re.VERBOSE,
)
_DEPTH = 8  # dicts nested deeper than this are no metric line
_MARKS = frozenset({"loss", "eval_loss", "train_runtime", "train_loss"})


def numbers(line: str) -> Mapping[str, float]:
    """The ``'key': number`` pairs of the dicts in a line, NaN and infinities included; empty when there are none.

    A nested dict's pairs come along, and lose against the same key further out.
    """
    found: dict[str, float] = {}
    for _ in range(_DEPTH):
        layer = [pair for braces in _DICT.finditer(line) for pair in _PAIR.finditer(braces.group())]
        found.update((pair["key"], float(pair["value"])) for pair in layer)
        line, nested = _DICT.subn("()", line)
        if not nested:
            break
    return found


def points(events: Iterable[LogEvent]) -> Iterator[MetricPoint]:
    """Every number of every dict line, with the line's own step and epoch. The same line from several ranks counts once."""
    seen: set[tuple[tuple[str, float], ...]] = set()
    for event in events:
        pairs = numbers(event.text)
        if not pairs:
            continue
        key = tuple(sorted((name, value) for name, value in pairs.items() if not math.isnan(value)))
        if _MARKS & pairs.keys() and key in seen:
            continue
        seen.add(key)
        step, epoch = pairs.get("step"), pairs.get("epoch")
        for name, value in pairs.items():
            if name not in {"step", "epoch"} or len(pairs) == 1:
                yield MetricPoint(name, value, step=step, epoch=epoch, time_s=event.time_s, host=event.host)
