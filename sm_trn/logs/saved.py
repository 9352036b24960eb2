"""Logs that were saved as text: by us, by ``sm-trn logs --json``, or as a notebook's or terminal's output of the SDK."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

from ..specs import MetricPoint
from .events import LogEvent
from .marks import marked_spans
from .metrics import MetricLine, MetricLog, MetricReader
from .sdk_output import Ending, SdkOutput, StatusLine

_OURS = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\t([^\t\n]{1,512})\t")
_CONTROLS = {"\n": "#012", "\r": "#015"}


def saved_line(event: LogEvent) -> str:
    """The event as one line of text: time, host, text, with tabs between; line breaks in octal, as CloudWatch shows them."""
    when = datetime.fromtimestamp(event.time_s, tz=timezone.utc)
    text = event.text.replace("\n", _CONTROLS["\n"]).replace("\r", _CONTROLS["\r"])
    return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z\t{event.host}\t{text}\n"


@dataclass(frozen=True, slots=True)
class SavedLog:
    """A log as text. What the text does not tell – a time, a host – is NaN or empty in its events."""

    text: str

    def events(self) -> Iterator[LogEvent]:
        """Every line, in the order of the text. The SDK's own status lines, dots and panels are not the job's and left out."""
        return _events(self.text, only_marked=False)

    def metrics(self) -> MetricLog:
        """The metric lines, by way of a search for braces: most of a log is never looked at."""
        return MetricLog(tuple(self.lines()))

    def lines(self) -> Iterator[MetricLine]:
        return MetricReader().lines(_events(self.text, only_marked=True))

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


def parse_log(text: str) -> SavedLog:
    """Any text is a log; only what it tells differs."""
    return SavedLog(text)


def _events(text: str, *, only_marked: bool) -> Iterator[LogEvent]:
    if _OURS.match(text):
        return (_ours(line) for line in _lines(text, only_marked=only_marked))
    if text.startswith('{"time_s":'):
        return (_from_json(line) for line in _lines(text, only_marked=False))
    return SdkOutput(text).events(only_marked=only_marked)


def _lines(text: str, *, only_marked: bool) -> Iterator[str]:
    if only_marked:
        return (text[start:end] for start, end in marked_spans(text))
    return (line for line in text.split("\n") if line)


def _ours(line: str) -> LogEvent:
    head = _OURS.match(line)
    if head is None:
        return LogEvent(math.nan, "", line)
    return LogEvent(datetime.fromisoformat(head[1].replace("Z", "+00:00")).timestamp(), head[2], line[head.end() :])


def _from_json(line: str) -> LogEvent:
    try:
        body = json.loads(line)
        return LogEvent(float(body["time_s"]), str(body["host"]), str(body["text"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return LogEvent(math.nan, "", line)
