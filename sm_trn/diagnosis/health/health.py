"""The one place that decides how a job is. It reads no clock, asks nobody and acts on nothing."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...core.catalog.instances import find_instance
from ...core.formatting import numbers as fmt
from ...core.specs.compute import Accelerator
from ...core.specs.guard import Guard
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobSnapshot, JobStatus
from ...core.status import Verdict, ending, phase_verdict
from .losses import Losses
from .signs import Pause
from .story import Story
from .usage import Level, Work, levels, work_of

TRAINING = "Training"
RESTARTS = 3  # of the workers, without a step that is further than before: a machine may be lost once, and once more
FULL_DISKS = 3  # writes that found a full disk, without a step between them
LONGER = (
    4.0  # times the usual patience, while accelerators or processors work: a silent evaluation, or a log that is late
)
SPOKE = 20  # steps that one rank said, after which its silence counts beside ranks that go on
DEFAULTS = Guard()
_PROVES = {
    Work.UNKNOWN: "CloudWatch says nothing of its machines: accelerators that are idle for 10 minutes would prove it",
    Work.SPINS: "its accelerators spin at one level, as they do in a collective that waits; `py-spy dump` in a worker, or a line "
    "of every rank, would prove it",
    Work.WORKS: "its machines work; a line that tells a step once a minute would prove it",
    Work.IDLE: "",
}
SAY_STEPS = 'print(f"[rank {rank}] step {step}", flush=True)'  # once a minute, on every rank


class Kind(enum.Enum):
    """What a piece of evidence is about."""

    STATUS = "status"
    STEPS = "steps"
    LOSS = "loss"
    SPEED = "speed"
    UTILIZATION = "utilization"
    RESTARTS = "restarts"
    DISK = "disk"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One piece of evidence: in words and, where it is one, as a number. ``host`` and ``rank`` say where, if anywhere."""

    kind: Kind
    what: str
    value: float | None = None
    host: str = ""
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a job is. ``since_s`` is when that began, in epoch seconds, NaN where nobody knows.

    ``sure`` says that the evidence proves it; where it does not, ``proof`` says what would. ``unseen`` names the hosts whose steps
    the log does not tell.

    ``job.health()`` answers one.

    >>> state = st.results.Health(verdict=st.results.Verdict.STALLED, what="no step for 21m")
    >>> state.verdict.word, state.needs_you
    ('stalled', True)
    """

    verdict: Verdict
    what: str
    since_s: float = math.nan
    evidence: tuple[Observation, ...] = ()
    sure: bool = False
    proof: str = ""
    unseen: tuple[str, ...] = field(default=())

    @property
    def needs_you(self) -> bool:
        """Whether a person should look at the job."""
        return self.verdict.sick


def health(
    snapshot: JobSnapshot,
    log: Story | None,
    metrics: Sequence[MetricPoint] = (),
    utilization: Sequence[MetricPoint] = (),
    *,
    now: float,
    limits: Guard = DEFAULTS,
) -> Health:
    """Return how a job is at ``now``, epoch seconds, up to which its log was read; None where nobody read it.

    ``metrics`` are its numbers: losses that its lines tell only by the job's own rules, or those of a saved run. ``utilization`` is
    CloudWatch's, in percent. What ``limits`` switch off is not looked for.
    """
    losses = log.losses if log is not None and (log.losses.heard or not metrics) else _losses(metrics)
    lost = losses.not_finite(limits.metric_evaluation_data_points) if limits.not_finite else None
    ended = ending(snapshot)
    if ended is not None:
        return _ended(snapshot, ended, lost.told if lost is not None and lost.proved else "")
    if snapshot.secondary != TRAINING or snapshot.status is not JobStatus.IN_PROGRESS:
        return _phase(snapshot)
    if lost is not None:
        told = f"{lost.told} {lost.count} times in a row"
        proof = "" if lost.proved else "the norm of its gradients would prove it; some losses are exactly 0 by nature"
        count = float(lost.count)
        return _sick(Verdict.NOT_FINITE, Kind.LOSS, told, lost.since_s, sure=lost.proved, value=count, proof=proof)
    if log is None:
        rise = losses.diverged() if limits.diverging else None
        if rise is not None:
            return _sick(Verdict.DIVERGED, Kind.LOSS, rise.told, rise.since_s)
        return Health(verdict=Verdict.UNKNOWN, what="its log was not read", proof="a log that can be read")
    hosts = hosts_of(snapshot, utilization, now=now, since_s=log.steps.at)
    seen = _Seen(snapshot, log, losses, hosts, now, _training_since(snapshot), limits)
    return seen.health()


def hosts_of(
    job: JobSnapshot, utilization: Sequence[MetricPoint], *, now: float, since_s: float
) -> Mapping[str, Level]:
    """What each host of a job does now, beside what it did before ``since_s``."""
    row = find_instance(job.instance)
    chips, processors = (row.chips, row.vcpus) if row is not None else (1, 1)
    return levels(utilization, accelerators=chips, processors=processors, now=now, since_s=since_s)


@dataclass(frozen=True, slots=True)
class _Seen:
    """All that is known of a job that trains."""

    job: JobSnapshot
    log: Story
    losses: Losses
    hosts: Mapping[str, Level]
    now: float
    began: float
    limits: Guard

    def health(self) -> Health:
        for found in (self._stuck(), self._silent(), self._absent(), self._diverged(), self._slowed()):
            if found is not None:
                return found
        return self._well()

    def _stuck(self) -> Health | None:
        """What goes round in circles, and says so."""
        log, since = self.log, self._since
        if log.restarts >= RESTARTS:
            told = f"its workers were started again {log.restarts} times, and no step got further"
            return _sick(Verdict.STALLED, Kind.RESTARTS, told, since, sure=True, value=float(log.restarts))
        if log.full_disks >= FULL_DISKS:
            told = f"a disk was full {log.full_disks} times since the last step"
            return _sick(Verdict.STALLED, Kind.DISK, told, since, sure=True, value=float(log.full_disks))
        return None

    def _silent(self) -> Health | None:
        """Steps that do not come: by the job's own rhythm, or at its beginning by the time that a first step may take."""
        steps, limits, work = self.log.steps, self.limits, work_of(self.hosts)
        if not steps.known:
            patience = self._first_step_s() if math.isfinite(self.began) else math.inf
        else:
            patience = self.log.patience_s(limits.stall_s, limits.pause_s) if limits.stall_s else math.inf
        if self.now - self._since <= patience * (LONGER if work is Work.WORKS else 1.0):
            return None
        what, seen = self._silence(), tuple(self._machines())
        idle = work is Work.IDLE and self.log.line_s is not None and self.log.usual
        word = self.log.reason.word if self.log.reason is not None else "its first step"
        return Health(
            verdict=Verdict.STALLED,
            what=what + "".join(f"; {each.what}" for each in seen[:1]),
            since_s=self._since,
            evidence=(Observation(kind=Kind.STEPS, what=what, value=self.now - self._since), *seen),
            sure=idle or limits.silence_suffices,
            proof="" if idle else _PROVES[work] or f"how long {word} takes would prove it",
            unseen=self._unseen(),
        )

    def _silence(self) -> str:
        """For how long no step came, in words."""
        steps = self.log.steps
        if steps.known:
            usual = f", usually every {fmt.compact(steps.usual_s)}" if steps.usual_s else ""
            return f"no step for {fmt.compact(self.now - self._since)}{usual}"
        count = f"{steps.count} step{'s' * (steps.count > 1)}" if steps.count else "no step"
        empty = "; its log is empty" if self.log.line_s is None else ""
        return f"{count} logged after {fmt.compact(self.now - self.began)} of training{empty}"

    def _absent(self) -> Health | None:
        """A host or a rank that told steps, or worked, and does not any more, while the others go on."""
        log, stall_s = self.log, self.limits.stall_s
        if not stall_s or not log.steps.known:
            return None
        for workers in log.peers.values():
            newest = max(worker.steps.at for worker in workers.values())
            for (host, rank), worker in workers.items():
                steps = worker.steps
                behind = newest - max(steps.at, self.began)  # by the others' newest step: all may pause together
                if steps.count >= SPOKE and behind > steps.patience_s(stall_s):
                    told = f"{_who(host, rank)} has told no step for {fmt.compact(self.now - steps.at)}, while others go on"
                    return _absent(Kind.STEPS, told, steps.at, _PROVES[Work.UNKNOWN], host=host, rank=rank)
        return self._idle_host() if log.pause is None else None

    def _idle_host(self) -> Health | None:
        working = [name for name, level in self.hosts.items() if level.work is not Work.IDLE]
        for name, level in self.hosts.items():
            if working and level.work is Work.IDLE and level.worked:
                told = f"the accelerators of {name} are idle for 10 minutes, while others work"
                proof = f"a line of {name} that tells its step would prove it: {SAY_STEPS}"
                return _absent(Kind.UTILIZATION, told, level.since_s, proof, host=name)
        return None

    def _diverged(self) -> Health | None:
        found = self.losses.diverged() if self.limits.diverging else None
        if found is None:
            return None
        proof = "a loss that stays there would prove it; a new schedule or other data may explain it"
        return _sick(Verdict.DIVERGED, Kind.LOSS, found.told, found.since_s, proof=proof)

    def _slowed(self) -> Health | None:
        limit, many = (
            self.limits.slower_than,
            len({name for workers in self.log.peers.values() for name in workers}) > 1,
        )
        for (host, rank), pace in self.log.paces:
            if not limit or pace.share is None or not pace.below(limit) or pace.slow_s is None:
                continue
            told = f"{_who(host, rank) if many else 'it'} runs at {100 * pace.share:.0f} % of its best speed"
            proof = "longer inputs would explain it; utilization that fell too speaks for a machine or for data that is late"
            seen = Observation(kind=Kind.SPEED, what=told, value=pace.share, host=host, rank=rank)
            return Health(verdict=Verdict.SLOWED, what=told, since_s=pace.slow_s, evidence=(seen,), proof=proof)
        return None

    def _well(self) -> Health:
        """A job that gets on, or a pause that has a reason."""
        log = self.log
        ago = f"{fmt.compact(self.now - log.steps.at)} ago" if log.steps.count else ""
        loss = f", loss {self.losses.newest:g}" if self.losses.newest is not None else ""
        if log.pause is not None or not log.steps.count:
            verdict = _OF_PAUSE.get(log.pause, Verdict.WARMING)
            word = log.pause.word if log.pause is not None else "before its first step"
            since = log.pause_s if log.pause is not None else self._begun
            seen = Observation(kind=Kind.PAUSE, what=word, value=self.now - since)
            what = word if not ago else f"{word}, last step {ago}{loss}"
            return Health(verdict=verdict, what=what, since_s=since, evidence=(seen,), unseen=self._unseen())
        seen = Observation(kind=Kind.STEPS, what=f"last step {ago}", value=float(log.steps.count))
        return Health(
            verdict=Verdict.PROGRESSING,
            what=f"last step {ago}{loss}",
            since_s=self._begun,
            evidence=(seen, *self._machines()),
            unseen=self._unseen(),
        )

    @property
    def _begun(self) -> float:
        """When its training began; where the service does not say, when its log was heard last."""
        return self.began if math.isfinite(self.began) else self.log.line_s or self.now

    @property
    def _since(self) -> float:
        """Since when nothing got on; of a job without steps, what it announced or the beginning of its training."""
        return max(self.log.silent_s, self.began)

    def _first_step_s(self) -> float:
        """Seconds that a first step may take: twice as many on Neuron, which compiles first, and where a pause was announced."""
        rows = (find_instance(name) for name, _ in self.job.machines)
        neuron = any(row is not None and row.accelerator is Accelerator.NEURON for row in rows)
        limit = self.limits.no_first_step_s * (2 if neuron else 1) if self.limits.no_first_step_s else math.inf
        pause = self.log.pause
        return max(limit, pause.share * self.limits.pause_s if pause is not None else 0.0)

    def _machines(self) -> Iterator[Observation]:
        for name, level in sorted(self.hosts.items()):
            does = {Work.IDLE: "idle", Work.SPINS: "spinning", Work.WORKS: "working"}[level.work]
            what = f"accelerators of {name} are {does} at {level.low:.0f}–{level.high:.0f} %"
            yield Observation(kind=Kind.UTILIZATION, what=what, value=level.high, host=name)

    def _unseen(self) -> tuple[str, ...]:
        speak = {host for workers in self.log.peers.values() for host, _ in workers}
        hosts = {f"algo-{number}" for number in range(1, self.job.count + 1)}
        return tuple(sorted(hosts - speak)) if self.job.count > 1 and speak else ()


_OF_PAUSE: Mapping[Pause | None, Verdict] = {Pause.SAVE: Verdict.SAVING, Pause.EVALUATE: Verdict.EVALUATING}


def _who(host: str, rank: int | None) -> str:
    return host if rank is None else f"rank {rank} of {host}"


def _sick(
    verdict: Verdict,
    kind: Kind,
    what: str,
    since_s: float,
    *,
    value: float | None = None,
    sure: bool = False,
    proof: str = "",
) -> Health:
    """A verdict with one observation behind it."""
    seen = Observation(kind=kind, what=what, value=value)
    return Health(verdict=verdict, what=what, since_s=since_s, evidence=(seen,), sure=sure, proof=proof)


def _absent(kind: Kind, what: str, since_s: float, proof: str, *, host: str, rank: int | None = None) -> Health:
    """A host or a rank that does nothing any more, while others go on."""
    seen = Observation(kind=kind, what=what, host=host, rank=rank)
    return Health(verdict=Verdict.STALLED, what=what, since_s=since_s, evidence=(seen,), proof=proof)


def _ended(job: JobSnapshot, verdict: Verdict, lost: str) -> Health:
    """How a job ended: one whose losses are no numbers at its end did not end well, whatever its status."""
    at = job.ended or job.modified
    since = at.timestamp() if at is not None else math.nan
    if verdict is Verdict.ENDED_WELL and lost:
        return _sick(Verdict.ENDED_BADLY, Kind.LOSS, f"{job.status_word}, but {lost}", since, sure=True)
    what = job.status_word if job.secondary in {"", job.status_word} else f"{job.status_word}, {job.secondary}"
    return Health(
        verdict=verdict, what=what, since_s=since, evidence=(Observation(kind=Kind.STATUS, what=what),), sure=True
    )


def _phase(job: JobSnapshot) -> Health:
    last = job.transitions[-1] if job.transitions else None
    what = last.message if last is not None and last.message else job.secondary or job.status_word or "no status"
    since = last.started.timestamp() if last is not None else math.nan
    seen = (Observation(kind=Kind.STATUS, what=what),)
    return Health(verdict=phase_verdict(job), what=what, since_s=since, evidence=seen, sure=True)


def _losses(points: Sequence[MetricPoint]) -> Losses:
    """The losses among a run's numbers, each with the norm that stands beside it."""
    norms = {(point.step, point.epoch, point.time_s): point.value for point in points if point.name == "grad_norm"}
    losses = Losses()
    for point in points:
        if point.name in {"loss", "train_loss"}:
            norm = norms.get((point.step, point.epoch, point.time_s))
            at = point.time_s if point.time_s is not None else math.nan
            losses.hear(point.value, norm, at, (point.host, None))
    return losses


def _training_since(job: JobSnapshot) -> float:
    """When the newest phase of training began; minus infinity where the service does not say."""
    phases = [phase.started for phase in job.transitions if phase.status == TRAINING]
    return phases[-1].timestamp() if phases else -math.inf
