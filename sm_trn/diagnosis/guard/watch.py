"""Holds one job against a guard: its health, and the limits that a user gave beside it. It acts on nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import regex

from ...core.logs.events import LogEvent
from ...core.specs.guard import Guard
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobSnapshot
from ...core.status import Verdict
from ..health.health import TRAINING, Health, health, hosts_of
from ..health.story import Story
from ..health.usage import RECENT_S

_PATIENCE_S = 0.05  # for a user's own expression on one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One limit that a job has passed. ``since_s`` is when that began, epoch seconds; ``sure`` says that it may be acted on,
    ``proof`` what would make it sure."""

    limit: str
    verdict: Verdict
    what: str
    since_s: float
    sure: bool
    proof: str = ""


@dataclass(slots=True)
class JobWatch:
    """Watches one job. Feed it lines and looks; times are epoch seconds."""

    guard: Guard
    story: Story = field(default_factory=Story)
    heard: bool = False  # somebody read its log, be it empty
    ended: bool = False  # ``stop_pattern`` was seen
    _above: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.guard.log_pattern is not None:
            self.story.own = self._own

    def hear(self, events: Iterable[LogEvent]) -> None:
        """Take in new lines, in time order; none of a log that was read and has no more."""
        self.heard = True
        limit, need = self.guard.loss_above, self.guard.metric_evaluation_data_points
        for event in events:
            if _search(self.guard.stop_pattern, event.text) is not None:
                self.ended = True
            before = self.story.losses.heard
            self.story.hear((event,))
            loss = self.story.losses.newest
            if limit is not None and loss is not None and self.story.losses.heard > before:
                self._above = [*self._above, event.time_s][-need:] if loss > limit else []

    def _own(self, text: str) -> tuple[bool, float | None]:
        found = _search(self.guard.log_pattern, text)
        return found is not None, _number(found) if found is not None else None

    def health(self, job: JobSnapshot, read_s: float, utilization: Sequence[MetricPoint] = ()) -> Health:
        """How the job is, whose log was read up to ``read_s``: so long as nobody looks, no silence is counted."""
        return health(job, self.story, (), utilization, now=read_s, limits=self.guard)

    def asks_utilization(self, job: JobSnapshot, found: Health) -> bool:
        """Whether CloudWatch's answer could change what is said of a job: whether silence is a stall, or a silent host is idle."""
        hosts = job.count > 1 and self.story.steps.known
        return found.verdict is Verdict.STALLED or hosts or self.guard.idle_accelerator is not None

    def alarms(
        self, job: JobSnapshot, read_s: float, *, usd: float | None = None, utilization: Sequence[MetricPoint] = ()
    ) -> tuple[Alarm, ...]:
        """Which limits the job has passed: of a log that nobody reads, none but the cost. ``usd`` is what it has cost so far,
        ``utilization`` what CloudWatch measured.
        """
        if job.terminal or self.ended:
            return ()
        found: list[Alarm] = []
        limit = self.guard.max_usd
        if limit and usd and usd >= limit:
            found.append(_beyond("max_usd", Verdict.PROGRESSING, f"it has cost ${usd:,.2f} of ${limit:,.2f}", read_s))
        if not self.heard or job.secondary != TRAINING or job.status_word != "InProgress":
            return tuple(found)
        state = self.health(job, read_s, utilization)
        if state.needs_you:
            found.append(self._sick(state))
        if len(self._above) >= self.guard.metric_evaluation_data_points and state.verdict is not Verdict.NOT_FINITE:
            told = f"the loss is {self.story.losses.newest:g}, above {self.guard.loss_above:g}"
            found.append(_beyond("loss_above", Verdict.DIVERGED, told, self._above[0]))
        idle = self._idle(job, read_s, utilization)
        if idle is not None and state.verdict is not Verdict.STALLED:
            found.append(idle)
        return tuple(found)

    def _sick(self, state: Health) -> Alarm:
        begun = state.verdict is not Verdict.STALLED or self.story.steps.known
        return Alarm(
            limit=_LIMITS[state.verdict] if begun else "no_first_step_s",
            verdict=state.verdict,
            what=state.what,
            since_s=state.since_s,
            sure=state.sure,
            proof=state.proof,
        )

    def _idle(self, job: JobSnapshot, read_s: float, utilization: Sequence[MetricPoint]) -> Alarm | None:
        percent = self.guard.idle_accelerator
        hosts = hosts_of(job, utilization, now=read_s, since_s=read_s)
        if percent is None or not hosts or any(level.high > percent for level in hosts.values()):
            return None
        what = f"no accelerator was above {percent:g} % for 10 minutes"
        since = read_s - RECENT_S
        return Alarm(limit="idle_accelerator", verdict=Verdict.STALLED, what=what, since_s=since, sure=False)


_LIMITS = {
    Verdict.STALLED: "stall_s",
    Verdict.NOT_FINITE: "not_finite",
    Verdict.DIVERGED: "diverging",
    Verdict.SLOWED: "slower_than",
}


def _beyond(limit: str, verdict: Verdict, what: str, since_s: float) -> Alarm:
    return Alarm(limit=limit, verdict=verdict, what=what, since_s=since_s, sure=True)


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
