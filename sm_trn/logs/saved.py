"""Logs that were saved as text: by us, by ``sm-trn logs --json``, or as a notebook's or terminal's output of the SDK."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

from ..specs import MetricPoint
from .events import LogEvent
from .marks import HEAD, marked_lines
from .metrics import MetricLine, MetricLog, MetricReader
from .sdk_output import Ending, SdkOutput, StatusLine, host_and_text, host_colours
from .sdk_panel import is_panel

_OURS = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\t([^\t\n]{1,512})\t")
_CONTROLS = {"\n": "#012", "\r": "#015"}


def saved_line(event: LogEvent) -> str:
    """The event as one line of text: time, host, text, with tabs between; line breaks in octal, as CloudWatch shows them."""
    when = datetime.fromtimestamp(event.time_s, tz=timezone.utc)
    text = event.text.replace("\n", _CONTROLS["\n"]).replace("\r", _CONTROLS["\r"])
    return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z\t{event.host}\t{text}\n"


@dataclass(frozen=True, slots=True)
class SavedLog:
    """A log as the bytes of its file. What it does not tell – a time, a host – is NaN or empty in its events."""

    raw: bytes

    @property
    def text(self) -> str:
        """Bytes that are no UTF-8 become U+FFFD."""
        return self.raw.decode("utf-8", "replace")

    def events(self) -> Iterator[LogEvent]:
        """Every line, in the order of the text. The SDK's own status lines, dots and panels are not the job's and left out."""
        parse = _line_parser(self.raw)
        if parse is None:
            return SdkOutput(self.text).events()
        return (LogEvent(*parse(line)) for line in self.text.split("\n") if line)

    def lines(self) -> Iterator[MetricLine]:
        """The metric lines, by way of a search for braces: most of a log is never even decoded."""
        reader = MetricReader()
        head = self.raw[:HEAD].decode("utf-8", "replace")
        parse = _line_parser(self.raw)
        if parse is None and is_panel(head):
            yield from reader.lines(self.events())
            return
        hosts = host_colours(head) if parse is None else {}
        for line in marked_lines(self.raw):
            if parse is None:
                yield from reader.feed(*host_and_text(line, hosts), None)
            else:
                time_s, host, text = parse(line)
                yield from reader.feed(host, text, None if math.isnan(time_s) else time_s)

    def metrics(self) -> MetricLog:
        return MetricLog(tuple(self.lines()))

    def points(self) -> tuple[MetricPoint, ...]:
        return tuple(point for line in self.lines() for point in line.points())

    @property
    def status_lines(self) -> tuple[StatusLine, ...]:
        """What the SDK printed about the job's phases."""
        return SdkOutput(self.text).status_lines()

    @property
    def ending(self) -> Ending:
        """Seconds, savings, exit code and reason, as far as the SDK printed them."""
        return SdkOutput(self.text).ending()


def parse_log(text: str | bytes) -> SavedLog:
    """Any text is a log; only what it tells differs."""
    return SavedLog(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))


def _line_parser(raw: bytes) -> Callable[[str], tuple[float, str, str]] | None:
    """How each line of our own formats is read; None when somebody else wrote the log."""
    if _OURS.match(raw[:1024].decode("utf-8", "replace")):
        return _ours
    return _from_json if raw.startswith(b'{"time_s":') else None


def _ours(line: str) -> tuple[float, str, str]:
    head = _OURS.match(line)
    if head is None:
        return math.nan, "", line
    when = datetime.fromisoformat(head[1].replace("Z", "+00:00"))
    return when.timestamp(), head[2], line[head.end() :]


def _from_json(line: str) -> tuple[float, str, str]:
    try:
        body = json.loads(line)
        return float(body["time_s"]), str(body["host"]), str(body["text"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return math.nan, "", line
