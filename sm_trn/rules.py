"""Checks a job with all rules, the core's and the parts'. It loads no session."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, cast

from .core import preflight
from .core.specs.job import JobSpec
from .core.specs.problems import Problems
from .forecast.rules import ALL_RULES as RULES

if TYPE_CHECKING:
    from .core.specs.tuning import Sweep
    from .tuning.files import CheckedSweep


def check(job: JobSpec | Sweep, *, today: date | None = None) -> Problems:
    """Every problem of ``job``, errors first. Reads the spec, the catalogue and – as text – the script. No network.

    Of a sweep they are those of its jobs at both ends of the space, and its own. ``today`` is the day until which images must be patched.

    >>> wrong = job.replace(distribution=st.SMDataParallel())
    >>> [problem.id for problem in st.check(wrong) if problem.severity is st.Severity.ERROR]
    ['DIST003']
    """
    if hasattr(job, "space"):
        from .tuning.checking import check_sweep  # noqa: PLC0415 - few jobs are searched

        return check_sweep(cast("Sweep", job), today=today, rules=RULES)
    return preflight.check(job, today=today, rules=RULES)


def check_sweep_file(path: Path, region: str) -> CheckedSweep | None:
    """The sweep of a file with its problems, the team's policy's too; None for another file. Raises InvalidJobFile, UnknownName."""
    from .tuning.files import checked_sweep  # noqa: PLC0415 - few files are sweeps

    return checked_sweep(path, region, rules=RULES)
