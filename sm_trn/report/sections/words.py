"""What stands in a cell of a table of jobs where a number may be missing. Says why in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...core.formatting import numbers as fmt
from .rows import Row
from .section import Section
from .sweep import Sweep, Trial, setting_text

SHOWN_PCT = 0.05  # what rounds to 0.0 % is no difference


def missing_rate(row: Row, unit: str) -> str:
    """Why there is no rate, in words."""
    if row.too_short is not None:
        return f"too short: {row.too_short} steps"
    return "not logged" if not row.rate(unit) else ""


def cost_words(row: Row) -> str:
    """The cost as in a column headed USD, or why there is none."""
    if row.cost is not None:
        return fmt.usd_cell(row.cost.usd)
    return "none" if row.emulated else "no price" if row.price is None else "not billed yet"


MOST_SETTINGS = 4  # hyperparameters that are columns of a table; the CSV has all


def saved_words(row: Row) -> str:
    """What spot took off the price of a job's training seconds, as in a column headed USD; a dash without spot."""
    whole = row.on_demand_usd
    return "–" if whole is None or row.cost is None else fmt.usd_cell(whole - row.cost.usd)


def setting_columns(sweep: Sweep) -> tuple[tuple[str, Callable[[Trial], str]], ...]:
    """The first few hyperparameters that differ: name, and what stands in a trial's cell."""

    def reader(name: str) -> Callable[[Trial], str]:
        return lambda trial: setting_text(trial.settings.get(name))

    return tuple((name, reader(name)) for name in sweep.names[:MOST_SETTINGS])


def settings_left(sweep: Sweep, *, shown: Sequence[str] | None = None) -> str:
    """Which hyperparameters have no column; ``shown`` are those that have one."""
    had = sweep.names[:MOST_SETTINGS] if shown is None else shown
    left = [name for name in sweep.names if name not in had]
    return f"Also different, as in compare.csv: {fmt.listing(left)}." if left else ""


def rates_that_differ(sweep: Sweep, section: Section) -> Mapping[str, str]:
    """By job its throughput as it is shown; nothing where all are the same, or none is known."""
    rows = [trial.row for trial in sweep.trials]
    shown = {
        row.label: fmt.significant(rate.median) if (rate := row.rate(section.unit)) else missing_rate(row, section.unit)
        for row in rows
    }
    known = {shown[row.label] for row in rows if row.rate(section.unit)}
    return shown if len(known) > 1 else {}


def result_words(trial: Trial) -> str:
    """The metric that a trial is ranked by, or why there is none."""
    return trial.note if trial.value is None else fmt.loss(trial.value)
