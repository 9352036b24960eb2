"""Compares the measured rate of a job on AWS with its estimate, and tells once when the two are far apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from ...core.errors import SmTrnError
from ...core.formatting import numbers as fmt
from ...core.logs.throughput import throughput
from ...core.session.observers import Notify, Observer
from ...core.specs.job import JobSpec
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobSnapshot
from ...forecast.step import Interval

FAR = 1.5  # beyond an end of the 80 % interval: the estimate is no measurement
STEPS, WINDOWS = 200, 5  # fewer say nothing about a steady rate


class LogNumbers(Protocol):
    """The numbers of one job's log, as far as it was read."""

    name: str
    looks: int

    @property
    def points(self) -> Iterable[MetricPoint]: ...


@dataclass(kw_only=True)
class Foreseen(Observer):
    """Tells of a job whose measured rate is far off the estimated one, once a job.

    ``logs`` are what somebody else reads of the jobs; ``asked`` are the specs of those that this process launched.
    """

    logs: Sequence[LogNumbers]
    asked: Mapping[str, JobSpec | None]
    _looks: dict[str, int] = field(default_factory=dict)  # at each log, when its rate was compared last
    _steps: dict[str, Interval | None] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)

    def look(self, known: Mapping[str, JobSnapshot], now: datetime, notify: Notify, *, answering: bool) -> None:
        """Compare the rate of each job whose log was read since the last look."""
        del now, answering
        for log in self.logs:
            if log.name in known and self._looks.get(log.name) != log.looks:
                self._looks[log.name] = log.looks
                self.compare(known[log.name], log.points, notify)

    def compare(self, job: JobSnapshot, points: Iterable[MetricPoint], notify: Notify) -> None:
        """Compare a job's rate once it is steady."""
        asked = self.asked.get(job.name)
        if job.emulated or job.name in self._said:
            return
        rate = steady_rate(points)
        if rate is None:
            return
        if job.name not in self._steps and (asked is not None or "HyperParameters" in job.raw):
            self._steps[job.name] = step_of(job, asked)
        step = self._steps.get(job.name)
        sentence = "" if step is None else far_off(job.name, rate, step)
        if sentence:
            self._said.add(job.name)
            notify(sentence)


def steady_rate(points: Iterable[MetricPoint]) -> float | None:
    """Optimizer steps a second after the warm-up; None while the log is too short, or gives none."""
    known = list(points)
    seen = throughput(known, unit="it/s")
    reached = max(
        (point.step for point in known if point.name == "steps_per_second" and point.step is not None), default=0
    )
    return (
        seen.median if seen is not None and seen.windows >= WINDOWS and reached >= STEPS and seen.median > 0 else None
    )


def step_of(job: JobSnapshot, asked: JobSpec | None) -> Interval | None:
    """Estimated seconds of an optimizer step; None where a fact is missing."""
    from ...core.render.from_describe import as_request  # noqa: PLC0415
    from ...core.render.from_request import parse_request  # noqa: PLC0415
    from ...forecast.configure import configure  # noqa: PLC0415 - the estimates load with the first steady rate
    from ...forecast.estimate import step_interval  # noqa: PLC0415
    from ...forecast.facts import facts_of  # noqa: PLC0415

    try:
        spec = asked or parse_request(as_request(job.raw))
        return step_interval(configure(facts_of(spec, {})))
    except SmTrnError:
        return None


def far_off(name: str, rate: float, step: Interval) -> str:
    """What to say of a rate, in steps a second, that is far outside the estimate; empty within it."""
    low, high = 1 / step.p90, 1 / step.p10
    if low / FAR <= rate <= high * FAR:
        return ""
    between = f"{fmt.significant(low)} to {fmt.significant(high)} (80 %)"
    measured = f"{name} trains at {fmt.significant(rate)} steps a second; estimated were {between}."
    if rate < low:
        slower = f"It is {fmt.significant(low / rate)} times slower than the low end."
        return f"▲ {measured} {slower} Look at its data loading, precision and batch."
    return f"▲ {measured} It is faster: its examples may be shorter than was told. The estimate of its time and cost is too high."
