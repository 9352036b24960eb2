"""These functions answer SageMaker's operations on models, endpoints and transform jobs, and InvokeEndpoint.

It checks and records; endpoints and transforms do the work. It must not know HTTP nor run anything itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...specs.snapshot import EMULATED_ACCOUNT
from ..api.paging import page
from ..api.tags import Tagged
from ..errors import AwsError, validation
from ..options import EMULATED_TAG
from ..s3.uri import parse_s3_uri
from .resources import Resource, Resources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..s3.object_store import ObjectStore
    from .endpoints import Endpoints
    from .transforms import Transforms

LARGEST_BODY: Final = 6 * 2**20  # Body of InvokeEndpoint, in the API's own model
# Kind of a record, and how its operations and their members are spelled.
_WORDS: Final[Mapping[str, str]] = {
    "model": "Model",
    "endpoint-config": "EndpointConfig",
    "endpoint": "Endpoint",
    "transform-job": "TransformJob",
}
_STATUS: Final = {"endpoint": "EndpointStatus", "transform-job": "TransformJobStatus"}
_DEPLOYMENT: Final = "DeploymentConfig"  # an endpoint's; the only member that a describe has under another name
_UNSAID: Final = {"endpoint": "FailureReason", "transform-job": "TransformStartTime"}  # in a list, that is
_LISTS: Final = {
    "model": "Models",
    "endpoint-config": "EndpointConfigs",
    "endpoint": "Endpoints",
    "transform-job": "TransformJobSummaries",
}


class HostingApi:
    """The operations on what is hosted. Every one raises AwsError. ``kind`` is a kind of record."""

    def __init__(
        self, resources: Resources, objects: ObjectStore, endpoints: Endpoints, transforms: Transforms, region: str
    ) -> None:
        self._resources = resources
        self._objects = objects
        self._endpoints = endpoints
        self._transforms = transforms
        self._region = region

    def invoke(self, name: str, body: bytes, headers: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
        """InvokeEndpoint: headers and body of the answer. ``headers`` have lower-case names."""
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

    def create_model(self, body: Mapping[str, Any]) -> dict[str, Any]:
        containers = body.get("Containers") or [body["PrimaryContainer"]] if _one_container(body) else []
        if len(containers) != 1:
            raise validation(
                "the emulator hosts models of one container, no inference pipelines; give PrimaryContainer"
            )
        container = containers[0]
        if container.get("Mode") == "MultiModel":
            raise validation("the emulator hosts one model in a container, no multi-model endpoints")
        source = (container.get("ModelDataSource") or {}).get("S3DataSource") or {}
        uri = container.get("ModelDataUrl") or source.get("S3Uri")
        if uri:
            bucket, key = parse_s3_uri(uri)
            self._objects.ready.wait()
            if not self._objects.keys(bucket, key):
                raise validation(f"Could not find model data at {uri}.")
        return {"ModelArn": self._add("model", body).arn}

    def create_config(self, body: Mapping[str, Any]) -> dict[str, Any]:
        for unknown in ("ShadowProductionVariants", "AsyncInferenceConfig"):
            if body.get(unknown):
                raise validation(f"the emulator hosts real-time variants only, no {unknown}")
        for variant in body["ProductionVariants"]:
            if variant.get("ServerlessConfig"):
                raise validation("the emulator hosts instances only, no ServerlessConfig")
            if not variant.get("ModelName"):
                raise validation(f"variant {variant['VariantName']!r}: ModelName is missing")
            self._get("model", str(variant["ModelName"]))
        return {"EndpointConfigArn": self._add("endpoint-config", body).arn}

    def create_endpoint(self, body: Mapping[str, Any]) -> dict[str, Any]:
        config = str(body["EndpointConfigName"])
        self._get("endpoint-config", config)
        resource = self._add("endpoint", body, status="Creating", facts={"config": config})
        self._endpoints.create(resource.name)
        return {"EndpointArn": resource.arn}

    def update_endpoint(self, body: Mapping[str, Any]) -> dict[str, Any]:
        resource = self._get("endpoint", str(body["EndpointName"]))
        self._get("endpoint-config", str(body["EndpointConfigName"]))
        if resource.status != "InService":
            raise validation(f'Cannot update in-progress endpoint "{resource.arn}".')
        if _DEPLOYMENT in body:
            request = {**resource.request, _DEPLOYMENT: body[_DEPLOYMENT]}
            self._resources.change("endpoint", resource.name, request=request)
        self._endpoints.update(resource.name, str(body["EndpointConfigName"]))
        return {"EndpointArn": resource.arn}

    def delete_endpoint(self, body: Mapping[str, Any]) -> dict[str, Any]:
        resource = self._get("endpoint", str(body["EndpointName"]))
        if resource.status != "Deleting":
            self._endpoints.delete(resource.name)
        return {}

    def drop(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """DeleteModel and DeleteEndpointConfig."""
        resource = self._get(kind, str(body[f"{_WORDS[kind]}Name"]))
        self._resources.drop(kind, resource.name)
        return {}

    def create_transform(self, body: Mapping[str, Any]) -> dict[str, Any]:
        self._get("model", str(body["ModelName"]))
        source = body["TransformInput"]["DataSource"].get("S3DataSource")
        if source is None or source["S3DataType"] != "S3Prefix":
            raise validation("TransformInput: the emulator reads S3Prefix data only")
        if body["TransformInput"].get("SplitType", "None") not in {"None", "Line"}:
            raise validation("TransformInput.SplitType: the emulator splits by Line, or not at all")
        joined = body.get("DataProcessing") or {}
        if joined.get("InputFilter", "$") != "$" or joined.get("JoinSource", "None") != "None":
            raise validation("DataProcessing: the emulator neither filters nor joins")
        resource = self._add("transform-job", body, status="InProgress")
        self._transforms.start(resource.name)
        return {"TransformJobArn": resource.arn}

    def stop_transform(self, body: Mapping[str, Any]) -> dict[str, Any]:
        resource = self._get("transform-job", str(body["TransformJobName"]))
        if resource.status not in {"InProgress", "Stopping"}:
            raise validation(f"The request was rejected because the transform job is in status {resource.status}.")
        self._transforms.stop(resource.name)
        return {}

    # --- describe, list, tags ---

    def describe(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        word = _WORDS[kind]
        resource = self._get(kind, str(body[f"{word}Name"]))
        answer = {**_plain(resource, word), **_row(resource)}
        if kind == "endpoint":
            answer |= self._endpoint_facts(resource)
        elif kind == "transform-job":
            answer.pop("LastModifiedTime", None)
            answer |= {"BatchStrategy": "MultiRecord", "MaxPayloadInMB": 6, **_plain(resource, word)}
        return answer

    def _endpoint_facts(self, resource: Resource) -> dict[str, Any]:
        config = str(resource.facts["config"])
        found = self._resources.find("endpoint-config", config)
        rows = []
        for variant in found.request["ProductionVariants"] if found and resource.status != "Creating" else ():
            model = self._resources.find("model", str(variant["ModelName"]))
            image = (model.request.get("PrimaryContainer") or {}).get("Image") if model else None
            count, weight = int(variant.get("InitialInstanceCount", 1)), float(variant.get("InitialVariantWeight", 1.0))
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
        last = {"LastDeploymentConfig": resource.request[_DEPLOYMENT]} if _DEPLOYMENT in resource.request else {}
        return {"EndpointConfigName": config, **last, **({"ProductionVariants": rows} if rows else {})}

    def listed(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        found = [resource for resource in self._resources.all(kind) if _wanted(resource, body)]
        keys: Mapping[str, Callable[[Resource], Any]] = {
            "Name": lambda resource: resource.name,
            "Status": lambda resource: resource.status,
            "CreationTime": lambda resource: resource.created,
        }
        key = keys[body.get("SortBy", "CreationTime")]
        backwards = body.get("SortOrder", "Descending") == "Descending"
        found.sort(key=lambda resource: (key(resource), resource.name), reverse=backwards)
        rows, token = page(found, body, 10)
        unsaid = _UNSAID.get(kind, "")
        shown = [{key: value for key, value in _row(resource).items() if key != unsaid} for resource in rows]
        answer: dict[str, Any] = {_LISTS[kind]: shown}
        return answer | ({"NextToken": token} if token else {})

    def tagged(self, arn: str) -> Tagged | None:
        """Return the tags of a model, a configuration, an endpoint or a transform job; None for the ARN of anything else."""
        resource = self._resources.by_arn(arn)
        if resource is None:
            return None
        return Tagged(resource.tags, lambda tags: self._resources.change(resource.kind, resource.name, tags=tags))

    def _get(self, kind: str, name: str) -> Resource:
        return self._resources.get(kind, name, self._arn(kind, name))

    def _arn(self, kind: str, name: str) -> str:
        return f"arn:aws:sagemaker:{self._region}:{EMULATED_ACCOUNT}:{kind}/{name.lower()}"

    def _add(
        self, kind: str, body: Mapping[str, Any], *, status: str = "", facts: Mapping[str, Any] | None = None
    ) -> Resource:
        name, now = str(body[f"{_WORDS[kind]}Name"]), self._resources.now()
        resource = Resource(
            kind=kind,
            name=name,
            arn=self._arn(kind, name),
            request={key: value for key, value in body.items() if key != "Tags"},
            tags={tag["Key"]: tag["Value"] for tag in body.get("Tags") or ()} | {EMULATED_TAG: "true"},
            created=now,
            modified=now,
            status=status,
            facts=facts or {},
        )
        self._resources.add(resource)
        return resource


def _one_container(body: Mapping[str, Any]) -> bool:
    return bool(body.get("PrimaryContainer")) != bool(body.get("Containers"))


def _plain(resource: Resource, word: str) -> dict[str, Any]:
    """The request as it is echoed."""
    others = {f"{word}Name", "EndpointConfigName", _DEPLOYMENT}
    return {key: value for key, value in resource.request.items() if key not in others}


def _row(resource: Resource) -> dict[str, Any]:
    """What a list says of a record; a describe says it too."""
    word = _WORDS[resource.kind]
    row: dict[str, Any] = {f"{word}Name": resource.name, f"{word}Arn": resource.arn, "CreationTime": resource.created}
    if resource.kind in _STATUS:
        row |= {_STATUS[resource.kind]: resource.status, "LastModifiedTime": resource.modified}
        if resource.reason:
            row["FailureReason"] = resource.reason
    for fact, member in (("started", "TransformStartTime"), ("ended", "TransformEndTime")):
        if resource.facts.get(fact) is not None:
            row[member] = resource.facts[fact]
    return row


def _wanted(resource: Resource, body: Mapping[str, Any]) -> bool:
    return (
        body.get("NameContains", "").lower() in resource.name.lower()
        and body.get("StatusEquals") in {None, resource.status}
        and all(
            float(limit) < moment if after else float(limit) > moment
            for member, moment, after in (
                ("CreationTimeAfter", resource.created, True),
                ("CreationTimeBefore", resource.created, False),
                ("LastModifiedTimeAfter", resource.modified, True),
                ("LastModifiedTimeBefore", resource.modified, False),
            )
            if (limit := body.get(member)) is not None
        )
    )
