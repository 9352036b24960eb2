"""A comparison for the terminal. Chooses what is said around the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import ascii_text, between, one_line, wrap
from ...core.formatting.table import Table
from ...core.formatting.text import Screen, columns_shown, table_lines
from ...core.formatting.theme import painted
from ..sections.findings import LIMITS, Finding, Kind
from ..sections.section import Section
from ..sections.sweep import sweep_sentence
from .tables import REHEARSED, compared_table, rehearsal_table, settings_left

SHOWN = 100  # rows of a table; files have all
NAMED = 20  # rehearsals that did not complete


def comparison_text(sections: Sequence[Section], findings: Sequence[Finding], screen: Screen, *, at: str | None) -> str:
    """All sections, then the findings of each; rehearsals last."""
    blocks = [_measured(section, findings, screen, at) for section in sections if section.measured]
    blocks += [_rehearsal(section.rehearsal, screen) for section in sections if section.emulated]
    text = "\n\n".join("\n".join(block) for block in blocks)
    return ascii_text(text) if screen.ascii_only else text


def _measured(section: Section, findings: Sequence[Finding], screen: Screen, at: str | None) -> list[str]:
    width = screen.width
    regions = dict.fromkeys(row.region for row in section.measured if row.region)
    prices = "newest known prices" if at is None else f"prices of {at} or before"
    lines = between(one_line(section.workload) or "Jobs", ", ".join([*regions, prices]), width)
    lines += ["", *_table(section, screen), ""]
    own = [finding for finding in findings if finding.workload == section.workload]
    for finding in own:
        if finding.kind not in LIMITS and finding.kind is not Kind.EMULATED:
            lines += wrap(finding.text, width)
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
    """The measured jobs, and which hyperparameters of a sweep have no column here."""
    table = compared_table(section)
    yield from _lines(table, screen)
    if section.sweep is not None:
        left = settings_left(section.sweep, columns_shown(table, screen))
        yield from wrap(left, screen.width, first="  ")


def _lines(table: Table, screen: Screen) -> Iterator[str]:
    """The first ``SHOWN`` rows – of a sweep the best –, and how many there are more."""
    yield from table_lines(replace(table, rows=table.rows[:SHOWN]), screen)
    if len(table.rows) > SHOWN:
        more = f"… {fmt.jobs(len(table.rows) - SHOWN)} more; compare.csv of a saved comparison has all of them"
        yield from wrap(more, screen.width, first="  ")


def _rehearsal(section: Section, screen: Screen) -> list[str]:
    """Emulated jobs: what they learned and how long they took here. No rate, no cost."""
    jobs, width = section.rows, screen.width
    title = painted("EMULATED", "emu", color=screen.color)
    named, *others = between(one_line(section.workload) or "Jobs", "on this machine", width - len("EMULATED  "))
    lines = [f"{title}  {named}", *others, "", *_lines(rehearsal_table(section), screen)]
    unfinished = [job for job in jobs if not job.completed]
    for job in unfinished[:NAMED]:
        lines += wrap(f"{job.label} {job.status.predicate}.", width, first="  ")
    if len(unfinished) > NAMED:
        lines.append(f"  {fmt.count(len(unfinished) - NAMED)} more did not complete.")
    if section.sweep is not None:
        lines += wrap(sweep_sentence(section.sweep), width, first="  ")
    wanted = dict.fromkeys(fmt.instances(job.snapshot.instance, job.snapshot.count) for job in jobs)
    lines += wrap(f"Rehearsed here for {fmt.listing(list(wanted))}.", width, first="  ")
    lines += wrap(REHEARSED, width, first="  ")
    return lines
