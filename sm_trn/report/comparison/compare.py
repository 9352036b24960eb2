"""Jobs side by side: who is compared with whom, and the frame, text, figures and files of it. Computes no number itself."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...core.errors import SmTrnError, UnknownName
from ...core.extras import extra
from ...core.formatting.cards import HasCard
from ...core.formatting.printable import one_line
from ...core.formatting.table import Table, finite, frame, reasons, records
from ...core.formatting.text import Screen
from ...core.pricing.book import PriceBook, snapshot_book
from ...core.specs.record import JobRecord
from ...core.specs.value import suggestion
from ..figures import Figures
from ..sections.findings import Finding, section_findings
from ..sections.rows import Row, read_row
from ..sections.section import Section, section_unit
from ..sections.sweep import Sweep, Trial, find_sweep, ranking, varied
from ..sections.workloads import told_apart
from .tables import file_table
from .text import comparison_text

if TYPE_CHECKING:
    from pandas import DataFrame

    from .page import Picture

SCHEMA = 1
_EARLY = datetime.min.replace(tzinfo=timezone.utc)  # a publication gives no creation time, and is older than your jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(HasCard, Figures):
    """Jobs side by side; made by ``compare``. ``slots`` gives each job one colour and marker wherever it is shown."""

    sections: tuple[Section, ...]
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    slots: Mapping[str, int]
    at: str | None
    book: PriceBook = field(repr=False)
    baseline: str | None = None  # as it was asked for
    region: str | None = None

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
            from .page import pictures  # noqa: PLC0415 - as above

        shown = pictures(self.sections)
        page = self.page(shown, now=now or datetime.now(timezone.utc))
        table, body = self.table(), self.to_json()
        written = write(Path(directory), ("report.html", page), ("compare.csv", table), ("compare.json", body))
        for picture in shown:
            picture.chart.save(Path(directory) / f"{picture.name}.png")
        return (*written, *(Path(directory) / f"{picture.name}.png" for picture in shown))

    def page(self, pictures: Sequence[Picture] = (), *, now: datetime | None = None) -> str:
        """The whole document of report.html. ``now`` is written on it when given."""
        from .page import comparison_page  # noqa: PLC0415 - jinja2 is loaded on use

        return comparison_page(self.sections, self.book, pictures, command=self.command, now=now)

    def text(self, width: int = 80, color: bool = False, *, ascii_only: bool = False) -> str:
        """The comparison for a terminal of ``width`` columns."""
        screen = Screen(width=width, color=color, ascii_only=ascii_only)
        return comparison_text(self.sections, screen, at=self.at)

    def __str__(self) -> str:
        return self.text()

    @property
    def command(self) -> str:
        """The shell command that makes this comparison again: jobs by their own names."""
        options = (("--baseline", self.baseline), ("--at", self.at), ("--in-region", self.region))
        given = [word for option, value in options if value for word in (option, value)]
        names = [row.snapshot.name for row in self.rows]
        return shlex.join(["sm-trn", "compare", *names, *given, "--output", "report/"])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in files, one for each hyperparameter that differs between jobs of one workload included."""
        return tuple(column.name for column in self.table().columns)

    def cells(self) -> tuple[Mapping[str, Any], ...]:
        """The frame's rows as plain values, None where something is missing."""
        return records(self.table())

    def table(self) -> Table:
        """Every column of every job, as files hold them."""
        names = dict.fromkeys(name for section in self.sections for name in varied(section.rows))
        return file_table(self.sections, self.rows, tuple(names))

    def ranking(self, metric: str | None = None, *, workload: str | None = None, lowest: bool | None = None) -> Sweep:
        """Return a workload's jobs ranked by a metric that they logged, such as ``eval_accuracy``; emulated ones only where no
        job was measured.

        ``metric`` None takes the first that is known of accuracy, F1, other evaluations and loss. ``lowest`` None goes by the
        name: losses, errors and times are better low. Raises UnknownName for a metric that no job logged.
        """
        section = self.section(workload)
        return ranking(section.rows, metric=metric, lowest=lowest, workload=section.workload)

    def best(self, metric: str | None = None, *, workload: str | None = None, lowest: bool | None = None) -> Trial:
        """Return the best job of ``ranking``: ``.job``, ``.value`` and ``.settings``. Raises as ``ranking``, and SmTrnError where
        no job has a result.
        """
        sweep = self.ranking(metric, workload=workload, lowest=lowest)
        if not sweep.ranked:
            notes = "; ".join(f"{trial.job}: {trial.note}" for trial in sweep.trials[:6])
            raise SmTrnError(f"best: no job has a {sweep.metric} to be ranked by ({notes})")
        return sweep.ranked[0]

    def section(self, workload: str | None = None) -> Section:
        """Return the section of a workload, of its measured jobs where it has some; the first one when None. Raises UnknownName."""
        if workload is None:
            return self.sections[0]
        known = {section.workload: section for section in reversed(self.sections)}
        if workload not in known:
            hint = suggestion(workload, known)
            raise UnknownName(f"workload: got {workload!r}, wanted one of {', '.join(map(repr, known))}{hint}")
        return known[workload]

    def to_json(self) -> str:
        """Jobs with their dated prices, findings and sweeps. A value that is missing is null, and its job's ``missing`` says why."""
        table = self.table()
        body = {
            "schema": SCHEMA,
            "jobs": [
                {**{name: finite(value) for name, value in job.items()}, "missing": why}
                for job, why in zip(records(table), reasons(table), strict=True)
            ],
            "findings": [
                {
                    "kind": item.kind.value,
                    "job": item.job or None,
                    "base": item.base or None,
                    "change_pct": finite(item.change_pct),
                    "text": item.text,
                }
                for item in self.findings
            ],
            "sweeps": [
                {
                    "workload": sweep.workload,
                    "metric": sweep.metric,
                    "lowest_is_best": sweep.lowest,
                    "trials": [
                        {
                            "job": trial.job,
                            "rank": trial.rank,
                            "value": trial.value,
                            "settings": dict(trial.settings),
                            "note": trial.note or None,
                        }
                        for trial in sweep.trials
                    ],
                }
                for section in self.sections
                if (sweep := section.sweep) is not None
            ],
        }
        return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False)


def compare(
    records: Sequence[JobRecord],
    *,
    baseline: str | None = None,
    book: PriceBook | None = None,
    at: date | str | None = None,
    region: str | None = None,
) -> Comparison:
    """Compare finished (or running) jobs: one section per workload, percentages against ``baseline``.

    Without ``baseline`` each section takes its first completed job. Emulated jobs have sections of their own, without percentages.
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
    workloads: dict[tuple[bool, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.emulated):
        workloads.setdefault((row.emulated, row.record.workload), []).append(row)
    sections = tuple(_section(workload, own, chosen) for (_, workload), own in workloads.items())
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
    emulated = own[0].emulated
    asked = not emulated and any(row is chosen for row in own)
    first = None if emulated else next((row for row in own if row.completed), own[0])
    sweep = None if asked else find_sweep(own, workload=workload)
    if sweep is not None:
        own = [trial.row for trial in sweep.trials]
    return Section(
        workload=workload,
        rows=tuple(own),
        base=chosen if asked else first,
        unit=section_unit(own),
        emulated=emulated,
        sweep=sweep,
    )
