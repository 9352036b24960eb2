"""The steady work per second of each job, of all its instances together."""

from __future__ import annotations

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ..sections.findings import QUANTITY, Kind, section_headline
from ..sections.rows import NEEDED_STEPS, ComparedJob
from ..sections.section import Section
from .bars import LISTED, Bar, bar_chart
from .chart import Chart

_SUBTITLE = "Median steady-state throughput of all instances. Whisker: 5th to 95th percentile of the log's windows."


def chart(section: Section) -> Chart:
    """The steady rates of a section's measured jobs, in the section's unit."""
    bars = [_bar(row, section.unit) for row in section.measured]
    if len(bars) > LISTED:
        bars.sort(key=lambda bar: -(bar.value or 0.0))
    return bar_chart(
        bars, name="throughput", title=_title(section), subtitle=_SUBTITLE, foot=" ".join(_foot(section)),
        axis=QUANTITY[section.unit],
    )  # fmt: skip


def _bar(row: ComparedJob, unit: str) -> Bar:
    detail = fmt.instances(row.snapshot.instance, row.snapshot.count)
    rate = row.throughput(unit)
    if rate is None:
        short = f"{Missing.TOO_SHORT}: {row.too_short} steps, needs {NEEDED_STEPS}"
        text = short if row.too_short is not None else str(Missing.NOT_LOGGED)
        return Bar(label=row.label, slot=row.slot, detail=detail, text=text)
    note = "" if rate.windows else (", as published" if row.published else ", average incl. warm-up")
    span = (rate.low, rate.high) if rate.low is not None and rate.high is not None else None
    return Bar(
        label=row.label, slot=row.slot, detail=detail + note, value=rate.median, text=fmt.rate(rate.median, unit),
        span=span,
    )  # fmt: skip


def _title(section: Section) -> str:
    if not section.measured:
        return "EMULATED: no throughput, these are this machine's seconds"
    headline = section_headline(section, Kind.THROUGHPUT)
    if headline:
        return headline
    known = [(row, rate.median) for row in section.measured if (rate := row.throughput(section.unit)) is not None]
    if not known:
        return "No throughput is known"
    if len(known) > 2:
        low, high = (fmt.significant(end(value for _, value in known)) for end in (min, max))
        return f"{fmt.jobs(len(known))} ran at {low if low == high else f'{low} to {high}'} {section.unit}"
    row, value = max(known, key=lambda item: item[1])
    return f"{row.label} ran at {fmt.rate(value, section.unit)}"


def _foot(section: Section) -> list[str]:
    foot = ["One run each." if len(section.measured) > 1 else "One run."]
    sources = dict.fromkeys(row.record.source for row in section.measured if row.record.source)
    foot += [f"Source: {source}." for source in sources]
    return foot
