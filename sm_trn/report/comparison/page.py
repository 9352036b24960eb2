"""The page of a comparison, and which figures stand on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...core.formatting import numbers as fmt
from ...core.pricing.book import PriceBook
from ..columns import price_table
from ..figures import charts_of
from ..pages import render
from ..sections.findings import Finding, Kind
from ..sections.rows import Row
from ..sections.section import Section, section_prices
from ..sections.sweep import sweep_sentence
from .tables import REHEARSED, compared_table, rehearsal_table, settings_left

if TYPE_CHECKING:
    from ..figures.chart import Chart

FIGURED = 12  # workloads that have figures: each takes more than a second, and half a megabyte of the page
_AT_THE_TOP = frozenset({Kind.SWEEP, Kind.THROUGHPUT, Kind.BILLABLE, Kind.COST, Kind.SPOT, Kind.FLIP, Kind.RUNS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure of one section. ``name`` is the stem of its file."""

    name: str
    section: Section
    chart: Chart

    @property
    def html(self) -> Markup:
        return Markup(self.chart.html(self.name))  # noqa: S704 - our own SVG


def pictures(sections: Sequence[Section]) -> tuple[Picture, ...]:
    """Every figure that has something to show: measured jobs first, rehearsals after, never both in one. Of many workloads,
    the ``FIGURED`` with the most jobs have figures.
    """
    chosen = sorted(sections, key=lambda section: -len(section.rows))[:FIGURED]
    shown: list[Picture] = []
    used: set[str] = set()
    for section in sections:
        if not any(section is each for each in chosen):
            continue
        tail = f"-{_slug(section.workload, used)}" if len(sections) > 1 else ""
        parts = [(section, tail)] if section.measured else []
        parts += [(section.rehearsal, f"{tail}-emulated")] if section.emulated else []
        for part, ending in parts:
            shown += [Picture(name=f"{chart.name}{ending}", section=part, chart=chart) for chart in charts_of(part)]
    return tuple(shown)


def _slug(text: str, used: set[str]) -> str:
    """A file-name part that is not used yet."""
    stem = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "jobs"
    name, number = stem, 2
    while name in used:
        name, number = f"{stem}-{number}", number + 1
    used.add(name)
    return name


def comparison_page(
    sections: Sequence[Section],
    findings: Sequence[Finding],
    book: PriceBook,
    shown: Sequence[Picture],
    *,
    command: str,
    now: datetime | None,
) -> str:
    """The whole document. ``command`` makes the comparison again; ``now`` is written on it when given."""
    measured = [section for section in sections if section.measured]
    rehearsed = [section.rehearsal for section in sections if section.emulated]
    rows = [row for section in sections for row in section.rows]
    parts = [
        _measured(section, findings, shown, f"work-{number}", number == 1) for number, section in enumerate(measured, 1)
    ]
    parts += [_rehearsal(section, shown, f"rehearsal-{number}") for number, section in enumerate(rehearsed, 1)]
    prices = dict.fromkeys(price for section in measured for price in section_prices(section, book))
    used = [row.price for row in rows if row.price is not None]
    first = [finding for finding in findings if finding.workload == sections[0].workload]
    return render(
        "comparison.html",
        kind="comparison",
        title=_headline(rows, findings),
        links={"findings": "Findings", **{part["anchor"]: part["link"] for part in parts}, "method": "Method"},
        spoken=[finding.rest or finding.text for finding in first if finding.kind in _AT_THE_TOP][:8],
        emulated=fmt.listing([row.label for row in rows if row.emulated]) if rehearsed else "",
        sections=parts,
        prices=price_table(prices, "Every dated price of these instances", used) if prices else None,
        command=command,
        now=now,
    )


def _headline(rows: Sequence[Row], findings: Sequence[Finding]) -> str:
    """One sentence that can be quoted alone: cost, else billable time, else throughput, else what there is."""
    for kind in (Kind.SWEEP, Kind.COST, Kind.BILLABLE, Kind.THROUGHPUT):
        stated = [finding for finding in findings if finding.kind is kind and finding.headline]
        if stated:
            first = [finding for finding in stated if finding.workload == stated[0].workload]
            return max(first, key=lambda finding: abs(finding.change_pct or 0.0)).headline
    measured = [row for row in rows if not row.emulated]
    if not measured:
        return f"EMULATED: {fmt.jobs(len(rows))} rehearsed on this machine, none measured"
    if len(measured) == 1 and measured[0].cost is not None:
        cost = measured[0].cost
        return f"{measured[0].label} cost {fmt.usd(cost.usd)}, at prices of {cost.price.as_of}"
    return f"{fmt.jobs(len(measured))}, nothing to compare"


def _measured(
    section: Section, findings: Sequence[Finding], shown: Sequence[Picture], anchor: str, first: bool
) -> dict[str, Any]:
    sweep, several = section.sweep, len(section.measured) > 1
    base = f"baseline {section.base.label}" if section.base is not None and several and sweep is None else ""
    own = [finding for finding in findings if finding.workload == section.workload]
    if sweep is not None:
        differs = fmt.listing([finding.text for finding in own if finding.kind is Kind.SWEEP_DIFFERS])
        caption = f"Best {sweep.metric} first. {differs} {settings_left(sweep)}".strip()
    elif base:
        caption = f"Percentages compare with the {base}."
    else:
        caption = "One measured job: there is nothing to compare it with."
    drawn = [picture for picture in shown if picture.section is section]
    spoken = _AT_THE_TOP if first else frozenset()
    notes: list[Finding | str] = [finding for finding in own if finding.kind not in {*spoken, Kind.EMULATED}]
    if not drawn:
        notes.append(f"No figures: of many workloads, the {FIGURED} with the most jobs have them.")
    elif not any(picture.name.startswith("loss") for picture in drawn):
        logs = fmt.listing([row.label for row in section.measured])
        notes.append(f"No loss curves: no loss in the log of {logs}.")
    name = section.workload or "Jobs"
    return {"anchor": anchor, "link": name, "name": name, "aside": base, "emulated": False, "pictures": drawn,
            "table": compared_table(section, caption), "notes": notes}  # fmt: skip


def _rehearsal(section: Section, shown: Sequence[Picture], anchor: str) -> dict[str, Any]:
    drawn = [picture for picture in shown if picture.section == section]
    notes = [sweep_sentence(section.sweep)] if section.sweep is not None else []
    notes += [f"{row.label}: {note}" for row in section.rows for note in row.record.notes]
    name = f"Rehearsal: {section.workload or 'Jobs'}"
    return {"anchor": anchor, "link": "Rehearsal", "name": name, "aside": "on this machine", "emulated": True, "pictures": drawn,
            "table": rehearsal_table(section, REHEARSED), "notes": notes}  # fmt: skip
