"""Models, endpoints and transform jobs of one region."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..service import INVOCATIONS, Handler, HttpAnswer, ReadBody, RegionParts, Service
from .api import HostingApi
from .endpoints import Endpoints
from .transforms import Transforms


class HostingService(Service):
    """It starts model servers, and ends them."""

    def __init__(self, parts: RegionParts) -> None:
        self._endpoints = Endpoints(parts.resources, parts.lines, parts.context)
        self._transforms = Transforms(parts.resources, parts.lines, parts.context)
        self._api = HostingApi(parts.resources, parts.shared.objects, self._endpoints, self._transforms)
        self.operations = operations(self._api)

    def answer(self, method: str, path: str, body: ReadBody, fields: Mapping[str, str]) -> HttpAnswer | None:
        """Answer InvokeEndpoint. Raises AwsError."""
        match = INVOCATIONS.fullmatch(path)
        return self._api.invoke(match[1], body(), fields) if match is not None and method == "POST" else None

    def restore(self) -> None:
        self._transforms.restore()
        self._endpoints.restore()

    def shutdown(self) -> None:
        self._endpoints.shutdown()
        self._transforms.shutdown()


def operations(hosting: HostingApi) -> Mapping[str, Handler]:
    """The operations on what is hosted."""
    return {
        "CreateModel": hosting.create_model,
        "DescribeModel": partial(hosting.describe, "model"),
        "ListModels": partial(hosting.listed, "model"),
        "DeleteModel": hosting.delete_model,
        "CreateEndpointConfig": hosting.create_config,
        "DescribeEndpointConfig": partial(hosting.describe, "endpoint-config"),
        "ListEndpointConfigs": partial(hosting.listed, "endpoint-config"),
        "DeleteEndpointConfig": hosting.delete_config,
        "CreateEndpoint": hosting.create_endpoint,
        "DescribeEndpoint": partial(hosting.describe, "endpoint"),
        "ListEndpoints": partial(hosting.listed, "endpoint"),
        "UpdateEndpoint": hosting.update_endpoint,
        "DeleteEndpoint": hosting.delete_endpoint,
        "CreateTransformJob": hosting.create_transform,
        "DescribeTransformJob": partial(hosting.describe, "transform-job"),
        "ListTransformJobs": partial(hosting.listed, "transform-job"),
        "StopTransformJob": hosting.stop_transform,
    }
