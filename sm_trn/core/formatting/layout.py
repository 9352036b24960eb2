"""Text of a terminal: cutting, wrapping, plain ASCII. Knows no job and no colour."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from . import numbers as fmt
from .printable import one_line

BARS = "▁▂▃▄▅▆▇█"
_ASCII = str.maketrans("×…≤▲•–é✕✗✓●■▒░┄·" + BARS, "x~<!*-exx+*#=-.." + ".:-=+*%#")


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells, cut in the middle."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}" if width > 1 else text[:width]


def cut_apart(names: Sequence[str], width: int) -> list[str]:
    """The names in at most ``width`` cells each: cut in the middle or, where that makes two alike, without what all of them share."""
    for texts in (names, _without_shared(names)):
        found = [cut(text, width) for text in texts]
        if len(set(found)) == len(set(names)):
            return found
    return [cut(text, width) for text in names]


def _without_shared(names: Sequence[str]) -> list[str]:
    """The names without the words that all begin and end with, an ellipsis in their place."""
    parts = [name.split("-") for name in dict.fromkeys(names)]
    head, tail = _shared(parts), _shared([list(reversed(each)) for each in parts])
    shortest = min(map(len, parts), default=0)
    tail = min(tail, max(0, shortest - head - 1))
    if head >= shortest:  # one name is the beginning of the others
        head = shortest - 1
    found = []
    for name in names:
        words = name.split("-")
        kept = "-".join(words[head : len(words) - tail])
        found.append(f"{'…' * (head > 0)}{kept}{'…' * (tail > 0)}")
    return found


def _shared(parts: Sequence[Sequence[str]]) -> int:
    """How many words all begin with."""
    count = 0
    for words in zip(*parts, strict=False):
        if len(set(words)) > 1:
            break
        count += 1
    return count


def wrap(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """Lines of at most ``width`` cells; numbers stay with their units."""
    lines = textwrap.wrap(
        fmt.unbroken(one_line(text)),
        width,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
    )
    return [line.replace(fmt.NBSP, " ") for line in lines]


def between(left: str, right: str, width: int) -> list[str]:
    """``left`` and ``right`` at the two ends of a line, or on two lines."""
    space = width - len(left) - len(right)
    return [f"{left}{' ' * space}{right}"] if space >= 2 else [*wrap(left, width), *wrap(right, width)]


def ascii_text(text: str) -> str:
    """``text`` for a stream without our glyphs."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
