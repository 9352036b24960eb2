"""These functions answer SageMaker's operations on models, endpoints and transform jobs, and InvokeEndpoint.

It checks and records; endpoints and transforms do the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..api.paging import ListRequest
from ..api.shapes import given
from ..api.tags import tags_of
from ..errors import AwsError, validation
from ..s3.object_store import parse_s3_uri
from ..state.resources import KINDS, Resource, Resources, row
from .request import HostingRequest, container_of, model_data, variants_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..s3.object_store import ObjectStore
    from .endpoints import Endpoints
    from .transforms import Transforms

LARGEST_BODY: Final = 6 * 2**20  # Body of InvokeEndpoint, in the API's own model
_DEPLOYMENT: Final = "DeploymentConfig"  # an endpoint's; the only member that a describe has under another name


class HostingApi:
    """The operations on what is hosted. Every one raises AwsError. ``kind`` is one of KINDS."""

    def __init__(
        self, resources: Resources, objects: ObjectStore, endpoints: Endpoints, transforms: Transforms
    ) -> None:
        self._resources = resources
        self._objects = objects
        self._endpoints = endpoints
        self._transforms = transforms

    def invoke(self, name: str, body: bytes, headers: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
        """Return headers and body of InvokeEndpoint's answer; ``headers`` have lower-case names. Raises AwsError."""
        if len(body) > LARGEST_BODY:
            raise AwsError("ValidationError", f"the body has {len(body)} bytes, more than {LARGEST_BODY}", 413)
        sent = {"Content-Type": headers.get("content-type") or "application/json", "Accept": headers.get("accept", "")}
        attributes = headers.get("x-amzn-sagemaker-custom-attributes")
        if attributes:
            sent["X-Amzn-SageMaker-Custom-Attributes"] = attributes
        for unknown in ("target-model", "target-container-hostname", "inference-component"):
            if f"x-amzn-sagemaker-{unknown}" in headers:
                raise AwsError("ValidationError", f"the emulator hosts one model in a container: no {unknown}")
        target = headers.get("x-amzn-sagemaker-target-variant", "")
        variant, reply = self._endpoints.invoke(name, body, sent, target)
        return {"Content-Type": reply.content_type, "x-Amzn-Invoked-Production-Variant": variant}, reply.body

    # --- create, update, delete ---

    def create_model(self, body: HostingRequest) -> dict[str, str]:
        """Answer CreateModel. Raises AwsError for what is not hosted here."""
        containers = [
            *body.get("Containers", ()),
            *([body["PrimaryContainer"]] if body.get("PrimaryContainer") else ()),
        ]
        if len(containers) != 1:
            raise validation(
                "the emulator hosts models of one container, no inference pipelines; give PrimaryContainer"
            )
        if containers[0].get("Mode") == "MultiModel":
            raise validation("the emulator hosts one model in a container, no multi-model endpoints")
        uri, _ = model_data(containers[0])
        if uri:
            bucket, key = parse_s3_uri(uri)
            self._objects.ready.wait()
            if not self._objects.keys(bucket, key):
                raise validation(f"Could not find model data at {uri}.")
        return {"ModelArn": self._add("model", body["ModelName"], body).arn}

    def create_config(self, body: HostingRequest) -> dict[str, str]:
        """Answer CreateEndpointConfig. Raises AwsError for what is not hosted here."""
        if body.get("ShadowProductionVariants") or body.get("AsyncInferenceConfig"):
            unknown = "ShadowProductionVariants" if body.get("ShadowProductionVariants") else "AsyncInferenceConfig"
            raise validation(f"the emulator hosts real-time variants only, no {unknown}")
        for variant in body["ProductionVariants"]:
            if variant.get("ServerlessConfig"):
                raise validation("the emulator hosts instances only, no ServerlessConfig")
            if not variant.get("ModelName"):
                raise validation(f"variant {variant['VariantName']!r}: ModelName is missing")
            self._get("model", variant["ModelName"])
        return {"EndpointConfigArn": self._add("endpoint-config", body["EndpointConfigName"], body).arn}

    def create_endpoint(self, body: HostingRequest) -> dict[str, str]:
        config = body["EndpointConfigName"]
        self._get("endpoint-config", config)
        resource = self._add("endpoint", body["EndpointName"], body, status="Creating", facts={"config": config})
        self._endpoints.create(resource.name)
        return {"EndpointArn": resource.arn}

    def update_endpoint(self, body: HostingRequest) -> dict[str, str]:
        """Answer UpdateEndpoint. Raises AwsError for an endpoint that is changing."""
        resource = self._get("endpoint", body["EndpointName"])
        self._get("endpoint-config", body["EndpointConfigName"])
        if resource.status != "InService":
            raise validation(f'Cannot update in-progress endpoint "{resource.arn}".')
        if _DEPLOYMENT in body:
            request = {**resource.request, _DEPLOYMENT: body[_DEPLOYMENT]}
            self._resources.change("endpoint", resource.name, request=request)
        self._endpoints.update(resource.name, body["EndpointConfigName"])
        return {"EndpointArn": resource.arn}

    def delete_endpoint(self, body: HostingRequest) -> dict[str, str]:
        resource = self._get("endpoint", body["EndpointName"])
        if resource.status != "Deleting":
            self._endpoints.delete(resource.name)
        return {}

    def delete_model(self, body: HostingRequest) -> dict[str, str]:
        return self._drop("model", body["ModelName"])

    def delete_config(self, body: HostingRequest) -> dict[str, str]:
        return self._drop("endpoint-config", body["EndpointConfigName"])

    def create_transform(self, body: HostingRequest) -> dict[str, str]:
        """Answer CreateTransformJob. Raises AwsError for a transform of another kind than these."""
        self._get("model", body["ModelName"])
        asked, joined = body["TransformInput"], body.get("DataProcessing", {})
        if asked["DataSource"].get("S3DataSource", {}).get("S3DataType") != "S3Prefix":
            raise validation("TransformInput: the emulator reads S3Prefix data only")
        if asked.get("SplitType", "None") not in {"None", "Line"}:
            raise validation("TransformInput.SplitType: the emulator splits by Line, or not at all")
        if {joined.get("InputFilter", "$"), joined.get("OutputFilter", "$")} != {"$"}:
            raise validation("DataProcessing: the emulator joins, but it filters nothing")
        by_line = (asked.get("SplitType"), body["TransformOutput"].get("AssembleWith")) == ("Line", "Line")
        if joined.get("JoinSource", "None") != "None" and not by_line:
            raise validation(
                "DataProcessing.JoinSource: the emulator joins lines; give SplitType and AssembleWith Line"
            )
        resource = self._add("transform-job", body["TransformJobName"], body, status="InProgress")
        self._transforms.start(resource.name)
        return {"TransformJobArn": resource.arn}

    def stop_transform(self, body: HostingRequest) -> dict[str, str]:
        """Answer StopTransformJob. Raises AwsError for a transform that has ended."""
        resource = self._get("transform-job", body["TransformJobName"])
        if resource.status not in {"InProgress", "Stopping"}:
            raise validation(f"The request was rejected because the transform job is in status {resource.status}.")
        self._transforms.stop(resource.name)
        return {}

    # --- describe, list, tags ---

    def describe(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a describe of any kind: what was sent, and what became of it."""
        resource = self._get(kind, body[f"{KINDS[kind].word}Name"])
        hidden = {f"{KINDS[kind].word}Name", "EndpointConfigName", _DEPLOYMENT}
        sent = {name: value for name, value in resource.request.items() if name not in hidden}
        answer = {**sent, **row(resource)}
        if kind == "endpoint":
            answer |= self._deployed(resource)
        elif kind == "transform-job":
            answer.pop("LastModifiedTime", None)
            answer = {"BatchStrategy": "MultiRecord", "MaxPayloadInMB": 6, **answer}
        return answer

    def _deployed(self, resource: Resource) -> dict[str, Any]:
        config = str(resource.facts["config"])
        found = self._resources.find("endpoint-config", config)
        rows = []
        for variant in variants_of(found) if found and resource.status != "Creating" else ():
            model = self._resources.find("model", variant["ModelName"])
            image = container_of(model).get("Image") if model else None
            count, weight = variant.get("InitialInstanceCount", 1), float(variant.get("InitialVariantWeight", 1.0))
            rows.append(
                {
                    "VariantName": variant["VariantName"],
                    "DeployedImages": [{"SpecifiedImage": image, "ResolvedImage": image}] if image else [],
                    "CurrentWeight": weight,
                    "DesiredWeight": weight,
                    "CurrentInstanceCount": count,
                    "DesiredInstanceCount": count,
                }
            )
        last = resource.request.get(_DEPLOYMENT)
        return given(EndpointConfigName=config, LastDeploymentConfig=last, ProductionVariants=rows or None)

    def listed(self, kind: str, body: ListRequest) -> dict[str, object]:
        """Answer a list of any kind. Raises AwsError for a token that is none."""
        return self._resources.listed(kind, body)

    def _get(self, kind: str, name: str) -> Resource:
        return self._resources.get(kind, name)

    def _drop(self, kind: str, name: str) -> dict[str, str]:
        self._resources.remove(kind, self._get(kind, name).name)
        return {}

    def _add(
        self, kind: str, name: str, body: HostingRequest, *, status: str = "", facts: Mapping[str, str] | None = None
    ) -> Resource:
        return self._resources.add(kind, name, body, tags=tags_of(body.pop("Tags", [])), status=status, facts=facts)
