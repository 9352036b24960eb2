"""What diagnosis adds to the live handles: why a job failed, and guards that watch it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from typing_extensions import TypeVar

from ..core.errors import CloudError, InvalidJob, JobFailed
from ..core.ports import LogCursor
from ..core.session import handles
from ..core.session.handles import Notice
from ..core.session.log_reader import JobLog
from ..core.session.observers import Observer, StatusLines
from ..core.session.waits import poller_for
from ..core.specs.guard import Guard
from ..core.specs.job import JobSpec
from ..core.specs.record import JobRecord
from ..core.specs.snapshot import JobSnapshot, JobStatus
from ..core.specs.units import Usd
from ..core.status import why_command
from .guard.live import JobGuards, guards_of, replayed
from .guard.watch import Alarm, JobWatch

if TYPE_CHECKING:
    from .causes.cause import Diagnosis


def diagnosis_of(log: JobLog, snapshot: JobSnapshot) -> Diagnosis:
    """Return why the job of a log ended as it did: one reading of the log, of which little is kept. Where the log cannot be
    read, what the service says is all."""
    from .causes.diagnose import JobText, scan_of  # noqa: PLC0415 - most jobs do not fail

    try:
        scan = scan_of(part.events for part in log.batches(LogCursor(), follow=False))
    except CloudError:
        scan = None
    return JobText(log.name, snapshot, log.asked, scan).diagnosis()


class DiagnosedJob(handles.TrainingJob):
    """A job that can say why it failed, and be guarded."""

    __slots__ = ()

    session: GuardedSession[Any]

    def watch(self, *, notice: Notice | None = None, guard: Guard | None = None) -> Iterator[JobSnapshot]:
        """Snapshots until the job has ended; the last one is terminal, unless the job was deleted.

        ``notice`` hears what is no snapshot: that the login expired, that the service does not answer, what ``guard`` finds.
        """
        notify = notice or _ignored
        guards = guards_of(self.session, (self,), guard, {})
        poller = poller_for(self.session, (self,), notify)
        for known in poller.sweeps([self.name]):
            if self.name in known:
                yield known[self.name]
            if guards is not None and not poller.failing:
                guards.read(self._log, known)
                guards.look(known, poller.service_now(), notify, answering=True)

    def wait(
        self,
        *,
        progress: bool = True,
        stream: TextIO | None = None,
        max_usd: Usd | float | None = None,
        usd_per_hour: Usd | float | None = None,
        guard: Guard | None = None,
    ) -> JobSnapshot:
        """Wait until the job has ended, with live progress. Raises JobFailed when it failed, with the script's own
        exception, its cause and AWS's reason.

        ``max_usd``, ``usd_per_hour`` and ``guard`` are those of ``Session.wait``.
        """
        (final,) = self.session.wait(
            [self], progress=progress, stream=stream, max_usd=max_usd, usd_per_hour=usd_per_hour, guard=guard
        )
        if final.status is JobStatus.FAILED:
            raise self._failed(final)
        return final

    def guarded(self, guard: Guard) -> tuple[JobWatch, tuple[Alarm, ...]]:
        """Hold the job against ``guard`` once, from its whole log: what it has heard, and what is wrong now. Acts on nothing.
        Raises CloudError."""
        parts = (part.events for part in self._log.batches(LogCursor(), follow=False))
        return replayed(self.session, guard, self.snapshot(), parts)

    def why(self) -> Diagnosis:
        """Return why the job failed, stopped or hangs: its cause, what followed, what to change – as a change of ``spec`` where it
        is one. Nothing is changed. Raises CloudError.
        """
        from .causes.diagnose import stalled  # noqa: PLC0415 - most jobs go well

        now = self.snapshot()
        diagnosis = diagnosis_of(self._log, now)
        if diagnosis.cause is not None or now.terminal:
            return diagnosis
        _, alarms = self.guarded(Guard())
        return stalled(diagnosis, alarms[0].what, alarms[0].since_s) if alarms else diagnosis

    def _failed(self, final: JobSnapshot) -> JobFailed:
        from .text import cause_line  # noqa: PLC0415 - only a failure needs the words

        diagnosis = diagnosis_of(self._log, final)
        lines = [self._failure(final)]
        cause = cause_line(diagnosis)
        if cause:
            lines.append(f"Cause: {cause}")
        lines.append(f"Next: {why_command(self.name)}")
        return JobFailed("\n".join(lines), operation="TrainingJob", code="Failed", diagnosis=diagnosis)

    def record(self) -> JobRecord:
        """The job's story as a value: its snapshot and the numbers of its log; of a failed one also its cause, as a note."""
        from .text import cause_line  # noqa: PLC0415 - only a failure needs the words

        story = super().record()
        if story.snapshot.status is not JobStatus.FAILED:
            return story
        cause = cause_line(diagnosis_of(self._log, story.snapshot))
        return dataclasses.replace(story, notes=(f"failed: {cause}",)) if cause else story


D_co = TypeVar("D_co", bound=DiagnosedJob, default=DiagnosedJob, covariant=True)


class GuardedSession(handles.Session[D_co]):
    """A session whose waits guard the jobs."""

    __slots__ = ()

    def submit(
        self,
        job: JobSpec,
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
        guard: Guard | None = None,
    ) -> D_co:
        """Check, upload, create. Raises InvalidJob with every error of ``check``; ``ignore`` waives some by id. ``guard`` is put
        into the spec: whoever waits for the job watches for it.

        ``max_usd`` refuses, with OverBudget, what may cost more: max_run_s × instances × price. An emulated job costs nothing.
        """
        return super().submit(job if guard is None else job.replace(guard=guard), ignore=ignore, max_usd=max_usd)

    def wait(  # noqa: PLR0913 - what a wait can be told, each by name
        self,
        jobs: Sequence[handles.TrainingJob],
        *,
        progress: bool = True,
        stream: TextIO | None = None,
        max_usd: Usd | float | None = None,
        usd_per_hour: Usd | float | None = None,
        notice: Notice | None = None,
        observers: Sequence[Observer] | None = None,
        guard: Guard | None = None,
    ) -> list[JobSnapshot]:
        """Wait for all of them with one poller; shows a live table in a notebook or terminal, lines elsewhere.

        Returns the final snapshots in the order given; a failed job does not end the wait for the others, nor does a
        throttle, a lost connection or a login that expired: ``notice`` (else the display) is told, and it goes on.
        Ctrl-C stops the watching only: the jobs run on.

        Once all of them together have been billed ``max_usd``, those that still run are asked to stop, and save.
        ``usd_per_hour`` stands for every price; without it an emulated job costs nothing. Raises CloudError, when all have
        ended, for jobs that could not be asked to stop. ``observers`` see every look at the jobs, instead of that table.

        ``guard`` watches each job for stalls, wrong numbers and more (``Guard``), instead of the guard in its spec. Without either,
        a wait on AWS with ``progress`` tells of them and does nothing. A guard whose ``act`` is ``resume`` starts a job that it
        stopped again, once; the snapshot returned is then the new job's.
        """
        guards = guards_of(self, jobs, guard, {} if self.emulated or not progress else {"": Guard()})

        def once(jobs: Sequence[handles.TrainingJob], guards: JobGuards | None, **more: Any) -> list[JobSnapshot]:
            shown = self._observers(jobs, guards, progress=progress, stream=stream) if observers is None else observers
            watching = [*shown, guards] if guards is not None else shown
            return super(GuardedSession, self).wait(jobs, notice=notice, observers=watching, **more)

        final = once(jobs, guards, max_usd=max_usd, usd_per_hour=usd_per_hour)
        again = [job for job in jobs if guards is not None and job.name in guards.resumable]
        resumed = {job.name: new for job in again if (new := self._resumed(job, notice)) is not None}
        if guards is None or not resumed:
            return final
        limits = {new.name: dataclasses.replace(guards.guards[name], act="stop") for name, new in resumed.items()}
        ended = once(list(resumed.values()), guards_of(self, resumed.values(), None, limits))
        later = dict(zip(resumed, ended, strict=True))
        return [later.get(snapshot.name, snapshot) for snapshot in final]

    def _observers(
        self, jobs: Sequence[handles.TrainingJob], guards: JobGuards | None, *, progress: bool, stream: TextIO | None
    ) -> Sequence[Observer]:
        """Who sees the wait, beside the guards."""
        del jobs, guards
        return (StatusLines(stream or sys.stdout),) if progress else ()

    @staticmethod
    def _resumed(job: handles.TrainingJob, notice: Notice | None) -> handles.TrainingJob | None:
        """The new job of one that a guard stopped; None, and words, where there is nothing to go on from."""
        try:
            return job.resume()
        except InvalidJob as error:
            (notice or _ignored)(f"{job.name} is not started again: {error}")
            return None


def _ignored(_text: str) -> None:
    """Nobody asked to be told."""
