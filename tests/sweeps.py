"""Hypothesis strategies for sweeps: ranges of every kind and scale, and all settings of a search."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as some

from sm_trn.core.specs import Compute, JobSpec, MetricRule
from sm_trn.core.specs.tuning import (
    Categorical,
    Completion,
    Continuous,
    Goal,
    Hyperband,
    Integer,
    Objective,
    Range,
    Scale,
    Strategy,
    Sweep,
    WarmStart,
    WarmStartKind,
)

NAMES = some.from_regex(r"[a-z][a-z_]{0,10}", fullmatch=True)
SCALES = some.sampled_from([Scale.AUTO, Scale.LINEAR, Scale.LOGARITHMIC])
NUMBERS = some.floats(1e-9, 1e6, allow_nan=False).filter(lambda low: low < low * 2 + 1e-9)
CONTINUOUS = some.builds(lambda low, scale: Continuous(low, low * 2 + 1e-9, scale=scale), NUMBERS, SCALES)
REVERSE = some.builds(
    lambda low: Continuous(low, low / 2 + 0.49, scale=Scale.REVERSE_LOGARITHMIC), some.floats(0.0, 0.5)
)
INTEGERS = some.builds(
    lambda low, more, scale: Integer(low, low + more, scale=scale), some.integers(1, 99), some.integers(1, 99), SCALES
)
VALUES = some.one_of(
    some.text(some.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=8),
    some.integers(-99, 99),
    some.booleans(),
    some.floats(-9, 9),
)
CATEGORICAL = some.builds(
    lambda values: Categorical(tuple(values)), some.lists(VALUES, min_size=1, max_size=4, unique_by=str)
)
RANGES = some.one_of(CONTINUOUS, REVERSE, INTEGERS, CATEGORICAL)
OBJECTIVES = some.builds(
    Objective,
    some.sampled_from(["train_loss", MetricRule("score", r"score=([0-9.]+)")]),
    some.sampled_from(Goal),
)
SETTINGS: dict[str, Any] = {
    "max_jobs": some.integers(1, 500),
    "parallel": some.integers(1, 10),
    "seed": some.sampled_from([None, 0, 7]),
    "max_run_s": some.sampled_from([None, 120, 86_400]),
    "completion": some.one_of(
        some.none(),
        some.builds(
            Completion,
            target=some.sampled_from([None, 0.5]),
            not_improving=some.sampled_from([None, 3]),
            convergence=some.sampled_from([None, True, False]),
        ),
    ),
    "warm_start": some.one_of(
        some.none(),
        some.builds(
            WarmStart,
            parents=some.sampled_from([("parent-1",), ("parent-1", "parent-2")]),
            kind=some.sampled_from(WarmStartKind),
        ),
    ),
    "clusters": some.sampled_from(
        [(), (), (), (Compute("ml.g5.xlarge"), Compute("ml.g4dn.xlarge", count=2, volume_gb=99))]
    ),
}


@some.composite
def sweeps(draw: some.DrawFn, job: JobSpec) -> Sweep:
    """Any sweep of a job."""
    strategy = draw(some.sampled_from(Strategy))
    names = some.one_of(NAMES, *([some.sampled_from(sorted(job.hyperparameters))] if job.hyperparameters else []))
    ranges: some.SearchStrategy[Range] = CATEGORICAL if strategy is Strategy.GRID else RANGES
    autotune = strategy is not Strategy.GRID and draw(some.sampled_from([False, False, False, True]))
    space = draw(some.dictionaries(names, ranges, min_size=0 if autotune else 1, max_size=4))
    settings = {name: draw(values) for name, values in SETTINGS.items()}
    fixed = sorted(job.arguments.keys() - space.keys())
    return Sweep(
        job,
        space,
        draw(OBJECTIVES),
        strategy=strategy,
        hyperband=draw(some.sampled_from([None, Hyperband(min_resource=1, max_resource=9)]))
        if strategy is Strategy.HYPERBAND
        else None,
        early_stopping=strategy is not Strategy.HYPERBAND and draw(some.booleans()),
        autotune=autotune,
        keep_static=tuple(draw(some.lists(some.sampled_from(fixed), unique=True))) if autotune and fixed else (),
        **settings,
    )


def plain_arguments(sweep: Sweep) -> dict[str, Any]:
    """The arguments of ``HyperparameterTuner`` that are no objects of the SDK: they have one name in v2 and v3."""
    return {
        "objective_metric_name": sweep.objective.name,
        "metric_definitions": [{"Name": rule.name, "Regex": rule.regex} for rule in sweep.rules] or None,
        "strategy": sweep.strategy.value,
        "objective_type": sweep.objective.goal.value,
        "max_jobs": sweep.jobs,
        "max_parallel_jobs": sweep.parallel,
        "max_runtime_in_seconds": sweep.max_run_s,
        "early_stopping_type": "Auto" if sweep.early_stopping else "Off",
        "random_seed": sweep.seed,
        "autotune": sweep.autotune,
    }
