"""Sweep files: a sweep as TOML, JSON or YAML, which names the file of its job."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import InvalidJobFile, UnknownName
from ..core.jobfile.faults import Fault
from ..core.jobfile.files import parse_as
from ..core.session.jobfiles import FORMAT_OF, only
from ..core.specs.metrics import MetricRule
from ..core.specs.tuning import Goal, Objective, Range, SearchSettings, Sweep

SIZE_CAP = 1_000_000  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveTable:
    """An objective in a file: ``regex`` is a rule of its own, in the place of one of the job's metrics."""

    metric: str
    goal: Goal
    regex: str | None = None

    def value(self) -> Objective:
        """The objective that the table says."""
        metric = self.metric if self.regex is None else MetricRule(self.metric, self.regex)
        return Objective(metric, self.goal)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFile(SearchSettings):
    """What stands in a file: the settings of ``Sweep``, and the ``job`` as a path from where the file lies, ``bert.toml`` or
    ``jobs.toml#bert``.
    """

    job: str
    objective: ObjectiveTable
    space: Mapping[str, Range] = dataclasses.field(default_factory=dict)


def read_sweep(path: Path) -> Sweep:
    """The sweep of a file. Raises UnknownName for a file that is not there, or that names no job; InvalidJobFile for what stands in it."""
    if path.suffix not in FORMAT_OF or not path.is_file():
        raise UnknownName(f"sweep: got {str(path)!r}, wanted a file that ends in {', '.join(FORMAT_OF)}")
    if path.stat().st_size > SIZE_CAP:
        raise UnknownName(f"sweep: got {str(path)!r}, which is too large; wanted at most {SIZE_CAP:,} bytes")
    said = parse_as(SweepFile, path.read_text("utf-8"), FORMAT_OF[path.suffix], name=str(path))
    job = only(str(path.parent / said.job))
    settings = {field.name: getattr(said, field.name) for field in dataclasses.fields(SearchSettings)}
    try:
        return Sweep(job, said.space, said.objective.value(), **settings)
    except ValueError as error:
        raise InvalidJobFile((Fault(what=str(error), file=str(path)),)) from error
