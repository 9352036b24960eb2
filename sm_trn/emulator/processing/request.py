"""These types say what the emulator reads of the requests on processing jobs, in the service's own spelling.

botocore's model has checked a request before it gets one of these types (api/shapes.py): a member that is there is of its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from ..api.tags import Tag
    from ..container.cluster import S3Source


class S3Input(TypedDict, total=False):
    S3Uri: str
    LocalPath: str
    S3DataType: str
    S3InputMode: str
    S3DataDistributionType: str
    S3CompressionType: str


class Input(TypedDict, total=False):
    InputName: str
    S3Input: S3Input
    DatasetDefinition: Any


class S3Output(TypedDict, total=False):
    S3Uri: str
    LocalPath: str
    S3UploadMode: str


class Output(TypedDict, total=False):
    OutputName: str
    S3Output: S3Output
    FeatureStoreOutput: Any


class OutputConfig(TypedDict, total=False):
    Outputs: list[Output]


class Application(TypedDict, total=False):
    ImageUri: str
    ContainerEntrypoint: list[str]
    ContainerArguments: list[str]


class Cluster(TypedDict, total=False):
    InstanceCount: int
    InstanceType: str
    VolumeSizeInGB: int


class ProcessingRequest(TypedDict, total=False):
    """This is what is read of any request but one for a list; each has the members of its own operation."""

    ProcessingJobName: str
    ProcessingInputs: list[Input]
    ProcessingOutputConfig: OutputConfig
    ProcessingResources: dict[str, Cluster]
    StoppingCondition: dict[str, int]
    AppSpecification: Application
    Environment: dict[str, str]
    RoleArn: str
    Tags: list[Tag]


def source_of(asked: S3Input) -> S3Source:
    """Return an input's data source in the words of a training channel, which say the same."""
    return {
        "S3Uri": asked["S3Uri"],
        "S3DataType": asked.get("S3DataType", "S3Prefix"),
        "S3DataDistributionType": asked.get("S3DataDistributionType", "FullyReplicated"),
    }


def inputs_of(request: ProcessingRequest) -> list[S3Input]:
    """Return the inputs from S3, in the order of the request."""
    return [each["S3Input"] for each in request.get("ProcessingInputs") or () if "S3Input" in each]


def outputs_of(request: ProcessingRequest) -> list[S3Output]:
    """Return the outputs to S3, in the order of the request."""
    config = request.get("ProcessingOutputConfig") or {}
    return [each["S3Output"] for each in config.get("Outputs") or () if "S3Output" in each]
