"""The live handle of one job. It knows its name and its session, and keeps no state of the job."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ..errors import JobFailed
from ..logs import LogEvent, points
from ..ports import LogCursor
from ..pricing import JobCost, Price, job_cost
from ..specs import JobRecord, JobSnapshot, JobSpec, JobStatus, MetricPoint, Usd, WallSeconds, record
from .pace import FIRST_PAUSE_S, next_delay
from .stopping import stop_one

if TYPE_CHECKING:
    import pandas as pd

    from .session import Session


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A live handle of one job, by its full name; made by ``submit`` or ``attach``. ``spec`` is known after a submit."""

    name: str
    session: Session = dataclasses.field(repr=False)
    spec: JobSpec | None = dataclasses.field(default=None, repr=False)

    @property
    def label(self) -> str:
        return self.spec.name if self.spec is not None else self.name

    def snapshot(self) -> JobSnapshot:
        """The job as it is now: one DescribeTrainingJob."""
        return self.session.backend.fetch_snapshot(self.name)

    def watch(self, *, notice: Callable[[str], None] | None = None) -> Iterator[JobSnapshot]:
        """Snapshots until the job has ended; the last one is terminal, unless the job was deleted.

        ``notice`` hears what is no snapshot: that the login expired, that the service does not answer.
        """
        from .waiting import poller_for  # noqa: PLC0415 - it needs this class

        for known in poller_for(self.session, (self,), notice or _ignored).sweeps([self.name]):
            if self.name in known:
                yield known[self.name]

    def wait(
        self,
        *,
        progress: bool = True,
        stream: TextIO | None = None,
        max_usd: Usd | float | None = None,
        usd_per_hour: Usd | float | None = None,
    ) -> JobSnapshot:
        """Wait until the job has ended, with live progress. Raises JobFailed with AWS's reason when it failed.

        ``max_usd`` and ``usd_per_hour`` are those of ``Session.wait``: the job is asked to stop once it has cost so much.
        """
        final = self.session.wait([self], progress=progress, stream=stream, max_usd=max_usd, usd_per_hour=usd_per_hour)[
            0
        ]
        if final.status is JobStatus.FAILED:
            raise JobFailed(
                f"{self.name} failed: {final.failure_reason or 'no reason given'}",
                operation="TrainingJob",
                code="Failed",
            )
        return final

    def logs(self, *, follow: bool = False) -> Iterator[LogEvent]:
        """The lines of every host in time order; with ``follow`` also those to come, until the job has ended."""
        cursor, attempt = LogCursor(), 0
        while True:
            last = self.snapshot() if follow else None
            events, cursor = self.session.logs.fetch_events(self.name, cursor)
            yield from events
            if last is None or last.terminal:
                return
            self.session.clock.sleep(min(next_delay(last, attempt), FIRST_PAUSE_S))
            attempt += 1

    def points(self) -> list[MetricPoint]:
        """Every number in the job's log."""
        return list(points(self.logs()))

    def metrics(self) -> pd.DataFrame:
        """The same as a tidy frame: step, epoch, host, name, value, time."""
        from ..report import metrics_frame  # noqa: PLC0415 - pandas stays out of `import sm_trn`

        return metrics_frame(self.points())

    @property
    def billable_s(self) -> WallSeconds | None:
        """``BillableTimeInSeconds``: wall seconds per instance, None before the service knows them."""
        return self.snapshot().billable_s

    def cost(self, *, at: date | str | None = None, price: Price | None = None) -> JobCost | None:
        """What the job cost at the newest price, at that of a day, or at a given one. None: unbilled, unpriced or emulated."""
        now = self.snapshot()
        return job_cost(now, price or self.session.price(now.instance, at=at))

    def stop(self, *, wait: bool = False) -> JobSnapshot:
        """Ask the job to stop; its script gets SIGTERM, and what it saves is kept. A job that has ended is left alone."""
        now = self.snapshot()
        if not now.terminal and now.status is not JobStatus.STOPPING:
            stop_one(self.session.backend, self.name)
        return self.session.wait([self], progress=False)[0] if wait else self.snapshot()

    def record(self) -> JobRecord:
        """The job's story as a value: its snapshot and the numbers of its log."""
        workload = Path(self.spec.script.entry).stem if self.spec is not None else ""
        return record(self.snapshot(), self.points(), label=self.label, workload=workload)


def _ignored(_text: str) -> None:
    """Nobody asked to be told."""
