"""These types say what the emulator reads of the requests on training jobs, in the service's own spelling.

botocore's model has checked a request before it gets one of these types (api/shapes.py): a member that is there is of its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from ..api.tags import Tag
    from ..container.cluster import Channel


class Algorithm(TypedDict, total=False):
    TrainingImage: str
    AlgorithmName: str
    TrainingInputMode: str
    ContainerEntrypoint: list[str]
    ContainerArguments: list[str]
    MetricDefinitions: list[dict[str, str]]  # Name and Regex


class InstanceGroup(TypedDict, total=False):
    InstanceGroupName: str
    InstanceType: str
    InstanceCount: int


class Resources(TypedDict, total=False):
    InstanceType: str
    InstanceCount: int
    InstanceGroups: list[InstanceGroup]
    InstancePreferences: list[Any]
    VolumeSizeInGB: int
    KeepAlivePeriodInSeconds: int
    TrainingPlanArn: str


class Echoed(TypedDict, total=False):
    """This is what a describe says as it was sent. HyperParameters is absent, not empty, when none were sent."""

    HyperParameters: dict[str, str]
    AlgorithmSpecification: Algorithm
    RoleArn: str
    ResourceConfig: Resources
    VpcConfig: Any
    StoppingCondition: dict[str, int]
    CheckpointConfig: dict[str, str]
    DebugHookConfig: Any
    DebugRuleConfigurations: Any
    TensorBoardOutputConfig: Any
    ExperimentConfig: Any
    ProfilerConfig: Any
    ProfilerRuleConfigurations: Any
    Environment: dict[str, str]
    RetryStrategy: dict[str, int]
    RemoteDebugConfig: Any
    InfraCheckConfig: Any
    MlflowConfig: Any
    ModelPackageConfig: Any
    TuningJobArn: str  # set by a tuning job, never by a client: the request's shape has no such member


class Flags(TypedDict, total=False):
    """A describe says each of them, false where it was not sent."""

    EnableNetworkIsolation: bool
    EnableInterContainerTrafficEncryption: bool
    EnableManagedSpotTraining: bool


class TrainingRequest(Echoed, Flags, total=False):
    """CreateTrainingJob; the requests that name a job, and UpdateTrainingJob, are parts of it."""

    TrainingJobName: str
    InputDataConfig: list[Channel]
    OutputDataConfig: dict[str, str]
    Tags: list[Tag]
