"""COST rules: what the job can cost at most, while that is still a number on a screen."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog import find_instance
from ..pricing import ceiling, most_billed_s, snapshot_book
from ..specs import JobSpec, Problem, Severity

DEAR_USD = 1000
REGION = "us-west-2"  # the region of most rows of the shipped price table; a session re-prices for its own


def most_it_can_cost(job: JobSpec) -> Iterator[Problem]:
    """COST001: max_run_s on every instance, when that is a four-digit sum."""
    price = snapshot_book().of(job.compute.machines, REGION)
    most = ceiling(job, price)
    if most is None or price is None or most < DEAR_USD:
        return
    yield Problem(
        id="COST001",
        severity=Severity.INFO,
        where="max_run_s",
        what=f"a job that hangs is billed up to ${most:,.2f}",
        got=f"{most_billed_s(job) / 3600:g} h × {job.compute.hosts} × {price}",
        fix="a max_run_s nearer to what the job needs",
    )


def unknown_price(job: JobSpec) -> Iterator[Problem]:
    """COST002: an instance of the catalogue without a price: costs will read 'no price'."""
    for instance in job.compute.instances:
        if find_instance(instance) is None or snapshot_book().find(instance, REGION):
            continue
        yield Problem(
            id="COST002",
            severity=Severity.INFO,
            where="compute.groups" if job.compute.groups else "compute.instance",
            what=f"no price is known for {instance} in {REGION}",
            fix="give one where costs are computed",
        )


RULES = (most_it_can_cost, unknown_price)
