"""Jobs side by side: who is compared with whom, and the frame, text, figures and files of it. Computes no number itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...core.errors import SmTrnError, UnknownName
from ...core.extras import extra
from ...core.formatting.cards import HasCard
from ...core.formatting.printable import one_line
from ...core.formatting.table import frame
from ...core.pricing.book import PriceBook, snapshot_book
from ...core.specs.record import JobRecord
from ...core.specs.value import suggestion
from ..figures import Figures
from ..sections.findings import section_findings
from ..sections.rows import Row, read_row
from ..sections.section import Section, section_unit
from ..sections.sweep import find_sweep
from ..sections.workloads import told_apart
from .compared import Compared
from .text import comparison_text

if TYPE_CHECKING:
    from pandas import DataFrame

_EARLY = datetime.min.replace(tzinfo=timezone.utc)  # a publication gives no creation time, and is older than your jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(HasCard, Figures, Compared):
    """Jobs side by side; made by ``compare``. ``slots`` gives each job one colour and marker wherever it is shown."""

    @property
    def frame(self) -> DataFrame:
        """One row per job, with ``COLUMNS``, and ``hyperparameters.NAME`` for each that differs. What is missing is NaN or None,
        never 0. A new frame each time.
        """
        return frame(self.table())

    def save(self, directory: str | Path, *, now: datetime | None = None) -> tuple[Path, ...]:
        """Write report.html, compare.csv, compare.json and one PNG per figure; ``now`` dates the page, None: the time it is.

        A figure that shows emulated jobs only has a name that ends in ``-emulated``.
        """
        with extra("report", "the page of a comparison"):
            from ..pages import write  # noqa: PLC0415 - matplotlib is loaded on use
            from .page import comparison_page, pictures  # noqa: PLC0415 - as above

        shown = pictures(self)
        page = comparison_page(self, shown, now=now or datetime.now(timezone.utc))
        table, body = self.table(), self.to_json()
        written = write(Path(directory), ("report.html", page), ("compare.csv", table), ("compare.json", body))
        for picture in shown:
            picture.chart.save(Path(directory) / f"{picture.name}.png")
        return (*written, *(Path(directory) / f"{picture.name}.png" for picture in shown))

    def text(self, width: int = 80, color: bool = False, *, ascii_only: bool = False) -> str:
        """The comparison for a terminal of ``width`` columns."""
        return comparison_text(self, width=width, color=color, ascii_only=ascii_only)

    def __str__(self) -> str:
        return self.text()


def compare(
    records: Sequence[JobRecord],
    *,
    baseline: str | None = None,
    book: PriceBook | None = None,
    at: date | str | None = None,
    region: str | None = None,
) -> Comparison:
    """Compare finished (or running) jobs: one section per workload, percentages against ``baseline``.

    Without ``baseline`` each section takes its first completed measured job. Emulated jobs are shown and never compared.
    Prices are the newest on or before ``at`` (of all when None) in ``book``, which is the shipped one when None, and of
    ``region``, which is each job's own when None: what the same seconds would have cost there.
    Raises UnknownName for an unknown baseline, and SmTrnError when there is
    no job, two jobs have one name, or the baseline did other work than a job it would be compared with.
    """
    if not records:
        raise SmTrnError("compare: got no jobs, wanted at least one")
    prices = snapshot_book() if book is None else book
    records = [_cleaned(record) for record in records]
    labels = _labels(records)
    records = told_apart(records, labels)
    # colours by creation time, so that neither argument order nor sorting changes them
    by_time = sorted(zip(records, labels, strict=True), key=lambda item: item[0].snapshot.created or _EARLY)
    slots = {label: place for place, (_, label) in enumerate(by_time)}
    rows = tuple(
        read_row(record, label=label, slot=slots[label], book=prices, at=at, region=region)
        for record, label in zip(records, labels, strict=True)
    )
    chosen = None if baseline is None else _baseline(rows, baseline)
    workloads: dict[str, list[Row]] = {}
    for row in rows:
        workloads.setdefault(row.record.workload, []).append(row)
    sections = tuple(_section(workload, own, chosen) for workload, own in workloads.items())
    return Comparison(
        sections=sections,
        rows=rows,
        findings=tuple(finding for section in sections for finding in section_findings(section)),
        slots=MappingProxyType(slots),
        at=at.isoformat() if isinstance(at, date) else at,
        book=prices,
        baseline=baseline,
        region=region,
    )


def _cleaned(record: JobRecord) -> JobRecord:
    """The record with its free texts as printable lines: they come from other people's jobs and files."""
    return replace(
        record,
        snapshot=replace(record.snapshot, instance=one_line(record.snapshot.instance)),
        workload=one_line(record.workload),
        source=one_line(record.source),
        notes=tuple(map(one_line, record.notes)),
    )


def _labels(records: Sequence[JobRecord]) -> tuple[str, ...]:
    """The records' labels; two runs of one spec are told apart by their jobs' own names."""
    given = Counter(item.label for item in records)
    labels = tuple(one_line(item.snapshot.name if given[item.label] > 1 else item.label) for item in records)
    double = next((label for label, times in Counter(labels).items() if times > 1), None)
    if double is not None:
        raise SmTrnError(
            f"compare: got two jobs called {double!r}, wanted one name each; give the records other labels"
        )
    return labels


def _baseline(rows: tuple[Row, ...], name: str) -> Row:
    """The job that a person named. Raises UnknownName, and SmTrnError for one that others cannot be compared with."""
    given = Counter(row.record.label for row in rows)
    known = {row.label: row for row in rows}
    known |= {row.record.label: row for row in rows if given[row.record.label] == 1}
    if name not in known:
        wanted = ", ".join(map(repr, known))
        raise UnknownName(f"baseline: got {name!r}, wanted one of {wanted}{suggestion(name, known)}")
    chosen = known[name]
    measured = [row for row in rows if not row.emulated and row is not chosen]
    if chosen.emulated and measured:
        raise SmTrnError(
            f"{name} cannot be the baseline of {measured[0].label}: it ran in the emulator\n"
            f"  got     an emulated job, whose seconds are this machine's\n"
            f"  wanted  a measured job\n"
            f"  fix     drop the baseline, or name {measured[0].label}"
        )
    other = next((row for row in measured if row.record.workload != chosen.record.workload), None)
    if other is not None:
        raise SmTrnError(
            f"{name} cannot be the baseline of {other.label}: different work\n"
            f"  got     {chosen.record.workload or 'no recorded workload'}\n"
            f"          {other.record.workload or 'no recorded workload'}\n"
            f"  wanted  same script, data and schedule for a percentage to mean something\n"
            f"  fix     drop the baseline: each workload then gets a section and a baseline\n"
            f"          of its own"
        )
    return chosen


def _section(workload: str, own: Sequence[Row], chosen: Row | None) -> Section:
    """The jobs of one workload: against the baseline, or ranked where they differ in hyperparameters only."""
    measured = [row for row in own if not row.emulated]
    emulated = [row for row in own if row.emulated]
    first = next((row for row in measured if row.completed), measured[0] if measured else None)
    asked = any(row is chosen for row in measured)
    rehearsed = find_sweep(emulated, workload=workload)
    sweep = None if asked else find_sweep(measured, workload=workload) if measured else rehearsed
    if sweep is not None:
        own = [*(trial.row for trial in sweep.trials), *(emulated if measured else [])]
    return Section(
        workload=workload,
        rows=tuple(own),
        base=chosen if asked else first,
        unit=section_unit(own),
        sweep=sweep,
        rehearsed=rehearsed,
    )
