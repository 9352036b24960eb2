"""The CreateHyperParameterTuningJob request of a sweep: the same, field by field, that SDK v2's HyperparameterTuner sends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ..core.catalog import limits
from ..core.fields import Tree
from ..core.render import request as target
from ..core.render.sdk_v2 import estimator_class
from ..core.specs.destination import Destination
from ..core.specs.job import HyperValue, JobSpec
from ..core.specs.json import Json
from ..core.specs.tuning import Categorical, Completion, Continuous, Integer, Range, Sweep

DEFINITION: Final = "HyperParameterTrainingJobDefinition"
ALGORITHM: Final = "HyperParameterAlgorithmSpecification"
CLUSTER: Final = "HyperParameterTuningResourceConfig"
# Members of CreateTrainingJob that a tuning job says elsewhere, or that mean nothing new.
ELSEWHERE: Final = frozenset({"TrainingJobName", "HyperParameters", "Tags"})
# What a tuning job writes into the hyperparameters of its training jobs: SDK v2, tuner.py, and the service itself.
CLASS_NAME, CLASS_MODULE = "sagemaker_estimator_class_name", "sagemaker_estimator_module"
OF_THE_SEARCH: Final = frozenset({CLASS_NAME, CLASS_MODULE, "_tuning_objective_metric"})
OFF: Final = {
    "ProfilerConfig": {"DisableProfiler": True}
}  # said by SDK v2's training jobs alone: there is no profiler anyway


def tuning_request(sweep: Sweep, at: Destination) -> Tree:
    """The request as a dict; ``at.job_name`` is the name of the tuning job. Raises UnknownName where the job's image is not known.

    Kept parts of the job stand in it as far as a tuning job has their members.
    """
    parts = _Asked(sweep, _trained(sweep, at))
    request: Tree = {
        "HyperParameterTuningJobName": at.named(sweep.job),
        "HyperParameterTuningJobConfig": parts.config(),
        "TrainingJobDefinition": parts.definition(),
    }
    if sweep.warm_start is not None:
        request["WarmStartConfig"] = {
            "WarmStartType": sweep.warm_start.kind.value,
            "ParentHyperParameterTuningJobs": [
                {"HyperParameterTuningJobName": parent} for parent in sweep.warm_start.parents
            ],
        }
    if sweep.autotune:
        request["Autotune"] = {"Mode": "Enabled"}
    if "Tags" in parts.trained:
        request["Tags"] = parts.trained["Tags"]
    return request


def lost_members(sweep: Sweep, at: Destination) -> Iterator[str]:
    """The members of the job's own request that a tuning job has no word for: what they ask for does not happen."""
    trained = _trained(sweep, at)
    for name in sorted(trained.keys() - _members(DEFINITION) - ELSEWHERE):
        if trained[name] != OFF.get(name):
            yield name
    algorithm = _members(ALGORITHM) | {"EnableSageMakerMetricsTimeSeries"}
    for name in sorted(trained.get("AlgorithmSpecification", {}).keys() - algorithm):
        yield f"AlgorithmSpecification.{name}"


def encoded(job: JobSpec, value: HyperValue) -> str:
    """A categorical value as a tuning job says it: SDK v2 makes a text of it, and JSON of that where the toolkit reads it.

    >>> encoded(job, 16)
    '"16"'
    """
    return str(value) if job.script is None else json.dumps(str(value))


def decoded(sweep: Sweep, tuned: Mapping[str, str]) -> dict[str, HyperValue]:
    """The values that a training job of the sweep was given, as the job's hyperparameters.

    One that autotune chose is not in the space: it stays what its text says.
    """
    return {name: _value(sweep, name, text) for name, text in tuned.items()}


def _value(sweep: Sweep, name: str, text: str) -> HyperValue:
    values = sweep.space.get(name)
    if isinstance(values, Integer):
        return int(float(text))
    if isinstance(values, Continuous):
        return float(text)
    if isinstance(values, Categorical):
        words = {encoded(sweep.job, value): value for value in values.values}
        return words.get(text, text)
    return text


def _trained(sweep: Sweep, at: Destination) -> Tree:
    """The request of a training job of its own, without anything tuned."""
    return target.render(sweep.job.replace(metrics=sweep.rules), at)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A sweep, and the request of a training job of its own, from which the parts of a tuning job are made."""

    sweep: Sweep
    trained: Tree

    def definition(self) -> Tree:
        """Return the definition that all training jobs share."""
        definition = {name: value for name, value in self.trained.items() if name in _members(DEFINITION)}
        algorithm = self.trained.get("AlgorithmSpecification", {})
        definition["AlgorithmSpecification"] = {
            name: value for name, value in algorithm.items() if name in _members(ALGORITHM)
        }
        automatic = self._automatic()
        static = self._static()
        definition["StaticHyperParameters"] = {name: text for name, text in static.items() if name not in automatic}
        cluster = definition.pop("ResourceConfig", {})
        return definition | self._cluster(cluster)

    def _static(self) -> dict[str, str]:
        """The hyperparameters that are not tuned, and the class of the estimator, for ``HyperparameterTuner.attach``."""
        sent: dict[str, str] = self.trained.get("HyperParameters", {})
        static = {name: text for name, text in sent.items() if name not in self.sweep.space}
        if self.sweep.job.script is not None:
            package, _, name = estimator_class(self.sweep.job).rpartition(".")
            static |= {CLASS_NAME: json.dumps(name), CLASS_MODULE: json.dumps(f"{package}.estimator")}
        return static

    def _automatic(self) -> dict[str, str]:
        """The hyperparameters whose ranges autotune chooses: the job's own. What the toolkit reads stays as it is."""
        if not self.sweep.autotune:
            return {}
        own = self.sweep.job.arguments.keys() - set(self.sweep.keep_static)
        return {name: text for name, text in self._static().items() if name in own}

    def _cluster(self, cluster: Tree) -> Tree:
        """Where the training jobs run. What SDK v2's words do not say, such as groups, is said in the words of a training job."""
        if self.sweep.clusters:
            key = {"VolumeKmsKeyId": cluster["VolumeKmsKeyId"]} if "VolumeKmsKeyId" in cluster else {}
            choices = [
                {"InstanceType": each.instance, "InstanceCount": each.count, "VolumeSizeInGB": each.volume_gb}
                for each in self.sweep.clusters
            ]
            return {CLUSTER: {**key, "InstanceConfigs": choices}}
        return {CLUSTER: cluster} if cluster.keys() <= _members(CLUSTER) else {"ResourceConfig": cluster}

    def config(self) -> Tree:
        """How the search goes on, and over which ranges."""
        sweep = self.sweep
        resources = {"MaxNumberOfTrainingJobs": sweep.jobs, "MaxParallelTrainingJobs": sweep.parallel}
        config: Tree = {
            "Strategy": sweep.strategy.value,
            "HyperParameterTuningJobObjective": {
                "Type": sweep.objective.goal.value,
                "MetricName": sweep.objective.name,
            },
            "ResourceLimits": resources,
            "ParameterRanges": self._ranges(),
            "TrainingJobEarlyStoppingType": "Auto" if sweep.early_stopping else "Off",
        }
        if sweep.max_run_s is not None:
            resources["MaxRuntimeInSeconds"] = sweep.max_run_s
        if sweep.seed is not None:
            config["RandomSeed"] = sweep.seed
        if sweep.hyperband is not None:
            least, most = sweep.hyperband.min_resource, sweep.hyperband.max_resource
            config["StrategyConfig"] = {"HyperbandStrategyConfig": {"MinResource": least, "MaxResource": most}}
        if sweep.completion is not None:
            config["TuningJobCompletionCriteria"] = _completion(sweep.completion)
        return config

    def _ranges(self) -> dict[str, list[Json]]:
        """The ranges by their kind; every kind is said, be it empty: ``HyperparameterTuner.attach`` looks for each."""
        ranges: dict[str, list[Json]] = {
            "ContinuousParameterRanges": [],
            "CategoricalParameterRanges": [],
            "IntegerParameterRanges": [],
        }
        for name, values in self.sweep.space.items():
            ranges[f"{type(values).__name__}ParameterRanges"].append(_range(self.sweep.job, name, values))
        if self.sweep.autotune:
            ranges["AutoParameters"] = [{"Name": name, "ValueHint": text} for name, text in self._automatic().items()]
        return ranges


def _completion(criteria: Completion) -> Tree:
    words: Tree = {}
    if criteria.not_improving is not None:
        words["BestObjectiveNotImproving"] = {"MaxNumberOfTrainingJobsNotImproving": criteria.not_improving}
    if criteria.convergence is not None:
        words["ConvergenceDetected"] = {"CompleteOnConvergence": "Enabled" if criteria.convergence else "Disabled"}
    if criteria.target is not None:
        words["TargetObjectiveMetricValue"] = criteria.target
    return words


def _range(job: JobSpec, name: str, values: Range) -> Json:
    if isinstance(values, Categorical):
        return {"Name": name, "Values": [encoded(job, value) for value in values.values]}
    return {
        "Name": name,
        "MinValue": str(values.low),
        "MaxValue": str(values.high),
        "ScalingType": values.scale.value,
    }


def _members(shape: str) -> frozenset[str]:
    """The members of a shape of the service's own model."""
    return frozenset(limits.shapes()[shape]["members"])
