"""Which finding was first: what came later is a consequence, and signs that work went on clear what came before."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import compress
from operator import not_

from .entries import Role
from .reading import Finding, LogReading, earlier

CAUGHT = 8  # signs of progress after an exception: the script has caught it
_SCRIPT = frozenset({"script.exception"})
_GOES_ON = frozenset(
    {"num", "net", "dist", "neuron"}
)  # after these a job may train on, and be wrong or slow all the same


def ordered(reading: LogReading, beats: int) -> list[Finding]:
    """The findings that can be causes, the likeliest first: roots by time, watchdogs, vague roots, then consequences alone."""
    alive = [
        each for each in reading.findings if each.role not in {Role.NOISE, Role.STATE} and not _caught(each, beats)
    ]
    alive.sort(key=functools.cmp_to_key(lambda one, two: -1 if earlier(one, two) else 1))
    roots = _first_of_chains([each for each in alive if each.role == Role.ROOT])
    waits, after = ([each for each in alive if each.role == role] for role in (Role.TIMEOUT, Role.AFTER))
    heard = any(each.match is not None and each.match.sure for each in (*roots, *waits))
    vague = [heard and _vague(each) for each in roots]
    return [*compress(roots, map(not_, vague)), *waits, *compress(roots, vague), *after]


def _vague(finding: Finding) -> bool:
    """Whether only a line's words speak for a row, and no exception says them: what another line says for sure comes first."""
    return finding.match is not None and not finding.match.sure and not finding.error


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
