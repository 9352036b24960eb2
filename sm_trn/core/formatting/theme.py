"""Colours and markers: one table for figures, page, card and terminal. Draws nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TextIO

Theme = Literal["light", "dark"]

LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "bg": "#ffffff", "panel": "#f6f7f9", "ink": "#14181f", "ink2": "#454d5a", "ink3": "#626c7a", "line": "#e2e5ea",
        "axis": "#8a93a0", "link": "#1d49b8", "ok": "#1a6e36", "warn": "#845200", "err": "#b3261e", "info": "#1d5c99",
        "emu": "#5b34b5", "emut": "#f1ecfc",
        "s1": "#2149c4", "s2": "#df5b25", "s3": "#3a978a", "s4": "#ae197c", "s5": "#6a5a05", "s6": "#203143",
    }
)  # fmt: skip
DARK: Mapping[str, str] = MappingProxyType(
    {
        "bg": "#0f1318", "panel": "#171c23", "ink": "#e9ecf1", "ink2": "#b4bcc8", "ink3": "#8e98a7", "line": "#272e38",
        "axis": "#6b7584", "link": "#8fb0ff", "ok": "#6ccb8b", "warn": "#e5b454", "err": "#ff8a80", "info": "#7dbbf0",
        "emu": "#bfa6ff", "emut": "#221a38",
        "s1": "#6e8df2", "s2": "#f28b4b", "s3": "#8cebdd", "s4": "#db4f94", "s5": "#f0df8a", "s6": "#9dacc4",
    }
)  # fmt: skip
PALETTES: Mapping[str, Mapping[str, str]] = MappingProxyType({"light": LIGHT, "dark": DARK})

SLOTS = 6  # colours: more jobs than this, and a colour no longer names one


@dataclass(frozen=True, slots=True)
class Marker:
    """One job's mark. ``hollow`` stands for an emulated job; ``matplotlib`` is the marker's code there."""

    solid: str
    hollow: str
    ascii: str
    matplotlib: str


MARKERS = (
    Marker("●", "○", "o", "o"),
    Marker("■", "□", "#", "s"),
    Marker("▲", "△", "^", "^"),
    Marker("◆", "◇", "d", "D"),
    Marker("▼", "▽", "v", "v"),
    Marker("✚", "✛", "+", "P"),
    Marker("★", "☆", "*", "*"),
    Marker("◀", "◁", "<", "<"),
    Marker("▶", "▷", ">", ">"),
    Marker("⬟", "⬠", "p", "p"),
    Marker("⬢", "⬡", "h", "h"),
    Marker("✖", "✕", "x", "X"),
)

# 16-colour codes of the terminal; the text says the same without them
ANSI: Mapping[str, str] = MappingProxyType(
    {"err": "31", "warn": "33", "info": "36", "ok": "32", "emu": "7;35", "ink2": "2", "ink3": "2", "bold": "1"}
)


def marker(slot: int) -> Marker:
    """The mark of a slot: twelve before one comes again, and then in another colour."""
    return MARKERS[slot % len(MARKERS)]


def role(slot: int) -> str:
    """The palette's name for the colour of a slot."""
    return f"s{(slot + slot // len(MARKERS)) % SLOTS + 1}"


def painted(text: str, name: str, *, color: bool) -> str:
    """``text`` in a terminal colour, or as it is."""
    return f"\x1b[{ANSI[name]}m{text}\x1b[0m" if color and name in ANSI else text


def wants_color(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """FORCE_COLOR turns colour on, NO_COLOR and TERM=dumb off; else a terminal gets it and a pipe does not."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return stream.isatty() and environ.get("TERM", "") != "dumb"
