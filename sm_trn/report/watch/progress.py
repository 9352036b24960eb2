"""What a wait shows beside the statuses: numbers out of the logs and the age of checkpoints, read on the poller's looks.

It asks seldom – a look at a log costs as much as a look at a job – and no failure here ends a wait.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from ...core.errors import CloudError
from ...core.logs.events import LogEvent
from ...core.logs.metrics import MetricReader
from ...core.logs.script import ExceptionReader
from ...core.ports import LogCursor, StoredObjects, Trouble
from ...core.pricing.book import Price
from ...core.session.cloud import Cloud
from ...core.session.log_reader import expected_streams, settled, streams_missing
from ...core.session.names import short_names
from ...core.session.observers import Notify, Observer, Watched
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobSnapshot, JobStatus
from ..jobs import WatchRow

if TYPE_CHECKING:
    from ...diagnosis.guard.live import JobGuards
    from ...diagnosis.health.health import Health
    from .display import Display

NEWEST = 2000  # numbers: five minutes of a job that logs several of them every second
LOG_FIRST_S, LOG_EVERY_S = 40.0, 120.0  # between looks at one training job's log: the first two, and all others
LOG_LOOKS = 10  # at running jobs, per sweep: of more jobs, those that waited longest come first
LOGGED = 200  # of more jobs than that the table shows no steps: their logs would cost more than all else
CHECKPOINT_EVERY_S = 120.0
CHECKPOINTED = 20  # jobs of which the checkpoints are looked at: what a screen shows
LAST_TRIES, LAST_PAUSE_S = 12, 10.0
SPEAKING = {"Training", "Uploading", "Stopping"}  # phases in which a log grows


@dataclass(kw_only=True)
class Reader:
    """The newest numbers of one job's log, read on from where the last look ended."""

    name: str
    label: str
    metrics: MetricReader = field(default_factory=MetricReader)
    points: deque[MetricPoint] = field(default_factory=lambda: deque(maxlen=NEWEST))
    total_steps: int | None = None
    raised: ExceptionReader = field(default_factory=ExceptionReader)
    cursor: LogCursor = field(default_factory=LogCursor)
    looked: float | None = None
    looks: int = 0
    complete: bool = False
    checkpoints: StoredObjects | None = None
    checkpoints_looked: float | None = None

    def read(self, events: Sequence[LogEvent]) -> None:
        self.raised.read(events)
        for point in self.metrics.read(events):
            self.points.append(point)
            if point.name == "total_steps" and self.total_steps is None and math.isfinite(point.value):
                self.total_steps = int(point.value)

    def row(self, snapshot: JobSnapshot, price: Price | None, health: Health | None = None) -> WatchRow:
        return WatchRow(
            snapshot=snapshot,
            label=self.label,
            points=tuple(self.points),
            price=price,
            health=health,
            total_steps=self.total_steps,
            checkpoints=self.checkpoints,
            log_read=self.looked is not None,
            exception=self.raised.found() if snapshot.status is JobStatus.FAILED else "",
        )


@dataclass(kw_only=True)
class Progress(Observer):
    """Keeps a display up to date. ``readers`` are in the order of the rows."""

    readers: Sequence[Reader]
    display: Display
    cloud: Cloud
    guards: JobGuards
    _rows: dict[str, WatchRow] = field(default_factory=dict)  # those that time alone does not change
    _noted: bool = False

    def look(self, known: Mapping[str, JobSnapshot], now: datetime, notify: Notify, *, answering: bool = True) -> None:
        """Read what is due, where the service is answering, then show every job that is known."""
        seen = [reader for reader in self.readers if reader.name in known]
        if len(self.readers) > LOGGED and not self._noted:
            self._noted = True
            notify(
                f"Logs of so many jobs are not read: no steps are shown, and no stalls are seen. Of at most {LOGGED} they are."
            )
        if answering and len(self.readers) <= LOGGED:
            self._read(seen, known, notify)
        if answering and len(self.readers) <= CHECKPOINTED:
            for reader in seen:
                self._look_at_checkpoints(reader, known[reader.name])
        self._draw(seen, known, now)

    def finish(self, known: Mapping[str, JobSnapshot], now: datetime, notify: Notify) -> None:
        """The last lines of jobs that ended while their logs could not be read."""
        for _ in range(LAST_TRIES):
            late = [r for r in self.readers if r.name in known and known[r.name].terminal and not r.complete]
            if not late or len(self.readers) > LOGGED:
                return
            self.cloud.clock.sleep(LAST_PAUSE_S)
            self._read(late, known, notify)
            self._draw([reader for reader in self.readers if reader.name in known], known, now)

    def note(self, text: str, at: datetime) -> None:
        self.display.note(text, at)

    def close(self, words: str) -> None:
        self.display.close(words)

    def _draw(self, readers: Sequence[Reader], known: Mapping[str, JobSnapshot], now: datetime) -> None:
        self.display.show([self._row(reader, known[reader.name], now) for reader in readers], now)

    def _row(self, reader: Reader, job: JobSnapshot, now: datetime) -> WatchRow:
        """The row of a job; the one of the look before where the service says nothing new of it and no log tells more."""
        unlogged = len(self.readers) > LOGGED
        lasts = (job.over and (unlogged or reader.complete)) or (unlogged and not self.guards.has_heard(job.name))
        row = self._rows.get(reader.name) if lasts else None
        if row is None or row.snapshot is not job:
            row = reader.row(job, self.cloud.price_of(job.machines), self.guards.health(job, now))
        if lasts:
            self._rows[reader.name] = row
        return row

    def _read(self, readers: Sequence[Reader], known: Mapping[str, JobSnapshot], notify: Notify) -> None:
        now = self.cloud.clock.now()
        ended = [r for r in readers if known[r.name].terminal and not r.complete]
        due = [r for r in readers if not known[r.name].terminal and self._due(r, known[r.name], now)]
        due.sort(key=lambda reader: reader.looked or 0.0)
        for reader in [*ended, *due[:LOG_LOOKS]]:
            if not self._advance(reader, known[reader.name], notify):
                return  # the logs do not answer now: the next sweep goes on

    def _due(self, reader: Reader, job: JobSnapshot, now: float) -> bool:
        if reader.complete or job.secondary not in SPEAKING:
            return False
        every_s = LOG_EVERY_S if reader.looks > 1 else LOG_FIRST_S
        return job.emulated or reader.looked is None or abs(now - reader.looked) >= every_s

    def _advance(self, reader: Reader, job: JobSnapshot, notify: Notify) -> bool:
        """Read one log further, and return whether it answered. A running job's streams are known, so a look costs one call for each."""
        streams = None if job.terminal else expected_streams(job)
        try:
            for batch in self.cloud.logs.stream_events(reader.name, reader.cursor, streams=streams):
                reader.read(batch.events)
                self.guards.hear(reader.name, batch.events)
                reader.cursor = batch.cursor
        except CloudError as error:
            return self._survive(reader, error, notify)
        self.guards.hear(reader.name, ())
        now = self.cloud.clock.now()
        reader.looked = now
        reader.complete = job.terminal and (not streams_missing(job, reader.cursor) or settled(job, reader.cursor, now))
        reader.looks += 1
        return True

    def _survive(self, reader: Reader, error: CloudError, notify: Notify) -> bool:
        trouble = self.cloud.backend.trouble(error)
        match trouble:
            case None | Trouble.NOT_FOUND:
                reader.complete = True
                notify(
                    f"The log of {reader.name} cannot be read ({error.code or error}); the watch goes on without it."
                )
                return True
            case Trouble.EXPIRED:
                self.cloud.backend.renew()  # the poller says so
            case Trouble.TRANSIENT:
                pass  # the next look asks again
            case _:
                assert_never(trouble)
        return False

    def _look_at_checkpoints(self, reader: Reader, job: JobSnapshot) -> None:
        now = self.cloud.clock.now()
        uri = (job.raw.get("CheckpointConfig") or {}).get("S3Uri")
        looked = reader.checkpoints_looked
        if not uri or job.secondary != "Training" or (looked is not None and abs(now - looked) < CHECKPOINT_EVERY_S):
            return
        reader.checkpoints_looked = now
        try:
            reader.checkpoints = self.cloud.storage.fetch_objects(uri)
        except CloudError:
            return  # an age that is not known now is shown as it was


def progress_of(session: Cloud, jobs: Sequence[Watched], display: Display, guards: JobGuards | None = None) -> Progress:
    """What keeps ``display`` up to date about ``jobs``; ``guards`` hear each job's new lines, and say how it is."""
    from ...diagnosis.guard.live import JobGuards  # noqa: PLC0415 - who has guards has loaded it

    short = short_names(job.name for job in jobs)
    readers = [Reader(name=job.name, label=short.get(job.label, job.label)) for job in jobs]
    return Progress(
        readers=readers, display=display, cloud=session, guards=guards or JobGuards(cloud=session, guards={})
    )
