"""The keys of a sweep file: the settings of a sweep, and the name of the file of its job."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from ..specs.metrics import MetricRule
from ..specs.tuning import Goal, Objective, Range, SearchSettings, Sweep
from . import schema
from .files import FORMATS


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveTable:
    """The number that decides, and which values of it are better."""

    metric: str
    goal: Goal
    regex: str | None = None

    def value(self) -> Objective:
        """The objective that the table says."""
        metric = self.metric if self.regex is None else MetricRule(self.metric, self.regex)
        return Objective(metric, self.goal)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFile(SearchSettings):
    """A search for hyperparameters: the settings of ``Sweep``, and the ``job`` as a path from where the file lies, ``bert.toml`` or
    ``jobs.toml#bert``.
    """

    job: str
    objective: ObjectiveTable
    space: Mapping[str, Range] = dataclasses.field(default_factory=dict)


def as_file(sweep: Sweep, job: str) -> SweepFile:
    """A sweep whose job is in the file ``job``."""
    rule = sweep.objective.metric
    own = rule.regex if isinstance(rule, MetricRule) else None
    objective = ObjectiveTable(metric=sweep.objective.name, goal=sweep.objective.goal, regex=own)
    settings = {field.name: getattr(sweep, field.name) for field in dataclasses.fields(SearchSettings)}
    return SweepFile(job=job, objective=objective, space=sweep.space, **settings)


def dump_sweep(sweep: Sweep, job: str, format: str) -> str:  # noqa: A002 - the word users know it by
    """A sweep as a file: toml, json or yaml. ``job`` is the name of its job's file, from where this one will lie."""
    return FORMATS[format].dump(schema.part(as_file(sweep, job)))
