"""Foreign text without what could move a cursor. It knows neither logs nor layout."""

from __future__ import annotations

import re

ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b.")
# Also what turns the direction of the rest of a line, and halves of characters, which no terminal's encoding has.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]")


def printable(text: str) -> str:
    """A line that a terminal can show: escape sequences and control characters that a job printed are taken out."""
    return _CONTROLS.sub("", ESCAPES.sub("", text))


def one_line(text: str) -> str:
    """Foreign text as one printable line."""
    return " ".join(printable(text).split())
