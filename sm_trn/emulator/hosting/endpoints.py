"""Models and endpoints: SageMaker's operations on them, InvokeEndpoint, and the life of endpoints, each with one model server.

Endpoints end with the emulator: at the next start they are Failed, and say so.
"""

from __future__ import annotations

import secrets
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from ..api.shapes import Body
from ..container.context import Context
from ..errors import AwsError, validation
from ..fault_injection import CAPACITY
from ..objects import parse_s3_uri
from ..options import EMULATED_ACCOUNT
from ..state.resources import Resource
from ..telemetry.logs import HOSTED
from .model_server import LARGEST_ANSWER, ModelServer, NoAnswer, ServingError, model_data

LARGEST_BODY: Final = 6 * 2**20  # Body of InvokeEndpoint, in the API's own model
_KIND = "endpoint"
_MESSAGE = 1024  # characters of the model's own answer that an error carries


class Endpoints:
    """The operations raise AwsError. An endpoint is made and deleted in a thread of its own."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._resources = context.resources
        self._lock = threading.Lock()
        self._servers: dict[str, ModelServer] = {}  # that start, answer or end
        self._end = threading.Event()

    def create_model(self, body: Body) -> dict[str, str]:
        """Answer CreateModel. Raises AwsError for what is not hosted here."""
        containers = [*body.get("Containers", ()), *filter(None, [body.get("PrimaryContainer")])]
        if len(containers) != 1:
            raise validation(
                "the emulator hosts models of one container, no inference pipelines; give PrimaryContainer"
            )
        if containers[0].get("Mode") == "MultiModel":
            raise validation("the emulator hosts one model in a container, no multi-model endpoints")
        uri, _ = model_data(containers[0])
        if uri:
            self._context.objects.ready.wait()
            if not self._context.objects.keys(*parse_s3_uri(uri)):
                raise validation(f"Could not find model data at {uri}.")
        return {"ModelArn": self._resources.add("model", body).arn}

    def create_config(self, body: Body) -> dict[str, str]:
        """Answer CreateEndpointConfig. Raises AwsError for what is not hosted here."""
        for unknown in ("ShadowProductionVariants", "AsyncInferenceConfig"):
            if body.get(unknown):
                raise validation(f"the emulator hosts real-time variants only, no {unknown}")
        if len(body["ProductionVariants"]) != 1:
            raise validation("the emulator hosts one variant of an endpoint; give one in ProductionVariants")
        variant = body["ProductionVariants"][0]
        if variant.get("ServerlessConfig"):
            raise validation("the emulator hosts instances only, no ServerlessConfig")
        if not variant.get("ModelName"):
            raise validation(f"variant {variant['VariantName']!r}: ModelName is missing")
        self._resources.get("model", variant["ModelName"])
        return {"EndpointConfigArn": self._resources.add("endpoint-config", body).arn}

    def create_endpoint(self, body: Body) -> dict[str, str]:
        """Answer CreateEndpoint: it is being made."""
        config = self._resources.get("endpoint-config", body["EndpointConfigName"])
        resource = self._resources.add(_KIND, body, status="Creating")
        self._in_thread(self._bring_up, resource.name, config)
        return {"EndpointArn": resource.arn}

    def describe_endpoint(self, body: Body) -> dict[str, Any]:
        """Answer DescribeEndpoint, with the variant once the endpoint was made."""
        answer = self._resources.describe(_KIND, body)
        answer.pop("DeploymentConfig", None)
        config = self._resources.find("endpoint-config", answer["EndpointConfigName"])
        if config is None or answer["EndpointStatus"] == "Creating":
            return answer
        variant = config.request["ProductionVariants"][0]
        model = self._resources.find("model", variant["ModelName"])
        image = _container(model).get("Image") if model is not None else None
        count, weight = variant.get("InitialInstanceCount", 1), float(variant.get("InitialVariantWeight", 1.0))
        deployed = {
            "VariantName": variant["VariantName"],
            "DeployedImages": [{"SpecifiedImage": image, "ResolvedImage": image}] if image else [],
            "CurrentWeight": weight,
            "DesiredWeight": weight,
            "CurrentInstanceCount": count,
            "DesiredInstanceCount": count,
        }
        return {**answer, "ProductionVariants": [deployed]}

    def delete_endpoint(self, body: Body) -> dict[str, str]:
        resource = self._resources.get(_KIND, body["EndpointName"])
        if resource.status != "Deleting":
            self._resources.change(_KIND, resource.name, status="Deleting")
            self._in_thread(self._take_down, resource.name)
        return {}

    def fail_unfinished(self) -> None:
        """Fail the endpoints of the process before: none of them answers any more."""
        for resource in self._resources.of_kind(_KIND):
            if resource.status == "Deleting":
                self._resources.remove(_KIND, resource.name)
            elif resource.status != "Failed":
                reason = (
                    "InternalServerError: the emulator ended, and the endpoint with it; delete it and make it again."
                )
                self._resources.change(_KIND, resource.name, status="Failed", reason=reason)

    def shutdown(self) -> None:
        """End every container."""
        with self._lock:
            self._end.set()
            servers = list(self._servers.values())
        for server in servers:
            server.close()

    def invoke(self, name: str, body: bytes, headers: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
        """Return headers and body of InvokeEndpoint's answer; ``headers`` have lower-case names. Raises AwsError."""
        if len(body) > LARGEST_BODY:
            raise AwsError("ValidationError", f"the body has {len(body)} bytes, more than {LARGEST_BODY}", 413)
        for unknown in ("target-model", "target-container-hostname", "inference-component", "target-variant"):
            if f"x-amzn-sagemaker-{unknown}" in headers:
                raise AwsError("ValidationError", f"the emulator hosts one model in a container: no {unknown}")
        sent = {"Content-Type": headers.get("content-type") or "application/json", "Accept": headers.get("accept", "")}
        if attributes := headers.get("x-amzn-sagemaker-custom-attributes"):
            sent["X-Amzn-SageMaker-Custom-Attributes"] = attributes
        server, resource = self._servers.get(name), self._resources.find(_KIND, name)
        if server is None or resource is None or resource.status != "InService":
            raise AwsError("ValidationError", f"Endpoint {name} of account {EMULATED_ACCOUNT} not found.")
        try:
            reply = server.invoke(body, sent, self._context.options.invoke_timeout_s)
        except NoAnswer as error:
            raise self._model_error(name, error.status, str(error)) from error
        if reply.status != 200:
            raise self._model_error(name, reply.status, reply.body.decode("utf-8", "replace"))
        if len(reply.body) > LARGEST_ANSWER:
            raise self._model_error(name, 500, f"the answer is larger than {LARGEST_ANSWER} bytes")
        return {"Content-Type": reply.content_type, "x-Amzn-Invoked-Production-Variant": server.variant}, reply.body

    def _model_error(self, name: str, status: int, text: str) -> AwsError:
        region, message = self._context.region, text[:_MESSAGE]
        where = f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#logEventViewer:group={HOSTED}{name}"
        return AwsError(
            "ModelError",
            f"Received {'client' if 400 <= status < 500 else 'server'} error ({status}) from primary with message "
            f'"{message}". See {where} in account {EMULATED_ACCOUNT} for more information.',
            424,
            {
                "OriginalStatusCode": status,
                "OriginalMessage": message,
                "LogStreamArn": f"arn:aws:logs:{region}:{EMULATED_ACCOUNT}:log-group:{HOSTED}{name}",
            },
        )

    def _bring_up(self, name: str, config: Resource) -> None:
        """Start the endpoint's server; the endpoint is in service, or has failed, when this returns."""
        try:
            self._context.objects.ready.wait()
            server = self._server(name, config.request["ProductionVariants"][0])
            with self._lock:
                if self._end.is_set():
                    return
                self._servers[name] = server
            server.start()
        except ServingError as error:
            resource = self._resources.find(_KIND, name)
            if resource is not None and resource.status != "Deleting" and not self._end.is_set():
                self._resources.change(_KIND, name, status="Failed", reason=str(error)[:1024])
                self._close(name)
            return
        resource = self._resources.find(_KIND, name)
        if resource is None or resource.status == "Deleting":
            server.close()
        else:
            self._resources.change(_KIND, name, status="InService")

    def _server(self, name: str, variant: Body) -> ModelServer:
        if self._context.faults.meets("capacity", "CreateEndpoint"):
            raise ServingError(CAPACITY)
        model = self._resources.find("model", variant["ModelName"])
        if model is None:
            raise ServingError(f"the model {variant['ModelName']!r} was deleted")
        stream = f"{HOSTED}{name}:{variant['VariantName']}/i-{secrets.token_hex(8)}"
        say = partial(self._context.lines.append, stream)
        return ModelServer(_container(model), variant["VariantName"], self._context, say)

    def _take_down(self, name: str) -> None:
        self._close(name)
        self._resources.remove(_KIND, name)

    def _close(self, name: str) -> None:
        with self._lock:
            server = self._servers.pop(name, None)
        if server is not None:
            server.close()

    def _in_thread(self, work: Callable[..., None], name: str, *more: Resource) -> None:
        def run() -> None:
            try:
                work(name, *more)
            except Exception:  # noqa: BLE001 - the last line of defence: whoever waits must hear of it
                self._resources.change(_KIND, name, status="Failed", reason="InternalServerError")
                traceback.print_exc()

        threading.Thread(target=run, name=f"endpoint {name}", daemon=True).start()


def _container(model: Resource) -> Body:
    """Return the one container of a model."""
    containers = model.request.get("Containers")
    container: Body = containers[0] if containers else model.request["PrimaryContainer"]
    return container
