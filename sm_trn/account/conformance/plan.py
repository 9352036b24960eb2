"""What a run would do and what it costs at most, before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from ...core.formatting.missing import Missing
from ...core.pricing.book import Price
from ...core.specs.units import Usd
from .jobs import INSTANCE, JOBS, JobPlan, usd
from .probe import BATTERIES, HOSTING, STORAGE, VALIDATION, Probe

# S3 requests and storage of a run: a few hundred requests and as many kilobytes, in no region a cent. Assumed, not priced.
S3_USD = Decimal("0.01")
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatteryPlan:
    """One battery: its probes, the jobs that it starts, and the most that these cost; ``most_usd`` None: no price is known."""

    name: str
    probes: int
    jobs: tuple[JobPlan, ...]
    most_usd: Usd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run before it starts. ``price`` is that of the jobs' instance, None where none is known."""

    batteries: tuple[BatteryPlan, ...]
    region: str
    price: Price | None

    @property
    def probes(self) -> int:
        return sum(each.probes for each in self.batteries)

    @property
    def most_usd(self) -> Usd | None:
        """The worst case in dollars, rounded up to cents; None where a price is lacking."""
        found = [each.most_usd for each in self.batteries]
        if any(each is None for each in found):
            return None
        return sum((each for each in found if each is not None), Decimal(0)).quantize(_CENT, ROUND_UP)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        worst = f"unknown: {Missing.NO_PRICE}" if self.most_usd is None else f"${self.most_usd}"
        yield f"{self.probes} probes of your account, {self.probes} of the emulator. Worst case {worst}."
        yield ""
        yield f"  {'BATTERY':<20}{'PROBES':>6}{'JOBS':>6}  {'INSTANCE':<18}AT MOST"
        for each in self.batteries:
            yield f"  {each.name:<20}{each.probes:>6}{len(each.jobs):>6}  {_place(each):<18}{self._most(each)}".rstrip()
        yield ""
        longest = max((job.limit_s for each in self.batteries for job in each.jobs), default=0)
        if longest:
            yield f"Each job is tagged sm-trn:conformance, stopped after {longest // 60}m, and deleted. Nothing was sent."
        if self.price is None:
            yield f"No price of {INSTANCE} in {self.region} is known: sm-trn catalog prices --help says how to fetch prices."

    def _most(self, each: BatteryPlan) -> str:
        if each.name == HOSTING:
            most = "unknown" if each.most_usd is None else f"{each.most_usd.quantize(_CENT, ROUND_UP)}"
            return f"{most} (an endpoint for 1h; it is deleted, it has no limit of its own)"
        if each.name == STORAGE and not each.jobs:
            return f"{S3_USD} assumed"
        if not each.jobs:
            return "nothing is started" if each.name == VALIDATION or not each.probes else "0.00"
        if each.most_usd is None or self.price is None:
            return "unknown"
        return f"{each.most_usd.quantize(_CENT, ROUND_UP)} ({_formula(each.jobs, self.price)})"


def make_plan(probes: Sequence[Probe], region: str, price: Price | None, hosting: Price | None = None) -> Plan:
    """The plan of these probes. A job belongs to the battery that needs it first; ``price`` is that of one hour of ``INSTANCE``,
    ``hosting`` that of an endpoint of it: it has no time limit of its own, and is counted for an hour.
    """
    seen = set[str]()
    found = []
    for name in BATTERIES:
        own = [probe for probe in probes if probe.battery == name]
        if not own:
            continue
        keys = [key for key in dict.fromkeys(key for probe in own for key in probe.jobs) if key not in seen]
        seen.update(keys)
        jobs = tuple(JOBS[key] for key in keys)
        objects = S3_USD if name == STORAGE else Decimal(0)
        cost = objects + usd(jobs, price) if price is not None else None if jobs else objects
        if name == HOSTING:
            cost = None if hosting is None else hosting.usd_per_hour
        found.append(BatteryPlan(name=name, probes=len(own), jobs=jobs, most_usd=cost))
    return Plan(batteries=tuple(found), region=region, price=price)


def _place(each: BatteryPlan) -> str:
    if each.jobs or each.name == HOSTING:
        return INSTANCE
    if each.name == STORAGE:
        return "S3"
    return "-" if each.name in BATTERIES[:2] else "of those above"


def _formula(jobs: Sequence[JobPlan], price: Price) -> str:
    """``3 × 20m, 1 × 10m × $0.23/h``: a job's limit, its stop and the time that a pool is kept."""
    counts = dict[int, int]()
    for job in jobs:
        minutes = math.ceil(job.most_billed_s / 60)
        counts[minutes] = counts.get(minutes, 0) + 1
    times = " + ".join(f"{count} × {minutes}m" for minutes, count in sorted(counts.items(), reverse=True))
    return f"{f'({times})' if len(counts) > 1 else times} × ${price.usd_per_hour.quantize(_CENT)}/h"
