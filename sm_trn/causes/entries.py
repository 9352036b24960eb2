"""The dictionary of causes: an open table, one row per cause in reading order, and how a line is looked up in it.

A fragment is the fixed part of a message. It matches a line that holds its parts in their order, case aside: ``…`` stands for
any text. Nothing here is a regular expression that a hostile line could make slow, but for ``reads``, which takes facts out of
a line that has matched, and is searched in a short text only.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

LONGEST = 4_000  # characters of a line that are looked at: its beginning and its end
_GAP = "…"
_GRAM = 4
_SHORT = ""  # where fragments stand that are shorter
_DIGITS = str.maketrans("", "", "0123456789")


class Role:
    """What a row's match means: it can be the cause, or only what follows from one."""

    ROOT = "root"
    TIMEOUT = "timeout"  # a watchdog: a cause only where nothing else is
    AFTER = "after"  # a consequence; a cause only where nothing else is
    STATE = "state"  # no fault at all
    NOISE = "noise"  # never a cause
    HEALTHY = "healthy"  # lines of successful jobs


@dataclass(frozen=True, slots=True)
class Fragment:
    """The parts of a message that do not vary; ``key`` is the longest of them, without digits."""

    parts: tuple[str, ...]
    at_start: bool
    at_end: bool
    key: str

    def found_in(self, lowered: str) -> bool:
        """Whether a line in small letters holds the parts in their order."""
        if self.at_start and not lowered.startswith(self.parts[0]):
            return False
        if self.at_end and not lowered.endswith(self.parts[-1]):
            return False
        at = 0
        for part in self.parts:
            at = lowered.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return True


def fragment(text: str) -> Fragment:
    """The fragment that a row writes as ``text``."""
    body = text.lower().removeprefix("^").removesuffix("$")
    parts = tuple(part for part in (piece.strip() if _GAP in body else piece for piece in body.split(_GAP)) if part)
    key = max((part.translate(_DIGITS) for part in parts), key=len)
    return Fragment(parts, text.startswith("^"), text.endswith("$"), key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row of the dictionary. ``certain`` fragments name the cause, ``likely`` ones speak for it; ``loose`` ones do so only on a
    line that reports an error: an exception, a service's reason."""

    id: str
    what: str
    fix: str
    source: str
    role: str = Role.ROOT
    certain: tuple[Fragment, ...] = ()
    likely: tuple[Fragment, ...] = ()
    loose: tuple[Fragment, ...] = ()
    unless: tuple[Fragment, ...] = ()
    reads: str = ""

    def facts(self, text: str) -> dict[str, str]:
        """What the row's expression reads out of a line."""
        found = _expression(self.reads).search(text[:LONGEST]) if self.reads else None
        return {name: value for name, value in found.groupdict().items() if value} if found else {}


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that a line speaks for; ``certain`` when one of its certain fragments does."""

    entry: Entry
    certain: bool


@functools.cache
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text)


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Every row, in reading order."""
    rows = json.loads(files(__package__).joinpath("dictionary.json").read_text("utf-8"))["rows"]
    lists = ("certain", "likely", "loose", "unless")
    return tuple(
        Entry(
            **{name: value for name, value in row.items() if name not in lists},
            certain=_fragments(row, "certain"),
            likely=_fragments(row, "likely"),
            loose=_fragments(row, "loose"),
            unless=_fragments(row, "unless"),
        )
        for row in rows
    )


def _fragments(row: Mapping[str, list[str]], name: str) -> tuple[Fragment, ...]:
    return tuple(map(fragment, row.get(name, ())))


@functools.cache
def entry(name: str) -> Entry:
    """The row of this id. Raises KeyError."""
    return next(row for row in entries() if row.id == name)


@functools.cache
def _index() -> dict[str, tuple[tuple[int, str, Fragment], ...]]:
    """Fragments by four letters that stand in each: the place of the row, the list, the fragment."""
    found: dict[str, list[tuple[int, str, Fragment]]] = {}
    crowd: dict[str, int] = {}
    for place, row in enumerate(entries()):
        for kind in ("certain", "likely", "loose"):
            for piece in getattr(row, kind):
                grams = [piece.key[at : at + _GRAM] for at in range(len(piece.key) - _GRAM + 1)]
                best = min(grams, key=lambda gram: (crowd.get(gram, 0), gram[:1] == " ", gram), default=_SHORT)
                crowd[best] = crowd.get(best, 0) + 1
                found.setdefault(best, []).append((place, kind, piece))
    return {gram: tuple(items) for gram, items in found.items()}


def _near(lowered: str) -> list[tuple[int, str, Fragment]]:
    """The fragments that could match a line: small letters, its digits taken out."""
    index = _index()
    grams = {lowered[at : at + _GRAM] for at in range(len(lowered) - _GRAM + 1)}
    grams.add(_SHORT)
    return [item for gram in grams & index.keys() for item in index[gram] if item[2].key in lowered]


def shape(text: str) -> str:
    """A line without what varies: small letters, no digits."""
    return text.translate(_DIGITS).lower()


def resembles(lowered: str) -> bool:
    """Whether any row could match a line of this shape: small letters, its digits taken out."""
    return bool(_near(lowered))


@functools.lru_cache(maxsize=4096)
def match(text: str, *, reports: bool = True) -> Match | None:
    """The first row that a line speaks for. ``reports`` says that the line reports an error: only then ``loose`` counts."""
    lowered = text.lower() if len(text) <= LONGEST else (text[: LONGEST // 2] + " " + text[-LONGEST // 2 :]).lower()
    lowered = lowered.strip()
    kinds: dict[int, set[str]] = {}
    for place, kind, piece in _near(lowered.translate(_DIGITS)):
        if (reports or kind != "loose") and piece.found_in(lowered):
            kinds.setdefault(place, set()).add(kind)
    rows = entries()
    if any(rows[place].role == Role.HEALTHY for place in kinds):
        return None
    for place in sorted(kinds):
        row = rows[place]
        if not any(piece.found_in(lowered) for piece in row.unless):
            return Match(row, "certain" in kinds[place])
    return None
