"""The columns of a comparison and one job's cells as plain values; JSON of them. Knows neither pandas nor layout."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..sections.findings import Finding
    from ..sections.rows import Row
    from ..sections.section import Delta, Section

SCHEMA = 1
HYPERPARAMETER = "hyperparameters."  # before the name of one that is a column
COLUMNS = (
    "job",
    "status",
    "origin",
    "emulated",
    "instance",
    "instances",
    "workload",
    "throughput_it_per_s",
    "samples_per_s",
    "runtime_s",
    "billable_s",
    "wall_s",
    "trained_s",
    "not_training",
    "price_usd_per_hour",
    "price_as_of",
    "cost_usd",
    "cost_on_demand_usd",
    "spot_saved_usd",
    "usd_per_1000_it",
    "usd_per_1000_samples",
    "usd_per_epoch",
    "accuracy",
    "final_loss",
    "baseline_accuracy",
    "interruptions",
    "padding_fill",
    "data_wait",
    "compiles",
    "compile_s",
    "speedup_pct",
    "billable_saving_pct",
    "cost_saving_pct",
    "estimated_s",  # of emulated jobs alone: never beside a measured value in one column
    "estimated_s_p10",
    "estimated_s_p90",
    "estimated_usd",
    "estimated_usd_p10",
    "estimated_usd_p90",
)


def cells(row: Row, delta: Delta) -> Mapping[str, Any]:
    """One job by ``COLUMNS``; None where something is missing. Money has become float here."""
    return {
        "job": row.label,
        "status": row.status.word,
        "origin": row.record.origin.value,
        "emulated": row.emulated,
        "instance": row.snapshot.instance,
        "instances": row.snapshot.count,
        "workload": row.record.workload,
        "throughput_it_per_s": row.iterations.median if row.iterations else None,
        "samples_per_s": row.samples.median if row.samples else None,
        "runtime_s": row.runtime_s,
        "billable_s": row.billable_s,
        "wall_s": row.wall_s,
        "trained_s": row.snapshot.training_s,
        "not_training": row.not_training,
        "price_usd_per_hour": float(row.price.usd_per_hour) if row.price else None,
        "price_as_of": row.price.as_of if row.price else None,
        "cost_usd": float(row.cost.usd) if row.cost else None,
        "cost_on_demand_usd": float(row.on_demand_usd) if row.on_demand_usd is not None else None,
        "spot_saved_usd": float(row.on_demand_usd - row.cost.usd)
        if row.on_demand_usd is not None and row.cost
        else None,
        "usd_per_1000_it": row.usd_per_1000_it,
        "usd_per_1000_samples": row.usd_per_1000_samples,
        "usd_per_epoch": row.usd_per_epoch,
        "accuracy": row.accuracy,
        "final_loss": row.final_loss,
        "baseline_accuracy": row.baseline_accuracy,
        "interruptions": row.snapshot.interruptions,
        "padding_fill": row.work.padding_fill,
        "data_wait": row.work.data_wait,
        "compiles": row.work.compiles,
        "compile_s": row.work.compile_s,
        "speedup_pct": delta.speedup_pct,
        "billable_saving_pct": delta.billable_saving_pct,
        "cost_saving_pct": delta.cost_saving_pct,
        **_estimated("estimated_s", row.estimated.billable_s if row.estimated else None),
        **_estimated("estimated_usd", row.estimated.usd if row.estimated else None),
    }


def _estimated(name: str, found: tuple[float, float, float] | None) -> dict[str, float | None]:
    if found is None:
        return {name: None, f"{name}_p10": None, f"{name}_p90": None}
    return {name: found[1], f"{name}_p10": found[0], f"{name}_p90": found[2]}


def json_text(rows: Sequence[Mapping[str, Any]], findings: Iterable[Finding], sections: Sequence[Section]) -> str:
    """Everything that a comparison knows, as JSON with null for what is missing."""
    prices = {
        (row.price.instance, row.price.region, row.price.as_of): row.price
        for section in sections
        for row in section.measured
        if row.price is not None
    }
    sweeps = [section.sweep for section in sections if section.sweep is not None]
    body = {
        "schema": SCHEMA,
        "jobs": [{key: _known(value) for key, value in row.items()} for row in rows],
        "findings": [
            {
                "kind": item.kind,
                "job": item.job or None,
                "base": item.base or None,
                "change_pct": _known(item.change_pct),
                "text": item.text,
            }
            for item in findings
        ],
        "sweeps": [
            {
                "workload": sweep.workload,
                "metric": sweep.metric,
                "lowest_is_best": sweep.lowest,
                "trials": [
                    {
                        "job": each.job,
                        "rank": each.rank,
                        "value": each.value,
                        "settings": dict(each.settings),
                        "note": each.note or None,
                    }
                    for each in sweep.trials
                ],
            }
            for sweep in sweeps
        ],
        "prices": [
            {
                "instance": price.instance,
                "region": price.region,
                "usd_per_hour": str(price.usd_per_hour),
                "as_of": price.as_of,
                "inferred": price.inferred,
                "source": price.source,
            }
            for price in prices.values()
        ],
    }
    return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
