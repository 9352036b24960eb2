"""These types say what the emulator reads of the requests on hosted things, in the service's own spelling.

botocore's model has checked a request before it gets one of these types (api/shapes.py): a member that is there is of its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from ..api.tags import Tag
    from ..container.cluster import DataSource, S3Source
    from ..state.resources import Resource


class Container(TypedDict, total=False):
    Image: str
    Mode: str
    ModelDataUrl: str
    ModelDataSource: DataSource
    Environment: dict[str, str]


class Variant(TypedDict, total=False):
    VariantName: str
    ModelName: str
    InitialInstanceCount: int
    InitialVariantWeight: float
    ServerlessConfig: Any


class TransformInput(TypedDict, total=False):
    DataSource: DataSource
    ContentType: str
    CompressionType: str
    SplitType: str


class Transform(TypedDict, total=False):
    """CreateTransformJob."""

    ModelName: str
    Environment: dict[str, str]
    TransformInput: TransformInput
    TransformOutput: dict[str, str]
    BatchStrategy: str
    MaxPayloadInMB: int
    ModelClientConfig: dict[str, int]
    DataProcessing: dict[str, str]


class HostingRequest(Transform, total=False):
    """This is what is read of any request but one for a list; each has the members of its own operation."""

    EndpointName: str
    EndpointConfigName: str
    TransformJobName: str
    PrimaryContainer: Container
    Containers: list[Container]
    ProductionVariants: list[Variant]
    ShadowProductionVariants: list[Variant]
    AsyncInferenceConfig: Any
    DeploymentConfig: Any
    Tags: list[Tag]


def container_of(model: Resource) -> Container:
    """Return the one container of a model."""
    request: HostingRequest = model.request
    containers = request.get("Containers")
    return containers[0] if containers else request["PrimaryContainer"]


def variants_of(config: Resource) -> list[Variant]:
    """Return the variants of an endpoint configuration."""
    request: HostingRequest = config.request
    return request["ProductionVariants"]


def model_data(container: Container) -> tuple[str, S3Source]:
    """Return where a container's model is, empty where it has none, and how it is kept there."""
    source = container.get("ModelDataSource", {}).get("S3DataSource", {})
    return container.get("ModelDataUrl") or source.get("S3Uri", ""), source
