"""Which finding was first: what came later is a consequence, and signs that work went on clear what came before."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from .entries import ALL, Role
from .reading import Finding, LogReading, earlier

CAUGHT = 8  # signs of progress after an exception: the script has caught it
_PIP = "pip.failed"
_OF_A_BUILD = frozenset({"image", "script", ""})  # families of what the build of a package complains of
_GOES_ON = frozenset(
    {"num", "net", "dist", "neuron"}
)  # after these a job may train on, and be wrong or slow all the same


def ordered(reading: LogReading, beats: int) -> list[Finding]:
    """The findings that can be causes, the likeliest first."""
    alive = [
        each for each in reading.findings if each.role not in {Role.NOISE, Role.STATE} and not _caught(each, beats)
    ]
    alive.sort(key=functools.cmp_to_key(lambda one, two: -1 if earlier(one, two) else 1))
    roots = _first_of_chains(_pip_before_its_build([each for each in alive if each.role == Role.ROOT]))
    found = [*roots, *(each for role in (Role.TIMEOUT, Role.AFTER) for each in alive if each.role == role)]
    heard = {each.role for each in found if each.match is not None and each.match.sure}
    return sorted(found, key=functools.partial(_place, heard=heard))


def _place(finding: Finding, heard: AbstractSet[str]) -> int:
    """Roots stand before watchdogs and these before consequences; but what only words speak for stands behind what is sure."""
    if finding.role != Role.ROOT:
        heeded = finding.role == Role.TIMEOUT and (Role.AFTER not in heard or _says(finding) > 1)
        return 2 if heeded else 4 + (finding.role == Role.TIMEOUT)
    if finding.match is None or finding.match.sure or finding.error:
        return 1
    if finding.match.strength == ALL and heard:
        return 5
    return 3 if heard - {Role.AFTER} else 1


def _caught(finding: Finding, beats: int) -> bool:
    goes_on = finding.match is not None and finding.match.entry.id.partition(".")[0] in _GOES_ON
    return not goes_on and beats - finding.beats >= CAUGHT


def _first_of_chains(roots: Sequence[Finding]) -> list[Finding]:
    """Of exceptions that led to one another, the one that a row names stands for all, where there is one."""
    kept: list[Finding] = []
    chains: dict[tuple[str, int | None, int], int] = {}
    for each in roots:
        key = (each.evidence.stream, each.evidence.rank, each.chain)
        place = chains.get(key) if each.chain else None
        if place is None:
            if each.chain:
                chains[key] = len(kept)
            kept.append(each)
        elif _says(each) > _says(kept[place]):
            kept[place] = each
    return kept


def _says(finding: Finding) -> int:
    """How much a finding tells: nothing without a row, more where its line is sure of it."""
    return 0 if finding.match is None else 1 + finding.match.sure


def _pip_before_its_build(roots: list[Finding]) -> list[Finding]:
    """A package's build says what it lacks before pip says that it failed: pip's failure stands for both."""
    ids = [each.match.entry.id if each.match is not None and each.match.sure else "" for each in roots]
    at = ids.index(_PIP) if _PIP in ids else 0
    inner = {each.match.entry.family if each.match is not None else "" for each in roots[:at]}
    return [roots[at], *roots[:at], *roots[at + 1 :]] if inner and inner <= _OF_A_BUILD else roots
