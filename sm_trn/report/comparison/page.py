"""The report page: one self-contained HTML file without scripts, in light and dark, for screen, phone and paper. And all files.

``pictures`` says which figures have something to show, and ``save`` is the only writer of files here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.formatting import numbers as fmt
from ...core.formatting.html import TAG, text
from ...core.formatting.table import csv_text
from ..document import document_head, page_table, price_table
from ..figures import charts_of
from ..sections.estimated import EST_MEANS
from ..sections.findings import Finding, Kind
from ..sections.section import Section, section_prices
from ..sections.sweep import sweep_sentence
from .compared import Compared
from .table import REHEARSED, job_table, rehearsal_table, settings_left

if TYPE_CHECKING:
    from ..figures.chart import Chart


FIGURED = 12  # workloads that have figures: each takes more than a second, and half a megabyte of the page


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure of one section. ``name`` is the stem of its file."""

    name: str
    section: Section
    chart: Chart


def pictures(item: Compared) -> Iterator[Picture]:
    """Every figure that has something to show: measured jobs first, rehearsals after, never both in one. Of many workloads,
    the ``FIGURED`` with the most jobs have figures.
    """
    names: set[str] = set()
    most = sorted(item.sections, key=lambda section: -len(section.rows))[:FIGURED]
    for section in item.sections:
        if not any(section is chosen for chosen in most):
            continue
        tail = f"-{_slug(section.workload, names)}" if len(item.sections) > 1 else ""
        if section.measured:
            yield from (
                Picture(name=f"{chart.name}{tail}", section=section, chart=chart) for chart in charts_of(section)
            )
        if section.emulated:
            rehearsal = section.rehearsal
            for chart in charts_of(rehearsal):
                yield Picture(name=f"{chart.name}{tail}-emulated", section=rehearsal, chart=chart)


def _slug(text: str, used: set[str]) -> str:
    """A file-name part that is not used yet."""
    stem = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "jobs"
    name, number = stem, 2
    while name in used:
        name, number = f"{stem}-{number}", number + 1
    used.add(name)
    return name


_CARDS = (Kind.THROUGHPUT, Kind.BILLABLE, Kind.COST)
_AT_THE_TOP = frozenset(
    {*_CARDS, Kind.FLIP, Kind.REPRICED, Kind.EMULATED}
)  # all others stand in the notes of their section


def page(item: Compared, pictures: Sequence[Picture], *, now: datetime | None) -> str:
    """The whole document. ``now`` is written on it when given."""
    measured = [section for section in item.sections if section.measured]
    rehearsed = [section.rehearsal for section in item.sections if section.emulated]
    title = _headline(item)
    body = [
        *_top(measured, rehearsed),
        '<main id="main">',
        *_lede(item, title, now),
        *(
            line
            for number, section in enumerate(measured)
            for line in _measured(item, section, pictures, f"work-{number + 1}")
        ),
        *(
            line
            for number, section in enumerate(rehearsed)
            for line in _rehearsal(section, pictures, f"rehearsal-{number + 1}")
        ),
        *_method(item, measured),
        "</main>",
        _footer(now),
    ]
    return "\n".join([*document_head(title), *body, "</body></html>", ""])


def _footer(now: datetime | None) -> str:
    written = f", written {fmt.stamp(now)}" if now else ""
    return f"<footer><p>sm_trn comparison{written}. This file loads nothing from the network.</p></footer>"


def _top(measured: Sequence[Section], rehearsed: Sequence[Section]) -> Iterator[str]:
    links = ['<a href="#findings">Findings</a>']
    links += [f'<a href="#work-{n + 1}">{text(_name(section))}</a>' for n, section in enumerate(measured)]
    links += [
        f'<a href="#rehearsal-{n + 1}">Rehearsal{f" {n + 1}" if len(rehearsed) > 1 else ""}</a>'
        for n in range(len(rehearsed))
    ]
    links.append('<a href="#method">Prices and method</a>' if measured else '<a href="#method">Method</a>')
    yield "<header><div><b>sm_trn</b><span>comparison</span></div>"
    yield f'<nav aria-label="Sections">{"".join(links)}</nav></header>'


def _name(section: Section) -> str:
    return section.workload or "Jobs"


def _headline(item: Compared) -> str:
    """One sentence that can be quoted alone: cost, else billable time, else throughput, else what there is."""
    for kind in (Kind.SWEEP, Kind.COST, Kind.BILLABLE, Kind.THROUGHPUT):
        told = [finding for finding in item.findings if finding.kind is kind and finding.headline]
        if told:
            first = [finding for finding in told if finding.workload == told[0].workload]
            return max(first, key=lambda finding: abs(finding.change_pct or 0.0)).headline
    rows = [row for row in item.rows if not row.emulated]
    if not rows:
        return f"EMULATED: {fmt.jobs(len(item.rows))} rehearsed on this machine, none measured"
    priced = next((row for row in rows if row.cost is not None), None)
    if priced and priced.cost and len(rows) == 1:
        return f"{priced.label} cost {fmt.usd(priced.cost.usd)}, at prices of {priced.cost.price.as_of}"
    return f"{fmt.jobs(len(rows))}, nothing to compare"


def _lede(item: Compared, title: str, now: datetime | None) -> Iterator[str]:
    first = [finding for finding in item.findings if finding.workload == item.sections[0].workload]
    swept = [finding for finding in first if finding.kind is Kind.SWEEP]
    rest = [finding.rest for finding in swept if finding.rest]  # the title has said the other half
    spoken = rest if swept else [*_paid(item.sections[0])]
    spoken += [
        finding.text
        for kind in (Kind.SPOT, Kind.REPRICED, Kind.FLIP, Kind.RUNS)
        for finding in first
        if finding.kind is kind
    ][:4]
    yield f'<div id="findings"><h1>{_unbroken(title)}</h1>'
    if spoken:
        yield f'<div class="stand">{"".join(f"<p>{text(line)}</p>" for line in spoken)}</div>'
    yield f'<dl class="meta">{"".join(_meta(item, now))}</dl>'
    cards = [finding for finding in item.findings if finding.kind in _CARDS and finding.short]
    if len(cards) > len(_CARDS):  # the largest differences first; a card a kind otherwise
        cards.sort(key=lambda finding: -abs(finding.change_pct or 0.0))
    if cards:
        yield f'<ol class="cards">{"".join(_card(finding) for finding in cards[:6])}</ol>'
        if len(cards) > 6:
            yield f'<p class="ink3">{len(cards) - 6} more in the sections below.</p>'
    emulated = [row for row in item.rows if row.emulated]
    if emulated:
        names, takes = fmt.listing([row.label for row in emulated]), "They take" if len(emulated) > 1 else "It takes"
        yield (
            f'<div class="emu"><p>{TAG} <b>{text(names)}</b> ran on this machine. Seconds here are not those of the instances. '
            f'{takes} no part in any percentage, total or figure of measured jobs. <a href="#rehearsal-1">See the rehearsal</a></p></div>'
        )
    yield "</div>"


def _paid(section: Section) -> Iterator[str]:
    """What the jobs cost at which dated price; up to four of them."""
    paid = [
        f"{row.label} cost {fmt.usd(row.cost.usd)} at {fmt.usd_per_hour(row.cost.price.usd_per_hour)} "
        f"({row.cost.price.as_of}{', inferred' if row.cost.price.inferred else ''})"
        for row in (*section.others, section.base)
        if row is not None and row.cost is not None
    ]
    if paid:
        yield f"{fmt.listing(paid[:4])}."


def _card(finding: Finding) -> str:
    return (
        f"<li><b>{text(finding.short)}</b><p>{text(f'{finding.job}: {finding.values}.')}</p>"
        f'<p class="base">base {text(finding.base)}</p></li>'
    )


def _meta(item: Compared, now: datetime | None) -> Iterator[str]:
    measured = [row for row in item.rows if not row.emulated]
    origins = {word: sum(row.record.origin.value == word for row in measured) for word in ("measured", "published")}
    counts = [f"{number} {word}" for word, number in origins.items() if number]
    emulated = len(item.rows) - len(measured)
    tag = f'{", " if counts else ""}<span class="tag">{emulated} EMULATED</span>' if emulated else ""
    yield f"<div><dt>Jobs</dt><dd>{text(', '.join(counts))}{tag}</dd></div>"
    facts = {
        "Region": ", ".join(dict.fromkeys(row.region for row in measured if row.region)),
        "Prices of": ", ".join(sorted({row.price.as_of for row in measured if row.price is not None})),
        "Written": fmt.stamp(now) if now else "",
    }
    for name, value in facts.items():
        if value:
            yield f"<div><dt>{name}</dt><dd>{text(value)}</dd></div>"


def _measured(item: Compared, section: Section, pictures: Sequence[Picture], anchor: str) -> Iterator[str]:
    sweep = section.sweep
    base = f"baseline {section.base.label}" if section.base and len(section.measured) > 1 and sweep is None else ""
    if sweep is not None:
        differs = fmt.listing([finding.text for finding in item.findings
                               if (finding.kind, finding.workload) == (Kind.SWEEP_DIFFERS, section.workload)])  # fmt: skip
        caption = f"Best {sweep.metric} first. {differs} {settings_left(sweep)}".strip()
    else:
        caption = (
            f"Percentages compare with the {base}."
            if base
            else "One measured job: there is nothing to compare it with."
        )
    yield f'<section id="{anchor}"><div class="head"><h2>{text(_name(section))}</h2><p>{text(base)}</p></div>'
    yield page_table(job_table(section, caption), "Jobs")
    own = [picture for picture in pictures if picture.section is section]
    yield from _figures(own)
    known = {picture.chart.name for picture in own}
    said = [
        finding for finding in item.findings if finding.workload == section.workload and finding.kind not in _AT_THE_TOP
    ]
    lines = [f'<li class="{finding.kind.value}">{text(finding.text)}</li>' for finding in said]
    if not own and len(item.sections) > FIGURED:
        lines.append(
            f"<li>No figures: of {len(item.sections)} workloads, the {FIGURED} with the most jobs have them. Compare this one alone.</li>"
        )
    elif "loss" not in known:
        lines.append(
            f"<li>{text(f'No loss curves: no loss in the log of {fmt.listing([row.label for row in section.measured])}.')}</li>"
        )
    yield f'<ul class="notes">{"".join(lines)}</ul></section>'


def _rehearsal(section: Section, pictures: Sequence[Picture], anchor: str) -> Iterator[str]:
    yield f'<section id="{anchor}" class="rehearsal"><div class="head">'
    yield f"<h2>{TAG} Rehearsal: {text(_name(section))}</h2><p>on this machine</p></div>"
    sweep = section.sweep
    yield page_table(rehearsal_table(section, REHEARSED), "Emulated jobs")
    yield from _figures([picture for picture in pictures if picture.section == section])
    notes = [f"<li>{text(sweep_sentence(sweep))}</li>"] if sweep is not None else []
    if any(row.estimated is not None for row in section.rows):
        notes.append(f"<li>{text(EST_MEANS)}</li>")
    notes += [f"<li>{text(f'{row.label}: {note}')}</li>" for row in section.rows for note in row.record.notes]
    yield f'<ul class="notes">{"".join(notes)}</ul></section>' if notes else "</section>"


def _figures(pictures: Sequence[Picture]) -> Iterator[str]:
    if pictures:
        yield '<div class="figures">'
        for picture in pictures:
            yield picture.chart.html(picture.name)
        yield "</div>"


def _method(item: Compared, measured: Sequence[Section]) -> Iterator[str]:
    yield '<section id="method"><div class="head"><h2>' + ("Prices and method</h2>" if measured else "Method</h2>")
    yield f"<p>{text('cost = billable seconds ÷ 3,600 × instances × price per hour')}</p></div>"
    prices = dict.fromkeys(price for section in measured for price in section_prices(section, item.book))
    used = {row.price for section in measured for row in section.measured if row.price is not None}
    if prices:
        yield page_table(price_table(prices, "Every dated price of these instances", used), "Prices", classes="")
    yield (
        "<div class=\"columns\"><div><h3>What the percentages mean</h3><p>More throughput is a job's rate over the baseline's, minus one. "
        "Less billable time and less cost are one minus the ratio. They are three numbers; none stands for another.</p></div>"
        "<div><h3>What is left out</h3><p>Time before billing starts, storage, data transfer and earlier failed attempts. "
        "Jobs of different work are never compared, emulated jobs never with measured ones.</p></div>"
        f"<div><h3>Do it again</h3><p><code>{text(item.command)}</code></p><p>The same folder holds compare.csv, compare.json "
        "and every figure as PNG.</p></div></div></section>"
    )


def _unbroken(title: str) -> str:
    """Large type breaks often: a short word with a hyphen, such as a date or 3e-5, stays on one line."""
    words = (
        f'<span class="whole">{text(word)}</span>' if "-" in word and len(word) <= 10 else text(word)
        for word in title.split(" ")
    )
    return " ".join(words)


def save(item: Compared, directory: Path, *, now: datetime | None) -> tuple[Path, ...]:
    """Write everything below ``directory``, which is made. Returns the paths, the page first."""
    directory.mkdir(parents=True, exist_ok=True)
    shown = tuple(pictures(item))
    written = [directory / "report.html", directory / "compare.csv", directory / "compare.json"]
    written[0].write_text(page(item, shown, now=now), "utf-8")
    written[1].write_bytes(
        csv_text(item.columns, item.cells()).encode()
    )  # bytes, because write_text would change line ends on Windows
    written[2].write_text(item.to_json() + "\n", "utf-8")
    for picture in shown:
        path = directory / f"{picture.name}.png"
        picture.chart.save(path)
        written.append(path)
    return tuple(written)
