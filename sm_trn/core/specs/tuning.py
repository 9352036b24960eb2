"""A tuning job as a value: the job that is tried, the ranges of its hyperparameters, and the number that decides."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias

from .compute import Compute
from .job import HyperValue, JobSpec
from .metrics import MetricRule
from .value import misfit, suggesting

LONGEST_BASE: Final = 11  # of the 32 characters of a tuning job's name, the time and six random digits need 21


class Scale(enum.Enum):
    """How a range of numbers is searched: AUTO lets the service choose.

    >>> st.specs.Scale.LOGARITHMIC.value
    'Logarithmic'
    """

    AUTO = "Auto"
    LINEAR = "Linear"
    LOGARITHMIC = "Logarithmic"
    REVERSE_LOGARITHMIC = "ReverseLogarithmic"


class Goal(enum.Enum):
    """The direction in which an objective gets better.

    >>> st.specs.Goal.MINIMIZE.value
    'Minimize'
    """

    MAXIMIZE = "Maximize"
    MINIMIZE = "Minimize"


class Strategy(enum.Enum):
    """How the next values are chosen.

    >>> st.specs.Strategy.GRID.value
    'Grid'
    """

    BAYESIAN = "Bayesian"
    RANDOM = "Random"
    HYPERBAND = "Hyperband"
    GRID = "Grid"


class WarmStartKind(enum.Enum):
    """The relation of a tuning job to those that it learns from.

    >>> st.specs.WarmStartKind.TRANSFER_LEARNING.value
    'TransferLearning'
    """

    IDENTICAL = "IdenticalDataAndAlgorithm"
    TRANSFER_LEARNING = "TransferLearning"


@suggesting
@dataclass(frozen=True, slots=True)
class Continuous:
    """Numbers from ``low`` to ``high``. Raises ValueError for a range that is empty, or that its scale cannot have.

    >>> st.specs.Continuous(1e-5, 1e-3, scale=st.specs.Scale.LOGARITHMIC).low
    1e-05
    """

    kind: ClassVar[str] = "continuous"

    low: float
    high: float
    _: KW_ONLY
    scale: Scale = Scale.AUTO

    def __post_init__(self) -> None:
        _expect_range(self)


@suggesting
@dataclass(frozen=True, slots=True)
class Integer:
    """Whole numbers from ``low`` to ``high``, both of them included. Raises ValueError as ``Continuous``.

    >>> st.specs.Integer(1, 8).high
    8
    """

    kind: ClassVar[str] = "integer"

    low: int
    high: int
    _: KW_ONLY
    scale: Scale = Scale.AUTO

    def __post_init__(self) -> None:
        _expect_range(self)


@suggesting
@dataclass(frozen=True, slots=True)
class Categorical:
    """One of some ``values``. Raises ValueError where there is none, or one twice.

    >>> st.specs.Categorical(("adamw", "sgd")).values
    ('adamw', 'sgd')
    """

    kind: ClassVar[str] = "categorical"

    values: tuple[HyperValue, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        words = [str(value) for value in self.values]
        if not words:
            raise ValueError("values: got none, wanted at least one")
        if len(set(words)) < len(words):
            raise ValueError(f"values: got {', '.join(words)}, wanted each once")


Range: TypeAlias = Continuous | Integer | Categorical


def _expect_range(bounds: Continuous | Integer) -> None:
    """Refuse bounds that no value lies between, and those outside of a scale.
    https://docs.aws.amazon.com/sagemaker/latest/dg/automatic-model-tuning-define-ranges.html
    """
    low, high = bounds.low, bounds.high
    if not (math.isfinite(low) and math.isfinite(high)) or not low < high:
        raise ValueError(f"low, high: got {low!r} and {high!r}, wanted numbers, low less than high")
    if bounds.scale is Scale.LOGARITHMIC and low <= 0:
        raise ValueError(f"low: got {low!r} and a logarithmic scale, wanted a number greater than 0")
    if bounds.scale is Scale.REVERSE_LOGARITHMIC and not 0 <= low < high < 1:
        raise ValueError(
            f"low, high: got {low!r} and {high!r} and a reverse logarithmic scale, wanted numbers from 0, less than 1"
        )


@suggesting
@dataclass(frozen=True, slots=True)
class Objective:
    """The number that decides, and which values of it are better.

    ``metric`` is the name of one of the job's metrics, or a rule of its own. The service takes the last value that a training job
    prints.

    >>> st.specs.Objective("eval_loss", st.specs.Goal.MINIMIZE).name
    'eval_loss'
    """

    metric: str | MetricRule
    goal: Goal

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric if isinstance(self.metric, str) else self.metric.name


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperband:
    """The least and the most of what a training job may use, such as epochs; Hyperband stops the worse jobs between the two.

    >>> st.specs.Hyperband(min_resource=1, max_resource=27).max_resource
    27
    """

    min_resource: int
    max_resource: int

    def __post_init__(self) -> None:
        if not 1 <= self.min_resource <= self.max_resource:
            raise ValueError(
                f"hyperband: got min_resource={self.min_resource} and max_resource={self.max_resource}, wanted 1 or more, the least first"
            )


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Criteria that end a tuning job before all of its training jobs were tried.

    ``target``: a value of the objective that is good enough. ``not_improving``: so many training jobs, at least 3, without a better
    value. ``convergence``: the service finds that further jobs are not likely to be better.

    >>> st.specs.Completion(target=0.9).not_improving is None
    True
    """

    target: float | None = None
    not_improving: int | None = None
    convergence: bool | None = None


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStart:
    """Tuning jobs that this one learns from, one to five of them, by name.

    >>> st.specs.WarmStart(parents=("bert-1",), kind=st.specs.WarmStartKind.IDENTICAL).parents
    ('bert-1',)
    """

    parents: tuple[str, ...]
    kind: WarmStartKind

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))
        if not self.parents:
            raise ValueError("warm_start.parents: got none, wanted the names of one to five tuning jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How a search goes on, and when it ends. ``Sweep`` says what the fields mean."""

    max_jobs: int | None = None
    parallel: int = 1
    strategy: Strategy = Strategy.BAYESIAN
    hyperband: Hyperband | None = None
    seed: int | None = None
    max_run_s: int | None = None
    early_stopping: bool = False
    completion: Completion | None = None
    warm_start: WarmStart | None = None
    clusters: tuple[Compute, ...] = ()
    autotune: bool = False
    keep_static: tuple[str, ...] = ()


@suggesting
@dataclass(frozen=True, slots=True)
class Sweep(SearchSettings):
    """A tuning job: training jobs like ``job`` with values out of ``space``, of which ``objective`` finds the best.

    ``Session.tune`` sends it. ``max_jobs`` training jobs are tried, ``parallel`` of them at a time; without it, a grid has as many
    as it has combinations. ``strategy`` chooses the values, ``hyperband`` is its own setting, ``seed`` makes it repeatable.
    ``max_run_s`` are the seconds of the whole; each training job has the job's own limit. ``early_stopping`` lets the service stop
    training jobs that will not be the best; ``completion`` ends the search, ``warm_start`` begins it with what others found.
    ``clusters`` stand in the place of the job's machines: the service takes one that has capacity. With ``autotune`` the service
    chooses ranges for the other hyperparameters, but for ``keep_static``.

    Raises ValueError for settings that contradict one another.

    >>> space = {"learning_rate": st.specs.Continuous(1e-5, 1e-3, scale=st.specs.Scale.LOGARITHMIC)}
    >>> sweep = st.Sweep(job, space, st.specs.Objective("train_loss", st.specs.Goal.MINIMIZE), max_jobs=20, parallel=4)
    >>> sweep.jobs
    20
    """

    WANTED: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "job": "JobSpec(…)",
            "space": "a mapping of hyperparameters to ranges, such as {'learning_rate': Continuous(1e-5, 1e-3)}",
            "objective": "Objective('eval_loss', Goal.MINIMIZE)",
            "strategy": "Strategy.BAYESIAN, RANDOM, HYPERBAND or GRID",
        }
    )

    job: JobSpec
    space: Mapping[str, Range]
    objective: Objective

    def __post_init__(self) -> None:
        object.__setattr__(self, "space", MappingProxyType(dict(self.space)))
        object.__setattr__(self, "clusters", tuple(self.clusters))
        object.__setattr__(self, "keep_static", tuple(self.keep_static))
        self._expect_space()
        self._expect_settings()

    def _expect_space(self) -> None:
        for name, values in self.space.items():
            if not isinstance(values, (Continuous, Integer, Categorical)):
                raise TypeError(
                    f"space: {name}: {misfit(values, 'Continuous(low, high), Integer(low, high) or Categorical(values)')}"
                )
        if not self.space and not self.autotune:
            raise ValueError("space: got no hyperparameter, wanted at least one with its range, or autotune=True")

    def _expect_settings(self) -> None:
        if self.max_jobs is None and self.strategy is not Strategy.GRID:
            raise ValueError("max_jobs: got none, wanted how many training jobs may be started; a grid alone knows it")
        if self.strategy is Strategy.GRID and not all(isinstance(each, Categorical) for each in self.space.values()):
            raise ValueError("space: got a range of numbers and a grid, wanted Categorical values alone")
        if self.max_jobs is not None and self.max_jobs < 1:
            raise ValueError(f"max_jobs: got {self.max_jobs}, wanted at least 1")
        if self.parallel < 1:
            raise ValueError(f"parallel: got {self.parallel}, wanted at least 1")
        if self.hyperband is not None and self.strategy is not Strategy.HYPERBAND:
            raise ValueError(f"hyperband: got it beside {self.strategy.value}, wanted strategy=Strategy.HYPERBAND")
        if self.early_stopping and self.strategy is Strategy.HYPERBAND:
            raise ValueError("early_stopping: got it beside Hyperband, wanted False: Hyperband stops jobs by itself")
        if self.keep_static and not self.autotune:
            raise ValueError("keep_static: got names without autotune, wanted autotune=True beside them")

    @property
    def name(self) -> str:
        """The job's name."""
        return self.job.name

    @property
    def base(self) -> str:
        """With what the names of the tuning job and of its training jobs begin: as much of the job's name as there is room for."""
        return self.job.name[:LONGEST_BASE].rstrip("-")

    @property
    def jobs(self) -> int:
        """The most training jobs that are started."""
        if self.max_jobs is not None:
            return self.max_jobs
        return math.prod(len(each.values) for each in self.space.values() if isinstance(each, Categorical))

    @property
    def rules(self) -> tuple[MetricRule, ...]:
        """The job's metrics, and the objective's own rule in the place of one of its name."""
        own = self.objective.metric
        if isinstance(own, str):
            return self.job.metrics
        return (*(rule for rule in self.job.metrics if rule.name != own.name), own)

    def replace(self, **changes: Any) -> Sweep:
        """A copy with ``changes``; an unknown field is a TypeError with a suggestion."""
        return dataclasses.replace(self, **changes)
