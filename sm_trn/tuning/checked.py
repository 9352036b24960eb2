"""A sweep file as ``check`` sees it: every problem with the file that it stands in, and what all training jobs can cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..core.preflight import JobRule
from ..core.session.defaults import known_prices
from ..core.session.policy import find_policy
from ..core.specs.problems import Problem
from ..core.specs.units import Usd
from .checking import check_sweep
from .files import SweepText, is_sweep, read_text
from .policy import sweep_problems
from .worst_case import worst_case, worst_case_words


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSweep:
    """A sweep with its problems. ``usd`` None: no price is known."""

    text: SweepText
    problems: tuple[Problem, ...]
    usd: Usd | None

    @property
    def name(self) -> str:
        """The name of its job."""
        return self.text.sweep.name

    def __str__(self) -> str:
        """``20 training jobs, each at most $1.41, together at most $28.20``."""
        return worst_case_words(self.text.sweep.jobs, self.usd)


def checked_sweep(path: Path, region: str, *, rules: Sequence[JobRule]) -> CheckedSweep | None:
    """The sweep of a file, checked and held against the policy above the file; None for a file that is no sweep.

    Raises InvalidJobFile, UnknownName.
    """
    return check_text(read_text(path), region, rules=rules) if is_sweep(path) else None


def check_text(text: SweepText, region: str, *, rules: Sequence[JobRule], free: bool = False) -> CheckedSweep:
    """Every problem of a sweep that was read. One that is ``free``, a rehearsal, is not held against the policy. Raises InvalidJobFile
    for a policy that is none.
    """
    price_of = partial(known_prices().of, region=region)
    problems = list(check_sweep(text.sweep, rules=rules))
    policy = None if free else find_policy(Path(text.file.name).parent)
    if policy is not None:
        problems += sweep_problems(policy, text.sweep, region, price_of)
    return CheckedSweep(text=text, problems=tuple(problems), usd=worst_case(text.sweep, price_of))
