"""The guards of jobs that are watched: hears what the one poller read, tells each alarm once, and stops a job that may be stopped."""

from __future__ import annotations

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
from ...core.session.stops import stop_one
from ...core.specs.guard import Guard
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobSnapshot
from ...core.status import why_command
from .watch import TRAINING, Alarm, JobWatch

READ_S = 60.0  # between two looks at a log that nothing else reads
MEASURED_S = 60.0  # between two looks at CloudWatch's utilization, which has one value a minute
if TYPE_CHECKING:
    from ...core.session.log_reader import JobLog

Alarmed = Callable[[JobSnapshot, Alarm], None]


@dataclass(kw_only=True)
class JobGuards(Observer):
    """``guards`` by job name. ``alarmed`` hears every new alarm as a value; ``stopped`` are the jobs that were asked to stop,
    ``resumable`` those of them that shall start again."""

    cloud: Cloud
    guards: Mapping[str, Guard]
    alarmed: Alarmed = lambda _job, _alarm: None
    stopped: list[str] = field(default_factory=list)
    resumable: list[str] = field(default_factory=list)
    _watches: dict[str, JobWatch] = field(default_factory=dict)
    _read: dict[str, float] = field(default_factory=dict)  # up to when each log was read, by this machine's clock
    _cursors: dict[str, LogCursor] = field(default_factory=dict)
    _said: set[tuple[str, str, float]] = field(default_factory=set)
    _measured: dict[str, tuple[float, tuple[MetricPoint, ...]]] = field(default_factory=dict)

    def hear(self, name: str, events: Sequence[LogEvent]) -> None:
        """Take in a job's new lines, which were read just now."""
        self._read[name] = self.cloud.clock.now()
        if name in self.guards:
            self._watch(name).hear(events)

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
            if name not in self.guards or name in self.stopped:
                continue
            read_s = self._read.get(name, self.cloud.clock.now()) + ahead
            for alarm in self.alarms(job, read_s):
                self._tell(job, alarm, notify)
                if self._act(job, alarm, notify):
                    break

    def alarms(self, job: JobSnapshot, read_s: float) -> tuple[Alarm, ...]:
        """What is wrong with a job now. CloudWatch is asked only where the log gives a reason, or the guard does."""
        watch = self._watch(job.name)
        usd = self._usd(job, read_s)
        found = watch.alarms(job, read_s, usd=usd)
        silent = any(each.limit == "stall_s" for each in found)
        if not silent and self.guards[job.name].idle_accelerator is None:
            return found
        return watch.alarms(job, read_s, usd=usd, utilization=self._utilization(job, read_s))

    def watch(self, name: str) -> JobWatch:
        """The watch of a job."""
        return self._watch(name)

    def _watch(self, name: str) -> JobWatch:
        if name not in self._watches:
            self._watches[name] = JobWatch(self.guards[name])
        return self._watches[name]

    def _usd(self, job: JobSnapshot, now: float) -> float | None:
        price = self._price(job)
        if price is None:
            return None
        at = datetime.fromtimestamp(now, tz=timezone.utc)
        return float(usd_for(billed_so_far(job, at), job.count, price.usd_per_hour))

    def _price(self, job: JobSnapshot) -> Price | None:
        return None if job.emulated or not job.instance else self.cloud.price_of(job.machines)

    def _utilization(self, job: JobSnapshot, now: float) -> tuple[MetricPoint, ...]:
        at, points = self._measured.get(job.name, (0.0, ()))
        if self.cloud.utilization is None or job.emulated or now - at < MEASURED_S:
            return points
        try:
            points = self.cloud.utilization.fetch_utilization(job, now=now)
        except CloudError:
            points = ()  # not allowed, or throttled: then the log alone speaks
        self._measured[job.name] = (now, points)
        return points

    def _tell(self, job: JobSnapshot, alarm: Alarm, notify: Notify) -> None:
        key = (job.name, alarm.limit, alarm.since_s)
        if key in self._said:
            return
        self._said.add(key)
        self.alarmed(job, alarm)
        price = self._price(job)
        costs = f" {fmt.usd(float(price.usd_per_hour) * job.count / 60)} more a minute." if price is not None else ""
        notify(f"✗ {job.name}: {alarm.what}.{costs} Next: {why_command(job.name)}, or sm-trn stop {job.name}")

    def _act(self, job: JobSnapshot, alarm: Alarm, notify: Notify) -> bool:
        guard = self.guards[job.name]
        if guard.act == "tell" or not alarm.sure:
            return False
        try:
            stop_one(self.cloud.backend, job.name)
        except CloudError as error:
            refused = (job.name, "refused", 0.0)
            if self.cloud.backend.trouble(error) is None and refused not in self._said:
                self._said.add(refused)
                notify(f"{job.name} could not be asked to stop; it runs on, and is billed: {error}")
            return False  # the next look asks again
        self.stopped.append(job.name)
        if guard.act == "resume" and alarm.limit != "max_usd":
            self.resumable.append(job.name)
        notify(f"{job.name} was asked to stop ({alarm.limit}). Its script gets SIGTERM; what it saves is kept.")
        return True


def guards_of(
    cloud: Cloud, jobs: Iterable[Watched], guard: Guard | None, otherwise: Mapping[str, Guard]
) -> JobGuards | None:
    """The guards of ``jobs``: the one given, else that of the job's spec, else that of its name – or of no name – in ``otherwise``;
    None where there are none."""
    found: dict[str, Guard] = {}
    for job in jobs:
        own = (
            guard or (job.asked.guard if job.asked is not None else None) or otherwise.get(job.name, otherwise.get(""))
        )
        if own is not None:
            found[job.name] = own
    return JobGuards(cloud=cloud, guards=found) if found else None


def replayed(
    cloud: Cloud, guard: Guard, job: JobSnapshot, parts: Iterable[Sequence[LogEvent]]
) -> tuple[JobWatch, tuple[Alarm, ...]]:
    """A job's whole log held against a guard once: its watch, and what is wrong now."""
    guards = JobGuards(cloud=cloud, guards={job.name: guard})
    for part in parts:
        guards.hear(job.name, part)
    return guards.watch(job.name), guards.alarms(job, cloud.clock.now())
