"""The page of a comparison, and which figures stand on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...core.formatting import numbers as fmt
from ..columns import price_table
from ..figures import charts_of
from ..pages import render
from ..sections.findings import Finding, Kind, section_findings
from ..sections.section import Section
from .tables import REHEARSED, compared_table, settings_left

if TYPE_CHECKING:
    from ..figures.chart import Chart

FIGURED = 12  # sections that have figures: each takes more than a second, and half a megabyte of the page
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
    """Every figure that has something to show, of the first ``FIGURED`` sections. Of several sections a file's name has the number."""
    shown: list[Picture] = []
    for number, section in enumerate(sections[:FIGURED], 1):
        tail = (f"-{number}" if len(sections) > 1 else "") + ("-emulated" if section.emulated else "")
        shown += [Picture(name=f"{chart.name}{tail}", section=section, chart=chart) for chart in charts_of(section)]
    return tuple(shown)


def comparison_page(sections: Sequence[Section], shown: Sequence[Picture], *, now: datetime | None) -> str:
    """The whole document. ``now`` is written on it when given."""
    rows = [row for section in sections for row in section.rows]
    rehearsed = [row.label for row in rows if row.emulated]
    parts = [_part(section, shown, number) for number, section in enumerate(sections, 1)]
    prices = dict.fromkeys(row.price for row in rows if row.price is not None)
    return render(
        "comparison.html",
        kind="comparison",
        title=_headline(sections),
        links={"findings": "Findings", **{part["anchor"]: part["link"] for part in parts}, "method": "Method"},
        spoken=[each.rest or each.text for each in section_findings(sections[0]) if each.kind in _AT_THE_TOP][:8],
        emulated=fmt.listing(rehearsed) if rehearsed else "",
        sections=parts,
        prices=price_table(prices) if prices else None,
        now=now,
    )


def _headline(sections: Sequence[Section]) -> str:
    """One sentence that can be quoted alone: cost, else billable time, else throughput, else what there is."""
    rows = [row for section in sections for row in section.rows]
    for kind in (Kind.SWEEP, Kind.COST, Kind.BILLABLE, Kind.THROUGHPUT):
        for section in sections:
            stated = [finding for finding in section_findings(section) if finding.kind is kind and finding.headline]
            if stated and not (section.emulated and sections[0].measured):
                return max(stated, key=lambda finding: abs(finding.change_pct or 0.0)).headline
    measured = [row for row in rows if not row.emulated]
    if not measured:
        return f"EMULATED: {fmt.jobs(len(rows))} rehearsed on this machine, none measured"
    if len(measured) == 1 and measured[0].cost is not None:
        cost = measured[0].cost
        return f"{measured[0].label} cost {fmt.usd(cost.usd)}, at prices of {cost.price.as_of}"
    return f"{fmt.jobs(len(measured))}, nothing to compare"


def _part(section: Section, shown: Sequence[Picture], number: int) -> dict[str, Any]:
    """What the template asks for one section."""
    sweep, name = section.sweep, section.workload or "Jobs"
    base = (
        f"baseline {section.base.label}" if section.base is not None and len(section.rows) > 1 and sweep is None else ""
    )
    findings = list(section_findings(section))
    if section.emulated:
        name, caption = f"Rehearsal: {name}", REHEARSED
    elif sweep is not None:
        differs = fmt.listing([finding.text for finding in findings if finding.kind is Kind.SWEEP_DIFFERS])
        caption = f"Best {sweep.metric} first. {differs} {settings_left(sweep)}".strip()
    elif base:
        caption = f"Percentages compare with the {base}."
    else:
        caption = "One measured job: there is nothing to compare it with."
    drawn = [picture for picture in shown if picture.section is section]
    spoken = _AT_THE_TOP if number == 1 else frozenset()
    notes: list[Finding | str] = [finding for finding in findings if finding.kind not in spoken]
    if not drawn and section.measured:
        notes.append(f"No figures: of many workloads, the first {FIGURED} have them.")
    elif drawn and not any(picture.chart.name == "loss" for picture in drawn):
        notes.append(f"No loss curves: no loss in the log of {fmt.listing([row.label for row in section.rows])}.")
    return {
        "anchor": f"work-{number}", "link": "Rehearsal" if section.emulated else name, "name": name,
        "aside": "on this machine" if section.emulated else base, "emulated": section.emulated, "pictures": drawn,
        "table": compared_table(section, caption), "notes": notes,
    }  # fmt: skip
