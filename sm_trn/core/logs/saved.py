"""Logs that were saved as text: by us, by ``sm-trn logs --json``, or as a notebook's or terminal's output of the SDK."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from ..errors import SmTrnError
from ..specs.metrics import MetricPoint, MetricRule
from .events import LogEvent
from .marks import HEAD
from .metrics import MetricLine, MetricLog, MetricReader
from .rules import RuleReader
from .sdk_output import Ending, SdkOutput, StatusLine, host_and_text, host_colours
from .sdk_panel import is_panel

_OURS = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\t([^\t\n]{1,512})\t")
_BLOCK = 250_000  # bytes of a file that are held


@dataclass(frozen=True, slots=True)
class SavedLog:
    """A log as bytes, or as the file at ``path``, of which a block at a time is held. ``rules`` find numbers beside dict lines.

    What it does not tell – a time, a host – is NaN or empty in its events.
    """

    raw: bytes = b""
    path: Path | None = None
    rules: tuple[MetricRule, ...] = ()

    @property
    def text(self) -> str:
        """All of it at once. Bytes that are no UTF-8 become U+FFFD."""
        raw = self.raw if self.path is None else self.path.read_bytes()
        return raw.decode("utf-8", "replace")

    def events(self) -> Iterator[LogEvent]:
        """Every line, in the order of the text. The SDK's own status lines, dots and panels are not the job's and left out."""
        parse = _line_parser(self._head())
        if parse is None:
            return SdkOutput(self.text).events()
        lines = (line for block in self._blocks() for line in block.decode("utf-8", "replace").split("\n"))
        return (LogEvent(*parse(line)) for line in lines if line)

    def lines(self) -> Iterator[MetricLine]:
        """The metric lines."""
        return MetricReader(self.rules).lines(self.events())

    def metrics(self) -> MetricLog:
        return MetricLog(tuple(self.lines()))

    def points(self) -> tuple[MetricPoint, ...]:
        return tuple(point for line in self.lines() for point in line.points())

    def _open(self) -> IO[bytes]:
        return io.BytesIO(self.raw) if self.path is None else self.path.open("rb")

    def _head(self) -> bytes:
        with self._open() as file:
            return file.read(HEAD)

    def _blocks(self) -> Iterator[bytes]:
        """Whole lines, about a quarter of a megabyte at a time: larger blocks cost the processor's caches more than they save."""
        with self._open() as file:
            rest: list[bytes] = []
            while piece := file.read(_BLOCK):
                cut = piece.rfind(b"\n") + 1
                if cut:
                    yield b"".join([*rest, piece[:cut]])
                    rest = []
                rest.append(piece[cut:])
            if any(rest):
                yield b"".join(rest)

    def head(self) -> bytes:
        """Its first half megabyte."""
        return self._head()

    @property
    def timed(self) -> bool:
        """Whether we saved it: each line has its time and host."""
        return _line_parser(self._head()) is not None

    def scanned(self) -> tuple[Callable[[str], tuple[float, str, str]], Iterator[bytes]]:
        """How a line's time, host and text are read, and blocks of whole lines: for who looks at few of the lines."""
        raw = self._head()
        parse = _line_parser(raw)
        if parse is not None:
            return parse, self._blocks()
        head = raw.decode("utf-8", "replace")
        if is_panel(head):
            return _ours, (
                "".join(map(_unwrapped, SdkOutput(self.text).events())).encode("utf-8", "replace"),
            ).__iter__()
        hosts = host_colours(head)
        return (lambda line: (math.nan, *host_and_text(line, hosts))), self._blocks()

    @property
    def status_lines(self) -> tuple[StatusLine, ...]:
        """What the SDK printed about the job's phases."""
        return SdkOutput(self.text).status_lines()

    @property
    def ending(self) -> Ending:
        """Seconds, savings, exit code and reason, as far as the SDK printed them."""
        return SdkOutput(self.text).ending()


def _unwrapped(event: LogEvent) -> str:
    return event.text.replace("\n", " ") + "\n"


def read_log(path: str | Path, *, rules: Iterable[MetricRule] = ()) -> SavedLog:
    """Read a log that was saved as text: by ``save_logs``, by ``sm-trn logs --json``, or as the output of a cell that waited
    for the job with SageMaker's SDK 2 or 3. ``rules`` find numbers that do not stand in dict lines.

    Bytes that are no UTF-8 become U+FFFD. Raises SmTrnError for a wrong expression, OSError for a file that cannot be read.
    """
    known = tuple(rules)
    for name, why in RuleReader(known).problems.items():
        raise SmTrnError(f"rules: {name!r} is {why}")
    try:
        with Path(path).open("rb"):
            return SavedLog(path=Path(path), rules=known)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"log: got {str(path)!r}, wanted the file of a saved log; job.save_logs(FOLDER) and sm-trn logs NAME write one"
        ) from error


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
