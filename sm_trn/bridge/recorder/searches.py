"""A tuning job that was recorded, as the sweep that asks for the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...core.errors import SmTrnError
from ...core.fields import Tree
from ...core.render import parse_request
from ...core.specs.json import Json
from ...core.specs.tuning import Sweep
from ..launchers.sweeps import sweep_of

# What a tuning job says of its training jobs in another way than they do.
_ELSEWHERE: Final = frozenset(
    {"StaticHyperParameters", "HyperParameterTuningResourceConfig", "DefinitionName", "TuningObjective"}
)
_CLUSTER: Final = ("InstanceType", "InstanceCount", "VolumeSizeInGB")


def recorded_sweep(request: Mapping[str, Json]) -> Sweep:
    """The sweep of a CreateHyperParameterTuningJob request. Raises SmTrnError for a tuning job of several estimators."""
    try:
        return sweep_of(request, parse_request(_training_request(dict(request))))
    except ValueError as error:
        raise SmTrnError(f"{error}; write a sweep for each estimator") from error


def _training_request(request: Tree) -> Tree:
    """The CreateTrainingJob request that the training jobs have in common: without what is searched for."""
    definition = request.get("TrainingJobDefinition", {})
    trained = {name: value for name, value in definition.items() if name not in _ELSEWHERE}
    trained["TrainingJobName"] = request["HyperParameterTuningJobName"]
    static = definition.get("StaticHyperParameters", {})
    chosen = request["HyperParameterTuningJobConfig"].get("ParameterRanges", {}).get("AutoParameters", ())
    trained["HyperParameters"] = {
        **static,
        **{
            each["Name"]: each["ValueHint"] for each in chosen
        },  # what the service chooses for a job that had this value
    }
    cluster = definition.get("HyperParameterTuningResourceConfig")
    if cluster is not None:
        (first, *_) = cluster.get("InstanceConfigs") or [cluster]
        trained["ResourceConfig"] = {name: first[name] for name in _CLUSTER if name in first}
    if "Tags" in request:
        trained["Tags"] = request["Tags"]
    return trained
