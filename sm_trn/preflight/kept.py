"""KEPT rules: parts of an attached job's request that the spec has no words for. What a change makes of them is the target's affair."""

from __future__ import annotations

from collections.abc import Iterator

from ..specs import JobSpec, Problem, Severity

SHOWN = 12


def listed(job: JobSpec) -> Iterator[Problem]:
    """KEPT001: what is not in the spec's own words is sent again word for word, and no rule here has looked at it."""
    if job.kept:
        more = f", and {len(job.kept) - SHOWN} more" if len(job.kept) > SHOWN else ""
        yield Problem(
            id="KEPT001",
            severity=Severity.INFO,
            where="kept",
            what="parts of the original request are sent again as they were",
            got=", ".join(map(_short, job.kept[:SHOWN])) + more,
            fix="kept=() sends the spec alone",
        )


def _short(part: object) -> str:
    text = str(part).lstrip("/")
    return text if len(text) <= 80 else f"{text[:77]}…"


RULES = (listed,)
