"""What diagnosis adds to the live handles: why a job failed, and guards that watch it."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TextIO

from typing_extensions import TypeVar

from ..core.errors import CloudError, JobFailed
from ..core.logs.events import LogEvent
from ..core.ports import LogCursor
from ..core.session import handles
from ..core.session.handles import Notice
from ..core.session.log_reader import JobLog
from ..core.session.observers import Observer, StatusLines
from ..core.specs.guard import Guard
from ..core.specs.record import JobRecord
from ..core.specs.snapshot import JobSnapshot, JobStatus
from ..core.specs.units import Usd
from ..core.status import Verdict, limit_of, why_command
from .guard.live import Alarm, JobGuards, guards_of
from .health.health import Health, health

if TYPE_CHECKING:
    from .causes.cause import Diagnosis


_LAST = 2_000  # lines of a job that ended


def diagnosis_of(
    log: JobLog, snapshot: JobSnapshot, hear: Callable[[Sequence[LogEvent]], None] = lambda _events: None
) -> Diagnosis:
    """Return why the job of a log ended as it did: one reading of the log, of which little is kept, and which ``hear`` hears too.
    Where the log cannot be read, what the service says is all."""
    from .causes.diagnose import JobText, read_events  # noqa: PLC0415 - most jobs do not fail

    def parts() -> Iterator[Sequence[LogEvent]]:
        for part in log.batches(LogCursor(), follow=False):
            hear(part.events)
            yield part.events
        hear(())  # all was read, though it may be empty

    try:
        lines = read_events(parts())
    except CloudError:
        lines = None
    return JobText(log.name, snapshot, log.asked, lines).diagnosis()


def _checked(guards: JobGuards, job: JobSnapshot) -> tuple[Health, tuple[Alarm, ...]]:
    """How a job is whose whole log was heard just now, and which limits it has passed."""
    clock = guards.cloud.clock.now()
    now = datetime.fromtimestamp(clock, tz=timezone.utc)
    return guards.health(job, now), guards.alarms(job, clock)


class DiagnosedJob(handles.TrainingJob):
    """A job that can say why it failed, and be guarded."""

    __slots__ = ()

    session: GuardedSession[Any]

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
        exception, its cause and AWS's reason, and when a limit of time stopped it.

        ``max_usd``, ``usd_per_hour`` and ``guard`` are those of ``Session.wait``.
        """
        (final,) = self.session.wait(
            [self], progress=progress, stream=stream, max_usd=max_usd, usd_per_hour=usd_per_hour, guard=guard
        )
        if final.status is JobStatus.FAILED or limit_of(final):
            raise self._failed(final)
        return final

    def guarded(self, guard: Guard | None) -> tuple[Health, tuple[Alarm, ...]]:
        """Hold the job against ``guard`` once, from its whole log: how it is, and which limits it has passed. Acts on nothing.
        Raises CloudError."""
        guards = JobGuards(cloud=self.session, guards={} if guard is None else {self.name: guard})
        for part in self._log.batches(LogCursor(), follow=False):
            guards.hear(self.name, part.events)
        guards.hear(self.name, ())  # all was read, though it may be empty
        return _checked(guards, self.snapshot())

    def health(self) -> Health:
        """How the job is now, from one reading of its whole log: its verdict, since when, and what speaks for it. Raises CloudError."""
        return self.guarded(None)[0]

    def why(self) -> Diagnosis:
        """Return why the job failed, stopped or hangs: its cause, what followed, what to change – as a change of ``spec`` where it
        is one. Nothing is changed. Raises CloudError.
        """
        from .causes.diagnose import with_health  # noqa: PLC0415 - most jobs go well

        now = self.snapshot()
        guards = JobGuards(cloud=self.session, guards={})
        last: deque[LogEvent] = deque(maxlen=_LAST)
        hear = last.extend if now.terminal else functools.partial(guards.hear, self.name)
        diagnosis = diagnosis_of(self._log, now, hear)
        if last:
            guards.hear(self.name, last)  # how a run ended stands at its end
        return with_health(diagnosis, _checked(guards, now)[0])

    def ending(self, final: JobSnapshot) -> Verdict | None:
        """How the job ended: by its status, and where that is well by the last losses of its log too. None while it goes on."""
        told = super().ending(final)
        if told is not Verdict.ENDED_WELL:
            return told
        guards = JobGuards(cloud=self.session, guards={})
        try:
            guards.hear(self.name, deque(self._log.events(tail=_LAST), maxlen=_LAST))
        except CloudError:
            return told
        return _checked(guards, final)[0].verdict

    def _failed(self, final: JobSnapshot) -> JobFailed:
        from .text import cause_line  # noqa: PLC0415 - only a failure needs the words

        diagnosis = diagnosis_of(self._log, final)
        lines = [self._failure(final)]
        cause = cause_line(diagnosis)
        lines += [f"Cause: {cause}"] if cause else []
        lines.append(f"Next: {why_command(self.name)}")
        return JobFailed("\n".join(lines), operation="TrainingJob", code=final.status_word, diagnosis=diagnosis)

    def record(self) -> JobRecord:
        """The job's story as a value: its snapshot and the numbers of its log. Notes tell the cause of one that failed, and what is wrong
        with another."""
        from .text import cause_line  # noqa: PLC0415 - only a failure needs the words

        story = super().record()
        if story.snapshot.status is JobStatus.FAILED:
            cause = cause_line(diagnosis_of(self._log, story.snapshot))
            return dataclasses.replace(story, notes=(*story.notes, f"failed: {cause}")) if cause else story
        empty = JobGuards(cloud=self.session, guards={}).is_empty(story.snapshot)
        found = health(story.snapshot, None, story.points, now=self.session.clock.now(), empty=empty)
        if not found.needs_you:
            return story
        return dataclasses.replace(story, notes=(*story.notes, f"{found.verdict.word}: {found.what}"))


D_co = TypeVar("D_co", bound=DiagnosedJob, default=DiagnosedJob, covariant=True)


class GuardedSession(handles.Session[D_co]):
    """A session whose waits guard the jobs."""

    __slots__ = ()

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
        a wait on AWS with ``progress`` tells of them and does nothing.
        """
        guards = guards_of(self, jobs, guard, {} if self.emulated or not progress else {"": Guard()})
        shown = self._observers(jobs, guards, progress=progress, stream=stream) if observers is None else observers
        watching = [*shown, guards] if guards.guards else shown
        return super().wait(jobs, notice=notice, observers=watching, max_usd=max_usd, usd_per_hour=usd_per_hour)

    def _observers(
        self, jobs: Sequence[handles.TrainingJob], guards: JobGuards, *, progress: bool, stream: TextIO | None
    ) -> Sequence[Observer]:
        """Who sees the wait, beside the guards."""
        del jobs, guards
        return (StatusLines(stream or sys.stdout),) if progress else ()
