"""These functions answer SageMaker's operations on models and endpoints, and InvokeEndpoint.

It checks and records; the endpoints do the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..api.tags import tags_of
from ..errors import AwsError, validation
from ..objects import parse_s3_uri
from ..state.resources import KINDS, Resource, Resources, row
from .request import container_of, model_data, variant_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..api.shapes import Body
    from ..objects import Objects
    from .endpoints import Endpoints

LARGEST_BODY: Final = 6 * 2**20  # Body of InvokeEndpoint, in the API's own model


class HostingApi:
    """The operations on what is hosted. Every one raises AwsError. ``kind`` is one of KINDS."""

    def __init__(self, resources: Resources, objects: Objects, endpoints: Endpoints) -> None:
        self._resources = resources
        self._objects = objects
        self._endpoints = endpoints

    def invoke(self, name: str, body: bytes, headers: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
        """Return headers and body of InvokeEndpoint's answer; ``headers`` have lower-case names. Raises AwsError."""
        if len(body) > LARGEST_BODY:
            raise AwsError("ValidationError", f"the body has {len(body)} bytes, more than {LARGEST_BODY}", 413)
        sent = {"Content-Type": headers.get("content-type") or "application/json", "Accept": headers.get("accept", "")}
        attributes = headers.get("x-amzn-sagemaker-custom-attributes")
        if attributes:
            sent["X-Amzn-SageMaker-Custom-Attributes"] = attributes
        for unknown in ("target-model", "target-container-hostname", "inference-component", "target-variant"):
            if f"x-amzn-sagemaker-{unknown}" in headers:
                raise AwsError("ValidationError", f"the emulator hosts one model in a container: no {unknown}")
        reply = self._endpoints.invoke(name, body, sent)
        config = self._resources.get("endpoint-config", str(self._resources.get("endpoint", name).facts["config"]))
        variant = variant_of(config)["VariantName"]
        return {"Content-Type": reply.content_type, "x-Amzn-Invoked-Production-Variant": variant}, reply.body

    # --- create, delete ---

    def create_model(self, body: Body) -> dict[str, str]:
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

    def create_config(self, body: Body) -> dict[str, str]:
        """Answer CreateEndpointConfig. Raises AwsError for what is not hosted here."""
        if body.get("ShadowProductionVariants") or body.get("AsyncInferenceConfig"):
            unknown = "ShadowProductionVariants" if body.get("ShadowProductionVariants") else "AsyncInferenceConfig"
            raise validation(f"the emulator hosts real-time variants only, no {unknown}")
        if len(body["ProductionVariants"]) != 1:
            raise validation("the emulator hosts one variant of an endpoint; give one in ProductionVariants")
        variant = body["ProductionVariants"][0]
        if variant.get("ServerlessConfig"):
            raise validation("the emulator hosts instances only, no ServerlessConfig")
        if not variant.get("ModelName"):
            raise validation(f"variant {variant['VariantName']!r}: ModelName is missing")
        self._resources.get("model", variant["ModelName"])
        return {"EndpointConfigArn": self._add("endpoint-config", body["EndpointConfigName"], body).arn}

    def create_endpoint(self, body: Body) -> dict[str, str]:
        config = body["EndpointConfigName"]
        self._resources.get("endpoint-config", config)
        self._objects.save()  # the model: the endpoint comes back after a kill
        resource = self._add("endpoint", body["EndpointName"], body, status="Creating", facts={"config": config})
        self._endpoints.create(resource.name)
        return {"EndpointArn": resource.arn}

    def delete_endpoint(self, body: Body) -> dict[str, str]:
        resource = self._resources.get("endpoint", body["EndpointName"])
        if resource.status != "Deleting":
            self._endpoints.delete(resource.name)
        return {}

    def delete(self, kind: str, body: Mapping[str, Any]) -> dict[str, str]:
        """Delete a model, or a configuration. Raises AwsError where there is none."""
        name = body[f"{KINDS[kind].word}Name"]
        self._resources.remove(kind, self._resources.get(kind, name).name)
        return {}

    # --- describe, list, tags ---

    def describe(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a describe of any kind: what was sent, and what became of it."""
        resource = self._resources.get(kind, body[f"{KINDS[kind].word}Name"])
        hidden = {f"{KINDS[kind].word}Name", "EndpointConfigName", "DeploymentConfig"}
        sent = {name: value for name, value in resource.request.items() if name not in hidden}
        answer = {**sent, **row(resource)}
        if kind == "endpoint":
            answer |= self._deployed(resource)
        return answer

    def _deployed(self, resource: Resource) -> dict[str, Any]:
        config = str(resource.facts["config"])
        found = self._resources.find("endpoint-config", config)
        if found is None or resource.status == "Creating":
            return {"EndpointConfigName": config}
        variant = variant_of(found)
        model = self._resources.find("model", variant["ModelName"])
        image = container_of(model).get("Image") if model else None
        count, weight = variant.get("InitialInstanceCount", 1), float(variant.get("InitialVariantWeight", 1.0))
        deployed = {
            "VariantName": variant["VariantName"],
            "DeployedImages": [{"SpecifiedImage": image, "ResolvedImage": image}] if image else [],
            "CurrentWeight": weight,
            "DesiredWeight": weight,
            "CurrentInstanceCount": count,
            "DesiredInstanceCount": count,
        }
        return {"EndpointConfigName": config, "ProductionVariants": [deployed]}

    def _add(
        self, kind: str, name: str, body: Body, *, status: str = "", facts: Mapping[str, str] | None = None
    ) -> Resource:
        return self._resources.add(kind, name, body, tags=tags_of(body.pop("Tags", [])), status=status, facts=facts)
