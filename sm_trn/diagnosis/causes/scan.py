"""Goes through a saved log of any size: only lines that could matter are decoded and read.

Lines are told apart by their shape, which is the line without its digits: a log of a gigabyte has some thousand shapes, and each
is looked up once. It holds a block of the text at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from ...core.logs.events import LogEvent
from .choose import CAUGHT
from .entries import shape
from .reading import LogReading

SHAPES = 10_000  # that are looked up one by one; of a log with more, lines without a word of TELLING are passed over
FORGET = 200_000  # shapes that are remembered
OFTEN = 300  # lines of one shape that are read
LAST = 400  # lines of the end that are kept
LAST_BYTES = 4_000_000  # in which they are looked for
_DIGITS = b"0123456789"
# Signs of progress, by a byte that stands in each: where it is missing they need not be searched.
_BEATS = {b"/": (b"it/s", b"s/it", b"samples/s"), b"'": (b"'loss':",)}
# One of these words stands in nearly every message that ends a job that has run for long. Each costs a search through the log:
# what is denied or not there is an error's, a watchdog tells of a timeout.
TELLING = (
    b"error", b"exception", b"fail", b"traceback", b"kill", b"memory", b"timeout", b"timed out", b"nan", b"signal",
)  # fmt: skip

Parse = Callable[[str], tuple[float, str, str]]


@dataclass(slots=True)
class Scan:
    """Give it the blocks of a log, then ask ``reading``. ``rare`` counts the shapes; ``last`` are the last lines.

    ``beats`` counts the signs of progress; after each line that was read as many as tell that the job went on.
    """

    parse: Parse
    reading: LogReading = field(default_factory=LogReading)
    shapes: int = SHAPES
    rare: Counter[bytes] = field(default_factory=Counter)
    last: list[bytes] = field(default_factory=list)
    lines: int = 0
    beats: int = 0
    _since: int = 0  # the beats since a line was read
    _dull: set[bytes] = field(default_factory=set)
    _looked: int = 0

    def run(self, blocks: Iterable[bytes]) -> None:
        """Read every block of whole lines. Of the last one every shape is looked up: there a log says how its job ended."""
        held = None
        for block in blocks:
            if held is not None:
                self._block(held, varied=self._looked > self.shapes)
            held = block
        if held is not None:
            self._block(held, varied=False)

    def _block(self, block: bytes, *, varied: bool) -> None:
        starts = self._varied(block) if varied else self._alike(block)
        self._count(block, self._feed(block, starts), len(block))
        self.lines += block.count(b"\n") + (not block.endswith(b"\n"))
        self.last = [*self.last, *block[-LAST_BYTES:].rsplit(b"\n", LAST)[-LAST:]][-LAST:]

    def _alike(self, block: bytes) -> list[int]:
        """Where the lines begin that may matter, in a log that repeats itself: each new shape is looked up once."""
        shapes = block.translate(None, _DIGITS).split(b"\n")
        wanted = self._wanted(set(shapes))
        if not wanted:
            return []
        begins = accumulate((len(line) + 1 for line in block.split(b"\n")), initial=0)
        return [start for start, kind in zip(begins, shapes, strict=False) if kind in wanted]

    def _varied(self, block: bytes) -> list[int]:
        """The same in a log in which hardly two lines are alike: only lines with a word of TELLING are looked up."""
        kinds = {start: block[start:end].translate(None, _DIGITS) for start, end in _telling(block).items()}
        wanted = self._wanted(set(kinds.values()))
        if len(self._dull) > FORGET:
            self._dull.clear()
        return sorted(start for start, kind in kinds.items() if kind in wanted)

    def _wanted(self, shapes: set[bytes]) -> set[bytes]:
        new = shapes - self._dull
        self._looked += len(new)
        wanted = {each for each in new if self.reading.wants(shape(each[:8_000].decode("utf-8", "replace")))}
        self._dull |= new - wanted
        return wanted

    def _feed(self, block: bytes, starts: list[int]) -> int:
        """Read the lines that begin there, and those of a traceback; return where the last of them begins."""
        at, number = 0, self.lines + 1
        for start in self._places(block, starts):
            line = block[start : _end(block, start)]
            kind = line.translate(None, _DIGITS)
            if not line or (kind in self._dull and not self.reading.window):
                continue
            self.rare[kind] += 1
            if self.rare[kind] > OFTEN:
                self._dull.add(kind)
            number += block.count(b"\n", at, start)
            self._count(block, at, start)
            at, self._since = start, 0
            time_s, host, text = self.parse(line[:64_000].decode("utf-8", "replace"))
            self.reading.feed(LogEvent(time_s, host, text), number, self.beats)
        return at

    def _places(self, block: bytes, starts: list[int]) -> Iterator[int]:
        """Where lines begin: those of ``starts``, and every one while the reading wants all that comes."""
        at = 0
        for start in (*starts, len(block)):
            while at < start and self.reading.window:
                yield at
                at = _end(block, at) + 1
            if at <= start < len(block):
                yield start
                at = _end(block, start) + 1

    def _count(self, block: bytes, start: int, end: int) -> None:
        """Count the signs of progress in a part of a block, unless enough of them came since a line was read."""
        if self._since >= CAUGHT or self.reading.failed:
            return
        marks = [mark for byte, marks in _BEATS.items() if block.find(byte, start, end) >= 0 for mark in marks]
        found = sum(block.count(mark, start, end) for mark in marks)
        self._since += found
        self.beats += found


def _end(block: bytes, start: int) -> int:
    """Where the line ends that begins there."""
    end = block.find(b"\n", start)
    return end if end >= 0 else len(block)


def _telling(block: bytes) -> dict[int, int]:
    """Where the lines begin and end that hold a word of TELLING, in any case."""
    found: dict[int, int] = {}
    low = block.lower()
    for word in TELLING:
        at = low.find(word)
        while at >= 0:
            end = _end(low, at)
            found[low.rfind(b"\n", 0, at) + 1] = end
            at = low.find(word, end)
    return found
