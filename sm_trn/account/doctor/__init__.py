"""What of this machine, login, role, bucket, quota, image and network is ready for a launch, and what mends the rest."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from ...core.preflight import check
from ...core.specs.job import JobSpec
from ...core.specs.problems import Severity
from ...forecast.rules import ALL_RULES
from . import account, login, machine
from .finding import Finding, Findings, State


def examine(
    job: JobSpec | None = None,
    *,
    name: str = "FILE",
    region: str | None = None,
    profile: str | None = None,
    role: str | None = None,
    bucket: str | None = None,
) -> Findings:
    """Everything that a launch needs, one finding each; with ``job``, which the file ``name`` describes, its part of it too.

    Sends reads only, starts nothing, raises nothing for what is broken, and prints no secret.
    """
    found = Findings(machine.findings())
    found += _of_the_file(job, name)
    found += _of_aws(job, name, region=region, profile=profile, role=role, bucket=bucket)
    return found


def _of_the_file(job: JobSpec | None, name: str) -> Iterator[Finding]:
    if job is None:
        return
    problems = check(job, rules=ALL_RULES)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        yield Finding("job", State.ERROR, f"{job.name}: {problems.counted()}", f"sm-trn check {name}")
    else:
        yield Finding("job", State.READY, f"{job.name}: {problems.counted().lower().rstrip('.')}")


def _of_aws(
    job: JobSpec | None, name: str, *, region: str | None, profile: str | None, role: str | None, bucket: str | None
) -> Iterator[Finding]:
    session = login.session_of(profile, region)
    if isinstance(session, Finding):
        yield session
        return
    for each in login.look(session, region, datetime.now(timezone.utc)):
        if isinstance(each, Finding):
            yield each
        else:
            yield from account.findings(each, job, name, role, bucket)


__all__ = ["Finding", "Findings", "State", "examine"]
