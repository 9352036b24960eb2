"""Holds one job against a guard: hears its log and its status, and says what is wrong. It acts on nothing."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import regex

from ...core.catalog.instances import find_instance
from ...core.logs.events import LogEvent
from ...core.logs.losses import loss_of
from ...core.logs.prefixes import prefix_of
from ...core.specs.compute import Accelerator
from ...core.specs.guard import Guard
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobSnapshot
from .rhythm import Rhythm
from .signs import Sign, scales, sign_of

IDLE_S = 600.0  # so long must an accelerator be low and flat
IDLE_POINTS = 8  # of one a minute
LOW = 5.0  # percent of all accelerators together: not idle by accident
SCALED = 20  # losses after a scaler's word that count for nothing
_PATIENCE_S = 0.05  # for a user's own expression on one line
TRAINING = "Training"


class State(enum.Enum):
    """HyperPod's words for a job that is watched."""

    WAITING = "WAITING"
    HEALTHY = "HEALTHY"
    SLOW = "SLOW"
    HANGING = "HANGING"
    FAULTED = "FAULTED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One limit that a job has passed. ``since_s`` is when that began, epoch seconds; ``sure`` says that it may be acted on."""

    limit: str
    state: State
    what: str
    since_s: float
    sure: bool


@dataclass(slots=True)
class JobWatch:
    """Watches one job. Feed it lines and looks; times are epoch seconds."""

    guard: Guard
    rhythm: Rhythm = field(default_factory=Rhythm)
    loss: float | None = None
    ended: bool = False  # ``stop_pattern`` was seen
    _wrong: dict[tuple[str, int | None], list[tuple[float, float]]] = field(
        default_factory=dict
    )  # losses in a row, by worker
    _above: list[float] = field(default_factory=list)
    _scaled: int = 0
    _alarm: Alarm | None = None  # of numbers: it stays

    def hear(self, events: Iterable[LogEvent]) -> None:
        """Take in new lines, in time order."""
        for event in events:
            if not math.isnan(event.time_s):
                self._line(event)

    def _line(self, event: LogEvent) -> None:
        text = event.text
        own = _search(self.guard.log_pattern, text)
        if _search(self.guard.stop_pattern, text) is not None:
            self.ended = True
        sign = Sign.STEP if own is not None else sign_of(text) if self.guard.log_pattern is None else Sign.LINE
        self.rhythm.hear(sign, event.time_s)
        if scales(text):
            self._scaled = SCALED
        loss = _number(own) if own is not None else loss_of(text)
        if loss is not None:
            self._value(loss, event)

    def _value(self, loss: float, event: LogEvent) -> None:
        self.loss = loss
        key, need = (event.host, prefix_of(event.text).rank), self.guard.metric_evaluation_data_points
        if self._scaled and not math.isfinite(loss):
            self._scaled -= 1
            return
        row = [] if math.isfinite(loss) else [*self._wrong.get(key, []), (event.time_s, loss)]
        self._wrong[key] = row
        if self.guard.not_finite and len(row) >= need and self._alarm is None:
            self._alarm = _faulted("not_finite", f"the loss is {loss} for {len(row)} values in a row", row[0][0])
        limit = self.guard.loss_above
        self._above = [*self._above, event.time_s][-need:] if limit is not None and loss > limit else []
        if len(self._above) >= need and self._alarm is None:
            self._alarm = _faulted("loss_above", f"the loss is {loss:g}, above {limit:g}", self._above[0])

    def alarms(
        self,
        job: JobSnapshot,
        read_s: float,
        *,
        usd: float | None = None,
        utilization: Iterable[MetricPoint] = (),
    ) -> tuple[Alarm, ...]:
        """What is wrong with the job, whose log was read up to ``read_s``: so long as nobody looks, no silence is counted.

        ``usd`` is what it has cost so far, ``utilization`` what CloudWatch measured.
        """
        if job.terminal or self.ended:
            return ()
        limit = self.guard.max_usd
        found = (
            [_faulted("max_usd", f"it has cost ${usd:,.2f} of ${limit:,.2f}", read_s)]
            if limit and usd and usd >= limit
            else []
        )
        if job.secondary != TRAINING or job.status_word != "InProgress":
            return tuple(found)
        points = tuple(utilization)
        low = idle(points, read_s, self.guard.idle_accelerator or LOW, job)
        if self._alarm is not None:
            found.append(self._alarm)
        silent = self._silent(job, read_s, low=low)
        found += [each for each in (silent, self._slow(read_s)) if each is not None]
        if self.guard.idle_accelerator is not None and low and silent is None:
            found.append(
                Alarm(
                    limit="idle_accelerator",
                    state=State.HANGING,
                    what=f"no accelerator was above {self.guard.idle_accelerator:g} % for 10 minutes",
                    since_s=read_s - IDLE_S,
                    sure=False,
                )
            )
        return tuple(found)

    def _silent(self, job: JobSnapshot, read_s: float, *, low: bool) -> Alarm | None:
        rhythm, began = self.rhythm, _training_since(job)
        if not rhythm.known:
            return self._not_begun(job, read_s, began, low=low)
        if not self.guard.stall_s or rhythm.line_s is None:
            return None
        last = max(rhythm.line_s, began or 0.0)
        if read_s - last <= rhythm.limit_s(self.guard.stall_s, self.guard.pause_s):
            return None
        usual = f", usually every {_age(rhythm.usual_s)}" if rhythm.usual_s else ""
        more = "; accelerators are idle" if low else ""
        return Alarm(
            limit="stall_s",
            state=State.HANGING,
            what=f"nothing logged for {_age(read_s - last)}{usual}{more}",
            since_s=last,
            sure=low or self.guard.silence_suffices,
        )

    def _not_begun(self, job: JobSnapshot, read_s: float, began: float | None, *, low: bool) -> Alarm | None:
        """The alarm of a job without enough steps to know its rhythm by."""
        limit, steps = self.guard.no_first_step_s, self.rhythm.steps
        if not limit or began is None:
            return None
        neuron = any(
            row is not None and row.accelerator is Accelerator.NEURON
            for row in (find_instance(name) for name, _ in job.machines)
        )
        allowed = limit * 2 if neuron else limit
        last = max(began, self.rhythm.line_s or began) if self.rhythm.last.pauses or steps else began
        if read_s - last <= allowed:
            return None
        seen = self.rhythm.line_s is not None
        return Alarm(
            limit="no_first_step_s",
            state=State.HANGING,
            what=f"{steps or 'no'} step{'s' * (steps > 1)} logged after {_age(read_s - began)} of training"
            + ("" if seen else "; its log is empty"),
            since_s=last,
            sure=seen and (low or self.guard.silence_suffices),
        )

    def _slow(self, read_s: float) -> Alarm | None:
        share, pace = self.guard.slower_than, self.rhythm.pace
        if share is None or pace is None or pace >= share:
            return None
        return Alarm(
            limit="slower_than",
            state=State.SLOW,
            what=f"it runs at {100 * pace:.0f} % of its first speed",
            since_s=self.rhythm.step_s or read_s,
            sure=False,
        )

    def state(self, job: JobSnapshot, alarms: Iterable[Alarm]) -> State:
        """HyperPod's word for the job."""
        worst = [each.state for each in alarms]
        for word in (State.FAULTED, State.HANGING, State.SLOW):
            if word in worst:
                return word
        return State.HEALTHY if job.secondary == TRAINING and self.rhythm.steps else State.WAITING


def idle(points: tuple[MetricPoint, ...], now: float, percent: float, job: JobSnapshot) -> bool:
    """Whether every host's accelerators, or its processors where it has none that are measured, were below ``percent`` for ten
    minutes: on all of its machine together, of which AWS counts 100 for each."""
    name = "GPUUtilization" if any(each.name == "GPUUtilization" for each in points) else "CPUUtilization"
    row = find_instance(job.instance)
    each_of = max(1, (row.chips if name == "GPUUtilization" else row.vcpus) if row is not None else 1)
    recent: dict[str, list[float]] = {}
    for point in points:
        if point.name == name and point.time_s is not None and now - point.time_s <= IDLE_S + 120:
            recent.setdefault(point.host, []).append(point.value / each_of)
    return bool(recent) and all(len(values) >= IDLE_POINTS and max(values) <= percent for values in recent.values())


def _faulted(limit: str, what: str, since_s: float) -> Alarm:
    return Alarm(limit=limit, state=State.FAULTED, what=what, since_s=since_s, sure=True)


def _training_since(job: JobSnapshot) -> float | None:
    phases = [phase.started for phase in job.transitions if phase.status == TRAINING]
    return phases[-1].timestamp() if phases else None


def _search(pattern: str | None, text: str) -> regex.Match[str] | None:
    """Users' own expressions have a time limit: one that would not end matches nothing."""
    if not pattern:
        return None
    try:
        return regex.search(pattern, text[:2_000], timeout=_PATIENCE_S)
    except TimeoutError:
        return None


def _number(found: regex.Match[str]) -> float | None:
    try:
        return float(found.group(1)) if found.re.groups else None
    except (ValueError, TypeError):
        return None


def _age(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f}s"
    return f"{seconds / 60:.0f}m" if seconds < 6000 else f"{seconds / 3600:.1f}h"
