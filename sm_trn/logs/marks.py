"""Where in a long text the lines stand that matter: found by searching for their marks, so that the rest costs nothing."""

from __future__ import annotations

from collections.abc import Iterator

BRACE = "{"
COMPILER = "PARALLEL_COMPILE||:"  # in front of what neuron_parallel_compile says
HEAD = 500_000  # characters; the toolkit and the compiler's wrapper speak before the script does
_BRACE, _COMPILER = BRACE.encode(), COMPILER.encode()


def marked_lines(raw: bytes) -> Iterator[str]:
    """Every line of UTF-8 with a brace, or with the word of a compiler's trial run."""
    mark = raw.find(_COMPILER, 0, HEAD)
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
