"""The live handle of a job in a queue of AWS Batch, and its snapshots."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, TextIO

from ..core.errors import CloudError, JobFailed, SmTrnError
from ..core.formatting import numbers as fmt
from ..core.formatting.missing import Missing
from ..core.logs.events import LogEvent, printable
from ..core.ports import Trouble
from ..core.pricing.cost import job_cost
from ..core.session.handles import Session
from ..core.session.waits import looks
from ..core.specs.job import JobSpec
from ..core.specs.snapshot import JobSnapshot
from ..core.specs.units import Usd
from .batch import Boto3Queues, ServiceJob

REASON = "stopped by sm-trn"
WAITING = ("SUBMITTED", "PENDING", "RUNNABLE")  # no training job was made for this attempt


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A live handle of a job in a queue of AWS Batch; made by ``submit`` with a ``queue``, or by ``queued``.

    It becomes a training job when Batch starts it: one for each attempt, under a name that Batch makes. ``name`` is that of the queued
    job, ``spec`` is None where another process submitted it.
    """

    name: str
    queue: str
    session: Session[Any] = dataclasses.field(repr=False)
    queues: Boto3Queues = dataclasses.field(repr=False)
    spec: JobSpec | None = dataclasses.field(default=None, repr=False)
    known_id: str = ""

    @property
    def asked(self) -> JobSpec | None:
        """The spec that this handle submitted, None for one that another process did."""
        return self.spec

    @property
    def label(self) -> str:
        return self.spec.name if self.spec is not None else self.name

    @property
    def id(self) -> str:
        """Batch's id of the job. A job whose submission got no answer is looked for by its name. Raises CloudError."""
        if self.known_id:
            return self.known_id
        job = self.queues.fetch_named(self.queue, self.name)
        if job is None:
            raise CloudError(
                f"ListServiceJobs of {self.queue!r}: got no job {self.name!r}, wanted one; its submission did not arrive. Submit it again",
                operation="ListServiceJobs",
            )
        return job.id

    def snapshot(self) -> ServiceJob:
        """The job as the queue tells it now: one DescribeServiceJob. Raises CloudError."""
        return self.queues.fetch(self.id)

    def training_job(self) -> Any:
        """The training job of the newest attempt. Raises SmTrnError while the job waits for its first one."""
        now = self.snapshot()
        if not now.training_job:
            raise SmTrnError(f"{self.name}: {_waits(now)}; job.why() says what it waits for, job.wait() waits with it")
        return self.session.attach(now.training_job)

    def watch(self) -> Iterator[ServiceJob]:
        """Snapshots until the job has succeeded or failed, one for each look. A throttle or a lost connection does not end it."""
        return looks(self.session, self.snapshot)

    def wait(self, *, progress: bool = True, stream: TextIO | None = None) -> ServiceJob:
        """Wait until the job has succeeded; each change is a line on ``stream``. Raises JobFailed when it failed, with Batch's reason,
        and the script's own exception where there was a training job.
        """
        shown, last = stream or sys.stdout, ""
        for now in self.watch():
            line = self._line(now)
            if progress and line != last:
                at = datetime.fromtimestamp(self.session.clock.now(), tz=timezone.utc)
                shown.write(f"{at:%H:%M:%S} {line}\n")
                shown.flush()
            last = line
        if now.status == "FAILED":
            raise self._failed(now)
        return now

    def _line(self, now: ServiceJob) -> str:
        parts = [f"{self.name} {now.status}", now.training_job, printable(now.reason)]
        return "  ".join(part for part in parts if part)

    def _failed(self, now: ServiceJob) -> JobFailed:
        lines = [f"{self.name} failed: {printable(now.reason) or Missing.NO_REASON}"]
        if now.training_job and not now.terminated:
            lines.append(str(self.session.attach(now.training_job).why()))
        return JobFailed("\n".join(lines), operation="ServiceJob", code="FAILED")

    def logs(self, *, follow: bool = False, matching: str | None = None, tail: int | None = None) -> Iterator[LogEvent]:
        """The lines of the newest attempt, as those of a training job. Raises SmTrnError while there is none."""
        lines: Iterator[LogEvent] = self.training_job().logs(follow=follow, matching=matching, tail=tail)
        return lines

    def cost(self) -> Usd | None:
        """Return the cost of all attempts together, in USD; None while nothing is billed, without a price, or on the emulator.

        An attempt that found no capacity costs nothing; Batch deletes the training jobs of all but the last of them.
        """
        now = self.snapshot()
        names = dict.fromkeys([*(each.training_job for each in now.attempts), now.training_job])
        snapshots = [existing(self.session, name) for name in names if name]
        billed = [each for each in snapshots if each is not None and each.billable_s is not None]
        costs = [job_cost(each, self.session.price_of(each.machines)) for each in billed]
        known = [cost.usd for cost in costs if cost is not None]
        return sum(known, Decimal(0)) if known and len(known) == len(billed) else None

    def why(self) -> str:
        """Explain a wait or a failure: Batch's reason, the place in the queue, and the diagnosis of the newest attempt."""
        now = self.snapshot()
        lines = [f"{self.name}: {_waits(now) if now.status in WAITING else now.status}"]
        if now.reason:
            lines.append(f"Batch says: {printable(now.reason)}")
        if now.status in WAITING:
            lines.append(self._place(now))
        for number, attempt in enumerate(now.attempts, 1):
            lines.append(f"attempt {number}: {attempt.training_job}: {printable(attempt.reason) or Missing.NO_REASON}")
        if now.training_job and now.status not in {"SUCCEEDED", *WAITING}:
            lines.append(str(self.session.attach(now.training_job).why()))
        return "\n".join(lines)

    def _place(self, now: ServiceJob) -> str:
        front = self.queues.fetch_front(now.queue or self.queue)
        if now.id in front:
            return f"It is number {front.index(now.id) + 1} of the {fmt.counted(len(front), 'job')} that the queue starts next."
        return f"It is not among the first {fmt.counted(len(front), 'job')} of the queue."

    def stop(self, reason: str = REASON) -> None:
        """End the job: one that waits leaves the queue, one that runs is stopped. One that has ended is left alone. Raises CloudError."""
        self.queues.terminate(self.id, reason)


def _waits(now: ServiceJob) -> str:
    return f"waits in the queue ({now.status})" if now.status in WAITING else now.status


def existing(session: Session[Any], name: str) -> JobSnapshot | None:
    """The training job of this name; None where there is none, or none any more. Raises CloudError."""
    try:
        return session.backend.fetch_snapshot(name)
    except CloudError as error:
        if session.backend.trouble(error) is not Trouble.NOT_FOUND:
            raise
        return None
