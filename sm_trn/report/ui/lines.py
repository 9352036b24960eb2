"""The end of one job's log, and what of it somebody looks for. Memory does not grow with the log."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import regex

from ...core.formatting.printable import shown
from ...core.logs.events import LogEvent
from ...core.logs.script import ScriptLines, exception_of
from ...core.logs.selection import LogFilter
from ...core.logs.suggestions import Suggester

MOST, MOST_CHARACTERS = 20_000, 6_000_000
LONGEST = 4_000  # characters of a line that is shown
WINDOW = 400  # lines of one answer
_BAD = regex.compile(
    r"Traceback \(most recent call last\)|^[\w.]*(?:Error|Exception)\b|\bCUDA out of memory|\b(?:ERROR|FATAL|CRITICAL)\b"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its place in the whole log."""

    number: int
    event: LogEvent
    script: bool
    bad: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Lines that match, and what lies around them. ``first`` is the number of the oldest line that is kept."""

    lines: tuple[Line, ...]
    matching: int
    kept: int
    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which lines: a host, a rank, a text or ``/expression/``, only the script's. Raises SmTrnError for a bad expression."""

    host: str = ""
    rank: int | None = None
    find: str = ""
    script: bool = False

    def filter(self) -> LogFilter:
        found = self.find
        if len(found) > 2 and found[0] == found[-1] == "/":
            pattern: str | None = found[1:-1]
        else:
            pattern = f"(?i){regex.escape(found)}" if found else None
        return LogFilter(host=self.host or None, rank=self.rank, matching=pattern)


class Lines:
    """Keeps the newest lines. The poller adds, requests read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[Line] = deque()
        self._characters = 0
        self._end = 0
        self._script = ScriptLines()
        self._suggester = Suggester()
        self.hosts: dict[str, None] = {}
        self.ranks: set[int] = set()
        self.cause: tuple[int, str] = (
            -1,
            "",
        )  # how many lines there were when the cause was looked for, and what it was

    @property
    def end(self) -> int:
        """How many lines there were."""
        return self._end

    def add(self, events: Iterable[LogEvent]) -> None:
        with self._lock:
            for event in events:
                self._suggester.hear((event,))
                script = self._script.wants(event)
                line = Line(self._end, event, script, script and _BAD.search(event.message[:500]) is not None)
                self._kept.append(line)
                self._end += 1
                self._characters += len(event.text)
                self.hosts.setdefault(event.host)
                rank = event.rank
                if rank is not None:
                    self.ranks.add(rank)
                while len(self._kept) > MOST or (self._characters > MOST_CHARACTERS and len(self._kept) > 1):
                    self._characters -= len(self._kept.popleft().event.text)

    @property
    def unread(self) -> str:
        """The names of numbers that rules could read; empty where there are none."""
        with self._lock:
            return self._suggester.names

    def window(self, wanted: Wanted, *, before: int | None = None, after: int | None = None) -> Window:
        """The last ``WINDOW`` lines that match before line number ``before``, or the first ones from ``after`` on.

        Raises SmTrnError for an expression that is wrong or would not end.
        """
        test = wanted.filter()
        with self._lock:
            kept, end = tuple(self._kept), self._end
        found = [line for line in kept if (line.script or not wanted.script) and test.wants(line.event)]
        matching = len(found)
        if after is not None:
            found = [line for line in found if line.number >= after][:WINDOW]
        else:
            found = [line for line in found if before is None or line.number < before][-WINDOW:]
        first = kept[0].number if kept else end
        return Window(lines=tuple(found), matching=matching, kept=len(kept), first=first, end=end)

    def first_bad(self) -> int | None:
        """The number of the script's first line that tells of an error; None without one."""
        with self._lock:
            return next((line.number for line in self._kept if line.bad), None)

    def exception(self) -> str:
        """The exception that ended the script; empty where the lines show none."""
        with self._lock:
            events = [line.event for line in self._kept]
        return exception_of(events)

    def events(self) -> tuple[LogEvent, ...]:
        """The lines that are kept."""
        with self._lock:
            return tuple(line.event for line in self._kept)


def line_text(line: Line) -> str:
    """As a person reads it: without its launcher's prefix, of a progress bar the last state."""
    text = shown(line.event.message)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … {len(text) - LONGEST:,} more characters"
