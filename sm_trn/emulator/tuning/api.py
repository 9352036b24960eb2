"""These functions answer SageMaker's operations on hyperparameter tuning jobs.

It checks and records; the runner starts training jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ...core.errors import MissingLibrary
from ...core.extras import expect_library
from ..api.paging import ListRequest, page
from ..api.shapes import given
from ..api.tags import tags_of
from ..errors import validation
from ..state.resources import Resource, Resources, row
from .request import Config, Definition, TuningCluster, TuningRequest, definitions_of
from .search import EPOCHS, grid_size, max_resource, min_resource, needs_optuna, wrong_range
from .trials import Trials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..training.jobs import Jobs
    from ..training.request import TrainingRequest

KIND: Final = "hyper-parameter-tuning-job"
_UNENDED: Final = ("InProgress", "Stopping")
_OF_THE_SEARCH: Final = frozenset(
    {
        "DefinitionName",
        "TuningObjective",
        "HyperParameterRanges",
        "StaticHyperParameters",
        "HyperParameterTuningResourceConfig",
    }
)


class Tuner(Protocol):
    """Whoever runs the search is asked by these names."""

    def check(self, request: TuningRequest) -> None: ...
    def start(self, name: str) -> None: ...
    def stop(self, name: str) -> None: ...


class TuningApi:
    """The operations on tuning jobs. Every one raises AwsError."""

    def __init__(self, resources: Resources, jobs: Jobs, tuner: Tuner) -> None:
        self._resources = resources
        self._jobs = jobs
        self._tuner = tuner

    def create(self, body: TuningRequest) -> dict[str, str]:
        """Answer CreateHyperParameterTuningJob. Raises AwsError for what is not tuned here."""
        _check(body)
        self._tuner.check(body)
        for definition in (*body.get("TrainingJobDefinitions", ()), body.get("TrainingJobDefinition")):
            if definition:
                _name_objective(definition, body["HyperParameterTuningJobConfig"])
        tags = tags_of(body.pop("Tags", []))
        resource = self._resources.add(KIND, body["HyperParameterTuningJobName"], body, tags=tags, status="InProgress")
        self._tuner.start(resource.name)
        return {"HyperParameterTuningJobArn": resource.arn}

    def describe(self, body: TuningRequest) -> dict[str, object]:
        resource = self._get(body)
        trials = Trials(resource, self._jobs)
        best = trials.best()
        request: TuningRequest = resource.request
        return {
            **request,
            **given(
                TrainingJobDefinition=_answered(request["TrainingJobDefinition"])
                if "TrainingJobDefinition" in request
                else None
            ),
            **row(resource),
            **trials.counters(),
            **given(BestTrainingJob=trials.summary(*best) if best else None),
        }

    def listed(self, body: ListRequest) -> dict[str, object]:
        """Answer ListHyperParameterTuningJobs. Raises AwsError for a token that is none."""

        def searched(resource: Resource) -> dict[str, object]:
            config: Config = resource.request["HyperParameterTuningJobConfig"]
            limits = {"Strategy": config["Strategy"], "ResourceLimits": config["ResourceLimits"]}
            return {**limits, **Trials(resource, self._jobs).counters()}

        return self._resources.listed(KIND, body, searched)

    def training_jobs(self, body: TuningRequest) -> dict[str, object]:
        """Answer ListTrainingJobsForHyperParameterTuningJob. Raises AwsError for a token that is none."""
        trials, wanted = Trials(self._get(body), self._jobs), body.get("StatusEquals")
        by, rows = body.get("SortBy", "Name"), list(trials.rows)
        if by == "FinalObjectiveMetricValue":  # the API reference: only jobs that returned one are listed
            rows = [row for row in rows if trials.value(*row) > float("-inf")]
            rows.sort(key=lambda row: trials.value(*row))
        else:
            keys = {"Name": "name", "CreationTime": "created", "Status": "status"}
            rows.sort(key=lambda row: getattr(row[1], keys[by]))
        if body.get("SortOrder") == "Descending":
            rows.reverse()
        known = {job.name: trial for trial, job in rows}
        jobs = [job for _, job in rows if wanted in {None, job.status}]
        shown, more = page(jobs, body.get("NextToken"), body.get("MaxResults"))
        return {"TrainingJobSummaries": [trials.summary(known[job.name], job) for job in shown], **more}

    def stop(self, body: TuningRequest) -> dict[str, str]:
        """Answer StopHyperParameterTuningJob. Raises AwsError for a job that has ended."""
        resource = self._get(body)
        if resource.status not in _UNENDED:
            raise validation(f"The request was rejected because the tuning job is in status {resource.status}.")
        self._tuner.stop(resource.name)
        return {}

    def delete(self, body: TuningRequest) -> dict[str, str]:
        """Answer DeleteHyperParameterTuningJob; its training jobs stay. Raises AwsError for a job that still runs."""
        resource = self._get(body)
        if resource.status in _UNENDED:
            raise validation(f"The request was rejected because the tuning job is in status {resource.status}.")
        self._resources.remove(KIND, resource.name)
        return {}

    def _get(self, body: TuningRequest) -> Resource:
        return self._resources.get(KIND, body["HyperParameterTuningJobName"])


def _check(body: TuningRequest) -> None:
    config = body["HyperParameterTuningJobConfig"]
    if body.get("WarmStartConfig"):
        raise validation("WarmStartConfig: the emulator's search knows its own training jobs alone")
    if (body.get("Autotune") or {}).get("Mode") == "Enabled":
        raise validation("Autotune: the emulator chooses no ranges; give ParameterRanges")
    if config["Strategy"] == "Hyperband" and config.get("TrainingJobEarlyStoppingType") == "Auto":
        raise validation("TrainingJobEarlyStoppingType: got Auto beside Hyperband, wanted Off")
    if needs_optuna(config):
        _expect_optuna()
    if bool(body.get("TrainingJobDefinition")) == bool(body.get("TrainingJobDefinitions")):
        raise validation("give exactly one of TrainingJobDefinition and TrainingJobDefinitions")
    for each in definitions_of(body):
        _check_definition(config, each)
        if config["Strategy"] == "Hyperband":
            _check_resource(min_resource(body), max_resource(body, each))


def _check_resource(least: int, most: int | None) -> None:
    """Raise AwsError for epochs between which Hyperband cannot choose."""
    if most is None:
        epochs = ", ".join(EPOCHS)
        raise validation(f"HyperbandStrategyConfig: MaxResource is missing, and none of {epochs} says it")
    if least > most:
        raise validation(f"HyperbandStrategyConfig: MinResource: got {least}, wanted at most MaxResource, {most}")


def _expect_optuna() -> None:
    """Raise AwsError where Optuna, which chooses the values here, is not installed."""
    try:
        expect_library("optuna", "tune", "Strategy: Optuna chooses the values here, so this search")
    except MissingLibrary as error:
        raise validation(str(error)) from None


def _check_definition(config: Config, each: Definition) -> None:
    name = each.get("DefinitionName", "TrainingJobDefinition")
    ranges = each["HyperParameterRanges"]
    numbers = ranges.get("IntegerParameterRanges") or ranges.get("ContinuousParameterRanges")
    if bool(each.get("ResourceConfig")) == bool(each.get("HyperParameterTuningResourceConfig")):
        raise validation(f"{name}: give exactly one of ResourceConfig and HyperParameterTuningResourceConfig")
    if ranges.get("AutoParameters"):
        raise validation(f"{name}: AutoParameters: the emulator chooses no ranges")
    if not each.get("TuningObjective"):
        raise validation(f"{name}: the objective is missing; give HyperParameterTuningJobObjective")
    if not numbers and not ranges.get("CategoricalParameterRanges"):
        raise validation(f"{name}: no hyperparameter has a range; give ParameterRanges")
    if config["Strategy"] == "Grid" and numbers:
        raise validation(f"{name}: a Grid has categorical parameters only")
    if wrong := wrong_range(ranges):
        raise validation(f"{name}: {wrong}")
    asked = config["ResourceLimits"].get("MaxNumberOfTrainingJobs")
    if config["Strategy"] == "Grid" and asked not in {None, grid_size(ranges)}:
        raise validation(
            f"ResourceLimits.MaxNumberOfTrainingJobs: got {asked}, wanted {grid_size(ranges)}, all of the grid"
        )


def _answered(definition: Definition) -> Definition:
    """A definition as SDK v2's ``attach`` reads it: with the cluster in a training job's words too, though its ``fit`` gave it in the
    other ones alone (sagemaker/tuner.py, _prepare_estimator). No answer of the service was seen."""
    cluster = definition.get("HyperParameterTuningResourceConfig")
    if cluster is None or "InstanceConfigs" in cluster:
        return definition
    answered = definition.copy()
    answered["ResourceConfig"] = _cluster(cluster)  # type: ignore[typeddict-item]  # the same members
    return answered


def _name_objective(definition: Definition, config: Config) -> None:
    """The objective's name stands among the static hyperparameters: SDK v2's ``attach`` deletes it there (sagemaker/tuner.py)."""
    objective = definition.get("TuningObjective") or config.get("HyperParameterTuningJobObjective") or {}
    static = definition.get("StaticHyperParameters") or {}
    definition["StaticHyperParameters"] = {**static, "_tuning_objective_metric": objective.get("MetricName", "")}


def training_request(body: TuningRequest, number: int, name: str) -> TrainingRequest:
    """Return the request of a training job without its tuned values, from the definition whose turn it is."""
    definitions = definitions_of(body)
    definition = definitions[number % len(definitions)]
    chosen = {member: value for member, value in definition.items() if member not in _OF_THE_SEARCH}
    if cluster := definition.get("HyperParameterTuningResourceConfig"):
        chosen["ResourceConfig"] = _cluster(cluster)
    made: TrainingRequest = {"TrainingJobName": name, **chosen}  # type: ignore[typeddict-item]  # what is left is a training job's
    made["HyperParameters"] = dict(definition.get("StaticHyperParameters") or {})
    return made


def _cluster(asked: TuningCluster) -> Mapping[str, object]:
    """What runs a job of the search: the first of several choices, for here each has capacity."""
    common = {name: value for name, value in asked.items() if name not in {"InstanceConfigs", "AllocationStrategy"}}
    choices = asked.get("InstanceConfigs")
    return {**common, **(choices[0] if choices else {})}
