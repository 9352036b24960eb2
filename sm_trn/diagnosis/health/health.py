"""The one place that decides how a job is. It reads no clock, asks nobody and acts on nothing."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...core.catalog.instances import find_instance
from ...core.formatting import numbers as fmt
from ...core.specs.compute import Accelerator
from ...core.specs.guard import Guard
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobSnapshot, JobStatus
from ...core.status import Verdict, ending, phase_verdict
from .losses import Losses
from .signs import Pause
from .story import OF_GAPS, Story

TRAINING = "Training"
LONGER = 4.0  # times the usual patience, while machines work: a silent evaluation, or a log that is late
DEFAULTS = Guard()
RECENT_S = 720.0  # ten minutes of one value each, of which the newest may be two minutes old
POINTS = 8
LOW = 5.0  # percent of all accelerators together: not idle by accident
BUSY = 10.0  # percent of all processors: data is prepared
FLAT = 2.0  # percent between the lowest and the highest: a wait that spins is that even, work hardly ever


class Work(enum.Enum):
    """What machines do. ``SPINS``: at one level; a collective that waits does that."""

    UNKNOWN = "unknown"
    IDLE = "idle"
    SPINS = "spinning"
    WORKS = "working"


@dataclass(frozen=True, slots=True)
class Usage:
    """What all hosts of a job do together, and the lowest and the highest use of their accelerators in percent."""

    work: Work = Work.UNKNOWN
    low: float = 0.0
    high: float = 0.0


_PROVES = {
    Work.UNKNOWN: "CloudWatch says nothing of its machines: accelerators that are idle for 10 minutes would prove it",
    Work.SPINS: "its accelerators spin at one level, as they do in a collective that waits; `py-spy dump` in a worker, or a line "
    "of every rank, would prove it",
    Work.WORKS: "its machines work; a line that tells a step once a minute would prove it",
    Work.IDLE: "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a job is. ``since_s`` is when that began, in epoch seconds, NaN where nobody knows.

    ``sure`` says that it is proved; where it is not, ``proof`` says what would prove it.
    ``job.health()`` answers one.

    >>> state = st.results.Health(verdict=st.results.Verdict.STALLED, what="no step for 21m")
    >>> state.verdict.word, state.needs_you
    ('stalled', True)
    """

    verdict: Verdict
    what: str
    since_s: float = math.nan
    sure: bool = False
    proof: str = ""

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
    empty: bool = False,
) -> Health:
    """Return how a job is at ``now``, epoch seconds, up to which its log was read; None where nobody read it.

    ``metrics`` are its numbers: losses that its lines tell only by the job's own rules, or those of a saved run. ``utilization`` is
    CloudWatch's, in percent. What ``limits`` switch off is not looked for. ``empty``: the model of a job that completed holds no file, or
    the checkpoint place of one that trains.
    """
    losses = log.losses if log is not None and (log.losses.heard or not metrics) else _losses(metrics)
    lost = losses.not_finite(limits.metric_evaluation_data_points) if limits.not_finite else None
    ended = ending(snapshot)
    if ended is not None:
        return _ended(snapshot, ended, lost.told if lost is not None and lost.proved else "", empty=empty)
    if snapshot.secondary != TRAINING or snapshot.status is not JobStatus.IN_PROGRESS:
        last = snapshot.transitions[-1] if snapshot.transitions else None
        what = (last.message if last is not None else "") or snapshot.secondary or snapshot.status_word or "no status"
        since_s = last.started.timestamp() if last is not None else math.nan
        return Health(verdict=phase_verdict(snapshot), what=what, since_s=since_s, sure=True)
    if lost is not None:
        told = f"{lost.told} {lost.count} times in a row"
        proof = "" if lost.proved else "the norm of its gradients would prove it; some losses are exactly 0 by nature"
        return Health(verdict=Verdict.NOT_FINITE, what=told, since_s=lost.since_s, sure=lost.proved, proof=proof)
    if log is None:
        return Health(verdict=Verdict.UNKNOWN, what="its log was not read", proof="a log that can be read")
    row = find_instance(snapshot.instance)
    chips, processors = (row.chips, row.vcpus) if row is not None else (1, 1)
    machines = usage(utilization, accelerators=chips, processors=processors, now=now)
    began = [phase.started.timestamp() for phase in snapshot.transitions if phase.status == TRAINING]
    state = _Training(snapshot, log, losses, machines, now, began[-1] if began else -math.inf, limits).health()
    if not empty or state.needs_you:
        return state
    what = f"no checkpoint at step {log.newest_step:g}, one was due at step {save_due(snapshot):g}"
    return Health(verdict=Verdict.UNSAVED, what=what, since_s=log.steps.at, sure=True)


def save_due(job: JobSnapshot) -> float:
    """The step by which a job with a checkpoint place is to have saved first, where its hyperparameters say it; else infinity."""
    try:
        return float(job.hyperparameters["save_steps"]) if job.raw.get("CheckpointConfig") else math.inf
    except (KeyError, TypeError, ValueError):
        return math.inf


@dataclass(frozen=True, slots=True)
class _Training:
    """All that is known of a job that trains."""

    job: JobSnapshot
    log: Story
    losses: Losses
    machines: Usage
    now: float
    began: float
    limits: Guard

    def health(self) -> Health:
        return self._silent() or self._well()

    def _silent(self) -> Health | None:
        """Steps that do not come: by the job's own rhythm, or at its beginning by the time that a first step may take."""
        limits, work, patience = self.limits, self.machines.work, math.inf
        if self.log.steps.known and limits.stall_s:
            patience = self.log.patience_s(limits.stall_s, limits.pause_s)
        elif not self.log.steps.known and math.isfinite(self.began):
            patience = self._first_step_s()
        if self.now - self._since <= patience * (LONGER if work is Work.WORKS else 1.0):
            return None
        what, does = self._silence(), self.machines
        machines = f"its accelerators are {work.value} at {does.low:.0f}–{does.high:.0f} %"
        idle = work is Work.IDLE and self.log.line_s is not None and self.log.usual
        word = self.log.reason.word if self.log.reason is not None else "its first step"
        return Health(
            verdict=Verdict.STALLED,
            what=what if work is Work.UNKNOWN else f"{what}; {machines}",
            since_s=self._since,
            sure=idle or limits.silence_suffices,
            proof="" if idle else _PROVES[work] or f"how long {word} takes would prove it",
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

    def _well(self) -> Health:
        """A job that gets on, or a pause that has a reason."""
        log = self.log
        silent_s, usual_s = self.now - log.steps.at, log.steps.usual_s
        ago = f"{fmt.compact(silent_s)} ago" if log.steps.count else ""
        if log.steps.known and silent_s > max(60.0, OF_GAPS * usual_s):
            after = fmt.compact(log.patience_s(self.limits.stall_s, self.limits.pause_s))
            ago += f", usually every {fmt.compact(usual_s)}; stalled after {after}"
        loss = f", loss {self.losses.newest:g}" if self.losses.newest is not None else ""
        if log.pause is not None or not log.steps.count:
            verdict = _OF_PAUSE.get(log.pause, Verdict.WARMING)
            word = log.pause.word if log.pause is not None else "before its first step"
            since = log.pause_s if log.pause is not None else self._begun
            what = word if not ago else f"{word}, last step {ago}{loss}"
            return Health(verdict=verdict, what=what, since_s=since)
        return Health(verdict=Verdict.PROGRESSING, what=f"last step {ago}{loss}", since_s=self._begun)

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


_OF_PAUSE: Mapping[Pause | None, Verdict] = {Pause.SAVE: Verdict.SAVING, Pause.EVALUATE: Verdict.EVALUATING}


def _ended(job: JobSnapshot, verdict: Verdict, lost: str, *, empty: bool) -> Health:
    """How a job ended: one whose losses are no numbers at its end did not end well, whatever its status, nor one without a model."""
    at = job.ended or job.modified
    since = at.timestamp() if at is not None else math.nan
    if verdict is Verdict.ENDED_WELL and lost:
        return Health(verdict=Verdict.ENDED_BADLY, what=f"{job.status_word}, but {lost}", since_s=since, sure=True)
    if verdict is Verdict.ENDED_WELL and empty:
        what = f"{job.model_s3_uri} holds no file"
        return Health(verdict=Verdict.LEFT_NO_MODEL, what=what, since_s=since, sure=True)
    what = job.status_word if job.secondary in {"", job.status_word} else f"{job.status_word}, {job.secondary}"
    return Health(verdict=verdict, what=what, since_s=since, sure=True)


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


def usage(points: Sequence[MetricPoint], *, accelerators: int, processors: int, now: float) -> Usage:
    """Return what hosts with so many accelerators and processors each did in the last ten minutes. AWS counts 100 for each device."""
    recent = [point for point in points if point.time_s is not None and point.time_s >= now - RECENT_S]
    chips = [point.value / max(1, accelerators) for point in recent if point.name == "GPUUtilization"]
    busy = [point.value / max(1, processors) for point in recent if point.name == "CPUUtilization"]
    used = chips or busy
    if len(used) < POINTS:
        return Usage()
    low, high = min(used), max(used)
    if high <= LOW:
        prepares = bool(chips) and bool(busy) and sorted(busy)[len(busy) // 2] >= BUSY
        return Usage(Work.WORKS if prepares else Work.IDLE, low, high)
    return Usage(Work.SPINS if high - low <= FLAT else Work.WORKS, low, high)
