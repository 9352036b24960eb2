"""Why a job failed, stopped or hangs: its describe answer, its FailureReason and its log, read together."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from types import MappingProxyType

from ...core.formatting.printable import printable, shown
from ...core.logs.events import LogEvent, saved_line
from ...core.logs.losses import LONGEST, loss_of, norm_of
from ...core.logs.marks import HEAD
from ...core.logs.prefixes import prefix_of
from ...core.logs.saved import SavedLog
from ...core.specs.job import JobSpec
from ...core.specs.problems import Advice
from ...core.specs.snapshot import JobSnapshot, JobStatus
from ...core.status import Verdict, limit_of
from ..health.health import Health
from ..health.losses import Losses
from .cause import UNKNOWN, Cause, Confidence, Diagnosis, Evidence
from .entries import Role, entry
from .fix import fix_of
from .reading import Finding, LogReading

DESCRIBE = "describe"
SHORT = 60  # lines that a reason may have
SHOWN = 6  # consequences
TAIL = 10  # last lines that are shown where no cause is known
IN_A_ROW = 2  # losses: one may be that of a last, odd batch
_FIRST = LogEvent(0.0, "algo-1", "")
_LOG_MARK = re.compile(  # a line of the toolkit, or a status line of the SDK
    rb"^(?:\x1b\[\d\dm)?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{3} \S{1,80} +[A-Z]{4,8} | [A-Z][a-z]{3,20} - )",
    re.MULTILINE,
)
_SERVICE = (
    "ClientError:",
    "CapacityError:",
    "InternalServerError:",
)  # FailureReason's first word, where AWS itself speaks
_SERVICE_FAMILIES = frozenset({"api", "capacity", "data", "output", "stop", "image", "mem"})
_DECIDED = {
    "MaxRuntimeExceeded": "stop.max_runtime",
    "MaxWaitTimeExceeded": "stop.max_wait",
    "MaxPendingTimeExceeded": "stop.max_pending",
}
# Exceptions that a mistake in the script raises; with any other, also ValueError, a library may mean something of its own.
_OF_PYTHON = (
    "ArithmeticError", "AttributeError", "IndexError", "KeyError", "NameError", "SyntaxError", "IndentationError", "TypeError",
    "UnboundLocalError", "ZeroDivisionError", "RecursionError",
)  # fmt: skip


@dataclasses.dataclass(slots=True)
class JobText:
    """What is to be explained: a snapshot, a log, a spec; each may be missing."""

    name: str
    snapshot: JobSnapshot | None = None
    spec: JobSpec | None = None
    log: LogReading | None = None

    def diagnosis(self) -> Diagnosis:
        """Return the cause, and what followed from it."""
        log = self.log.candidates() if self.log is not None else []
        decision = _decided(self.snapshot) if self.snapshot is not None else None
        if decision is not None:
            return self._answer(self._named(*decision), log)
        job = self.snapshot
        if job is not None and job.status is not None:
            healthy = job.status is JobStatus.COMPLETED or not (job.terminal or log)
        else:
            healthy = self.log is not None and self.log.succeeded and not self.log.failed
        if healthy:
            return self._answer(self._swallowed(log) or self._learns_nothing(), [])
        reading = LogReading(lambda line: (math.nan, DESCRIBE, line), short=True)
        reading.run([job.failure_reason.encode("utf-8", "replace")] if job is not None and job.failure_reason else [])
        reason = reading.candidates()
        spoken = job is not None and job.failure_reason.startswith(_SERVICE)  # by the service itself
        if reason and spoken and reason[0].match is not None and reason[0].match.entry.family in _SERVICE_FAMILIES:
            return self._answer(self._cause(reason[0], log), log)
        if log and (log[0].role == Role.ROOT or not reason or reason[0].role != Role.ROOT):
            return self._answer(self._cause(log[0], reason), log[1:])
        if reason:
            return self._answer(self._cause(reason[0], log), log)
        return self._unknown()

    def _swallowed(self, log: Sequence[Finding]) -> Cause | None:
        """Return the exception that ended a script whose job counts as a success: a traceback, and no progress after it."""
        last = next((each for each in reversed(log) if each.role == Role.ROOT and each.chain and each.error), None)
        if last is None or self.log is None or not self.log.succeeded or self.log.beats > last.beats:
            return None
        row = entry("false_success")
        return dataclasses.replace(
            self._cause(last, ()),
            id=row.id,
            what=row.what,
            confidence=Confidence.LIKELY,
            fix=Advice(row.fix),
            source=row.source,
        )

    def _learns_nothing(self) -> Cause | None:
        """Return the losses that are no numbers, to the last lines that tell one."""
        if self.log is None:
            return None
        losses, last = Losses(), None
        for raw in self.log.last:
            time_s, host, text = self.log.parse(raw)
            loss = loss_of(text)
            if loss is not None:
                prefix = prefix_of(text)
                losses.hear(loss, norm_of(text), time_s)
                words = printable(text[prefix.length :])[:LONGEST]
                last = Evidence(text=words, stream=prefix.host or host, rank=prefix.rank, time_s=time_s)
        lost = losses.not_finite(min(IN_A_ROW, losses.heard))
        if last is None or lost is None or not lost.proved:
            return None
        return dataclasses.replace(self._named("num.nan", last), host=last.stream, rank=last.rank, time_s=last.time_s)

    def _answer(self, cause: Cause | None, rest: Iterable[Finding]) -> Diagnosis:
        later: dict[str, Cause] = {}
        for each in rest:
            made = self._cause(each, ())
            if cause is None or made.id != cause.id:
                later.setdefault(made.id, made)
        findings = self.log.findings if self.log is not None else []
        return Diagnosis(
            name=self.name,
            status=self.snapshot.status_word if self.snapshot is not None else "",
            cause=cause,
            consequences=tuple(later.values())[:SHOWN],
            ranks=len({(each.evidence.stream, each.evidence.rank) for each in findings}),
        )

    def _unknown(self) -> Diagnosis:
        job = self.snapshot
        failed = job is not None and job.status is JobStatus.FAILED
        loss, log = self._learns_nothing(), self.log
        is_log = log is not None and (
            log.succeeded or log.log or log.beats or log.lines > SHORT or any(map(loss_of, log.last))
        )
        if not failed and (log is None or (is_log and not log.failed)):
            return self._answer(loss, [])
        if loss is not None:  # it failed without a word: what it did wrong before may be why
            return self._answer(dataclasses.replace(loss, confidence=Confidence.LIKELY), [])
        more = "give more of the log, the lines before this too: sm-trn why LOGFILE"
        cause = Cause(
            id=UNKNOWN,
            what="no known cause",
            confidence=Confidence.UNKNOWN,
            fix=Advice(f"read the log: sm-trn logs {self.name} --tail 40" if job is not None else more),
            evidence=(Evidence(text=job.failure_reason, stream=DESCRIBE),) if failed and job is not None else (),
        )
        events = [log.parse(raw) for raw in log.last if raw.strip()][-TAIL:] if log is not None else []
        tail = tuple(Evidence(text=shown(text)[:400], stream=host, time_s=time_s) for time_s, host, text in events)
        return dataclasses.replace(self._answer(cause, []), tail=tail)

    def _named(self, name: str, line: Evidence) -> Cause:
        row = entry(name)
        return Cause(
            id=name,
            what=row.what,
            confidence=Confidence.CERTAIN,
            fix=fix_of(name, row.fix, self.spec, {}),
            source=row.source,
            evidence=(line,),
        )

    def _cause(self, finding: Finding, others: Iterable[Finding]) -> Cause:
        line = finding.evidence
        name, exact = self._name(finding)
        row = entry(name)
        facts = row.facts(line.text)
        agree = any(each.match is not None and each.match.entry.id == name for each in others)
        texts = [text.lower().strip() for text in (line.text, *(self.log.last if self.log is not None else ()))]
        supposed = not row.needs or any(need.matches(text) for need in row.needs for text in texts)
        time_s = line.time_s
        if finding.role == Role.TIMEOUT and self.log is not None and math.isfinite(time_s):
            time_s -= self.log.timeout_s
        return Cause(
            id=name,
            what=row.what,
            confidence=Confidence.CERTAIN
            if (exact or agree) and supposed and finding.role == Role.ROOT
            else Confidence.LIKELY,
            fix=fix_of(name, row.fix, self.spec, facts),
            source=row.source,
            error=finding.error or line.text[:400],
            place=finding.place,
            code=finding.code,
            host="" if line.stream == DESCRIBE else line.stream,
            rank=line.rank if line.rank is not None or self.log is None else self.log.root_rank,
            time_s=time_s,
            evidence=(line,),
            facts=MappingProxyType(facts),
        )

    def _name(self, finding: Finding) -> tuple[str, bool]:
        """Return the id of a finding, and True if its line is certain of it."""
        if finding.match is None:
            return "script.exception", finding.error.startswith(_OF_PYTHON)
        waits = self.log.waits if self.log is not None and finding.role == Role.TIMEOUT else {}
        if len(set(waits.values())) > 1:  # the ranks waited in different collectives
            return "dist.desync", False
        if len(waits) > 1 and len(set(range(max(waits) + 1)) - set(waits)) == 1:  # one rank waited for nothing
            return "dist.slow_rank", False
        return finding.match.entry.id, finding.match.exact


def _decided(job: JobSnapshot) -> tuple[str, Evidence] | None:
    """Return the cause that the statuses decide, and the line that says so: limits, stops, interruptions, waiting for capacity."""
    message = job.transitions[-1].message if job.transitions else ""
    cause = text = ""
    limit = limit_of(job)
    if limit:
        cause, text = _DECIDED[limit], f"{limit}: it trained {job.training_s or 0:g} s of at most {job.max_run_s} s"
    elif job.status in {JobStatus.STOPPED, JobStatus.STOPPING}:
        cause, text = "stop.user", f"TrainingJobStatus {job.status_word}: {message}"
    elif job.secondary == "Interrupted":
        cause, text = "spot.interrupted", f"SecondaryStatus Interrupted: {message}"
    elif (
        not job.terminal
        and job.secondary in {"Starting", "Pending", "LaunchingMLInstances"}
        and ("waiting for capacity" in message or "Insufficient capacity" in message)
    ):
        cause, text = "capacity.waiting", f"{job.secondary} - {message}"
    return (cause, Evidence(text=text, stream=DESCRIBE)) if cause else None


def why_text(
    name: str, log: SavedLog, *, snapshot: JobSnapshot | None = None, spec: JobSpec | None = None
) -> Diagnosis:
    """Return why the job of a saved log ended as it did; the file may be of any size."""
    parse, blocks = log.scanned()
    head = log.head()
    is_log = log.timed or _LOG_MARK.search(head) is not None
    short = not is_log and len(head) < HEAD and head.strip().count(b"\n") < SHORT
    reading = LogReading(parse, short=short, log=is_log)
    reading.run(blocks)
    return JobText(name, snapshot, spec, reading).diagnosis()


def read_events(parts: Iterable[Iterable[LogEvent]]) -> LogReading:
    """Read a log that comes as events, in parts, of which each is let go."""
    reading = LogReading(SavedLog(saved_line(_FIRST).encode()).scanned()[0], log=True)
    reading.run("".join(map(saved_line, part)).encode("utf-8", "replace") for part in parts if part)
    return reading


def with_health(diagnosis: Diagnosis, state: Health) -> Diagnosis:
    """Add how a job is. Where its text names no cause and it is sick, that is the cause."""
    if diagnosis.cause is not None or not state.needs_you or state.verdict is Verdict.ENDED_BADLY:
        return dataclasses.replace(diagnosis, health=state)
    row = entry(_OF_HEALTH[state.verdict])
    proved = f" Not proved: {state.proof}." if state.proof else ""
    cause = Cause(
        id=row.id,
        what=f"{state.verdict.word}, {state.what}",
        confidence=Confidence.CERTAIN if state.sure else Confidence.LIKELY,
        fix=Advice(f"{row.fix}.{proved}"),
        time_s=state.since_s,
        evidence=(Evidence(text=state.what),),
    )
    return dataclasses.replace(diagnosis, cause=cause, health=state)


_OF_HEALTH = {
    Verdict.STALLED: "hang.silent",
    Verdict.NOT_FINITE: "num.nan",
    Verdict.UNSAVED: "checkpoint.none",
    Verdict.LEFT_NO_MODEL: "output.no_model",
}
