"""A comparison as JSON: jobs, findings, sweeps and prices, null for what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.formatting.records import finite, reasons, records

if TYPE_CHECKING:
    from ...core.formatting.table import Table
    from ...core.pricing.book import Price
    from ..sections.findings import Finding
    from ..sections.section import Section
    from ..sections.sweep import Sweep

SCHEMA = 1


def json_text(table: Table, findings: Iterable[Finding], sections: Sequence[Section]) -> str:
    """Everything that a comparison knows. A job's ``missing`` has the reason for each value that is null."""
    priced = [row.price for section in sections for row in section.measured if row.price is not None]
    prices = {(price.instance, price.region, price.as_of): price for price in priced}
    jobs = [
        {**{name: finite(value) for name, value in job.items()}, "missing": why}
        for job, why in zip(records(table), reasons(table), strict=True)
    ]
    body = {
        "schema": SCHEMA,
        "jobs": jobs,
        "findings": [_finding(item) for item in findings],
        "sweeps": [_sweep(section.sweep) for section in sections if section.sweep is not None],
        "prices": [_price(price) for price in prices.values()],
    }
    return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False)


def _finding(item: Finding) -> Mapping[str, Any]:
    return {
        "kind": item.kind.value,
        "job": item.job or None,
        "base": item.base or None,
        "change_pct": finite(item.change_pct),
        "text": item.text,
    }


def _sweep(sweep: Sweep) -> Mapping[str, Any]:
    trials = [
        {
            "job": each.job,
            "rank": each.rank,
            "value": each.value,
            "settings": dict(each.settings),
            "note": each.note or None,
        }
        for each in sweep.trials
    ]
    return {
        "workload": sweep.workload,
        "metric": sweep.metric,
        "lowest_is_best": sweep.lowest,
        "trials": trials,
    }


def _price(price: Price) -> Mapping[str, Any]:
    return {
        "instance": price.instance,
        "region": price.region,
        "usd_per_hour": str(price.usd_per_hour),
        "as_of": price.as_of,
        "inferred": price.inferred,
        "source": price.source,
    }
