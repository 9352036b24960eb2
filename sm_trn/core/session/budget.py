"""Budgets: a ceiling that is checked before a launch, and a sum that is watched while jobs run.

Pure, but for the stop that ``Budget.guard`` asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation

from ..errors import CloudError, InvalidJob, NotConfigured
from ..formatting import numbers as fmt
from ..pricing.book import Price
from ..pricing.cost import ceiling, most_billed_s, usd_for
from ..specs.job import JobSpec
from ..specs.snapshot import JobSnapshot, JobStatus
from ..specs.units import Usd, WallSeconds

AGAIN_S = 120.0  # a job that was asked to stop so long ago and runs on as before is asked again
PriceOf = Callable[[Iterable[tuple[str, int]]], Price | None]  # of one host of some machines


class OverBudget(InvalidJob):
    """A launch can cost more than ``max_usd``, or its cost is not known. ``problems`` has each ceiling."""

    def __init__(self, problems: tuple[str, ...], *, total: Usd | None, max_usd: Usd) -> None:
        self.total = total
        self.max_usd = max_usd
        super().__init__("max_usd", problems)
        got = "a job without a price" if total is None else f"at most {fmt.usd(total)} together"
        lines = "\n".join(f"  {problem}" for problem in problems)
        self.args = (
            f"max_usd: got {got}, wanted at most {fmt.usd(max_usd)}; lower max_run_s, or raise max_usd. Nothing was started\n{lines}",
        )


def refuse_over(max_usd: Usd | float, jobs: Sequence[JobSpec], price_of: PriceOf) -> None:
    """Raise OverBudget when Σ max_run_s × instances × price passes ``max_usd``, or when a price is not known."""
    limit = as_usd(max_usd)
    priced = [(job, price_of(job.compute.machines)) for job in jobs]
    known = [most for job, price in priced if (most := ceiling(job, price)) is not None]
    total = None if len(known) < len(jobs) else sum(known, Decimal(0))
    if total is None or total > limit:
        raise OverBudget(tuple(_line(job, price) for job, price in priced), total=total, max_usd=limit)


def as_usd(value: Usd | float) -> Usd:
    """Return US dollars as they were written: 0.1 is a tenth of a dollar, not its binary neighbour. Raises NotConfigured
    for a number below 0 and for what is no number."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise NotConfigured(f"USD: got {value!r}, wanted a number of dollars from 0")
    return amount


def billed_so_far(job: JobSnapshot, now: datetime) -> WallSeconds:
    """The service's billable seconds, else the time since billing began: for a running spot job that is the most it can be."""
    if job.billable_s is not None:
        return job.billable_s
    if job.started is None:
        return WallSeconds(0.0)
    return WallSeconds(max(0.0, ((job.ended or now) - job.started).total_seconds()))


@dataclass(kw_only=True)
class Budget:
    """Stops every watched job that still runs once all of them together have cost ``max_usd``.

    ``usd_per_hour`` stands for every price: the only way in which an emulated job costs anything. ``refused`` are the jobs that could
    not be asked to stop, and why; each look asks them again.
    """

    max_usd: Usd
    price_of: PriceOf
    stop: Callable[[str], bool]
    notice: Callable[[str], None]
    usd_per_hour: Usd | None = None
    refused: dict[str, CloudError] = field(default_factory=dict)
    _asked: dict[str, datetime] = field(default_factory=dict)  # when each was asked to stop
    _said: set[str] = field(default_factory=set)

    def guard(self, jobs: Iterable[JobSnapshot], now: datetime) -> None:
        """Add up what the jobs cost so far, and stop them all when the limit is reached. Raises NotConfigured for a job whose
        price is not known."""
        seen = list(jobs)
        spent = sum((self._cost(job, now) for job in seen), Decimal(0))
        if spent < self.max_usd:
            return
        for job in seen:
            if job.status in {JobStatus.STOPPING, JobStatus.STOPPED}:
                self.refused.pop(job.name, None)  # a stop was heard, whatever its answer said
                continue
            since = self._asked.get(job.name)  # a job that runs on long after it was asked to stop has not heard it
            if job.over or (since is not None and abs((now - since).total_seconds()) < AGAIN_S):
                continue
            try:
                self.stop(job.name)
            except CloudError as error:  # the others are stopped all the same
                self.refused[job.name] = error
                continue
            self.refused.pop(job.name, None)
            self._asked[job.name] = now
            if since is not None:
                continue
            rehearsed = (
                f", as if {fmt.usd(self.usd_per_hour)}/h were paid" if job.emulated and self.usd_per_hour else ""
            )
            self.say(
                f"{job.name} was asked to stop: {fmt.usd(spent)} of {fmt.usd(self.max_usd)} are spent{rehearsed}. "
                "Its script gets SIGTERM; what it saves is kept."
            )

    def failure(self) -> CloudError | None:
        """Return what is to be said at the end: every job that the budget could not stop."""
        if not self.refused:
            return None
        lines = [f"  {name}: {error}" for name, error in self.refused.items()]
        head = f"max_usd: {fmt.usd(self.max_usd)} are spent, and jobs could not be asked to stop:"
        first = next(iter(self.refused.values()))
        return CloudError("\n".join([head, *lines]), operation="StopTrainingJob", code=first.code)

    def _cost(self, job: JobSnapshot, now: datetime) -> Usd:
        billed = billed_so_far(job, now)
        if self.usd_per_hour is not None:
            return usd_for(billed, job.count, self.usd_per_hour)
        if job.emulated:
            self.say("EMULATED: there is no cost, so max_usd guards nothing; usd_per_hour rehearses it.")
            return Decimal(0)
        if not job.instance:  # a list says nothing of machines; the describe that does is on its way
            return Decimal(0)
        price = self.price_of(job.machines)
        if price is None:
            raise NotConfigured(
                f"max_usd: got no price for {job.instance} ({job.name}), wanted one to watch the budget; give usd_per_hour. "
                "The jobs go on"
            )
        return usd_for(billed, job.count, price.usd_per_hour)

    def say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self.notice(text)


def _line(job: JobSpec, price: Price | None) -> str:
    most = ceiling(job, price)
    if job.queue is not None and job.queue.starts is None:
        return f"{job.name}: its quota share may preempt it without a limit, so no ceiling; Queue(…, preemptions=3) sets one"
    if most is None or price is None:
        return (
            f"{job.name}: no price is known for {' and '.join(job.compute.instances)}, so no ceiling; none is guessed"
        )
    return f"{job.name}: at most {fmt.usd(most)} ({most_billed_s(job):,.0f} s × {job.compute.hosts} × {price})"
