"""One workload's jobs and what can be said of them in numbers: unit, percentages, tie price, other dates. No sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter

from ...core.formatting import numbers as fmt
from ...core.pricing.book import Price
from ...core.pricing.cost import break_even
from .rows import ComparedJob, samples_per_iteration
from .sweep import Sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A job against the baseline, in percent of the baseline, unrounded. None where the two cannot be compared.

    ``speedup_pct`` is more iterations (or samples) per second; the savings are less billable time and less cost. Billable
    seconds of a spot job are a price and no time: with one of the two on spot, ``wall_saving_pct`` is from submit to end.
    """

    speedup_pct: float | None = None
    billable_saving_pct: float | None = None
    cost_saving_pct: float | None = None
    wall_saving_pct: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The jobs of one workload, all measured or all emulated. ``base`` is the one that percentages refer to: emulated jobs have none.

    ``sweep`` ranks the jobs where they differ in hyperparameters only, unless a baseline was asked for: then percentages
    are the answer.
    """

    workload: str
    rows: tuple[ComparedJob, ...]
    base: ComparedJob | None
    unit: str
    emulated: bool = False
    sweep: Sweep | None = None

    @property
    def measured(self) -> tuple[ComparedJob, ...]:
        """The jobs that have rates, costs and seconds of AWS."""
        return () if self.emulated else self.rows

    @property
    def others(self) -> tuple[ComparedJob, ...]:
        """The measured jobs that are compared with the baseline."""
        return tuple(row for row in self.measured if row is not self.base)

    @property
    def on_spot(self) -> bool:
        """Whether a measured job was on spot: times are then compared from submit to end."""
        return any(row.snapshot.spot for row in self.measured)

    @property
    def seconds_of(self) -> Callable[[ComparedJob], float | None]:
        """How figures of time read a job: billable seconds, or with spot in the section those from submit to end."""
        return attrgetter("wall_s" if self.on_spot else "billable_s")

    def delta(self, row: ComparedJob) -> Delta:
        base = self.base
        if base is None or row is base:
            return Delta()
        finished = row.completed and base.completed
        ours, theirs = row.throughput(self.unit), base.throughput(self.unit)
        spot = row.snapshot.spot or base.snapshot.spot
        return Delta(
            speedup_pct=_more(ours.median, theirs.median) if ours and theirs else None,
            billable_saving_pct=_less(row.billable_s, base.billable_s) if finished and not spot else None,
            wall_saving_pct=_less(row.wall_s, base.wall_s) if finished and spot else None,
            cost_saving_pct=_less(row.cost.usd, base.cost.usd) if finished and row.cost and base.cost else None,
        )


def section_unit(rows: Sequence[ComparedJob]) -> str:
    """Iterations, unless the jobs' batches differ or only samples are known: then samples per second is the fair rate."""
    batches = [size for size in map(samples_per_iteration, rows) if size is not None]
    uneven = len(batches) == len(rows) and len(batches) > 1 and max(batches) > 1.01 * min(batches)
    only_samples = any(row.samples for row in rows) and not any(row.iterations for row in rows)
    return "samples/s" if uneven or only_samples else "it/s"


def flip_price(section: Section, row: ComparedJob) -> tuple[Price, Decimal] | None:
    """The price of the dearer of ``row`` and the baseline, and the one at which it would have cost the same as the other.

    None where it says nothing: not compared, or both pay the same price.
    """
    base = section.base
    if base is None or section.delta(row).cost_saving_pct is None or row.cost is None or base.cost is None:
        return None
    if row.cost.price.instance == base.cost.price.instance:
        return None
    cheaper, dearer = (row.cost, base) if row.cost.usd <= base.cost.usd else (base.cost, row)
    tie = break_even(cheaper, dearer.snapshot)
    return None if tie is None or dearer.price is None else (dearer.price, tie)


def price_dates(prices: Sequence[Price]) -> str:
    """``2022-11``, or with the instance types when the dates differ; an inferred price says so."""
    unique = {(price.instance, price.as_of, price.inferred): price for price in prices}
    if len({(price.as_of, price.inferred) for price in unique.values()}) == 1:
        first = next(iter(unique.values()))
        return f"{first.as_of}, inferred" if first.inferred else first.as_of
    return fmt.listing(
        [f"{price.as_of} ({price.instance}{', inferred' if price.inferred else ''})" for price in unique.values()]
    )


def _more(value: float, base: float) -> float | None:
    return (value / base - 1) * 100 if base > 0 else None


def _less(value: float | Decimal | None, base: float | Decimal | None) -> float | None:
    if value is None or not base:
        return None
    return float((1 - Decimal(str(value)) / Decimal(str(base))) * 100)
