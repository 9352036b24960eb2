"""What a team's policy says of sweeps: each training job is held against it as a job is, and the dollars of all of them together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.errors import InvalidJob
from ..core.session.budget import PriceOf
from ..core.session.handles import Session
from ..core.session.policy import Policy, find_policy
from ..core.specs.problems import Field, Problem
from ..core.specs.tuning import Sweep
from .worst_case import worst_case


def sweep_problems(policy: Policy, sweep: Sweep, region: str, price_of: PriceOf) -> Iterator[Problem]:
    """What of a sweep the team does not allow: of its training jobs on each cluster, and of what they can cost together."""
    jobs = [sweep.job.replace(compute=cluster) for cluster in sweep.clusters] or [sweep.job]
    yield from dict.fromkeys(problem for job in jobs for problem in policy.job_problems(job, region))
    where = Field("max_jobs" if sweep.max_jobs is not None else "space")
    what = f"the {sweep.jobs} training jobs of the sweep can cost more together than is allowed"
    yield from policy.cost_problems(worst_case(sweep, price_of), where, what)


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
