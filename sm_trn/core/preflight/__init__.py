"""Preflight: every fault of a spec at once, offline, before a dollar is spent. One file per family of rules.

A rule is a function of the spec that yields problems. Its ids, and why they exist, stand in its docstring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date

from ..specs.job import JobSpec, expect_spec
from ..specs.problems import Problem, Problems
from . import (
    compiler,
    data,
    distribution,
    images,
    limits,
    modelled,
    network,
    packing,
    script,
    spot,
)

JobRule = Callable[[JobSpec], Iterator[Problem]]
RULES: tuple[JobRule, ...] = (
    *images.RULES,
    *distribution.RULES,
    *network.RULES,
    *compiler.RULES,
    *spot.RULES,
    *limits.RULES,
    *data.RULES,
    *script.RULES,
    *packing.RULES,
    *modelled.RULES,
)


def check(job: JobSpec, *, today: date | None = None, rules: Sequence[JobRule] = RULES) -> Problems:
    """Every problem of ``job``, errors first. Reads the spec, the catalogue and – as text – the script. No network.

    ``rules`` are functions of the spec that yield problems. ``today`` is the day on which
    the job is looked at: images are patched until a day. None takes the clock's.
    A list, which shows itself as text and in notebooks.

    >>> wrong = job.replace(distribution=st.SMDataParallel())
    >>> [problem.id for problem in st.check(wrong) if problem.severity is st.Severity.ERROR]
    ['DIST003']
    """
    expect_spec(job)
    problems = [problem for rule in rules for problem in rule(job)]
    problems += images.out_of_patch(job, today or date.today())  # noqa: DTZ011 - the user's own day
    return Problems(sorted(dict.fromkeys(problems), key=lambda problem: problem.severity.rank))


__all__ = ["RULES", "JobRule", "check"]
