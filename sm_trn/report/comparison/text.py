"""A comparison for the terminal. Chooses what is said around the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import ascii_text, between, one_line, wrap
from ...core.formatting.text import Screen, columns_shown, table_lines
from ...core.formatting.theme import painted
from ..sections.findings import LIMITS, Kind, section_findings
from ..sections.section import Section
from .tables import REHEARSED, compared_table, settings_left

SHOWN = 100  # rows of a table; files have all


def comparison_text(sections: Sequence[Section], screen: Screen, *, at: str | None) -> str:
    """All sections, then the findings of each; rehearsals last."""
    blocks = [_section(section, screen, at) for section in sections]
    text = "\n\n".join("\n".join(block) for block in blocks)
    return ascii_text(text) if screen.ascii_only else text


def _section(section: Section, screen: Screen, at: str | None) -> list[str]:
    width = screen.width
    if section.emulated:
        mark, aside = f"{painted('EMULATED', 'emu', color=screen.color)}  ", "on this machine"
    else:
        regions = dict.fromkeys(row.region for row in section.rows if row.region)
        mark, aside = "", ", ".join([*regions, "newest known prices" if at is None else f"prices of {at} or before"])
    first, *others = between(one_line(section.workload) or "Jobs", aside, width - len("EMULATED  " if mark else ""))
    lines = [f"{mark}{first}", *others, "", *_table(section, screen), ""]
    own = list(section_findings(section))
    for finding in own:
        if finding.kind not in LIMITS:
            lines += wrap(finding.text, width)
    if section.emulated:
        machines = dict.fromkeys(fmt.instances(row.snapshot.instance, row.snapshot.count) for row in section.rows)
        lines += wrap(f"Rehearsed here for {fmt.listing(list(machines))}. {REHEARSED}", width)
    limits = [finding for finding in own if finding.kind in LIMITS]
    if limits and lines[-1]:
        lines.append("")
    for finding in limits:
        lines += wrap(finding.text, width, first="• " if finding.kind in {Kind.NOTE, Kind.RUNS} else "▲ ", rest="  ")
    paid = dict.fromkeys(row.price for row in section.measured if row.price is not None)
    if paid:
        words = [
            f"{price.instance} {fmt.usd_per_hour(price.usd_per_hour)} ({price.as_of}{', inferred' if price.inferred else ''})"
            for price in paid
        ]
        lines += wrap(f"Prices per instance: {', '.join(words)}.", width, first="• ", rest="  ")
    return lines


def _table(section: Section, screen: Screen) -> Iterator[str]:
    """The first ``SHOWN`` jobs – of a sweep the best –, and which hyperparameters of a sweep have no column here."""
    table = compared_table(section)
    yield from table_lines(replace(table, rows=table.rows[:SHOWN]), screen)
    if len(table.rows) > SHOWN:
        more = f"… {fmt.jobs(len(table.rows) - SHOWN)} more; compare.csv of a saved comparison has all of them"
        yield from wrap(more, screen.width, first="  ")
    if section.sweep is not None:
        yield from wrap(settings_left(section.sweep, columns_shown(table, screen)), screen.width, first="  ")
