"""Which job does more work per second once warm? Bars of the steady rate; emulated jobs get a row and no bar."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.theme import Theme
from ..sections.findings import QUANTITY, Kind, section_headline
from ..sections.rows import NEEDED_STEPS, Row
from ..sections.section import Section
from .bars import NO_BAR, Bar, BarInfo, bars_alone, folded, plot_bars
from .drawing import Sheet
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputInfo(BarInfo):
    """``unit`` is ``it/s`` or ``samples/s``, of all instances together."""

    unit: str


def throughput_info(section: Section) -> ThroughputInfo:
    """The steady rates of a section's measured jobs, in the section's unit."""
    bars = tuple(_bar(row, section.unit) for row in section.rows)
    known = [(row, rate) for row in section.measured if (rate := row.rate(section.unit)) is not None]
    unit = QUANTITY[section.unit]
    only_emulated = not section.measured
    return ThroughputInfo(
        title=_title(section),
        subtitle=_subtitle(section, unit),
        bars=folded(bars, best_first=lambda value: -value),
        axis=unit,
        foot=_foot(section),
        alt=_alt(section, [f"{row.label} {fmt.rate(rate.median, section.unit)}" for row, rate in known]),
        emulated=only_emulated,
        unit=section.unit,
    )


def plot_throughput(
    info: ThroughputInfo, ax: Axes | None = None, theme: Theme = "light", *, sheet: Sheet | None = None
) -> Axes:
    """Draw on ``ax`` (a new pyplot figure when None) and return it."""
    return plot_bars(info, ax, sheet or Sheet(theme=theme), lambda value: f"{value:,g}")


FIGURE = FigureKind(
    name="throughput",
    info=lambda section, _: throughput_info(section),
    plot=plot_throughput,
    alone=partial(bars_alone, plot=plot_throughput),
)


def _bar(row: Row, unit: str) -> Bar:
    detail = fmt.instances(row.snapshot.instance, row.snapshot.count)
    if row.emulated:
        return Bar(label=row.label, slot=row.slot, emulated=True, detail=f"for {detail}", missing=NO_BAR)
    rate = row.rate(unit)
    if rate is None:
        short = f"{Missing.TOO_SHORT}: {row.too_short} steps, needs {NEEDED_STEPS}"
        missing = short if row.too_short is not None else str(Missing.NOT_LOGGED)
        return Bar(label=row.label, slot=row.slot, detail=detail, missing=missing)
    note = "" if rate.windows else (", as published" if row.published else ", average incl. warm-up")
    return Bar(
        label=row.label,
        slot=row.slot,
        detail=detail + note,
        value=rate.median,
        text=fmt.significant(rate.median),
        low=rate.low,
        high=rate.high,
    )


def _title(section: Section) -> str:
    if not section.measured:
        return "EMULATED: no throughput, these are this machine's seconds"
    stated = section_headline(section, Kind.THROUGHPUT)
    if stated:
        return stated
    known = [(row, rate) for row in section.measured if (rate := row.rate(section.unit)) is not None]
    if not known:
        return "No throughput is known"
    if len(known) > 2:
        low, high = (fmt.significant(pick(rate.median for _, rate in known)) for pick in (min, max))
        return f"{fmt.jobs(len(known))} ran at {low if low == high else f'{low} to {high}'} {section.unit}"
    row, rate = max(known, key=lambda item: item[1].median)
    return f"{row.label} ran at {fmt.rate(rate.median, section.unit)}"


def _subtitle(section: Section, unit: str) -> str:
    if not section.measured:
        return "What emulated jobs show is that they run, what they learn and that they resume."
    rates = [rate for row in section.measured if (rate := row.rate(section.unit)) is not None]
    if any(rate.windows for rate in rates):
        return f"Median steady-state throughput, {unit}, all instances. Whisker: 5th to 95th percentile of the log's windows."
    return f"Throughput, {unit}, all instances."


def _foot(section: Section) -> str:
    parts = ["One run each." if len(section.measured) > 1 else "One run." if section.measured else ""]
    sources = dict.fromkeys(row.record.source for row in section.measured if row.record.source)
    parts += [f"Source: {source}." for source in sources]
    if section.emulated and section.measured:
        takes = "take" if len(section.emulated) > 1 else "takes"
        parts.append(f"{fmt.listing([row.label for row in section.emulated])} {takes} no part in any comparison.")
    return " ".join(part for part in parts if part)


def _alt(section: Section, values: list[str]) -> str:
    if not section.measured:
        return f"EMULATED. No throughput is shown for {fmt.listing([row.label for row in section.rows])}."
    missing = [row.label for row in section.measured if row.rate(section.unit) is None]
    said = [f"Bar chart. {'; '.join(values)}." if values else "No throughput is known."]
    if missing:
        said.append(f"No rate for {fmt.listing(missing)}.")
    if section.emulated:
        said.append(f"{fmt.listing([row.label for row in section.emulated])}: emulated, no bar.")
    return " ".join(said)
