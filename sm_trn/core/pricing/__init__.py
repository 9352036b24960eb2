"""Dated prices, and what jobs cost at them."""

from .book import Price, PriceBook, dump_prices, parse_prices, price_sources, snapshot_book
from .cost import CENT, JobCost, break_even, ceiling, job_cost, most_billed_s, spot_saving, usd_for

__all__ = [
    "CENT",
    "JobCost",
    "Price",
    "PriceBook",
    "break_even",
    "ceiling",
    "dump_prices",
    "job_cost",
    "most_billed_s",
    "parse_prices",
    "price_sources",
    "snapshot_book",
    "spot_saving",
    "usd_for",
]
