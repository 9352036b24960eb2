"""Goes through a saved log of any size: only lines that could matter are decoded and read.

Lines are told apart by their shape, which is the line without its digits: a log of a gigabyte has some thousand shapes, and each
is looked up once. It holds a block of the text at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..logs.events import LogEvent
from .entries import shape
from .reading import LogReading

SHAPES = 10_000  # that are looked up one by one; of a log with more, lines without a word of TELLING are passed over
FORGET = 200_000  # shapes that are remembered
OFTEN = 300  # lines of one shape that are read
LAST = 400  # lines of the end that are kept
LAST_BYTES = 4_000_000  # in which they are looked for
_DIGITS = b"0123456789"
_BEATS = (b"'loss':", b"it/s", b"s/it", b"samples/s")
# One of these words stands in nearly every message that ends a job.
TELLING = (
    b"error", b"exception", b"fail", b"traceback", b"kill", b"memory", b"denied", b"timeout", b"timed out", b"no such", b"nan",
    b"watchdog", b"signal",
)  # fmt: skip

Parse = Callable[[str], tuple[float, str, str]]


@dataclass(slots=True)
class Scan:
    """Give it the blocks of a log, then ask ``reading``. ``rare`` counts the shapes; ``last`` are the last lines."""

    parse: Parse
    reading: LogReading = field(default_factory=LogReading)
    rare: Counter[bytes] = field(default_factory=Counter)
    last: list[bytes] = field(default_factory=list)
    lines: int = 0
    beats: int = 0
    _dull: set[bytes] = field(default_factory=set)
    _looked: int = 0

    def run(self, blocks: Iterable[bytes]) -> None:
        """Read every block of whole lines."""
        for block in blocks:
            self._block(block)

    def _block(self, block: bytes) -> None:
        before = self.beats
        if not self.reading.failed:
            self.beats += sum(block.count(mark) for mark in _BEATS)
        if self._looked > SHAPES:
            self._varied(block, before)
        else:
            self._alike(block, before)
        self.lines += block.count(b"\n") + (not block.endswith(b"\n"))
        self.last = [*self.last, *block[-LAST_BYTES:].rsplit(b"\n", LAST)[-LAST:]][-LAST:]

    def _alike(self, block: bytes, before: int) -> None:
        """Read a block of a log that repeats itself: each new shape is looked up once."""
        shapes = block.translate(None, _DIGITS).split(b"\n")
        new = set(shapes) - self._dull
        wanted = self._wanted(new)
        self._dull |= new - wanted
        if wanted or self.reading.window:
            self._feed(block.split(b"\n"), shapes, wanted, before)

    def _varied(self, block: bytes, before: int) -> None:
        """Read a block of a log in which hardly two lines are alike: only lines with a word of TELLING are looked up."""
        told = _telling(block)
        if not told and not self.reading.window:
            return
        kinds = {line: line.translate(None, _DIGITS) for line in told}
        wanted = self._wanted(set(kinds.values()) - self._dull)
        self._dull.update(set(kinds.values()) - wanted)
        if len(self._dull) > FORGET:
            self._dull.clear()
        if wanted or self.reading.window:
            lines = block.split(b"\n")
            self._feed(lines, [kinds.get(line, b"") for line in lines], wanted, before)

    def _wanted(self, new: set[bytes]) -> set[bytes]:
        self._looked += len(new)
        return {each for each in new if self.reading.wants(shape(each[:8_000].decode("utf-8", "replace")))}

    def _feed(self, lines: list[bytes], shapes: list[bytes], wanted: set[bytes], before: int) -> None:
        counted = 0
        for at, (line, kind) in enumerate(zip(lines, shapes, strict=True)):
            if kind not in wanted and not self.reading.window:
                continue
            if not line:
                continue
            self.rare[kind] += 1
            if self.rare[kind] > OFTEN:
                wanted.discard(kind)
                self._dull.add(kind)
            if not self.reading.failed:
                before += sum(part.count(mark) for mark in _BEATS for part in lines[counted:at])
            counted = at
            time_s, host, text = self.parse(line[:64_000].decode("utf-8", "replace"))
            self.reading.feed(LogEvent(time_s, host, text), self.lines + at + 1, before)


def _telling(block: bytes) -> set[bytes]:
    """The lines that hold a word of TELLING, in any case."""
    found: set[bytes] = set()
    low = block.lower()
    for word in TELLING:
        at = low.find(word)
        while at >= 0:
            start, end = low.rfind(b"\n", 0, at) + 1, low.find(b"\n", at)
            if end < 0:
                end = len(low)
            found.add(block[start:end])
            at = low.find(word, end)
    return found
