"""The dictionary of causes: an open table, one row per cause in reading order, and how a line is looked up in it.

A fragment is the fixed part of a message. It matches a line that holds its parts in their order, case aside: ``…`` stands for
any text. Of the rows that a line speaks for, that with the strongest list counts; exit codes and signals are a list of their own
(``endings``). Regular expressions are searched in a short text only: ``reads``, which takes facts out of a line that has matched,
and the names of exceptions.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from .endings import endings, speaks

LONGEST = 4_000  # characters of a line that are looked at: its beginning and its end
_GAP = "…"
_GRAM = 4
_SHORT = ""  # where fragments stand that are shorter
_DIGITS = str.maketrans("", "", "0123456789")
_KINDS = ("exact", "strong", "weak")  # lists of a row, the strongest first
SURE, ALL = 2, len(_KINDS)  # how many of the lists count, of any line and of one that says it is an error
_RAISES = re.compile(r"(?:[\w.]{1,120}(?:error|exception)|\S{1,80}\.py: error): ")  # no healthy line begins so
# Exceptions that a mistake in the script raises; with any other, also ValueError, a library may mean something of its own.
OF_PYTHON = (
    "ArithmeticError", "AttributeError", "IndexError", "KeyError", "NameError", "SyntaxError", "IndentationError", "TypeError",
    "UnboundLocalError", "ZeroDivisionError", "RecursionError",
)  # fmt: skip
_MISTAKES = tuple(name.lower() for name in OF_PYTHON)
_REFUSED = (*_MISTAKES, "valueerror", "assertionerror", "notimplementederror")
_SERVICE = frozenset({"api", "capacity", "platform", "spot", "stop"})  # families of what AWS itself says


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
    """A row of the dictionary. ``exact`` fragments name the cause, ``strong`` ones speak for it; ``weak`` ones do so only on a
    line that reports an error: an exception, a service's reason. ``files`` are those of libraries: an exception that nothing else
    tells of is about what the innermost of them does.

    ``signal`` is the number of a signal that speaks for the cause when it ends a process, ``codes`` are exit codes that do.
    """

    id: str
    what: str
    fix: str
    source: str
    role: str = Role.ROOT
    exact: tuple[Fragment, ...] = ()
    strong: tuple[Fragment, ...] = ()
    weak: tuple[Fragment, ...] = ()
    unless: tuple[Fragment, ...] = ()
    files: tuple[str, ...] = ()
    reads: str = ""
    signal: int = 0
    codes: tuple[int, ...] = ()

    @property
    def family(self) -> str:
        """``mem`` of ``mem.host_oom``."""
        return self.id.partition(".")[0]

    def facts(self, text: str) -> dict[str, str]:
        """What the row's expression reads out of a line."""
        found = _expression(self.reads).search(text[:LONGEST]) if self.reads else None
        return {name: value for name, value in found.groupdict().items() if value} if found else {}


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that a line speaks for; ``strength`` is the place of its list, of which 0 is the strongest, and ``ALL`` of a file."""

    entry: Entry
    strength: int

    @property
    def exact(self) -> bool:
        """Whether a fragment names the cause."""
        return self.strength == 0

    @property
    def sure(self) -> bool:
        """Whether the line speaks for the cause wherever it stands."""
        return self.strength < SURE


@functools.cache
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text)


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Every row, in reading order."""
    rows = json.loads(files(__package__).joinpath("dictionary.json").read_text("utf-8"))["rows"]
    return tuple(
        Entry(
            **{name: value for name, value in row.items() if not isinstance(value, list)},
            exact=_fragments(row, "exact"),
            strong=_fragments(row, "strong"),
            weak=_fragments(row, "weak"),
            unless=_fragments(row, "unless"),
            files=tuple(row.get("files", ())),
            codes=tuple(row.get("codes", ())),
        )
        for row in rows
    )


def _fragments(row: Mapping[str, list[str]], name: str) -> tuple[Fragment, ...]:
    return tuple(fragment(text) for text in row.get(name, ()))


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
        for kind in _KINDS:
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
    return bool(_near(lowered)) or speaks(lowered)


@functools.cache
def _by_ending() -> dict[int, int]:
    """The places of rows by exit code, and by the negative number of a signal."""
    found = {}
    for place, row in enumerate(entries()):
        found.update(dict.fromkeys(row.codes, place))
        if row.signal:
            found[-row.signal] = place
    return found


@functools.lru_cache(maxsize=4096)
def match_file(path: str) -> Match | None:
    """The row that knows a file of a traceback, as the weakest word for it."""
    rows = (row for row in entries() if any(f"/{name}" in path for name in row.files))
    return next((Match(row, ALL) for row in rows), None)


def match_class(error: str) -> Match | None:
    """The row that knows the library whose exception this is: ``PIL.UnidentifiedImageError`` is of ``PIL/``."""
    return match_file("/" + error.partition(":")[0].replace(".", "/"))


def refused(error: str) -> bool:
    """Whether an exception is one that Python or a library raises for a mistake of who calls it."""
    return error.lower().startswith(_REFUSED)


@functools.lru_cache(maxsize=4096)
def match(text: str, lists: int = ALL) -> Match | None:
    """The row that a line speaks for: that with the strongest fragment, of equals the first. Only so many ``lists`` count."""
    if not lists:
        return None
    lowered = text.lower() if len(text) <= LONGEST else (text[: LONGEST // 2] + " " + text[-LONGEST // 2 :]).lower()
    lowered = lowered.strip()
    ended = _by_ending()
    found = {ended[each]: SURE - 1 for each in endings(lowered) if each in ended}
    rows = entries()
    foreign = refused(lowered)  # there AWS's words are others'
    for place, kind, piece in _near(lowered.translate(_DIGITS)):
        strength = _KINDS.index(kind)
        silent = strength >= lists or (foreign and strength >= SURE and rows[place].family in _SERVICE)
        if not silent and strength < found.get(place, len(_KINDS)) and piece.found_in(lowered):
            found[place] = strength
    calm = {
        place
        for place in found
        if rows[place].role == Role.HEALTHY and not any(piece.found_in(lowered) for piece in rows[place].unless)
    }
    if calm and _RAISES.match(lowered) is None:
        return None
    # What says little counts after what is sure, and before a weak fragment.
    noise = {place: SURE - 0.5 for place in found if rows[place].role in {Role.NOISE, Role.STATE}}
    for place in sorted(found.keys() - calm, key=lambda each: (max(found[each], noise.get(each, 0)), each)):
        row = rows[place]
        if not any(piece.found_in(lowered) for piece in row.unless):
            return Match(row, found[place])
    return None
