"""From a sweep to a tuning job that runs: checked, priced, uploaded, and created once, whatever becomes of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..core.errors import InvalidJob
from ..core.session.budget import as_usd
from ..core.session.handles import SECRETS_RULE, Session
from ..core.session.launches import Staging, launch_all, unique_name
from ..core.specs.destination import Destination
from ..core.specs.problems import Severity
from ..core.specs.tuning import Sweep
from ..core.specs.units import Usd
from .checking import check_sweep
from .job import TuningJob
from .policy import allowed
from .ports import TuningService
from .request import tuning_request
from .worst_case import refuse_over, worst_case

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
    asked = allowed(session, sweep)
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
