"""The columns of a comparison, each once: its name in files, its headings for people, and where its value comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, known, missing_cost
from ...core.formatting.table import Align, Cell, Column, Fold
from ..sections.rows import Row
from ..sections.section import Delta


def _rate(unit: str) -> Callable[[Row, Delta], Any]:
    def read(row: Row, _: Delta) -> Any:
        rate = row.rate(unit)
        if rate is not None:
            return rate.median
        if row.emulated:
            return Missing.EMULATED
        if row.too_short is not None:
            return Cell(Missing.TOO_SHORT, why=f"{Missing.TOO_SHORT}: {row.too_short} steps")
        return Missing.NOT_LOGGED

    return read


def _cost(row: Row, _: Delta) -> Any:
    if row.cost is not None:
        return row.cost.usd
    billed = row.billable_s is not None
    return missing_cost(emulated=row.emulated, billed=billed, in_tokens=row.snapshot.in_tokens)


def _price(row: Row, value: Any) -> Any:
    return (
        value
        if row.price is not None
        else missing_cost(emulated=row.emulated, billed=True, in_tokens=row.snapshot.in_tokens)
    )


def _spot_saved(row: Row, _: Delta) -> Any:
    on_demand = row.on_demand_usd
    return Missing.NOTHING if on_demand is None or row.cost is None else on_demand - row.cost.usd


def _steady(row: Row, value: float | None) -> Any:
    return _price(row, known(value, Missing.NOT_LOGGED))


def _per_epoch(row: Row, delta: Delta) -> Any:
    return _cost(row, delta) if row.cost is None else known(row.usd_per_epoch, Missing.NOT_LOGGED)


def _estimated(quantity: str, quantile: int) -> Callable[[Row, Delta], Any]:
    """Of emulated jobs alone: never beside a measured value in one column."""

    def read(row: Row, _: Delta) -> Any:
        values = getattr(row.estimated, quantity) if row.estimated is not None else None
        if values is None or row.estimated is None:
            return Missing.NOTHING
        seconds, dollars = row.estimated.between
        under = {"billable_s": seconds, "usd": dollars}[quantity] if quantile == 1 else ""
        return Cell(values[quantile], under=under)

    return read


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _fact(name: str, read: Callable[[Row], Any], reason: Missing = Missing.NOT_KNOWN, dtype: str = "float64") -> Column:
    """A column of files only."""
    return Column(name=name, dtype=dtype, read=lambda row, _: known(read(row), reason))


def _change(name: str, change: Callable[[Delta], float | None]) -> Column:
    return Column(name=name, dtype="float64", read=lambda _, delta: known(change(delta), Missing.NOTHING))


# In the order of the files.
JOB_COLUMNS: tuple[Column, ...] = (
    _fact("job", lambda row: row.label, dtype="object"),
    Column(name="status", heading="Status", style="state", align=Align.LEFT, in_text=False, dtype="object",
              read=lambda row, _: Cell(row.status.word, role=row.status.role, glyph=row.status.glyph)),
    _fact("origin", lambda row: row.record.origin.value, dtype="object"),
    _fact("emulated", lambda row: row.emulated, dtype="bool"),
    _fact("instance", lambda row: row.snapshot.instance, dtype="object"),
    _fact("instances", lambda row: row.snapshot.count, dtype="int64"),
    _fact("workload", lambda row: row.record.workload, dtype="object"),
    Column(name="throughput_it_per_s", heading="Throughput", unit="it/s", short="IT/S", form=fmt.significant, dtype="float64",
              fold=Fold(order=8, under=("wall_s",), words="{} it/s"),
              read=_rate("it/s"), change=lambda _, delta: delta.speedup_pct),
    Column(name="samples_per_s", heading="Throughput", unit="samples/s", short="SAMPLES/S", form=fmt.significant, dtype="float64",
              fold=Fold(order=9, under=("wall_s",), words="{} samples/s"),
              read=_rate("samples/s"), change=lambda _, delta: delta.speedup_pct),
    _fact("runtime_s", lambda row: row.runtime_s),
    Column(name="billable_s", heading="Billable", unit="s per instance", short="BILLABLE s", form=fmt.count, dtype="float64",
              read=lambda row, _: known(row.billable_s, Missing.NOT_BILLED_YET),
              change=lambda _, delta: _minus(delta.billable_saving_pct)),
    Column(name="wall_s", heading="Time", unit="submit to end", short="WALL", form=fmt.compact, dtype="float64",
              read=lambda row, _: known(row.wall_s, Missing.NOT_KNOWN), change=lambda _, delta: _minus(delta.wall_saving_pct)),
    Column(name="trained_s", heading="Trained", unit="s/instance", short="TRAINED s", rank=2, form=fmt.count, dtype="float64",
              fold=Fold(order=6, under=("billable_s",), words="of {} trained"),
              read=lambda row, _: known(row.snapshot.training_s, Missing.NOT_KNOWN)),
    Column(name="not_training", heading="Not training", unit="share of billable", short="NOT TRAINING", rank=2, dtype="float64",
              form=lambda share: fmt.percent(share * 100), fold=Fold(order=4, under=("billable_s",), words="{} not training"),
              read=lambda row, _: known(row.not_training, Missing.NOT_KNOWN)),
    Column(name="price_usd_per_hour", dtype="float64", read=lambda row, _: _price(row, row.price and row.price.usd_per_hour)),
    Column(name="price_as_of", dtype="object", read=lambda row, _: _price(row, row.price and row.price.as_of)),
    Column(name="cost_usd", heading="Cost", unit="USD", short="USD", form=fmt.usd_cell, dtype="float64",
              read=_cost, change=lambda _, delta: _minus(delta.cost_saving_pct)),
    Column(name="cost_on_demand_usd", dtype="float64", read=lambda row, _: known(row.on_demand_usd, Missing.NOTHING)),
    Column(name="spot_saved_usd", heading="Spot saved", unit="USD", short="SPOT SAVED", rank=1, form=fmt.usd_cell, dtype="float64",
              fold=Fold(order=7, under=("cost_usd",), words="spot saved {}"), read=_spot_saved),
    Column(name="usd_per_1000_it", heading="Steady cost", unit="USD per 1,000 iterations", short="USD/1,000 it", rank=3,
              form=fmt.usd_small, dtype="float64", fold=Fold(order=2, under=("cost_usd",), words="{} per 1,000 it"),
              read=lambda row, _: _steady(row, row.usd_per_1000_it)),
    Column(name="usd_per_1000_samples", heading="Steady cost", unit="USD per 1,000 samples", short="USD/1,000 samples", rank=3,
              form=fmt.usd_small, dtype="float64", fold=Fold(order=3, under=("cost_usd",), words="{} per 1,000 samples"),
              read=lambda row, _: _steady(row, row.usd_per_1000_samples)),
    Column(name="usd_per_epoch", heading="Cost", unit="USD per epoch", short="USD/EPOCH", rank=5, form=fmt.usd_cell, dtype="float64",
              fold=Fold(order=1, under=("cost_usd",), words="{} per epoch"), read=_per_epoch),
    Column(name="accuracy", heading="Accuracy", unit="held out", short="ACC", rank=1, form=fmt.accuracy, dtype="float64",
              read=lambda row, _: known(row.accuracy, Missing.NOT_LOGGED)),
    Column(name="final_loss", heading="Final loss", unit="training", short="LOSS", rank=4, form=fmt.loss, dtype="float64",
              fold=Fold(order=5, under=("accuracy", "result"), words="loss {}"),
              read=lambda row, _: known(row.final_loss, Missing.NOT_LOGGED)),
    Column(name="baseline_accuracy", heading="Best baseline", short="BASELINE", rank=2, form=fmt.accuracy, dtype="float64",
              read=lambda row, _: known(row.baseline_accuracy, Missing.NOT_LOGGED)),
    Column(name="interruptions", heading="Interruptions", short="INTERRUPTED", rank=1, form=fmt.count, dtype="int64",
              read=lambda row, _: row.snapshot.interruptions),
    _fact("padding_fill", lambda row: row.work.padding_fill, Missing.NOT_LOGGED),
    _fact("data_wait", lambda row: row.work.data_wait, Missing.NOT_LOGGED),
    _fact("compiles", lambda row: row.work.compiles, Missing.NOT_LOGGED),
    _fact("compile_s", lambda row: row.work.compile_s, Missing.NOT_LOGGED),
    _change("speedup_pct", lambda delta: delta.speedup_pct),
    _change("billable_saving_pct", lambda delta: delta.billable_saving_pct),
    _change("cost_saving_pct", lambda delta: delta.cost_saving_pct),
    Column(name="estimated_s", heading="AWS time, est", short="AWS TIME, est", rank=1, form=fmt.brief, dtype="float64",
              read=_estimated("billable_s", 1)),
    Column(name="estimated_s_p10", dtype="float64", read=_estimated("billable_s", 0)),
    Column(name="estimated_s_p90", dtype="float64", read=_estimated("billable_s", 2)),
    Column(name="estimated_usd", heading="AWS USD, est", short="AWS USD, est", rank=1, form=lambda usd: f"{usd:,.1f}", dtype="float64",
              read=_estimated("usd", 1)),
    Column(name="estimated_usd_p10", dtype="float64", read=_estimated("usd", 0)),
    Column(name="estimated_usd_p90", dtype="float64", read=_estimated("usd", 2)),
)  # fmt: skip
COLUMNS = tuple(column.name for column in JOB_COLUMNS)
_BY_NAME = {column.name: column for column in JOB_COLUMNS}


def column(name: str) -> Column:
    """Raises KeyError for a name that no column has."""
    return _BY_NAME[name]
