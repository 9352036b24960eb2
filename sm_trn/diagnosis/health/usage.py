"""What a job's machines do, by CloudWatch's utilization: whether they are idle, spin, or work."""

from __future__ import annotations

import enum
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...core.specs.metrics import MetricPoint

RECENT_S = 600.0  # so long must a level last
POINTS = 8  # of one a minute
LOW = 5.0  # percent of all accelerators together: not idle by accident
BUSY = 10.0  # percent of all processors: data is prepared
FLAT = 2.0  # percent between the lowest and the highest: a wait that spins is that even, work hardly ever
_DELAY_S = 120.0  # CloudWatch's newest value may be so old


class Work(enum.Enum):
    """What machines do. ``SPINS``: at one level, another than while steps came; a collective that waits does that."""

    UNKNOWN = "unknown"
    IDLE = "idle"
    SPINS = "spins"
    WORKS = "works"


@dataclass(frozen=True, slots=True)
class Level:
    """One host's accelerators, or processors where it has none that are measured: percent of all of them, lowest and highest.

    ``worked`` says that they were in use at some time, and ``since_s`` when last.
    """

    work: Work
    low: float
    high: float
    worked: bool
    since_s: float


def levels(
    points: Iterable[MetricPoint], *, accelerators: int, processors: int, now: float, since_s: float
) -> Mapping[str, Level]:
    """What each host, which has so many accelerators and processors, does now, beside what it did before ``since_s``. Without values of
    ten minutes a host is missing."""
    known = [point for point in points if point.time_s is not None]
    chips = any(point.name == "GPUUtilization" for point in known)
    found: dict[str, Level] = {}
    for host in {point.host for point in known}:
        busy = _values(known, host, "CPUUtilization", processors)
        used = _values(known, host, "GPUUtilization", accelerators) if chips else busy
        recent = [value for at, value in used if at >= now - RECENT_S - _DELAY_S]
        before = [value for at, value in used if since_s - 6 * RECENT_S <= at <= since_s]
        if len(recent) < POINTS:
            continue
        in_use = [at for at, value in used if value > LOW]
        work = _work(recent, before, [value for at, value in busy if chips and at >= now - RECENT_S - _DELAY_S])
        found[host] = Level(work, min(recent), max(recent), bool(in_use), in_use[-1] if in_use else used[0][0])
    return found


def _values(points: Sequence[MetricPoint], host: str, name: str, devices: int) -> list[tuple[float, float]]:
    """AWS counts 100 for each device: times and values in percent of all of them."""
    each_of = max(1, devices)
    return [(p.time_s or 0.0, p.value / each_of) for p in points if p.host == host and p.name == name]


def _work(recent: Sequence[float], before: Sequence[float], processors: Sequence[float]) -> Work:
    if max(recent) <= LOW:
        return Work.WORKS if processors and statistics.median(processors) >= BUSY else Work.IDLE
    if max(recent) - min(recent) > FLAT:
        return Work.WORKS
    if len(before) < POINTS:
        return Work.SPINS
    ninths = statistics.quantiles(before, n=10)
    varied = ninths[-1] - ninths[0] > FLAT  # an hour has outliers that ten minutes have not
    moved = abs(statistics.median(recent) - statistics.median(before)) > FLAT
    return Work.SPINS if varied or moved else Work.WORKS


def work_of(hosts: Mapping[str, Level]) -> Work:
    """What all hosts together do: they work if one of them does."""
    works = {level.work for level in hosts.values()}
    for one in (Work.WORKS, Work.SPINS, Work.IDLE):
        if one in works:
            return one
    return Work.UNKNOWN
