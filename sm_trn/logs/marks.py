"""Where in a long text the lines stand that matter: found by searching for their marks, so that the rest costs nothing."""

from __future__ import annotations

from collections.abc import Iterator

BRACE = "{"
COMPILER = "PARALLEL_COMPILE||:"  # in front of what neuron_parallel_compile says


def marked_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every line with a brace or with the word of a compiler's trial run."""
    at, size = 0, len(text)
    brace, mark = text.find(BRACE), text.find(COMPILER)
    while brace >= 0 or mark >= 0:
        found = min(brace, mark) if brace >= 0 and mark >= 0 else max(brace, mark)
        start = text.rfind("\n", at, found) + 1 or at
        end = text.find("\n", found)
        at = end if end >= 0 else size
        yield start, at
        if 0 <= brace < at:
            brace = text.find(BRACE, at)
        if 0 <= mark < at:
            mark = text.find(COMPILER, at)
