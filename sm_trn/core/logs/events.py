"""Log lines of many streams, in one order."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

from ..formatting.printable import printable
from .prefixes import prefix_of

__all__ = ["LogEvent", "host_of", "merge", "printable", "saved_line"]

_CONTROLS = {"\n": "#012", "\r": "#015"}
_STREAM = re.compile(r"(?P<job>[^/]+)/(?P<host>algo-\d+)")


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One line. ``time_s`` is epoch seconds, NaN where a saved log has none; ``host`` is ``algo-1``, ``algo-2``, …"""

    time_s: float
    host: str
    text: str

    @property
    def rank(self) -> int | None:
        """The worker that printed the line, where its launcher wrote it in front; see ``Prefix``."""
        return prefix_of(self.text).rank

    @property
    def message(self) -> str:
        """The line without the launcher's prefix."""
        return self.text[prefix_of(self.text).length :]


def host_of(stream: str) -> str:
    """``algo-1`` of the stream ``<job>/algo-1-1668112345``; the whole name when it has another form."""
    found = _STREAM.match(stream)
    return found["host"] if found else stream


def merge(streams: Iterable[Iterable[LogEvent]]) -> Iterator[LogEvent]:
    """Interleave by timestamp. Lazy; keeps each stream's own order when times tie."""
    return heapq.merge(*streams, key=lambda event: event.time_s)


def saved_line(event: LogEvent) -> str:
    """The event as one line of text: time, host, text, with tabs between; line breaks in octal, as CloudWatch shows them."""
    when = datetime.fromtimestamp(event.time_s, tz=timezone.utc)
    text = event.text.replace("\n", _CONTROLS["\n"]).replace("\r", _CONTROLS["\r"])
    return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z\t{event.host}\t{text}\n"
