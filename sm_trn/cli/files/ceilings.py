"""The most that a job can cost, in words and in dollars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, no_price_for
from ...core.pricing.book import Price
from ...core.pricing.cost import ceiling, most_billed_s
from ...core.session.defaults import known_prices
from ...core.specs.job import JobSpec
from ...core.specs.units import Usd


class Most(Protocol):
    """The most that something of a file can cost; its text says it in words."""

    @property
    def name(self) -> str: ...

    @property
    def usd(self) -> Usd | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """``usd`` None: no price is known, and none is guessed."""

    job: JobSpec
    price: Price | None
    usd: Usd | None
    region: str

    @property
    def name(self) -> str:
        """The job's name."""
        return self.job.name

    def __str__(self) -> str:
        """``at most $1,212.06 (24 h × 2 × $25.25/h, 2026-09-01, us-west-2)``."""
        if self.job.serverless:
            return f"{Missing.IN_TOKENS}, so no ceiling"
        if self.price is None or self.usd is None:
            return f"{no_price_for(' and '.join(self.job.compute.instances), self.region)}, so no ceiling"
        seconds = most_billed_s(self.job)
        shown = f"{seconds / 3600:g} h" if seconds % 360 == 0 else fmt.hours(seconds)
        mark = ", inferred" if self.price.inferred else ""
        return (
            f"at most {fmt.usd(self.usd)} ({shown} × {self.job.compute.hosts} × {fmt.usd_per_hour(self.price.usd_per_hour)}, "
            f"{self.price.as_of}, {self.region}{mark})"
        )


def ceiling_of(job: JobSpec, region: str) -> Ceiling:
    """At the newest known price of the region."""
    price = known_prices().of(job.compute.machines, region)
    return Ceiling(job=job, price=price, usd=ceiling(job, price), region=region)
