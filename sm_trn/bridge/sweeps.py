"""A tuning job that was recorded, as the sweep that asks for the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..core.errors import SmTrnError
from ..core.render import parse_request
from ..core.specs import tuning
from ..core.specs.compute import Compute
from ..core.specs.job import HyperValue, JobSpec
from ..core.specs.json import Json
from ..core.specs.metrics import MetricRule

Tree: TypeAlias = Mapping[str, Any]
# What a tuning job says of its training jobs in another way than they do.
_ELSEWHERE: Final = frozenset(
    {"StaticHyperParameters", "HyperParameterTuningResourceConfig", "DefinitionName", "TuningObjective"}
)
_CLUSTER: Final = ("InstanceType", "InstanceCount", "VolumeSizeInGB")


def recorded_sweep(request: Mapping[str, Json]) -> tuning.Sweep:
    """Return the sweep of a CreateHyperParameterTuningJob request. Raises SmTrnError for a tuning job of several estimators."""
    if "TrainingJobDefinition" not in request:
        raise SmTrnError("a tuning job of several estimators has no word in a sweep; write a sweep for each estimator")
    return _sweep(request, parse_request(_training_request(dict(request))))


def _training_request(request: Tree) -> Tree:
    """The CreateTrainingJob request that the training jobs have in common: without what is searched for."""
    definition = request["TrainingJobDefinition"]
    training = {name: value for name, value in definition.items() if name not in _ELSEWHERE}
    training["TrainingJobName"] = request["HyperParameterTuningJobName"]
    static = definition.get("StaticHyperParameters", {})
    automatic = request["HyperParameterTuningJobConfig"].get("ParameterRanges", {}).get("AutoParameters", ())
    # What the service chooses for a job that had this value.
    training["HyperParameters"] = {**static, **{each["Name"]: each["ValueHint"] for each in automatic}}
    cluster = definition.get("HyperParameterTuningResourceConfig")
    if cluster is not None:
        (first, *_) = cluster.get("InstanceConfigs") or [cluster]
        training["ResourceConfig"] = {name: first[name] for name in _CLUSTER if name in first}
    if "Tags" in request:
        training["Tags"] = request["Tags"]
    return training


def _sweep(request: Tree, job: JobSpec) -> tuning.Sweep:
    """The sweep of a tuning job whose training jobs are like ``job``."""
    definition = request["TrainingJobDefinition"]
    config = request["HyperParameterTuningJobConfig"]
    limits = config["ResourceLimits"]
    objective = config["HyperParameterTuningJobObjective"]
    band = config.get("StrategyConfig", {}).get("HyperbandStrategyConfig")
    autotune = request.get("Autotune", {}).get("Mode") == "Enabled"
    fixed = definition.get("StaticHyperParameters", {}) if autotune else {}
    return tuning.Sweep(
        _with_metrics(definition, job),
        dict(_space(config["ParameterRanges"], encoded=job.script is not None)),
        tuning.Objective(objective["MetricName"], tuning.Goal(objective["Type"])),
        max_jobs=limits["MaxNumberOfTrainingJobs"],
        parallel=limits["MaxParallelTrainingJobs"],
        max_run_s=limits.get("MaxRuntimeInSeconds"),
        strategy=tuning.Strategy(config["Strategy"]),
        hyperband=band and tuning.Hyperband(min_resource=band["MinResource"], max_resource=band["MaxResource"]),
        seed=config.get("RandomSeed"),
        early_stopping=config.get("TrainingJobEarlyStoppingType") == "Auto",
        completion=_completion(config.get("TuningJobCompletionCriteria")),
        warm_start=_warm_start(request.get("WarmStartConfig")),
        clusters=tuple(_clusters(definition)),
        autotune=autotune,
        keep_static=tuple(name for name in job.arguments if name in fixed),
    )


def _with_metrics(definition: Tree, job: JobSpec) -> JobSpec:
    """The job with the metrics that the tuner measures by."""
    rules = definition["AlgorithmSpecification"].get("MetricDefinitions")
    metrics = tuple(MetricRule(each["Name"], each["Regex"]) for each in rules or ())
    return job if rules is None else job.replace(metrics=metrics)


def _space(ranges: Tree, *, encoded: bool) -> Iterator[tuple[str, tuning.Range]]:
    kinds: tuple[tuple[Any, Any], ...] = ((tuning.Continuous, float), (tuning.Integer, int))
    for kind, number in kinds:
        for each in ranges.get(f"{kind.__name__}ParameterRanges", ()):
            scale = tuning.Scale(each.get("ScalingType", "Auto"))
            yield each["Name"], kind(number(each["MinValue"]), number(each["MaxValue"]), scale=scale)
    for each in ranges.get("CategoricalParameterRanges", ()):
        texts = [json.loads(text) if encoded else text for text in each["Values"]]
        yield each["Name"], tuning.Categorical(tuple(_value(str(text)) for text in texts))


def _value(text: str) -> HyperValue:
    """A number that is written as this text, else the text."""
    try:
        number = int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) and str(number) == text else text


def _completion(said: Tree | None) -> tuning.Completion | None:
    if said is None:
        return None
    converged = said.get("ConvergenceDetected", {}).get("CompleteOnConvergence")
    return tuning.Completion(
        target=said.get("TargetObjectiveMetricValue"),
        not_improving=said.get("BestObjectiveNotImproving", {}).get("MaxNumberOfTrainingJobsNotImproving"),
        convergence=None if converged is None else converged == "Enabled",
    )


def _warm_start(said: Tree | None) -> tuning.WarmStart | None:
    if said is None:
        return None
    parents = tuple(each["HyperParameterTuningJobName"] for each in said["ParentHyperParameterTuningJobs"])
    return tuning.WarmStart(parents=parents, kind=tuning.WarmStartKind(said["WarmStartType"]))


def _clusters(definition: Tree) -> Iterator[Compute]:
    for each in definition.get("HyperParameterTuningResourceConfig", {}).get("InstanceConfigs", ()):
        yield Compute(each["InstanceType"], count=each["InstanceCount"], volume_gb=each["VolumeSizeInGB"])
