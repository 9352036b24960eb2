"""The jobs that are watched: hears what the one poller read, says how each job is, and acts for those that have a guard."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ...core.errors import CloudError
from ...core.formatting import numbers as fmt
from ...core.logs.events import LogEvent
from ...core.ports import LogCursor
from ...core.pricing.book import Price
from ...core.pricing.cost import usd_for
from ...core.session.budget import billed_so_far
from ...core.session.cloud import Cloud
from ...core.session.observers import Notify, Observer, Watched
from ...core.session.waits import stop_one
from ...core.specs.guard import Guard
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobSnapshot, JobStatus
from ...core.status import Verdict, why_command
from ..health.health import DEFAULTS, TRAINING, Health, health, save_due
from ..health.story import Story

READ_S = 60.0  # between two looks at a log that nothing else reads
MEASURED_S = 60.0  # between two looks at CloudWatch's utilization, which has one value a minute
if TYPE_CHECKING:
    from ...core.session.log_reader import JobLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm(Health):
    """A limit that a job has passed: how the job is for it. ``sure`` says that it may be acted on, ``proof`` what would make it sure."""

    limit: str


@dataclass(slots=True)
class JobWatch:
    """Watches one job by its lines; times are epoch seconds. ``heard``: its log was read, be it empty."""

    guard: Guard
    story: Story = field(default_factory=Story)
    heard: bool = False

    def hear(self, events: Iterable[LogEvent]) -> None:
        """Take in new lines, in time order; none of a log that was read and has no more."""
        self.heard = True
        self.story.hear(events)

    def health(
        self, job: JobSnapshot, read_s: float, utilization: Sequence[MetricPoint] = (), *, empty: bool = False
    ) -> Health:
        """Return how the job is, whose log was read up to ``read_s``: so long as nobody looks, no silence is counted."""
        return health(job, self.story, (), utilization, now=read_s, limits=self.guard, empty=empty)

    def alarms(
        self,
        job: JobSnapshot,
        read_s: float,
        *,
        usd: float | None = None,
        utilization: Sequence[MetricPoint] = (),
        empty: bool = False,
    ) -> tuple[Alarm, ...]:
        """Return the limits that the job has passed: of a log that nobody reads, none but the cost. ``usd`` is what it has cost
        so far, ``utilization`` what CloudWatch measured; ``empty`` as in ``health``.
        """
        alarms: list[Alarm] = []
        most = self.guard.max_usd
        if most and usd and usd >= most and not job.terminal:
            what = f"it has cost ${usd:,.2f} of ${most:,.2f}"
            alarms.append(Alarm(limit="max_usd", verdict=Verdict.PROGRESSING, what=what, since_s=read_s, sure=True))
        if not self.heard or job.secondary != TRAINING or job.status_word != "InProgress":
            return tuple(alarms)
        state = self.health(job, read_s, utilization, empty=empty)
        if state.needs_you:
            stalls = "stall_s" if self.story.steps.known else "no_first_step_s"
            limit = {Verdict.NOT_FINITE: "not_finite", Verdict.UNSAVED: "save_steps"}.get(state.verdict, stalls)
            alarms.append(Alarm(limit=limit, **dataclasses.asdict(state)))
        return tuple(alarms)


@dataclass(kw_only=True)
class JobGuards(Observer):
    """``guards`` by job name; of a job without one it says how it is, and tells nothing by itself. ``alarmed`` hears every new alarm
    as a value; ``stopped`` are the jobs that were asked to stop."""

    cloud: Cloud
    guards: Mapping[str, Guard]
    alarmed: Callable[[JobSnapshot, Alarm], None] = lambda _job, _alarm: None
    stopped: list[str] = field(default_factory=list)
    _watches: dict[str, JobWatch] = field(default_factory=dict)
    _read: dict[str, float] = field(default_factory=dict)  # up to when each log was read, by this machine's clock
    _cursors: dict[str, LogCursor] = field(default_factory=dict)
    _said: set[tuple[str, str, float]] = field(default_factory=set)
    _measured: dict[str, tuple[float, tuple[MetricPoint, ...]]] = field(default_factory=dict)
    _empty: dict[tuple[str, int], bool] = field(default_factory=dict)  # by job and minute

    def hear(self, name: str, events: Sequence[LogEvent]) -> None:
        """Take in a job's new lines, which were read just now."""
        self._read[name] = self.cloud.clock.now()
        self._watch(name).hear(events)

    def has_heard(self, name: str) -> bool:
        """Whether a line of a job's log was read: how the job is then changes with the time alone."""
        return name in self._read

    def forget(self, name: str) -> None:
        """Forget a job's lines: its log is read again from the beginning, or not any more."""
        for kept in (self._watches, self._read, self._cursors, self._measured):
            kept.pop(name, None)

    def health(self, job: JobSnapshot, now: datetime) -> Health:
        """How a job is at ``now``, by the service's clock: the one answer for whoever shows, tells or acts."""
        if job.name not in self._read:
            return health(job, None, now=now.timestamp())
        read_s = self._read[job.name] + now.timestamp() - self.cloud.clock.now()
        return self._watch(job.name).health(job, read_s, self._utilization(job, read_s), empty=self.is_empty(job))

    def read(self, log: JobLog, known: Mapping[str, JobSnapshot]) -> None:
        """Read a job's log on, where it may have grown: for a watch that shows nothing of it. A failure passes."""
        name, now = log.name, self.cloud.clock.now()
        job = known.get(name)
        every_s = 0.0 if job is not None and job.emulated else READ_S
        if job is None or job.secondary != TRAINING or now - self._read.get(name, -READ_S) < every_s:
            return
        try:
            for part in log.batches(self._cursors.get(name, LogCursor()), follow=False):
                self._cursors[name] = part.cursor
                self.hear(name, part.events)
        except CloudError:
            return
        self._read[name] = now

    def look(self, known: Mapping[str, JobSnapshot], now: datetime, notify: Notify, *, answering: bool) -> None:
        """Hold every job against its guard; tell what is new, and act where that was asked for."""
        if not answering:
            return
        ahead = now.timestamp() - self.cloud.clock.now()
        for name, job in known.items():
            if job.terminal or name not in self.guards or name in self.stopped:
                continue
            read_s = self._read.get(name, self.cloud.clock.now()) + ahead
            for alarm in self.alarms(job, read_s):
                self._tell(job, alarm, notify)
                if self._act(job, alarm, notify):
                    break

    def alarms(self, job: JobSnapshot, read_s: float) -> tuple[Alarm, ...]:
        """Return the limits of its guard that a job has passed."""
        watch, usd = self._watch(job.name), None
        price = self._price(job) if watch.guard.max_usd is not None else None
        if price is not None:
            billed = billed_so_far(job, datetime.fromtimestamp(read_s, tz=timezone.utc))
            usd = float(usd_for(billed, job.count, price.usd_per_hour))
        used = self._utilization(job, read_s)
        return watch.alarms(job, read_s, usd=usd, utilization=used, empty=self.is_empty(job))

    def _watch(self, name: str) -> JobWatch:
        if name not in self._watches:
            self._watches[name] = JobWatch(self.guards.get(name, DEFAULTS))
        return self._watches[name]

    def _price(self, job: JobSnapshot) -> Price | None:
        return None if job.emulated or not job.instance else self.cloud.price_of(job.machines)

    def _utilization(self, job: JobSnapshot, now: float) -> tuple[MetricPoint, ...]:
        """What CloudWatch measured; it is asked only where its answer may change what is said."""
        watch = self._watch(job.name)
        if self.cloud.utilization is None or job.emulated or not watch.heard:
            return ()
        if watch.health(job, now).verdict is not Verdict.STALLED:
            return ()
        at, points = self._measured.get(job.name, (0.0, ()))
        if now - at < MEASURED_S:
            return points
        try:
            points = self.cloud.utilization.fetch_utilization(job, now=now)
        except CloudError:
            points = ()  # not allowed, or throttled: then the log alone speaks
        self._measured[job.name] = (now, points)
        return points

    def is_empty(self, job: JobSnapshot) -> bool:
        """Return True if the place of the model of a job that completed holds no file, or that of the checkpoints of one that trains and
        has passed the second step at which it was to save. It is asked once for a model, once a minute for checkpoints."""
        completed, now = job.status is JobStatus.COMPLETED, self.cloud.clock.now()
        uri = job.model_s3_uri if completed else str((job.raw.get("CheckpointConfig") or {}).get("S3Uri") or "")
        if not uri or not (completed or self._watch(job.name).story.newest_step >= 2 * save_due(job)):
            return False
        key = (job.name, 0 if completed else int(now // MEASURED_S))
        if key not in self._empty:
            try:
                self._empty[key] = self.cloud.storage.is_empty(uri) is True
            except CloudError:
                self._empty[key] = False
        return self._empty[key]

    def _tell(self, job: JobSnapshot, alarm: Alarm, notify: Notify) -> None:
        key, price = (job.name, alarm.limit, alarm.since_s), self._price(job)
        if key not in self._said:
            self.alarmed(job, alarm)
        costs = f" {fmt.usd(float(price.usd_per_hour) * job.count / 60)} more a minute." if price is not None else ""
        self._say(
            key, f"✗ {job.name}: {alarm.verdict.word}, {alarm.what}.{costs} Next: {why_command(job.name)}", notify
        )

    def _say(self, key: tuple[str, str, float], text: str, notify: Notify) -> None:
        if key not in self._said:
            self._said.add(key)
            notify(text)

    def _act(self, job: JobSnapshot, alarm: Alarm, notify: Notify) -> bool:
        guard = self.guards[job.name]
        if guard.act == "tell":
            return False
        if not alarm.sure:
            why = f"{alarm.proof}; --stall or silence_suffices needs none"
            self._say((job.name, "unsure", alarm.since_s), f"{job.name} was not stopped: {why}", notify)
            return False
        try:
            stop_one(self.cloud.backend, job.name)
        except CloudError as error:
            if self.cloud.backend.trouble(error) is None:
                text = f"{job.name} could not be asked to stop; it runs on, and is billed: {error}"
                self._say((job.name, "refused", 0.0), text, notify)
            return False  # the next look asks again
        self.stopped.append(job.name)
        notify(f"{job.name} was asked to stop ({alarm.limit}). Its script gets SIGTERM; what it saves is kept.")
        return True


def guards_of(cloud: Cloud, jobs: Iterable[Watched], guard: Guard | None, otherwise: Mapping[str, Guard]) -> JobGuards:
    """The guards of ``jobs``: the one given, else that of the job's spec, else that of its name – or of no name – in ``otherwise``."""
    found: dict[str, Guard] = {}
    for job in jobs:
        asked = job.asked.guard if job.asked is not None else None
        own = guard or asked or otherwise.get(job.name, otherwise.get(""))
        if own is not None:
            found[job.name] = own
    return JobGuards(cloud=cloud, guards=found)
