"""Reading one job's log: once or while it runs, in pieces, and the numbers in it."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import CloudError
from ..formatting.printable import printable
from ..logs.events import LogEvent
from ..logs.metrics import MetricLine, MetricLog, MetricReader, of_settings
from ..logs.script import ScriptLines, exception_of
from ..logs.selection import LogFilter, since_s
from ..ports import OTHER_ACCOUNT, LogBatch, LogCursor, Trouble
from ..specs.job import JobSpec
from ..specs.metrics import READ_ANYWAY, MetricPoint, MetricRule
from ..specs.snapshot import JobSnapshot, parse_time
from .cloud import Cloud
from .pace import FIRST_PAUSE_S, next_delay
from .poller import ABSENT_LOOKS

SETTLED_S = 10.0  # last lines reach CloudWatch up to some seconds after the job has ended
LATE_S = 60.0  # a host that has said nothing may open its stream so long after the end: those of a short job are new
_ATTEMPT = frozenset({"Interrupted", "Restarting"})  # after these the containers start again, with new streams


def expected_streams(snapshot: JobSnapshot) -> int:
    """How many streams a job can have by now: one a host and attempt."""
    return snapshot.count * (1 + sum(item.status in _ATTEMPT for item in snapshot.transitions))


def settled(ended: JobSnapshot, cursor: LogCursor, now: float, *, late_s: float = LATE_S) -> bool:
    """Return True if every line of an ended job must have arrived. A missing stream is awaited until ``late_s`` after the end."""
    end = ended.ended or ended.modified
    return (
        ended.emulated
        or end is None
        or now - end.timestamp() >= (late_s if streams_missing(ended, cursor) else SETTLED_S)
    )


def streams_missing(ended: JobSnapshot, cursor: LogCursor) -> bool:
    """Return True if a host that has run has said nothing yet, though its stream may still come."""
    return ended.started is not None and len(cursor.places) < expected_streams(ended)


DESCRIBE_S = 90.0  # a log that grows belongs to a job that runs: it is described when its log is silent, or so seldom
SETTLE_S = 5.0  # between two looks at the log of a job that has just ended
FOLLOWED_S = 300.0  # so long a follower waits for it, for it is to miss nothing; a table of numbers does not
PATIENCE = 20  # looks in a row that may fail before a follower gives up; each has the client's ten attempts behind it
_PATIENCE_WITH: dict[Trouble | None, int] = {
    Trouble.TRANSIENT: PATIENCE,
    Trouble.NOT_FOUND: ABSENT_LOOKS,  # one answer may be out of date
}


def requested_rules(snapshot: JobSnapshot) -> tuple[MetricRule, ...]:
    """The MetricDefinitions of a describe answer."""
    algorithm: dict[str, Any] = snapshot.raw.get("AlgorithmSpecification") or {}
    return tuple(MetricRule(item["Name"], item["Regex"]) for item in algorithm.get("MetricDefinitions") or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLog:
    """The log of the job ``name``. ``asked`` is its spec where this process made it: its rules need no call then."""

    cloud: Cloud
    name: str
    asked: JobSpec | None = None

    def batches(
        self, cursor: LogCursor, *, follow: bool, notice: Callable[[str], None] = lambda _text: None
    ) -> Iterator[LogBatch]:
        """The log since ``cursor`` in pieces; with ``follow`` also what is to come, until the job has ended.

        Raises CloudError – while following only when it is no passing fault, or has not passed for ``PATIENCE`` looks. A login
        that expired passes with the next one, however long that takes; ``notice`` is called. The last batch's cursor is then the
        place to go on from.
        """
        if not follow:
            yield from self.cloud.logs.stream_events(self.name, cursor)
            return
        clock, attempt, failures = self.cloud.clock, 0, 0
        last, described_s, quiet, notified, waits = None, 0.0, True, False, False
        while True:
            try:
                if last is None or (not last.terminal and (quiet or clock.now() - described_s >= DESCRIBE_S)):
                    last, described_s = self._snapshot(), clock.now()
                whole = last.terminal and settled(last, cursor, clock.now(), late_s=FOLLOWED_S)
                streams, quiet = None if whole else expected_streams(last), True
                for batch in self.cloud.logs.stream_events(self.name, cursor, streams=streams):
                    cursor, failures, quiet, notified = batch.cursor, 0, quiet and not batch.events, False
                    yield batch
                waits = self._late(last, cursor, whole=whole, notified=waits, notice=notice)
                if whole:
                    return
            except CloudError as error:
                backend = self.cloud.backend
                why = backend.trouble(error)
                if why is not Trouble.EXPIRED:
                    failures += 1
                    if failures > _PATIENCE_WITH.get(why, 0):
                        raise
                if why is Trouble.EXPIRED and backend.renew():
                    continue
                if why is Trouble.EXPIRED and not notified:
                    notice(
                        f"{error}, and so does the reading."
                        if error.code == OTHER_ACCOUNT
                        else f"Your AWS login expired. {self.name} goes on; run aws sso login, and the reading goes on too."
                    )
                    notified = True
            clock.sleep(
                SETTLE_S if last is not None and last.terminal else next_delay(last, attempt) if last else FIRST_PAUSE_S
            )
            attempt += 1

    def _late(
        self, job: JobSnapshot, cursor: LogCursor, *, whole: bool, notified: bool, notice: Callable[[str], None]
    ) -> bool:
        """Tell of streams that are missing after the end, and again where that was the last look; return whether notice was given."""
        if job.emulated or not job.terminal or not streams_missing(job, cursor):
            return notified
        expected = expected_streams(job)
        missing = f"{expected - len(cursor.places)} of {expected} log streams of {job.name}"
        if whole:
            notice(f"{missing} never came; should it come later, sm-trn logs {self.name} reads it.")
        elif not notified and settled(job, cursor, self.cloud.clock.now()):
            notice(
                f"{missing} is not there yet; it is looked for until {FOLLOWED_S / 60:g} minutes after the job's end."
            )
            return True
        return notified

    def start(self, since: str | datetime | None) -> LogCursor:
        """The cursor of a reader who begins now, at the beginning or at ``since``."""
        if since is None:
            return LogCursor()
        return LogCursor(since_ms=int(since_s(since, self.cloud.clock.now()) * 1000))

    def events(
        self,
        *,
        follow: bool = False,
        wanted: LogFilter | None = None,
        since: str | datetime | None = None,
        tail: int | None = None,
        script: bool = False,
        notice: Callable[[str], None] = lambda _text: None,
    ) -> Iterator[LogEvent]:
        """Return the lines that are wanted, in time order. ``script`` leaves out what the training toolkit says, ``tail``
        all but the last lines of what is there by now. Raises SmTrnError for a ``since`` that is no time."""
        tests = [*([ScriptLines().wants] if script else []), *([wanted.wants] if wanted is not None else [])]
        return self._events(self.start(since), tests, follow=follow, tail=tail, notice=notice)

    def _events(
        self,
        cursor: LogCursor,
        tests: Sequence[Callable[[LogEvent], bool]],
        *,
        follow: bool,
        tail: int | None,
        notice: Callable[[str], None],
    ) -> Iterator[LogEvent]:
        def wanted(batch: LogBatch) -> Iterator[LogEvent]:
            return (event for event in batch.events if all(test(event) for test in tests))

        if tail is not None:
            last: deque[LogEvent] = deque(maxlen=tail)
            for batch in self.batches(cursor, follow=False):
                cursor = batch.cursor
                last.extend(wanted(batch))
            yield from last
            if not follow:
                return
        for batch in self.batches(cursor, follow=follow, notice=notice):
            yield from wanted(batch)

    def exception(self) -> str:
        """Return the exception that ended the script, as Python prints it; empty where the log shows none or cannot be read."""
        try:
            return printable(exception_of(self.events()))
        except CloudError:
            return ""

    def rules(self) -> tuple[MetricRule, ...]:
        """The job's own expressions, from its spec or its request, without those that only repeat what dict lines say."""
        own = self.asked.metrics if self.asked is not None else requested_rules(self._snapshot())
        return tuple(rule for rule in own if rule not in READ_ANYWAY)

    def metric_log(self) -> MetricLog:
        """All metric lines of the job so far, with a warning for each rule that gave no number; one reading of its log."""
        reader = MetricReader(self.rules())
        lines: list[MetricLine] = []
        for part in self.batches(LogCursor(), follow=False):
            lines.extend(reader.lines(part.events))
        for name, problem in reader.rules.problems.items():
            warnings.warn(f"metric {name!r}: {problem}", stacklevel=3)
        return MetricLog(tuple(lines))

    def final_rows(self) -> list[tuple[str, float, float | None, float | None]]:
        """FinalMetricDataList: name, the service's value, epoch seconds, and what the same expression finds in the log."""
        snapshot = self._snapshot()
        defined = requested_rules(snapshot)
        read: dict[str, float] = {}
        reader = MetricReader(defined).rules
        for event in self.events() if defined else ():
            read.update(reader.values(event.text) if not of_settings(event.text) else {})
        times = {
            item["MetricName"]: time.timestamp()
            for item in snapshot.raw.get("FinalMetricDataList") or ()
            if (time := parse_time(item.get("Timestamp"))) is not None
        }
        return [(name, value, times.get(name), read.get(name)) for name, value in snapshot.final_metrics.items()]

    def utilization(self) -> tuple[MetricPoint, ...]:
        """Return CloudWatch's measurements of the job's hosts; empty where there are none, as on the emulator."""
        if self.cloud.utilization is None:
            return ()
        return self.cloud.utilization.fetch_utilization(self._snapshot(), now=self.cloud.clock.now())

    def _snapshot(self) -> JobSnapshot:
        return self.cloud.backend.fetch_snapshot(self.name)
