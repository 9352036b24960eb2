"""Dated prices, and what jobs cost at them."""

from .book import Price, PriceBook, price_sources, snapshot_book
from .cost import JobCost, break_even, ceiling, job_cost, spot_saving, usd_for

__all__ = [
    "JobCost",
    "Price",
    "PriceBook",
    "break_even",
    "ceiling",
    "job_cost",
    "price_sources",
    "snapshot_book",
    "spot_saving",
    "usd_for",
]
