"""From a sweep to a tuning job that runs: checked, priced, uploaded, and created once, whatever becomes of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..core.errors import InvalidJob
from ..core.formatting import numbers as fmt
from ..core.formatting.missing import Missing
from ..core.pricing.cost import ceiling
from ..core.session.budget import OverBudget, PriceOf, as_usd
from ..core.session.handles import SECRETS_RULE, Session
from ..core.session.launches import Staging, launch_all, unique_name
from ..core.specs.destination import Destination
from ..core.specs.problems import Severity
from ..core.specs.tuning import Sweep
from ..core.specs.units import Usd
from .checking import check_sweep
from .job import TuningJob
from .ports import TuningService
from .request import tuning_request

STOP: Final = "sm-trn tune --stop"


def start(
    session: Session[Any],
    service: TuningService,
    sweep: Sweep,
    *,
    name: str | None = None,
    ignore: Sequence[str] = (),
    max_usd: Usd | float | None = None,
) -> TuningJob:
    """Check, upload, create. Nothing is uploaded before the sweep is checked and its worst case is within ``max_usd``.

    A ``name`` makes the launch repeatable: sent again, word for word, it is the same tuning job. Raises as ``Session.tune``.
    """
    limit = None if max_usd is None else as_usd(max_usd)
    (job,) = session.allowed([sweep.job])
    asked = sweep.replace(job=job)
    refused = tuple(
        problem
        for problem in check_sweep(asked, rules=session.rules)
        if problem.severity is Severity.ERROR and problem.id not in ignore
    )
    if refused:
        raise InvalidJob(sweep.name, refused)
    if limit is not None and not session.emulated:
        refuse_over(sweep.name, sweep.jobs, worst_case(asked, session.price_of), limit)
    chosen = name or unique_name(sweep.base, session.clock.now())
    placed, source = Staging(storage=session.storage, allow_secrets=SECRETS_RULE in ignore).place(asked.job)
    at = Destination(
        role=session.role, region=session.region, bucket=session.bucket, job_name=chosen, source_uri=source
    )
    request = tuning_request(asked.replace(job=placed), at)
    (made,) = launch_all(
        [{"TrainingJobName": chosen}],  # a launch knows what it sends by its name
        lambda _named: None,
        lambda _named: service.create(request),
        handle=lambda known: TuningJob(name=known, session=session, service=service, sweep=asked),
        clock=session.clock,
        paced=not session.emulated,
        stop=STOP,
    )
    return made


def worst_case(sweep: Sweep, price_of: PriceOf) -> Usd | None:
    """The most that all training jobs together can cost: their number × each job's own limit × the dearest of its clusters.

    None where one of the clusters has no price.
    """
    jobs = [sweep.job.replace(compute=cluster) for cluster in sweep.clusters] or [sweep.job]
    each = [ceiling(job, price_of(job.compute.machines)) for job in jobs]
    known = [usd for usd in each if usd is not None]
    return max(known) * sweep.jobs if len(known) == len(each) else None


def worst_case_line(name: str, jobs: int, most: Usd | None) -> str:
    """The worst case as a sentence."""
    counted = fmt.counted(jobs, "training job")
    if most is None:
        return f"{name}: {counted}, {Missing.NO_PRICE}, no ceiling"
    return f"{name}: {counted}, each at most {fmt.usd(most / jobs)}, together at most {fmt.usd(most)}"


def refuse_over(name: str, jobs: int, most: Usd | None, limit: Usd) -> None:
    """Raise OverBudget where the worst case of so many training jobs passes the limit, or is not known."""
    if most is None or most > limit:
        raise OverBudget((worst_case_line(name, jobs, most),), total=most, max_usd=limit)
