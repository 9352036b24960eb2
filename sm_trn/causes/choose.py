"""Which finding was first: what came later is a consequence, and signs that work went on clear what came before."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .entries import Role
from .reading import Finding, LogReading, earlier

CAUGHT = 8  # signs of progress after an exception: the script has caught it
_SCRIPT = frozenset({"script.exception"})
_GOES_ON = frozenset(
    {"num", "net", "dist", "neuron"}
)  # after these a job may train on, and be wrong or slow all the same


def ordered(reading: LogReading, beats: int) -> list[Finding]:
    """The findings that can be causes, the likeliest first: roots by time, then watchdogs, then consequences alone."""
    alive = [
        each for each in reading.findings if each.role not in {Role.NOISE, Role.STATE} and not _caught(each, beats)
    ]
    alive.sort(key=functools.cmp_to_key(lambda one, two: -1 if earlier(one, two) else 1))
    roots = _first_of_chains([each for each in alive if each.role == Role.ROOT])
    rest = [each for role in (Role.TIMEOUT, Role.AFTER) for each in alive if each.role == role]
    return [*roots, *rest]


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
        elif kept[place].match is None and each.match is not None:
            kept[place] = each
    return kept
