"""What did it cost, and which phase? Billable hours × instances × dated price; the outline is another dated price."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import EMULATED_COST, Missing, missing_cost, no_price_for
from ...core.formatting.theme import Theme
from ...core.pricing.book import PriceBook
from ...core.pricing.cost import JobCost, job_cost
from ...core.specs.units import WallSeconds
from ..sections.findings import Kind, section_headline
from ..sections.rows import Row
from ..sections.section import Section, flip_price, other_price, price_dates
from .bars import Bar, BarInfo, bars_alone, folded, plot_bars
from .drawing import Sheet
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TEXTURES = "Tint: transfer. Hatch: compile or warm-up. Solid: steady."


@dataclass(frozen=True, slots=True, kw_only=True)
class CostInfo(BarInfo):
    """``tie`` is the cost at which the two jobs of the headline are level; ``tie_usd_per_hour`` the price that does it."""

    tie_usd_per_hour: Decimal | None = None


def cost_info(section: Section, book: PriceBook) -> CostInfo:
    """Costs of a section's measured jobs. An emulated job has a row that says it has none."""
    known = [row for row in section.measured if row.cost is not None]
    tied = _tie(section)
    return CostInfo(
        title=_title(section, known),
        subtitle=_subtitle(known)
        if section.measured
        else "Cost is billable hours × instances × price; an emulated job has none of them.",
        bars=folded([_bar(row, book) for row in section.rows], best_first=lambda value: value),
        axis="US dollars",
        foot=_foot(section, known, tied),
        alt=_alt(section, known),
        emulated=not section.measured,
        tie=tied[0] if tied else None,
        tie_usd_per_hour=tied[2] if tied else None,
    )


def plot_cost(info: CostInfo, ax: Axes | None = None, theme: Theme = "light", *, sheet: Sheet | None = None) -> Axes:
    """Draw on ``ax`` (a new pyplot figure when None) and return it."""
    return plot_bars(info, ax, sheet or Sheet(theme=theme), lambda value: f"${value:,g}")


FIGURE = FigureKind(name="cost", info=cost_info, plot=plot_cost, alone=partial(bars_alone, plot=plot_cost))


def _bar(row: Row, book: PriceBook) -> Bar:
    if row.emulated:
        return Bar(label=row.label, slot=row.slot, emulated=True, missing=EMULATED_COST)
    if row.cost is None or row.price is None:
        job = row.snapshot
        reason = missing_cost(emulated=False, billed=job.billable_s is not None, in_tokens=job.in_tokens)
        unpriced = f"{no_price_for(row.snapshot.instance)}: sm-trn catalog update"
        missing = unpriced if reason is Missing.NO_PRICE else str(reason)
        return Bar(label=row.label, slot=row.slot, missing=missing)
    cost = float(row.cost.usd)
    other = other_price(row, book)
    again = job_cost(row.snapshot, other)
    whole, trained = row.on_demand_usd, row.snapshot.training_s
    if whole is not None and trained is not None:
        return _spot_bar(row, row.cost, trained, whole)
    return Bar(
        label=row.label,
        slot=row.slot,
        detail=f"{fmt.hours(row.cost.billable_s)} × {row.cost.instances} × {fmt.usd_per_hour(row.price.usd_per_hour)}",
        value=cost,
        text=fmt.usd(row.cost.usd),
        parts=_parts(row, cost),
        ghost=float(again.usd) if again else None,
        ghost_text=fmt.usd(again.usd) if again else "",
        ghost_note=f"same job at {fmt.usd_per_hour(other.usd_per_hour)}, {other.as_of}" if other and again else "",
    )


def _spot_bar(row: Row, cost: JobCost, trained_s: WallSeconds, whole: Decimal) -> Bar:
    """What was paid, over the outline of what the same seconds cost on demand."""
    price = fmt.usd_per_hour(cost.price.usd_per_hour)
    share = 1 - float(cost.spot_saving or 0)
    return Bar(
        label=row.label,
        slot=row.slot,
        detail=f"{fmt.hours(trained_s)} × {cost.instances} × {price} × {share:.2f} (spot)",
        value=float(cost.usd),
        text=fmt.usd(cost.usd),
        parts=_parts(row, float(cost.usd)),
        ghost=float(whole),
        ghost_text=fmt.usd(whole),
        ghost_note=f"on demand; spot saved {fmt.usd(whole - cost.usd)}",
    )


def _parts(row: Row, cost: float) -> tuple[tuple[str, float], ...]:
    """The cost by phase; nothing when the phases are not recorded."""
    if row.phases is None:
        return ()
    share = cost / row.phases.total_s
    lengths = (("transfer", row.phases.transfer_s), ("warmup", row.phases.warmup_s), ("steady", row.phases.steady_s))
    return tuple((name, seconds * share) for name, seconds in lengths if seconds > 0)


def _tie(section: Section) -> tuple[float, str, Decimal] | None:
    """For two jobs: the cheaper one's cost, and the dearer one's instance with the price that would make it as cheap."""
    if len(section.others) != 1:
        return None
    row, base = section.others[0], section.base
    found = flip_price(section, row)
    if found is None or base is None or row.cost is None or base.cost is None:
        return None
    return float(min(row.cost.usd, base.cost.usd)), found[0].instance, found[1]


def _title(section: Section, known: list[Row]) -> str:
    if not section.measured:
        return f"{EMULATED_COST}, nothing was billed"
    stated = section_headline(section, Kind.COST)
    if stated:
        return stated
    if not known:
        return "No cost is known"
    costs = [row.cost.usd for row in known if row.cost]
    if len(costs) > 2:
        low, high = fmt.usd(min(costs)), fmt.usd(max(costs))
        span = f"{low} each" if low == high else f"{low} to {high}"
        return f"{fmt.jobs(len(costs))} cost {span}, {fmt.usd(sum(round(cost, 2) for cost in costs))} together"
    return fmt.listing([f"{row.label} cost {fmt.usd(row.cost.usd)}" for row in known[:2] if row.cost])


def _subtitle(known: list[Row]) -> str:
    prices = [row.price for row in known if row.price is not None]
    if not prices:
        return "Billable hours × instances × price per hour."
    regions = ", ".join(dict.fromkeys(price.region for price in prices))
    text = f"Billable hours × instances × price of {price_dates(prices)}, {regions}."
    return f"{text} {_TEXTURES}" if any(row.phases for row in known) else text


def _foot(section: Section, known: list[Row], tied: tuple[float, str, Decimal] | None) -> str:
    parts = []
    if tied:
        parts.append(f"Dashed line: level, if {tied[1]} cost {fmt.usd_per_hour(tied[2])}.")
    if section.on_spot:
        parts.append("Outline of a job on spot: the same seconds on demand.")
    if known and not any(row.phases for row in known):
        parts.append("Phases not recorded: bars are not split.")
    if section.emulated and section.measured:
        parts.append(f"{fmt.listing([row.label for row in section.emulated])}: emulated, no cost.")
    return " ".join(parts)


def _alt(section: Section, known: list[Row]) -> str:
    if not section.measured:
        return f"EMULATED. {fmt.listing([row.label for row in section.rows])} cost nothing."
    said = [
        f"{row.label} {fmt.usd(row.cost.usd)} at {fmt.usd_per_hour(row.price.usd_per_hour)} of {row.price.as_of}"
        for row in known
        if row.cost and row.price
    ]
    missing = [row.label for row in section.measured if row.cost is None]
    text = f"Bar chart. {'; '.join(said)}." if said else "No cost is known."
    return f"{text} No cost for {fmt.listing(missing)}." if missing else text
