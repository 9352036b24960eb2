"""Jobs side by side, as plain values, and as JSON: what text, page, frame and files read. Knows none of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import SmTrnError, UnknownName
from ...core.formatting.table import Table, finite, reasons, records
from ...core.pricing.book import PriceBook
from ...core.specs.value import suggestion
from ..sections.findings import Finding
from ..sections.rows import Row
from ..sections.section import Section
from ..sections.sweep import Sweep, Trial, ranking, varied
from .tables import file_table

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Sections, rows and findings of a comparison. ``slots`` gives each job one colour and marker wherever it is shown."""

    sections: tuple[Section, ...]
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    slots: Mapping[str, int]
    at: str | None
    book: PriceBook = field(repr=False)
    baseline: str | None = None  # as it was asked for
    region: str | None = None

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
        return ranking(section.measured or section.emulated, metric=metric, lowest=lowest, workload=section.workload)

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
        """Return the section of a workload; the first one when None. Raises UnknownName for a workload that is not there."""
        if workload is None:
            return self.sections[0]
        known = {section.workload: section for section in self.sections}
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
