"""The session's methods for training queues and training plans."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import TypeVar

from ..core.errors import NotConfigured
from ..core.session import handles
from ..core.specs.guard import Guard
from ..core.specs.job import JobSpec, specs_of
from ..core.specs.services import Queue
from ..core.specs.units import Usd

if TYPE_CHECKING:
    from .batch import Boto3Queues
    from .plans import Offer
    from .queued import QueuedJob

Q_co = TypeVar("Q_co", bound=handles.TrainingJob, default=handles.TrainingJob, covariant=True)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class QueueingSession(handles.Session[Q_co]):
    """A session that puts jobs into queues of AWS Batch."""

    batch: Boto3Queues | None = dataclasses.field(default=None, repr=False)

    @property
    def queues(self) -> Boto3Queues:
        """The port to AWS Batch. Raises NotConfigured for a session that was made without one."""
        if self.batch is None:
            raise NotConfigured("batch: got a session without it, wanted one of connect(), or Session(…, batch=…)")
        return self.batch

    @overload
    def submit(
        self,
        job: JobSpec,
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
        guard: Guard | None = None,
        queue: None = None,
        journal: str | Path | None = None,
    ) -> Q_co: ...

    @overload
    def submit(
        self,
        job: JobSpec,
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
        guard: Guard | None = None,
        queue: Queue,
        journal: str | Path | None = None,
    ) -> QueuedJob: ...

    def submit(
        self,
        job: JobSpec,
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
        guard: Guard | None = None,
        queue: Queue | None = None,
        journal: str | Path | None = None,
    ) -> Any:
        """Check, upload, create – or, with ``queue``, put into a queue of AWS Batch, which starts the job when there is room for it.

        Raises InvalidJob with every error of ``check``; ``ignore`` waives some by id. ``guard`` is put into the spec: whoever waits
        for the job watches for it. ``max_usd`` refuses, with OverBudget, what may cost more: max_run_s × instances × price, for each
        attempt of a queued job. An emulated job costs nothing. ``journal`` is that of ``submit_all``.
        """
        spec = job if guard is None else job.replace(guard=guard)
        return self.submit_all([spec], ignore=ignore, max_usd=max_usd, queue=queue, journal=journal)[0]

    @overload
    def submit_all(
        self,
        jobs: Iterable[JobSpec],
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
        notice: handles.Notice | None = None,
        queue: None = None,
        journal: str | Path | None = None,
    ) -> list[Q_co]: ...

    @overload
    def submit_all(
        self,
        jobs: Iterable[JobSpec],
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
        notice: handles.Notice | None = None,
        queue: Queue,
        journal: str | Path | None = None,
    ) -> list[QueuedJob]: ...

    def submit_all(
        self,
        jobs: Iterable[JobSpec],
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
        notice: handles.Notice | None = None,
        queue: Queue | None = None,
        journal: str | Path | None = None,
    ) -> Any:
        """Launch several jobs, or with ``queue`` put them into a queue; sources and data that are shared go up once. All specs are
        checked before anything starts, and so is ``max_usd``: the most that all of them together may cost.

        ``journal`` is a file that remembers what was submitted: after a kill, the same call goes on where it ended, and starts or queues
        nothing twice. ``notice`` hears each name before its job is created, and what was started before.

        Raises InvalidJob, OverBudget, CloudError, or – when some jobs did start, or may have – PartialLaunch, and for Ctrl-C
        LaunchInterrupted: both hold the jobs, and name each.
        """
        tell = notice or (lambda _text: None)
        if queue is None and journal is None:
            return super(QueueingSession, self).submit_all(jobs, ignore=ignore, max_usd=max_usd, notice=tell)
        from .submitting import once, submit_all  # noqa: PLC0415 - few jobs are queued

        if queue is not None:
            return submit_all(
                self, self.queues, specs_of(jobs), queue, ignore=ignore, max_usd=max_usd, journal=journal, notice=tell
            )
        with once(self, self._launchable(jobs), str(journal), tell) as (by_name, started):
            return self._launch(by_name, started, ignore=ignore, max_usd=max_usd, notice=tell)

    def queued(self, job_id: str) -> QueuedJob:
        """A handle for a job that is in a queue, by its id or ARN. Raises CloudError when there is none."""
        from .queued import QueuedJob  # noqa: PLC0415 - as above

        job = self.queues.fetch(job_id)
        return QueuedJob(name=job.name, queue=job.queue, session=self, queues=self.queues, known_id=job.id)

    def offers(
        self,
        instance: str,
        *,
        count: int = 1,
        hours: int,
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> tuple[Offer, ...]:
        """Training plans on offer: so many instances for so many hours, the earliest first. Buys nothing. Raises CloudError."""
        if self.boto_session is None:
            raise NotConfigured("offers: got a session without an account, wanted one of connect()")
        from .plans import find_offers  # noqa: PLC0415 - few jobs are reserved

        return find_offers(self.boto_session, instance, count, hours, after=after, before=before)
