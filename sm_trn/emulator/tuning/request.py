"""These types say what the emulator reads of the requests on tuning jobs, in the service's own spelling.

botocore's model has checked a request before it gets one of these types (api/shapes.py): a member that is there is of its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from ..training.request import TrainingRequest

if TYPE_CHECKING:
    from ..api.tags import Tag


class Objective(TypedDict, total=False):
    Type: str
    MetricName: str


class NumberRange(TypedDict, total=False):
    Name: str
    MinValue: str
    MaxValue: str
    ScalingType: str


class Choice(TypedDict, total=False):
    Name: str
    Values: list[str]


class Ranges(TypedDict, total=False):
    IntegerParameterRanges: list[NumberRange]
    ContinuousParameterRanges: list[NumberRange]
    CategoricalParameterRanges: list[Choice]
    AutoParameters: list[Any]


class Config(TypedDict, total=False):
    Strategy: str
    StrategyConfig: dict[str, dict[str, int]]
    TrainingJobEarlyStoppingType: str
    HyperParameterTuningJobObjective: Objective
    ResourceLimits: dict[str, int]
    ParameterRanges: Ranges
    TuningJobCompletionCriteria: dict[str, Any]
    RandomSeed: int


class TuningCluster(TypedDict, total=False):
    """What SDK v2's tuner gives in place of a ResourceConfig: one cluster, or several to choose from."""

    InstanceType: str
    InstanceCount: int
    VolumeSizeInGB: int
    VolumeKmsKeyId: str
    AllocationStrategy: str
    InstanceConfigs: list[dict[str, object]]


class Definition(TrainingRequest, total=False):
    """A training job's request without its name, and what is varied of it."""

    DefinitionName: str
    TuningObjective: Objective
    HyperParameterRanges: Ranges
    StaticHyperParameters: dict[str, str]
    HyperParameterTuningResourceConfig: TuningCluster


class TuningRequest(TypedDict, total=False):
    """This is what is read of any request but one for a list; each has the members of its own operation."""

    HyperParameterTuningJobName: str
    HyperParameterTuningJobConfig: Config
    TrainingJobDefinition: Definition
    TrainingJobDefinitions: list[Definition]
    WarmStartConfig: Any
    Autotune: dict[str, str]
    Tags: list[Tag]
    StatusEquals: str
    SortBy: str
    SortOrder: str
    MaxResults: int
    NextToken: str


def definitions_of(request: TuningRequest) -> list[Definition]:
    """Return the definitions, one or several, each with its ranges and its objective."""
    config = request["HyperParameterTuningJobConfig"]
    given = request.get("TrainingJobDefinitions") or [request["TrainingJobDefinition"]]
    found = []
    for each in given:
        made = each.copy()
        made.setdefault("HyperParameterRanges", config.get("ParameterRanges") or {})
        if "TuningObjective" not in made and "HyperParameterTuningJobObjective" in config:
            made["TuningObjective"] = config["HyperParameterTuningJobObjective"]
        found.append(made)
    return found
