"""The cost of each job by phase: billable hours × instances × dated price, and the price at which the order flips."""

from __future__ import annotations

from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import EMULATED_COST, Missing, missing_cost, no_price_for
from ..sections.findings import Kind, section_headline
from ..sections.rows import ComparedJob
from ..sections.section import Section, flip_price, price_dates
from .bars import LISTED, Bar, bar_chart
from .chart import Chart


def chart(section: Section) -> Chart:
    """The costs of a section's measured jobs."""
    known = [row for row in section.measured if row.cost is not None]
    rows = section.measured if len(section.measured) <= LISTED else sorted(section.measured, key=_usd)
    level, level_text = _level(section)
    return bar_chart(
        [_bar(row) for row in rows], name="cost", title=_title(section, known), subtitle=_subtitle(known),
        foot=" ".join(_foot(section, level_text)), axis="US dollars", unit="$", level=level,
    )  # fmt: skip


def _usd(row: ComparedJob) -> Decimal:
    return row.cost.usd if row.cost is not None else Decimal("inf")


def _bar(row: ComparedJob) -> Bar:
    job = row.snapshot
    if row.cost is None or row.price is None:
        reason = missing_cost(emulated=False, billed=job.billable_s is not None, in_tokens=job.in_tokens)
        unpriced = f"{no_price_for(job.instance)}: sm-trn catalog update"
        return Bar(label=row.label, slot=row.slot, text=unpriced if reason is Missing.NO_PRICE else str(reason))
    price = f"{row.cost.instances} × {fmt.usd_per_hour(row.price.usd_per_hour)}"
    detail = f"{fmt.hours(row.cost.billable_s)} × {price}"
    whole = row.on_demand_usd
    if whole is not None and job.training_s is not None:
        share = 1 - float(row.cost.spot_saving or 0)
        detail = f"{fmt.hours(job.training_s)} × {price} × {share:.2f} (spot saved {fmt.usd(whole - row.cost.usd)})"
    return Bar(
        label=row.label,
        slot=row.slot,
        detail=detail,
        value=float(row.cost.usd),
        text=fmt.usd(row.cost.usd),
        parts=_parts(row, float(row.cost.usd)),
        outline=float(whole) if whole is not None else None,
    )


def _parts(row: ComparedJob, cost: float) -> tuple[tuple[str, float], ...]:
    """The cost by phase; nothing where the phases are not recorded."""
    if row.phases is None:
        return ()
    share = cost / row.phases.total_s
    lengths = (("transfer", row.phases.transfer_s), ("warmup", row.phases.warmup_s), ("steady", row.phases.steady_s))
    return tuple((name, seconds * share) for name, seconds in lengths if seconds > 0)


def _level(section: Section) -> tuple[float | None, str]:
    """For two jobs: the cheaper one's cost, and the price that would make the other one as cheap."""
    flip = flip_price(section, section.others[0]) if len(section.others) == 1 else None
    if flip is None:
        return None, ""
    costs = [row.cost.usd for row in section.measured if row.cost is not None]
    return float(min(costs)), f"Dashed line: level, if {flip[0].instance} cost {fmt.usd_per_hour(flip[1])}."


def _title(section: Section, known: list[ComparedJob]) -> str:
    if not section.measured:
        return f"{EMULATED_COST}, nothing was billed"
    headline = section_headline(section, Kind.COST)
    if headline or not known:
        return headline or "No cost is known"
    costs = [row.cost.usd for row in known if row.cost]
    if len(costs) > 2:
        low, high = fmt.usd(min(costs)), fmt.usd(max(costs))
        span = f"{low} each" if low == high else f"{low} to {high}"
        total = sum((round(cost, 2) for cost in costs), Decimal(0))
        return f"{fmt.jobs(len(costs))} cost {span}, {fmt.usd(total)} together"
    return fmt.listing([f"{row.label} cost {fmt.usd(row.cost.usd)}" for row in known if row.cost])


def _subtitle(known: list[ComparedJob]) -> str:
    prices = [row.price for row in known if row.price is not None]
    if not prices:
        return "Billable hours × instances × price per hour."
    regions = ", ".join(dict.fromkeys(price.region for price in prices))
    text = f"Billable hours × instances × price of {price_dates(prices)}, {regions}."
    phases = " Tint: transfer. Hatch: compile or warm-up. Solid: steady." if any(row.phases for row in known) else ""
    return text + phases


def _foot(section: Section, level: str) -> list[str]:
    foot = [level] if level else []
    if section.on_spot:
        foot.append("Outline of a job on spot: the same seconds on demand.")
    return foot
