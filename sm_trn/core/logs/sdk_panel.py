"""SDK v3's printed logs, unwrapped: it draws every log line into a column between a time and a source file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ..formatting.printable import plain
from .events import LogEvent, host_of

_STAMP = re.compile(r"\[\d\d/\d\d/\d\d \d\d:\d\d:\d\d\]")
_MARGIN = 19 + 1 + 8 + 1  # time, level and a space behind each
_LEVEL = re.compile(r"(?:\[\d\d/\d\d/\d\d \d\d:\d\d:\d\d\]|\s{19}) (?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s{1,8}")
_PAD = re.compile(r"\s?\x1b\[2m\s*\x1b\[0m\s*$|\s?\x1b\]8;.*$")  # the source column: empty, or a link
_STREAM = re.compile(r"([\w-]{1,63}/algo-\d{1,5}-\d{1,12}):(.*)", re.DOTALL)


def is_panel(text: str) -> bool:
    """Whether SDK v3 printed this."""
    return _STAMP.search(plain(text[:2000])) is not None and "\x1b]8;" in text[:2000]


def panel_events(text: str) -> Iterator[LogEvent]:
    """The job's lines; SDK v3's own messages are left out."""
    record: list[str] = []
    for line in text.split("\n"):
        cut = _PAD.sub("", line)
        visible = plain(cut) if "\x1b" in cut else cut
        if _LEVEL.match(visible):
            yield from _event(record)
            record = []
        record.append(visible[_MARGIN:])
    yield from _event(record)


def _event(record: list[str]) -> Iterator[LogEvent]:
    """Parts are padded to the column's width: one that fills it was cut anywhere, another one at a space."""
    joined = ""
    for part in record:
        said = part.rstrip()
        joined += said if len(said) == len(part) else said + " "
    named = _STREAM.match(joined)
    if named:
        yield LogEvent(math.nan, host_of(named[1]), named[2].strip())
