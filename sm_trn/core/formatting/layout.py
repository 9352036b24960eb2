"""Text of a terminal: cutting, wrapping, plain ASCII. Knows no job and no colour."""

from __future__ import annotations

import textwrap

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
