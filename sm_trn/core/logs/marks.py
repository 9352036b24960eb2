"""Where in a long text the lines stand that matter: found by searching for their marks, so that the rest costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

BRACE = "{"
COMPILER = "PARALLEL_COMPILE||:"  # in front of what neuron_parallel_compile says
HEAD = 500_000  # characters; the toolkit and the compiler's wrapper speak before the script does
_BRACE, _COMPILER = BRACE.encode(), COMPILER.encode()
_DENSE = 4  # where every fourth line has a brace, looking at each line is quicker than searching
_SAMPLE = 16_384  # bytes that tell it of a block


def marked_lines(blocks: Iterable[bytes]) -> Iterator[list[str]]:
    """Every line of UTF-8 with a brace, or with the word of a compiler's trial run; a list of them a block of whole lines."""
    at, compiled = 0, False
    for block in blocks:
        compiled = compiled or (at < HEAD and block.find(_COMPILER, 0, HEAD - at) >= 0)
        sample = block[:_SAMPLE]
        if sample.count(_BRACE) * _DENSE >= sample.count(b"\n"):
            lines = block.decode("utf-8", "replace").split("\n")
            yield [line for line in lines if BRACE in line or (compiled and COMPILER in line)]
        else:
            yield list(_searched(block, compiled=compiled))
        at += len(block)


def _searched(raw: bytes, *, compiled: bool) -> Iterator[str]:
    mark = raw.find(_COMPILER) if compiled else -1
    at, size = 0, len(raw)
    while True:
        found = raw.find(_BRACE, at)
        if mark >= 0 and (mark < found or found < 0):
            found = mark
        if found < 0:
            return
        end = raw.find(b"\n", found)
        if end < 0:
            end = size
        yield raw[raw.rfind(b"\n", at, found) + 1 or at : end].decode("utf-8", "replace")
        at = end
        if 0 <= mark < at:
            mark = raw.find(_COMPILER, at)
