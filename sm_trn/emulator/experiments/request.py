"""These types say what the emulator reads of the requests on experiments, in the service's own spelling.

botocore's model has checked a request before it gets one of these types (api/shapes.py): a member that is there is of its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from ..api.paging import ListRequest

if TYPE_CHECKING:
    from ..api.tags import Tag


class Removed(TypedDict, total=False):
    """Of UpdateTrialComponent: keys that go."""

    ParametersToRemove: list[str]
    InputArtifactsToRemove: list[str]
    OutputArtifactsToRemove: list[str]


class ExperimentRequest(Removed, total=False):
    """What names an experiment, a trial or a component, and what a new one has."""

    ExperimentName: str
    TrialName: str
    TrialComponentName: str
    DisplayName: str
    Parameters: dict[str, object]
    InputArtifacts: dict[str, object]
    OutputArtifacts: dict[str, object]
    Tags: list[Tag]


class ExperimentListRequest(ListRequest, total=False):
    """ListExperiments, ListTrials, ListTrialComponents."""

    CreatedAfter: float
    CreatedBefore: float
    ExperimentName: str
    TrialName: str
    TrialComponentName: str
    SourceArn: str


class MetricData(TypedDict, total=False):
    """One value of BatchPutMetrics; the time is in epoch seconds."""

    MetricName: str
    Timestamp: float
    Step: int
    Value: float


class MetricsRequest(TypedDict, total=False):
    """BatchPutMetrics."""

    TrialComponentName: str
    MetricData: list[MetricData]
