"""What a job is estimated to cost, in a few words."""

from __future__ import annotations

from ..core.pricing.book import PriceBook
from ..core.specs.job import JobSpec
from .jobs.estimate import estimate
from .jobs.facts import MissingFact


def estimated_cost(job: JobSpec, prices: PriceBook, region: str) -> str:
    """``about $20.1 estimated ($16.2 to $24.9), ``: empty where a fact, a basis or a price is missing."""
    try:
        found = estimate(job, prices=prices, region=region).usd
    except MissingFact:
        return ""
    if found is None:
        return ""
    return f"about ${found.p50:,.1f} estimated (80 %: ${found.p10:,.1f} to ${found.p90:,.1f}), "
