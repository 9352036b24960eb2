"""The highest possible cost of a sweep, and a team's policy for sweeps and studies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.errors import InvalidJob
from ..core.formatting import numbers as fmt
from ..core.formatting.missing import Missing
from ..core.pricing.cost import ceiling
from ..core.session.budget import OverBudget, PriceOf
from ..core.session.handles import Session
from ..core.session.policy import Policy, find_policy
from ..core.specs.job import JobSpec
from ..core.specs.problems import Field, Problem
from ..core.specs.tuning import Sweep
from ..core.specs.units import Usd


def worst_case(sweep: Sweep, price_of: PriceOf) -> Usd | None:
    """The most that all training jobs together can cost: their number × each job's own limit × the dearest of its clusters.

    None where one of the clusters has no price.
    """
    jobs = [sweep.job.replace(compute=cluster) for cluster in sweep.clusters] or [sweep.job]
    each = [ceiling(job, price_of(job.compute.machines)) for job in jobs]
    known = [usd for usd in each if usd is not None]
    return max(known) * sweep.jobs if len(known) == len(each) else None


def worst_case_words(jobs: int, most: Usd | None) -> str:
    """The worst case in words: ``20 training jobs, each at most $1.41, together at most $28.20``."""
    counted = fmt.counted(jobs, "training job")
    if most is None:
        return f"{counted}, {Missing.NO_PRICE}, no ceiling"
    return f"{counted}, each at most {fmt.usd(most / jobs)}, together at most {fmt.usd(most)}"


def worst_case_line(name: str, jobs: int, most: Usd | None) -> str:
    """The same with the name of the sweep before it."""
    return f"{name}: {worst_case_words(jobs, most)}"


def refuse_over(name: str, jobs: int, most: Usd | None, limit: Usd) -> None:
    """Raise OverBudget where the worst case of so many training jobs passes the limit, or is not known."""
    if most is None or most > limit:
        raise OverBudget((worst_case_line(name, jobs, most),), total=most, max_usd=limit)


def sweep_problems(policy: Policy, sweep: Sweep, region: str, price_of: PriceOf) -> Iterator[Problem]:
    """Yield problems of a sweep that the team does not allow: its training jobs on each cluster, and their total cost."""
    jobs = [sweep.job.replace(compute=cluster) for cluster in sweep.clusters] or [sweep.job]
    yield from dict.fromkeys(problem for job in jobs for problem in policy.job_problems(job, region))
    where = Field("max_jobs" if sweep.max_jobs is not None else "space")
    what = f"the {sweep.jobs} training jobs of the sweep can cost more together than is allowed"
    fix = f"lower {where}, or choose a cheaper instance"
    yield from policy.cost_problems(worst_case(sweep, price_of), where, what, fix=fix)


def allow_study(session: Session[Any], job: JobSpec, trials: int, max_usd: Usd | None) -> None:
    """Raise InvalidJob for a study of so many trials that the team's policy does not allow.

    What all trials can cost together counts, which is no more than the study's own budget ``max_usd``.
    """
    policy = None if session.emulated else find_policy(Path.cwd())
    if policy is None:
        return
    each = session.ceiling(job)
    most = None if each is None else each * trials
    if most is not None and max_usd is not None:
        most = min(most, max_usd)
    what = f"the {trials} trials of the study can cost more together than is allowed"
    fix = "give max_usd, try fewer, lower max_run_s, or choose a cheaper instance"
    refused = (
        *policy.cost_problems(most, Field("max_run_s"), what, fix=fix),
        *policy.job_problems(job, session.region),
    )
    if refused:
        raise InvalidJob(job.name, refused)


def allowed(session: Session[Any], sweep: Sweep) -> Sweep:
    """The sweep, whose job has the policy's guard where it has none. Raises InvalidJob for a sweep that the policy does not allow.

    The policy is looked for from the working directory. A rehearsal on the emulator costs nothing and is always allowed.
    """
    policy = None if session.emulated else find_policy(Path.cwd())
    if policy is None:
        return sweep
    refused = tuple(sweep_problems(policy, sweep, session.region, session.price_of))
    if refused:
        raise InvalidJob(sweep.name, refused)
    return sweep if sweep.job.guard is not None else sweep.replace(job=sweep.job.replace(guard=policy.guard))
