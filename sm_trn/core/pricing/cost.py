"""The cost of a job: billable seconds × instances × dated on-demand price. The spot discount is already in billable."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from ..formatting.cards import HasCard
from ..specs.job import JobSpec
from ..specs.snapshot import JobSnapshot
from ..specs.units import InstanceSeconds, Usd, WallSeconds
from .book import Price

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCost(HasCard):
    """``usd`` is unrounded. ``spot_saving`` is the share of training time that was not billed (0.7 = 70 %), else None."""

    usd: Usd
    billable_s: WallSeconds
    instances: int
    price: Price
    spot_saving: float | None = None

    @property
    def rounded(self) -> Usd:
        return self.usd.quantize(CENT, ROUND_HALF_EVEN)

    def __str__(self) -> str:
        return f"${self.rounded:,} ({self.billable_s:,.0f} s × {self.instances} × {self.price})"


def instance_seconds(billable: WallSeconds, count: int) -> InstanceSeconds:
    """``BillableTimeInSeconds`` is per instance; the bill is for all of them.

    https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeTrainingJob.html
    """
    return InstanceSeconds(billable * count)


def usd_for(billable: WallSeconds, count: int, usd_per_hour: Usd) -> Usd:
    """Dollars, unrounded."""
    return Decimal(str(instance_seconds(billable, count))) * usd_per_hour / 3600


def job_cost(snapshot: JobSnapshot, price: Price | None) -> JobCost | None:
    """The cost so far or in the end; None when nothing was billed yet, no price is known, or the job was emulated or is
    billed in tokens."""
    if price is None or snapshot.billable_s is None or snapshot.emulated or snapshot.in_tokens:
        return None
    return JobCost(
        usd=usd_for(snapshot.billable_s, snapshot.count, price.usd_per_hour),
        billable_s=snapshot.billable_s,
        instances=snapshot.count,
        price=price,
        spot_saving=spot_saving(snapshot),
    )


def spot_saving(snapshot: JobSnapshot) -> float | None:
    """1 − billable ÷ training, as the console shows it, for a spot job that has both."""
    if not snapshot.spot or not snapshot.training_s or snapshot.billable_s is None:
        return None
    return 1 - snapshot.billable_s / snapshot.training_s


def ceiling(job: JobSpec, price: Price | None) -> Usd | None:
    """The most that the job can be billed: ``most_billed_s`` on every instance, at the price of one (``PriceBook.of``).

    None without a price, and for a queued job that may start again without a limit.
    """
    endless = job.queue is not None and job.queue.starts is None
    return None if price is None or endless else usd_for(most_billed_s(job), job.compute.hosts, price.usd_per_hour)


def most_billed_s(job: JobSpec) -> WallSeconds:
    """``max_run_s``, and the time that its machines are kept in a warm pool: that is billed too; of a queued job, for every start.
    https://docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools.html
    """
    queue, kept_s = job.queue, job.compute.keep_alive_s or 0
    if queue is None:
        return WallSeconds(job.max_run_s + kept_s)
    return WallSeconds((min(job.max_run_s, queue.timeout_s) + kept_s) * (queue.starts or 1))


def break_even(cheaper: JobCost, dearer: JobSnapshot) -> Usd | None:
    """The hourly price at which ``dearer`` would have cost the same as ``cheaper``."""
    if not dearer.billable_s:
        return None
    hours = Decimal(str(instance_seconds(dearer.billable_s, dearer.count))) / 3600
    return cheaper.usd / hours
