"""Text as a terminal or a page can show it: nothing foreign moves a cursor, and lines are cut and wrapped to a width.

It must not know what a text means.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from os.path import commonprefix

_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b.")
# Also what turns the direction of the rest of a line, and halves of characters, which no terminal's encoding has.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]")
# Containers write control characters in octal: #015 is a carriage return. Only those that a script means; anything else
# may well be a colour or a ticket's number.
_OCTAL = re.compile(r"#0(10|11|12|15|33)")
_MEANT = {"10": "\b", "11": "\t", "12": "\n", "15": "\r", "33": "\x1b"}


def printable(text: str) -> str:
    """A line that a terminal can show: escape sequences and control characters that a job printed are taken out."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def one_line(text: str) -> str:
    """Foreign text as one printable line."""
    return " ".join(printable(text).split())


def plain(text: str) -> str:
    """Octal escapes are characters again, escape sequences are gone. Carriage returns and tabs stay."""
    if "#0" in text:
        text = _OCTAL.sub(lambda found: _MEANT[found[1]], text)
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def shown(text: str) -> str:
    """One line for people: of a progress bar the last state only, nothing that can move the cursor."""
    drawn = plain(text).replace("\b", "\r")
    if "\r" in drawn:
        drawn = next((part for part in reversed(drawn.split("\r")) if part.strip()), "")
    return printable(drawn)


NBSP = "\u00a0"
_UNITS = r"%|s emu|h|m|s|ms|it/s|samples/s|smp/s|epochs?|steps?|iterations?|[kMGT]?B|[KMGT]iB|USD|UTC"
_NUMBER_UNIT = re.compile(rf"(?<=[0-9]) (?=(?:{_UNITS})(?![A-Za-z]))|(?<=\d) (?=× )|(?<=×) (?=[\d$])|(?<=\d s) (?=emu)")


def unbroken(text: str) -> str:
    """``text`` with no-break spaces between numbers and their units, and round the times sign."""
    return _NUMBER_UNIT.sub(NBSP, text)


_ASCII = str.maketrans("×…≤▲•–é✕✗✓●■·", "x~<!*-exx+*#.")


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells, cut in the middle."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}" if width > 1 else text[:width]


def wrap(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """Lines of at most ``width`` cells; numbers stay with their units."""
    lines = textwrap.wrap(
        unbroken(one_line(text)),
        width,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
    )
    return [line.replace(NBSP, " ") for line in lines]


def between(left: str, right: str, width: int) -> list[str]:
    """``left`` and ``right`` at the two ends of a line, or on two lines."""
    space = width - len(left) - len(right)
    return [f"{left}{' ' * space}{right}"] if space >= 2 else [*wrap(left, width), *wrap(right, width)]


def ascii_text(text: str) -> str:
    """``text`` for a stream without our glyphs."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def cut_apart(names: Sequence[str], width: int) -> list[str]:
    """The names in at most ``width`` cells each: cut in the middle or, where that makes two alike, without what all of them share."""
    for texts in (names, _without_shared(names)):
        labels = [cut(text, width) for text in texts]
        if len(set(labels)) == len(set(names)):
            return labels
    return [cut(text, width) for text in names]


def _without_shared(names: Sequence[str]) -> list[str]:
    """The names without the words that all begin and end with, an ellipsis in their place."""
    head = commonprefix(names).rpartition("-")  # noqa: RUF071 - of characters
    tail = commonprefix([name[::-1] for name in names]).rpartition("-")  # noqa: RUF071 - as above
    first, last = len(head[0]) + len(head[1]), len(tail[0]) + len(tail[1])
    if min(map(len, names), default=0) <= first + last:
        last = 0
    return [f"{'…' * (first > 0)}{name[first : len(name) - last]}{'…' * (last > 0)}" for name in names]
