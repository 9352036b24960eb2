"""DIST rules: the strategy's own list."""

from __future__ import annotations

from collections.abc import Iterator

from ..specs import JobSpec, Problem
from ..strategies import strategy


def distribution(job: JobSpec) -> Iterator[Problem]:
    """DIST002 and up: what the chosen strategy says of this job."""
    yield from strategy(job).problems(job)


RULES = (distribution,)
