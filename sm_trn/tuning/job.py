"""Tuning jobs: their snapshots and trials, the live handle, and their start."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, Final, TextIO

from ..core.errors import InvalidJob, JobFailed, SmTrnError
from ..core.formatting import numbers as fmt
from ..core.formatting.missing import Missing
from ..core.logs.events import printable
from ..core.ports import JobQuery
from ..core.pricing.cost import job_cost
from ..core.session.budget import as_usd
from ..core.session.details import fetch_details, listed
from ..core.session.handles import SECRETS_RULE, Session, TrainingJob
from ..core.session.launches import Staging, launch_all, unique_name
from ..core.session.waits import looks
from ..core.specs.destination import Destination
from ..core.specs.job import JobSpec
from ..core.specs.problems import Severity
from ..core.specs.snapshot import JobSnapshot
from ..core.specs.tuning import Sweep
from ..core.specs.units import Usd
from .aws import Boto3Tuning, Trial, TuningSnapshot
from .checking import check_sweep
from .request import OF_THE_SEARCH, decoded, tuning_request
from .worst_case import allowed, refuse_over, worst_case


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TuningJob:
    """A live handle of a tuning job; made by ``Session.tune`` or ``Session.tuning_job``. ``sweep`` is None where another process
    submitted it.
    """

    name: str
    session: Session[Any] = dataclasses.field(repr=False)
    service: Boto3Tuning = dataclasses.field(repr=False)
    sweep: Sweep | None = dataclasses.field(default=None, repr=False)

    def snapshot(self) -> TuningSnapshot:
        """The tuning job as it is now: one DescribeHyperParameterTuningJob. Raises CloudError."""
        return self.service.fetch(self.name)

    def trials(self) -> list[Trial]:
        """Its training jobs in the order in which they were started, with their values: a call for each hundred. Raises CloudError."""
        return list(self.service.fetch_trials(self.name))

    def jobs(self) -> list[TrainingJob]:
        """Handles of its training jobs, for ``st.compare`` and all else that takes jobs. Raises CloudError."""
        return [self._job(trial.name) for trial in self.trials()]

    def _job(self, name: str) -> TrainingJob:
        return self.session.job_class(name=name, session=self.session)

    def watch(self) -> Iterator[TuningSnapshot]:
        """Snapshots until the search is over, one for each look. A throttle or a lost connection does not end it."""
        return looks(self.session, self.snapshot)

    def wait(self, *, progress: bool = True, stream: TextIO | None = None) -> TuningSnapshot:
        """Wait until the search is over; each change is a line on ``stream``. Ctrl-C stops the waiting alone.

        Raises JobFailed when the tuning job failed, with the service's reason.
        """
        shown, last = stream or sys.stdout, ""
        for now in self.watch():
            line = progress_line(now)
            if progress and line != last:
                at = datetime.fromtimestamp(self.session.clock.now(), tz=timezone.utc)
                shown.write(f"{fmt.iso(at)} {line}\n")
                shown.flush()
            last = line
        if now.status == "Failed":
            raise JobFailed(
                f"{self.name} failed: {printable(now.reason) or Missing.NO_REASON}\nNext: sm-trn tune {self.name}",
                operation="HyperParameterTuningJob",
                code="Failed",
            )
        return now

    def best(self) -> Trial:
        """The training job with the best objective so far. Raises SmTrnError before there is one, CloudError."""
        best = self.snapshot().best
        if best is None:
            raise SmTrnError(
                f"{self.name}: got no training job with a value of its objective yet, wanted one; job.wait() waits"
            )
        return best

    def best_job(self) -> TrainingJob:
        """The handle of the best training job, with its model. Raises as ``best``."""
        return self._job(self.best().name)

    def best_spec(self) -> JobSpec:
        """The job with the best values, to be launched on its own: the sweep's, else what the best training job was asked.

        Raises as ``best``.
        """
        best = self.best()
        if self.sweep is not None:
            values = {**self.sweep.job.hyperparameters, **decoded(self.sweep, best.values)}
            return self.sweep.job.replace(hyperparameters=values)
        spec: JobSpec = self._job(best.name).spec
        own = {name: value for name, value in spec.hyperparameters.items() if name not in OF_THE_SEARCH}
        return spec.replace(hyperparameters=own)

    def cost(self) -> Usd | None:
        """Return the cost of all training jobs together, in USD; None while one has no cost yet, without a price, or on the emulator."""
        names = {trial.name for trial in self.trials()}
        costs = [job_cost(each, self.session.price_of(each.machines)) for each in self._snapshots(names)]
        known = [cost.usd for cost in costs if cost is not None]
        return sum(known, Decimal(0)) if known and len(known) == len(costs) else None

    def _snapshots(self, names: set[str]) -> list[JobSnapshot]:
        """The training jobs, many a call: the name of each begins with that of its tuning job."""
        query = JobQuery(containing=self.name)
        rows = [row for row in listed(self.session.backend, query) if row.name in names]
        known = fetch_details(self.session.backend, query, rows)
        missing = sorted(names - {row.name for row in rows})
        return known + [self.session.backend.fetch_snapshot(name) for name in missing]

    def stop(self) -> None:
        """Ask the tuning job to stop, and with it the training jobs that run. One that has ended is left alone. Raises CloudError."""
        now = self.snapshot()
        if not now.terminal and now.status != "Stopping":
            self.service.stop(self.name)


def progress_line(now: TuningSnapshot) -> str:
    """How a search is, in one line: its status, how many training jobs are over, the best of them."""
    parts = [f"{now.name} {now.status}", f"{now.ended} of {now.most or '?'} training jobs have ended"]
    if now.best is not None and now.best.objective is not None:
        parts.append(f"best {now.metric} {fmt.small(now.best.objective)} of {now.best.name}")
    return ", ".join(parts)


STOP: Final = "sm-trn tune --stop"


def start(
    session: Session[Any],
    service: Boto3Tuning,
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
    permitted = allowed(session, sweep)
    refused = tuple(
        problem
        for problem in check_sweep(permitted, rules=session.rules)
        if problem.severity is Severity.ERROR and problem.id not in ignore
    )
    if refused:
        raise InvalidJob(sweep.name, refused)
    if limit is not None and not session.emulated:
        refuse_over(sweep.name, sweep.jobs, worst_case(permitted, session.price_of), limit)
    chosen = name or unique_name(sweep.base, session.clock.now())
    placed, source = Staging(storage=session.storage, allow_secrets=SECRETS_RULE in ignore).place(permitted.job)
    at = Destination(
        role=session.role, region=session.region, bucket=session.bucket, job_name=chosen, source_uri=source
    )
    request = tuning_request(permitted.replace(job=placed), at)
    (made,) = launch_all(
        [{"TrainingJobName": chosen}],  # a launch knows what it sends by its name
        lambda _named: None,
        lambda _named: service.create(request),
        handle=lambda known: TuningJob(name=known, session=session, service=service, sweep=permitted),
        clock=session.clock,
        paced=not session.emulated,
        stop=STOP,
    )
    return made
