"""Log lines of many streams, in one order."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_STREAM = re.compile(r"(?P<job>[^/]+)/(?P<host>algo-\d+)")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One line. ``time_s`` is epoch seconds; ``host`` is ``algo-1``, ``algo-2``, …"""

    time_s: float
    host: str
    text: str


def host_of(stream: str) -> str:
    """``algo-1`` of the stream ``<job>/algo-1-1668112345``; the whole name when it has another form."""
    found = _STREAM.match(stream)
    return found["host"] if found else stream


def merge(streams: Iterable[Iterable[LogEvent]]) -> Iterator[LogEvent]:
    """Interleave by timestamp. Lazy; keeps each stream's own order when times tie."""
    return heapq.merge(*streams, key=lambda event: event.time_s)


def printable(text: str) -> str:
    """A line that a terminal can show: escape sequences and control characters that a job printed are taken out."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))
