"""Why a job failed, stopped or hangs: its describe answer, its FailureReason and its log, read together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from types import MappingProxyType

from ...core.formatting.printable import printable
from ...core.logs.events import LogEvent, saved_line
from ...core.logs.losses import LONGEST, loss_of, norm_of
from ...core.logs.marks import HEAD
from ...core.logs.prefixes import prefix_of
from ...core.logs.saved import SavedLog
from ...core.specs.job import JobSpec
from ...core.specs.problems import Advice
from ...core.specs.snapshot import JobSnapshot, JobStatus
from ...core.status import Verdict
from ..health.health import Health
from ..health.losses import Losses
from .cause import UNKNOWN, Cause, Confidence, Diagnosis, Evidence, FastNetwork
from .choose import ordered
from .entries import OF_PYTHON, Role, entry
from .fix import fix_of
from .reading import LOG_MARK, Finding, LogReading
from .scan import Scan
from .status import DESCRIBE, SERVICE, decided
from .unusual import unusual

_FIRST = LogEvent(0.0, "algo-1", "")
SHORT = 60  # lines that a reason may have
SHOWN = 6  # consequences
STORM = 12  # compilations apart from one another, after the first step; a healthy job of the public logs has up to four
IN_A_ROW = 2  # losses: one may be that of a last, odd batch
NOBODY = "read the log: sm-trn logs NAME --script --tail 40"
MORE = "give more of the log, the lines before this too: sm-trn why LOGFILE"
_SERVICE_FAMILIES = frozenset({"api", "capacity", "data", "output", "stop", "image", "mem"})


@dataclasses.dataclass(slots=True)
class JobText:
    """What is to be explained: a snapshot, a log, a spec; each may be missing. ``now`` is epoch seconds."""

    name: str
    snapshot: JobSnapshot | None = None
    spec: JobSpec | None = None
    scan: Scan | None = None

    def diagnosis(self) -> Diagnosis:
        """The cause, and what followed from it."""
        reason = _reason(self.snapshot)
        found = ordered(self.scan.reading, self.scan.beats) if self.scan is not None else []
        decision = decided(self.snapshot) if self.snapshot is not None else None
        if decision is not None:
            name, line = decision
            cause = self._named(name, line)
            return self._told(cause, found)
        if self._healthy():
            return self._told(self._swallowed(found) or self._slips(), [])
        spoken = ordered(reason, 0)
        if spoken and _service_says(self.snapshot, spoken[0]):
            return self._told(self._cause(spoken[0], found), found)
        if found and (found[0].role == Role.ROOT or not spoken or spoken[0].role != Role.ROOT):
            return self._told(self._cause(found[0], spoken), found[1:])
        if spoken:
            return self._told(self._cause(spoken[0], found), found)
        return self._unknown()

    def _healthy(self) -> bool:
        job, scan = self.snapshot, self.scan
        if job is not None and job.status is not None:
            return job.status is JobStatus.COMPLETED or (
                not job.terminal and not (scan and scan.reading.findings and ordered(scan.reading, scan.beats))
            )
        return scan is not None and scan.reading.succeeded and not scan.reading.failed

    def _swallowed(self, found: list[Finding]) -> Cause | None:
        """The exception that ended a script whose job counts as a success: a traceback, and no progress after it."""
        scan = self.scan
        if scan is None or not scan.reading.succeeded:
            return None
        last = next((each for each in reversed(found) if each.role == Role.ROOT and each.chain and each.error), None)
        if last is None or scan.beats > last.beats:
            return None
        row, seen = entry("false_success"), self._cause(last, ())
        return dataclasses.replace(
            seen, id=row.id, what=row.what, confidence=Confidence.LIKELY, fix=Advice(row.fix), source=row.source
        )

    def _slips(self) -> Cause | None:
        """What a job that goes on, or ended well, does wrong without a word of failure."""
        return self._learns_nothing() or self._recompiles()

    def _learns_nothing(self) -> Cause | None:
        """The losses that are no numbers, to the last lines that tell one."""
        scan, losses, last = self.scan, Losses(), None
        if scan is None:
            return None
        for raw in scan.last:
            time_s, host, text = scan.parse(raw.decode("utf-8", "replace"))
            loss = loss_of(text)
            if loss is not None:
                prefix = prefix_of(text)
                stream = prefix.host or host
                losses.hear(loss, norm_of(text), time_s)
                said = printable(text[prefix.length :])[:LONGEST]
                last = Evidence(text=said, stream=stream, rank=prefix.rank, time_s=time_s)
        lost = losses.not_finite(min(IN_A_ROW, losses.heard))
        if last is None or lost is None or not lost.proved:
            return None
        return dataclasses.replace(self._named("num.nan", last), host=last.stream, rank=last.rank, time_s=last.time_s)

    def _recompiles(self) -> Cause | None:
        """The Neuron compiler that runs again and again between the steps: the job goes on, and is slow."""
        times = len(self.scan.reading.compiled - {0}) if self.scan is not None else 0
        if times < STORM:
            return None
        line = Evidence(text=f"the compiler ran {times} times between steps, after the first one")
        return dataclasses.replace(self._named("neuron.recompile", line), confidence=Confidence.LIKELY)

    def _told(self, cause: Cause | None, rest: Iterable[Finding]) -> Diagnosis:
        later: dict[str, Cause] = {}
        for each in rest:
            made = self._cause(each, ())
            if (cause is None or made.id != cause.id) and made.id not in later:
                later[made.id] = made
        ranks = {(each.evidence.stream, each.evidence.rank) for each in self._findings()}
        return Diagnosis(
            name=self.name,
            status=self.snapshot.status_word if self.snapshot is not None else "",
            cause=cause,
            consequences=tuple(later.values())[:SHOWN],
            network=self.scan.reading.network if self.scan is not None else Diagnosis(name="").network,
            ranks=len(ranks),
        )

    def _findings(self) -> list[Finding]:
        return self.scan.reading.findings if self.scan is not None else []

    def _unknown(self) -> Diagnosis:
        scan, failed = self.scan, self.snapshot is not None and self.snapshot.status is JobStatus.FAILED
        if not failed and (scan is None or not _says_failure(scan)):
            return self._told(self._slips(), [])
        slip = self._slips()
        if slip is not None:  # it failed without a word: what it did wrong before may be why
            return self._told(dataclasses.replace(slip, confidence=Confidence.LIKELY), [])
        told = self._told(None, [])
        reading = scan.reading if scan is not None and scan.reading.short else LogReading()
        if reading.network is FastNetwork.SOCKETS and (reading.alone or reading.complained):
            line = Evidence(text=reading.network.value)
            return self._told(
                dataclasses.replace(self._named("net.efa_not_used", line), confidence=Confidence.LIKELY), []
            )
        evidence = (Evidence(text=self.snapshot.failure_reason, stream=DESCRIBE),) if failed and self.snapshot else ()
        cause = Cause(
            id=UNKNOWN,
            what="no known cause",
            confidence=Confidence.UNKNOWN,
            fix=Advice(NOBODY.replace("NAME", self.name) if self.snapshot is not None else MORE),
            evidence=evidence,
        )
        lines = unusual(scan.last, scan.parse) if scan is not None else ()
        return dataclasses.replace(told, cause=cause, unusual=lines)

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
        name, exact = _name(finding, self.scan)
        row = entry(name)
        facts = row.facts(line.text)
        agree = any(each.match is not None and each.match.entry.id == name for each in others)
        sure = (exact or agree) and finding.role == Role.ROOT
        time_s = line.time_s
        if finding.role == Role.TIMEOUT and self.scan is not None and math.isfinite(time_s):
            time_s -= self.scan.reading.watchdog.timeout_s
        return Cause(
            id=name,
            what=row.what,
            confidence=Confidence.CERTAIN if sure else Confidence.LIKELY,
            fix=fix_of(name, row.fix, self.spec, facts),
            source=row.source,
            error=_error(finding),
            place=finding.place,
            code=finding.code,
            host="" if line.stream == DESCRIBE else line.stream,
            rank=line.rank if line.rank is not None or self.scan is None else self.scan.reading.root_rank,
            time_s=time_s,
            evidence=(line,),
            facts=MappingProxyType(facts),
        )


def _error(finding: Finding) -> str:
    return finding.error or finding.evidence.text[:400]


def _name(finding: Finding, scan: Scan | None) -> tuple[str, bool]:
    """The id of a finding, and whether its line is certain of it."""
    if finding.match is None:
        return "script.exception", finding.error.startswith(OF_PYTHON)
    if finding.role == Role.TIMEOUT and scan is not None:
        watchdog = scan.reading.watchdog
        if watchdog.differ:
            return "dist.desync", False
        if watchdog.absent is not None:
            return "dist.slow_rank", False
    return finding.match.entry.id, finding.match.exact


def _reason(job: JobSnapshot | None) -> LogReading:
    lines = job.failure_reason.splitlines() if job is not None else []
    reading = LogReading(short=True, alone=len(lines) == 1)
    for at, line in enumerate(lines, 1):
        reading.feed(LogEvent(math.nan, DESCRIBE, line), at)
    reading.finish()
    return reading


def _service_says(job: JobSnapshot | None, finding: Finding) -> bool:
    if job is None or finding.match is None or not job.failure_reason.startswith(SERVICE):
        return False
    return finding.match.entry.id.partition(".")[0] in _SERVICE_FAMILIES


def _says_failure(scan: Scan) -> bool:
    if scan.reading.failed:
        return True
    if scan.reading.succeeded or scan.reading.log or scan.beats or scan.lines > SHORT:
        return False
    return scan.reading.complained or not any(loss_of(line.decode("utf-8", "replace")) for line in scan.last)


def _lines_of(log: SavedLog) -> int:
    """How many lines a text has; more than ``SHORT`` where it is a job's log rather than a reason."""
    head = log.head()
    return head.strip().count(b"\n") + 1 if len(head) < HEAD else SHORT + 1


def why_text(
    name: str, log: SavedLog, *, snapshot: JobSnapshot | None = None, spec: JobSpec | None = None
) -> Diagnosis:
    """Why the job of a saved log ended as it did; the file may be of any size."""
    parse, blocks = log.scanned()
    log_like = log.timed or LOG_MARK.search(log.head()) is not None
    lines = _lines_of(log)
    scan = Scan(parse, LogReading(short=not log_like and lines <= SHORT, alone=lines == 1, log=log_like))
    scan.run(blocks)
    scan.reading.finish()
    return JobText(name, snapshot, spec, scan).diagnosis()


def scan_of(parts: Iterable[Iterable[LogEvent]]) -> Scan:
    """A log that comes as events, in parts, of which each is read and let go."""
    scan = Scan(SavedLog(saved_line(_FIRST).encode()).scanned()[0], LogReading(log=True))
    scan.run("".join(map(saved_line, part)).encode("utf-8", "replace") for part in parts)
    scan.reading.finish()
    return scan


def with_health(found: Diagnosis, state: Health) -> Diagnosis:
    """The diagnosis of a live job: where its text names no cause and it is sick, that is the cause."""
    if found.cause is not None or not state.needs_you or state.verdict is Verdict.ENDED_BADLY:
        return dataclasses.replace(found, health=state)
    name, fix = _OF_HEALTH[state.verdict]
    proved = f" Not proved: {state.proof}." if state.proof else ""
    cause = Cause(
        id=name,
        what=f"{state.verdict.word}, {state.what}",
        confidence=Confidence.CERTAIN if state.sure else Confidence.LIKELY,
        fix=Advice(f"{fix}.{proved}"),
        time_s=state.since_s,
        evidence=tuple(Evidence(text=each.what, stream=each.host, rank=each.rank) for each in state.evidence),
    )
    return dataclasses.replace(found, cause=cause, health=state)


_OF_HEALTH = {
    Verdict.STALLED: (
        "hang.silent",
        "look at GPU and CPU use; py-spy on the workers; sm-trn stop keeps what the script saves",
    ),
    Verdict.NOT_FINITE: (
        "num.nan",
        "stop it and resume from a checkpoint before that; lower the learning rate, or use bf16 instead of fp16",
    ),
    Verdict.DIVERGED: (
        "num.diverged",
        "resume from a checkpoint before the rise with a lower learning rate or clipped gradients",
    ),
    Verdict.SLOWED: ("hang.slowed", "compare data loading and utilization with its beginning"),
}


def why_snapshot(snapshot: JobSnapshot, *, spec: JobSpec | None = None) -> Diagnosis:
    """Why the job of a describe answer ended as it did, without its log."""
    return JobText(snapshot.name, snapshot, spec).diagnosis()


__all__ = ["JobText", "scan_of", "why_snapshot", "why_text", "with_health"]
