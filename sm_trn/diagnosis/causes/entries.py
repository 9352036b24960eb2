"""The dictionary of causes, one row per cause in reading order, and how a line is looked up in it.

A fragment is the fixed part of a message. It matches a line that holds its parts in their order, case aside; ``…`` stands for any
text. An exact fragment names the cause, a strong one speaks for it, and so do exit codes and signals.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from importlib.resources import files

LONGEST = 4_000  # characters of a line that are looked at
_GAP = "…"
_DIGITS = str.maketrans("", "", "0123456789")
_RAISES = re.compile(r"(?:[\w.]{1,120}(?:error|exception)|\S{1,80}\.py: error): ")  # no healthy line begins so
_ENDED = re.compile(  # in small letters: "exited with code 137", "exitcode : -9", "killed by signal: 9"
    r"(?:exit|return)\w{0,8}[ _-]?(?:with |the |an? |return |exit |error |non-zero ){0,4}(?:code|status)[^\w\n-]{0,4}"
    r"(?:of |is |was )?(?P<code>-?\d{1,3})\b|\b(?:signals?|wtermsig)(?:\.sig\w{1,8})?[ :(=]{1,3}(?P<signal>\d{1,2})\b"
    r"|(?:\bsignals?[ :(.]{1,3}|[({])sig(?P<name>abrt|bus|ill|kill|segv)\b"
)
_SIGNALS = {"abrt": 6, "bus": 7, "ill": 4, "kill": 9, "segv": 11}


class Role:
    """The part that a row plays in the story of a failure."""

    ROOT = "root"
    TIMEOUT = "timeout"  # a watchdog: a cause only where nothing else is
    AFTER = "after"  # a consequence; a cause only where nothing else is
    STATE = "state"  # no fault at all
    NOISE = "noise"  # never a cause
    HEALTHY = "healthy"  # lines of successful jobs


@dataclass(frozen=True, slots=True)
class Fragment:
    """The parts of a message that do not vary; ``key`` is the longest of them."""

    parts: tuple[str, ...]
    at_start: bool
    at_end: bool
    key: str

    def matches(self, lowered: str) -> bool:
        """Return True if a line in small letters holds the parts in their order."""
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
    """Parse a fragment as a row writes it."""
    body = text.lower().removeprefix("^").removesuffix("$")
    parts = tuple(part for part in (piece.strip() if _GAP in body else piece for piece in body.split(_GAP)) if part)
    return Fragment(parts, text.startswith("^"), text.endswith("$"), max(parts, key=len))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row. ``reads`` is an expression whose groups are facts; ``signal`` and ``codes`` are how a process ended. What the fix supposes,
    one of ``needs``, stands in the text too, or the cause is not certain."""

    id: str
    what: str
    fix: str
    source: str
    role: str = Role.ROOT
    exact: tuple[Fragment, ...] = ()
    strong: tuple[Fragment, ...] = ()
    unless: tuple[Fragment, ...] = ()
    needs: tuple[Fragment, ...] = ()
    reads: str = ""
    signal: int = 0
    codes: tuple[int, ...] = ()

    @property
    def family(self) -> str:
        """The first word of the id."""
        return self.id.partition(".")[0]

    def facts(self, text: str) -> dict[str, str]:
        """Read the row's facts out of a line."""
        groups = re.search(self.reads, text[:LONGEST]) if self.reads else None
        return {name: value for name, value in groups.groupdict().items() if value} if groups else {}


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that a line speaks for; ``exact`` says that a fragment names the cause."""

    entry: Entry
    exact: bool


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return every row, in reading order."""
    rows = json.loads(files(__package__).joinpath("dictionary.json").read_text("utf-8"))["rows"]
    return tuple(
        Entry(
            **{name: value for name, value in row.items() if not isinstance(value, list)},
            exact=tuple(map(fragment, row.get("exact", ()))),
            strong=tuple(map(fragment, row.get("strong", ()))),
            unless=tuple(map(fragment, row.get("unless", ()))),
            needs=tuple(map(fragment, row.get("needs", ()))),
            codes=tuple(row.get("codes", ())),
        )
        for row in rows
    )


@functools.cache
def entry(name: str) -> Entry:
    """Return the row of this id. Raises KeyError."""
    return {row.id: row for row in entries()}[name]


@functools.cache
def _fragments() -> tuple[tuple[str, Fragment, Entry, bool], ...]:
    return tuple(
        (piece.key, piece, row, exact)
        for row in entries()
        for exact, pieces in ((True, row.exact), (False, row.strong))
        for piece in pieces
    )


@functools.cache
def _keys() -> tuple[str, ...]:
    return tuple({key.translate(_DIGITS) for key, *_ in _fragments()} | {"exit", "return", "signal", "sig"})


def shape(text: str) -> str:
    """Return a line without what varies: in small letters, without digits."""
    return text.translate(_DIGITS).lower()


def resembles(shape: str) -> bool:
    """Return True if a row could match a line of this shape."""
    return any(key in shape for key in _keys())


def endings(lowered: str) -> list[int]:
    """Return the exit codes that a line in small letters tells, and the signals as negative numbers.

    >>> endings("failed (exitcode: -9)"), endings("returned non-zero exit status 137."), endings("caught signal 11")
    ([-9], [-9], [-11])
    """
    numbers = []
    for ending in _ENDED.finditer(lowered):
        if ending["code"] is None:
            numbers.append(-int(ending["signal"] or _SIGNALS[ending["name"]]))
        else:  # a shell adds 128 to the number of the signal that ended a program
            numbers.append(128 - int(ending["code"]) if int(ending["code"]) > 128 else int(ending["code"]))
    return numbers


@functools.lru_cache(maxsize=4096)
def match(text: str) -> Match | None:
    """Return the row that a line speaks for: an exact one before a strong one, of equals the first."""
    lowered = text[:LONGEST].lower().strip()
    ends = endings(lowered)
    matches = {
        row.id: (row, False) for row in entries() if set(row.codes) & set(ends) or (row.signal and -row.signal in ends)
    }
    for key, piece, row, exact in _fragments():
        if key in lowered and (exact or row.id not in matches) and piece.matches(lowered):
            matches[row.id] = (row, exact)
    rows = [(row, exact) for row, exact in matches.values() if not any(each.matches(lowered) for each in row.unless)]
    if any(row.role == Role.HEALTHY for row, _ in rows) and _RAISES.match(lowered) is None:
        return None
    places = {row.id: place for place, row in enumerate(entries())}
    rows = [each for each in rows if each[0].role != Role.HEALTHY]
    rows.sort(key=lambda each: (each[0].role in {Role.NOISE, Role.STATE}, not each[1], places[each[0].id]))
    return Match(*rows[0]) if rows else None
