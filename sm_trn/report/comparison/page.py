"""The page of a comparison, and which figures stand on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...core.formatting import numbers as fmt
from ..columns import price_table
from ..figures import charts_of
from ..pages import render
from ..sections.findings import Finding, Kind
from ..sections.section import Section, section_prices
from ..sections.sweep import sweep_sentence
from .compared import Compared
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


def pictures(item: Compared) -> tuple[Picture, ...]:
    """Every figure that has something to show: measured jobs first, rehearsals after, never both in one. Of many workloads,
    the ``FIGURED`` with the most jobs have figures.
    """
    chosen = sorted(item.sections, key=lambda section: -len(section.rows))[:FIGURED]
    shown: list[Picture] = []
    used: set[str] = set()
    for section in item.sections:
        if not any(section is each for each in chosen):
            continue
        tail = f"-{_slug(section.workload, used)}" if len(item.sections) > 1 else ""
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


def comparison_page(item: Compared, shown: Sequence[Picture], *, now: datetime | None) -> str:
    """The whole document of a comparison. ``now`` is written on it when given."""
    measured = [section for section in item.sections if section.measured]
    rehearsed = [section.rehearsal for section in item.sections if section.emulated]
    sections = [_measured(item, section, shown, f"work-{number}") for number, section in enumerate(measured, 1)]
    sections += [_rehearsal(section, shown, f"rehearsal-{number}") for number, section in enumerate(rehearsed, 1)]
    prices = dict.fromkeys(price for section in measured for price in section_prices(section, item.book))
    used = [row.price for row in item.rows if row.price is not None]
    emulated = [row.label for row in item.rows if row.emulated]
    first = [finding for finding in item.findings if finding.workload == item.sections[0].workload]
    return render(
        "comparison.html",
        kind="comparison",
        title=_headline(item),
        links={"findings": "Findings", **{each["anchor"]: each["link"] for each in sections}, "method": "Method"},
        spoken=[finding.rest or finding.text for finding in first if finding.kind in _AT_THE_TOP][:8],
        emulated=fmt.listing(emulated) if emulated else "",
        sections=sections,
        prices=price_table(prices, "Every dated price of these instances", used) if prices else None,
        command=item.command,
        now=now,
    )


def _headline(item: Compared) -> str:
    """One sentence that can be quoted alone: cost, else billable time, else throughput, else what there is."""
    for kind in (Kind.SWEEP, Kind.COST, Kind.BILLABLE, Kind.THROUGHPUT):
        stated = [finding for finding in item.findings if finding.kind is kind and finding.headline]
        if stated:
            first = [finding for finding in stated if finding.workload == stated[0].workload]
            return max(first, key=lambda finding: abs(finding.change_pct or 0.0)).headline
    rows = [row for row in item.rows if not row.emulated]
    if not rows:
        return f"EMULATED: {fmt.jobs(len(item.rows))} rehearsed on this machine, none measured"
    if len(rows) == 1 and rows[0].cost is not None:
        return f"{rows[0].label} cost {fmt.usd(rows[0].cost.usd)}, at prices of {rows[0].cost.price.as_of}"
    return f"{fmt.jobs(len(rows))}, nothing to compare"


def _measured(item: Compared, section: Section, shown: Sequence[Picture], anchor: str) -> dict[str, Any]:
    sweep, several = section.sweep, len(section.measured) > 1
    base = f"baseline {section.base.label}" if section.base is not None and several and sweep is None else ""
    own = [finding for finding in item.findings if finding.workload == section.workload]
    if sweep is not None:
        differs = fmt.listing([finding.text for finding in own if finding.kind is Kind.SWEEP_DIFFERS])
        caption = f"Best {sweep.metric} first. {differs} {settings_left(sweep)}".strip()
    elif base:
        caption = f"Percentages compare with the {base}."
    else:
        caption = "One measured job: there is nothing to compare it with."
    drawn = [picture for picture in shown if picture.section is section]
    spoken = _AT_THE_TOP if section is item.sections[0] else frozenset()
    notes: list[Finding | str] = [finding for finding in own if finding.kind not in {*spoken, Kind.EMULATED}]
    if not drawn and len(item.sections) > FIGURED:
        notes.append(f"No figures: of {len(item.sections)} workloads, the {FIGURED} with the most jobs have them.")
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
