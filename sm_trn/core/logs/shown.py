"""What a log line looks like once a terminal had drawn it. Must not know what a line means."""

from __future__ import annotations

import re

from ..formatting.printable import ESCAPES, printable

# Containers write control characters in octal: #015 is a carriage return. Only those that a script means; anything else
# may well be a colour or a ticket's number.
_OCTAL = re.compile(r"#0(10|11|12|15|33)")
_MEANT = {"10": "\b", "11": "\t", "12": "\n", "15": "\r", "33": "\x1b"}


def plain(text: str) -> str:
    """Octal escapes are characters again, escape sequences are gone. Carriage returns and tabs stay."""
    if "#0" in text:
        text = _OCTAL.sub(lambda found: _MEANT[found[1]], text)
    return ESCAPES.sub("", text) if "\x1b" in text else text


def shown(text: str) -> str:
    """One line for people: of a progress bar the last state only, nothing that can move the cursor."""
    drawn = plain(text).replace("\b", "\r")
    if "\r" in drawn:
        drawn = next((part for part in reversed(drawn.split("\r")) if part.strip()), "")
    return printable(drawn)
