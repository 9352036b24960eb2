"""The most that all training jobs of a sweep can cost together, as dollars and as a sentence."""

from __future__ import annotations

from ..core.formatting import numbers as fmt
from ..core.formatting.missing import Missing
from ..core.pricing.cost import ceiling
from ..core.session.budget import OverBudget, PriceOf
from ..core.specs.tuning import Sweep
from ..core.specs.units import Usd


def worst_case(sweep: Sweep, price_of: PriceOf) -> Usd | None:
    """The most that all training jobs together can cost: their number × each job's own limit × the dearest of its clusters.

    None where one of the clusters has no price.
    """
    jobs = [sweep.job.replace(compute=cluster) for cluster in sweep.clusters] or [sweep.job]
    each = [ceiling(job, price_of(job.compute.machines)) for job in jobs]
    known = [usd for usd in each if usd is not None]
    return max(known) * sweep.jobs if len(known) == len(each) else None


def worst_case_words(jobs: int, most: Usd | None) -> str:
    """The worst case in words: ``20 training jobs, each at most $1.41, together at most $28.20``."""
    counted = fmt.counted(jobs, "training job")
    if most is None:
        return f"{counted}, {Missing.NO_PRICE}, no ceiling"
    return f"{counted}, each at most {fmt.usd(most / jobs)}, together at most {fmt.usd(most)}"


def worst_case_line(name: str, jobs: int, most: Usd | None) -> str:
    """The same with the name of the sweep before it."""
    return f"{name}: {worst_case_words(jobs, most)}"


def refuse_over(name: str, jobs: int, most: Usd | None, limit: Usd) -> None:
    """Raise OverBudget where the worst case of so many training jobs passes the limit, or is not known."""
    if most is None or most > limit:
        raise OverBudget((worst_case_line(name, jobs, most),), total=most, max_usd=limit)
