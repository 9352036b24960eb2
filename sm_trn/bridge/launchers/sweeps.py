"""The request of a tuner in a launcher, as the SDK sends it, and the sweep that asks for the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ...core.specs.compute import Compute
from ...core.specs.job import HyperValue, JobSpec
from ...core.specs.json import Json
from ...core.specs.metrics import MetricRule
from ...core.specs.tuning import (
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

Tree: TypeAlias = Mapping[str, Any]
_OF_THE_TUNER: Final = frozenset({"sagemaker_estimator_class_name", "sagemaker_estimator_module"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A tuner that a launcher starts: its CreateHyperParameterTuningJob request, and the same as a sweep."""

    sweep: Sweep
    request: Mapping[str, Json]


def sweep_of(request: Tree, job: JobSpec) -> Sweep:
    """The sweep of a tuning job whose training jobs are like ``job``. Raises ValueError for what a sweep has no word for."""
    definition = request.get("TrainingJobDefinition")
    if definition is None:
        raise ValueError("a tuning job of several estimators has no word in a sweep")
    config = request["HyperParameterTuningJobConfig"]
    limits = config["ResourceLimits"]
    objective, band = config["HyperParameterTuningJobObjective"], config.get("StrategyConfig", {})
    auto = [each["Name"] for each in config["ParameterRanges"].get("AutoParameters", ())]
    autotune = request.get("Autotune", {}).get("Mode") == "Enabled"
    fixed = definition.get("StaticHyperParameters", {}).keys() - _OF_THE_TUNER
    return Sweep(
        _tried(definition, job),
        dict(_space(config["ParameterRanges"], encoded=job.script is not None)),
        Objective(objective["MetricName"], Goal(objective["Type"])),
        max_jobs=limits["MaxNumberOfTrainingJobs"],
        parallel=limits["MaxParallelTrainingJobs"],
        max_run_s=limits.get("MaxRuntimeInSeconds"),
        strategy=Strategy(config["Strategy"]),
        hyperband=_hyperband(band["HyperbandStrategyConfig"]) if band else None,
        seed=config.get("RandomSeed"),
        early_stopping=config.get("TrainingJobEarlyStoppingType") == "Auto",
        completion=_completion(config.get("TuningJobCompletionCriteria")),
        warm_start=_warm_start(request.get("WarmStartConfig")),
        clusters=tuple(_clusters(definition)),
        autotune=autotune,
        keep_static=tuple(name for name in job.arguments if name in fixed and name not in auto) if autotune else (),
    )


def _tried(definition: Tree, job: JobSpec) -> JobSpec:
    """The job with the metrics that the tuner measures by."""
    rules = definition["AlgorithmSpecification"].get("MetricDefinitions")
    return (
        job if rules is None else job.replace(metrics=tuple(MetricRule(each["Name"], each["Regex"]) for each in rules))
    )


def _space(ranges: Tree, *, encoded: bool) -> Iterator[tuple[str, Range]]:
    for each in ranges.get("ContinuousParameterRanges", ()):
        scale = Scale(each.get("ScalingType", "Auto"))
        yield each["Name"], Continuous(float(each["MinValue"]), float(each["MaxValue"]), scale=scale)
    for each in ranges.get("IntegerParameterRanges", ()):
        scale = Scale(each.get("ScalingType", "Auto"))
        yield each["Name"], Integer(int(each["MinValue"]), int(each["MaxValue"]), scale=scale)
    for each in ranges.get("CategoricalParameterRanges", ()):
        texts = [json.loads(text) if encoded else text for text in each["Values"]]
        yield each["Name"], Categorical(tuple(_value(str(text)) for text in texts))


def _value(text: str) -> HyperValue:
    """A number that is written as this text, else the text."""
    try:
        number = int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) and str(number) == text else text


def _hyperband(said: Tree) -> Hyperband:
    return Hyperband(min_resource=said["MinResource"], max_resource=said["MaxResource"])


def _completion(said: Tree | None) -> Completion | None:
    if said is None:
        return None
    converged = said.get("ConvergenceDetected", {}).get("CompleteOnConvergence")
    return Completion(
        target=said.get("TargetObjectiveMetricValue"),
        not_improving=said.get("BestObjectiveNotImproving", {}).get("MaxNumberOfTrainingJobsNotImproving"),
        convergence=None if converged is None else converged == "Enabled",
    )


def _warm_start(said: Tree | None) -> WarmStart | None:
    if said is None:
        return None
    parents = tuple(each["HyperParameterTuningJobName"] for each in said["ParentHyperParameterTuningJobs"])
    return WarmStart(parents=parents, kind=WarmStartKind(said["WarmStartType"]))


def _clusters(definition: Tree) -> Iterator[Compute]:
    for each in definition.get("HyperParameterTuningResourceConfig", {}).get("InstanceConfigs", ()):
        yield Compute(each["InstanceType"], count=each["InstanceCount"], volume_gb=each["VolumeSizeInGB"])
