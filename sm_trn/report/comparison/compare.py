"""Jobs side by side: who is compared with whom, and the frame, text, figures and files of it. Computes no number itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...core.errors import SmTrnError, UnknownName, extra
from ...core.formatting.cards import HasCard
from ...core.formatting.printable import one_line
from ...core.formatting.table import Table, finite, frame, reasons, records
from ...core.formatting.text import Screen
from ...core.pricing.book import PriceBook
from ...core.session.defaults import expect_region, known_prices
from ...core.session.handles import TrainingJob
from ...core.session.names import short_names
from ...core.specs.record import JobRecord
from ...core.specs.value import suggestion
from ..comparing import as_record
from ..figures import Figures
from ..sections.findings import Finding, section_findings
from ..sections.rows import ComparedJob, read_job
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
    rows: tuple[ComparedJob, ...]
    findings: tuple[Finding, ...]
    slots: Mapping[str, int]
    at: str | None

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

        return comparison_page(self.sections, pictures, now=now)

    def text(self, width: int = 80, color: bool = False, *, ascii_only: bool = False) -> str:
        """The comparison for a terminal of ``width`` columns."""
        screen = Screen(width=width, color=color, ascii_only=ascii_only)
        return comparison_text(self.sections, screen, at=self.at)

    def __str__(self) -> str:
        return self.text()

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
    jobs: Sequence[TrainingJob | JobRecord | str | Path],
    *,
    baseline: str | None = None,
    at: date | str | None = None,
    region: str | None = None,
    book: PriceBook | None = None,
) -> Comparison:
    """Compare live jobs, records, files of records, or published records: one section per workload, percentages against ``baseline``.

    ``baseline`` is a job's label, or what was given for it in ``jobs``; without one each section takes its first completed job.
    Emulated jobs have sections of their own, without percentages. Prices are the newest on or before ``at`` (of all when None) in
    ``book``, None: the prices that this machine knows; ``region`` says what the same seconds would have cost there.
    Raises UnknownName for a name that is none of these, NotConfigured for a region that AWS does not have, ValueError for an
    ``at`` that is no date, and SmTrnError when there is no job, two jobs have one name, or the baseline did other work.
    """
    if region is not None:
        expect_region(region)
    several = [jobs] if isinstance(jobs, (str, Path, JobRecord, TrainingJob)) else jobs
    if not several:
        raise SmTrnError("compare: got no jobs, wanted at least one")
    prices = book or known_prices()
    whole = [_cleaned(as_record(job)) for job in several]
    labels = _labels(whole)
    records = told_apart(whole, labels)
    # colours by creation time, so that neither argument order nor sorting changes them
    by_time = sorted(zip(records, labels, strict=True), key=lambda item: item[0].snapshot.created or _EARLY)
    slots = {label: place for place, (_, label) in enumerate(by_time)}
    rows = tuple(
        read_job(record, label=label, slot=slots[label], book=prices, at=at, region=region)
        for record, label in zip(records, labels, strict=True)
    )
    given = Counter(record.label for record in whole)
    names = {row.label: row for row in rows} | {r.record.label: r for r in rows if given[r.record.label] == 1}
    names |= {str(job): row for job, row in zip(several, rows, strict=True) if isinstance(job, (str, Path))}
    chosen = None if baseline is None else _baseline(rows, baseline, names)
    workloads: dict[tuple[bool, str], list[ComparedJob]] = {}
    for row in sorted(rows, key=lambda row: row.emulated):
        workloads.setdefault((row.emulated, row.record.workload), []).append(row)
    sections = tuple(_section(workload, own, chosen) for (_, workload), own in workloads.items())
    return Comparison(
        sections=sections,
        rows=rows,
        findings=tuple(finding for section in sections for finding in section_findings(section)),
        slots=MappingProxyType(slots),
        at=at.isoformat() if isinstance(at, date) else at,
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
    """The records' labels; two runs of one spec are told apart by their jobs' own names, and these are shortened."""
    given = Counter(item.label for item in records)
    labels = [one_line(item.snapshot.name if given[item.label] > 1 else item.label) for item in records]
    double = next((label for label, times in Counter(labels).items() if times > 1), None)
    if double is not None:
        raise SmTrnError(
            f"compare: got two jobs called {double!r}, wanted one name each; give the records other labels"
        )
    short = short_names(labels)
    own = [item.label == item.snapshot.name for item in records]
    return tuple(short[label] if named else label for label, named in zip(labels, own, strict=True))


def _baseline(rows: tuple[ComparedJob, ...], name: str, names: Mapping[str, ComparedJob]) -> ComparedJob:
    """The job that a person named. Raises UnknownName, and SmTrnError for one that others cannot be compared with."""
    if name not in names:
        wanted = ", ".join(repr(row.label) for row in rows)
        raise UnknownName(f"baseline: got {name!r}, wanted one of {wanted}{suggestion(name, names)}")
    chosen = names[name]
    measured = [row for row in rows if not row.emulated and row is not chosen]
    if chosen.emulated and measured:
        raise SmTrnError(
            f"{name} cannot be the baseline of {measured[0].label}: it ran in the emulator, and its seconds are this machine's; "
            f"drop the baseline, or name {measured[0].label}"
        )
    other = next((row for row in measured if row.record.workload != chosen.record.workload), None)
    if other is not None:
        works = " and ".join(row.record.workload or "no recorded workload" for row in (chosen, other))
        raise SmTrnError(
            f"{name} cannot be the baseline of {other.label}: different work\n  got     {works}\n"
            "  wanted  the same script, data and schedule, for a percentage to mean something\n"
            "  fix     drop the baseline: each workload then gets a section and a baseline of its own"
        )
    return chosen


def _section(workload: str, own: Sequence[ComparedJob], chosen: ComparedJob | None) -> Section:
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
