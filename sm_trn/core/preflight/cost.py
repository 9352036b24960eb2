"""COST rules: what the job can cost at most, while that is still a number on a screen."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog.instances import find_instance
from ..formatting.missing import no_price_for
from ..pricing.book import snapshot_book
from ..pricing.cost import ceiling, most_billed_s
from ..specs.job import JobSpec
from ..specs.problems import Advice, Field, Problem, rules_of

DEAR_USD = 1000
REGION = "us-west-2"  # the region of most rows of the shipped price table; a session re-prices for its own

_RULES = rules_of(__package__)


def most_it_can_cost(job: JobSpec) -> Iterator[Problem]:
    """COST001: max_run_s on every instance, when that is a four-digit sum."""
    price = snapshot_book().of(job.compute.machines, REGION)
    most = ceiling(job, price)
    if most is None or price is None or most < DEAR_USD:
        return
    yield _RULES["COST001"].problem(
        Field("max_run_s"),
        f"a job that hangs is billed up to ${most:,.2f}",
        got=f"{most_billed_s(job) / 3600:g} h × {job.compute.hosts} × {price}",
        fix=Advice("set max_run_s nearer to what the job needs"),
    )


def unknown_price(job: JobSpec) -> Iterator[Problem]:
    """COST002: an instance of the catalogue without a price: costs will read 'no price'."""
    for instance in job.compute.instances:
        if find_instance(instance) is None or snapshot_book().find(instance, REGION):
            continue
        yield _RULES["COST002"].problem(
            Field("compute.groups" if job.compute.groups else "compute.instance"),
            no_price_for(instance, REGION),
            fix=Advice("give one where costs are computed"),
        )


def other_bills(job: JobSpec) -> Iterator[Problem]:
    """COST003: jobs that are billed by tokens, and jobs that may run on other machines than the one that is priced."""
    if job.serverless is not None:
        yield _RULES["COST003"].problem(
            Field("serverless"),
            "this job is billed by tokens, so no price is shown",
            got=job.serverless.base_model_arn,
            fix=Advice("look its price up: https://aws.amazon.com/sagemaker/ai/pricing/"),
        )
    elif len(job.compute.preferences) > 1:
        first, *others = job.compute.instances
        yield _RULES["COST003"].problem(
            Field("compute.preferences"),
            f"costs and ceilings are those of {first}",
            got=f"{', '.join(others)} as well",
            fix=Advice("nothing, if that is meant"),
        )


RULES = (most_it_can_cost, unknown_price, other_bills)
