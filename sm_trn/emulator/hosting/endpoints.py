"""The life of endpoints, each with one model server.

Endpoints that were in service when the emulator was killed are brought back by ``restore``
(SystemUpdating until they answer); those that were only being made are Failed.
"""

from __future__ import annotations

import secrets
import threading
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..errors import AwsError
from ..fault_injection import CAPACITY
from ..options import EMULATED_ACCOUNT
from .model_server import LARGEST_ANSWER, ModelServer, NoAnswer, Reply, ServingError
from .request import container_of, variant_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..container.context import RunContext
    from ..state.resources import Resources
    from ..telemetry.log_store import LogLines

GROUP: Final = "/aws/sagemaker/Endpoints"
_KIND = "endpoint"
_OPERATION = "CreateEndpoint"
_MESSAGE = 1024  # characters of the model's own answer that an error carries


class Endpoints:
    """The model servers behind endpoints."""

    def __init__(self, resources: Resources, lines: LogLines, context: RunContext) -> None:
        self._resources = resources
        self._lines = lines
        self._context = context
        self._lock = threading.Lock()
        self._servers: dict[str, ModelServer] = {}  # that start, answer or end
        self._end = threading.Event()

    def create(self, name: str) -> None:
        self._in_thread(self._bring_up, name)

    def delete(self, name: str) -> None:
        self._resources.change(_KIND, name, status="Deleting")
        self._in_thread(self._take_down, name)

    def restore(self) -> None:
        """After a restart: what was in service comes back, what was being made has failed."""
        for resource in self._resources.all(_KIND):
            if resource.status in {"InService", "SystemUpdating"}:
                self._resources.change(_KIND, resource.name, status="SystemUpdating")
                self._in_thread(self._bring_up, resource.name)
            elif resource.status == "Creating":
                reason = "InternalServerError: the emulator was killed while the endpoint was being created."
                self._resources.change(_KIND, resource.name, status="Failed", reason=reason)
            elif resource.status == "Deleting":
                self._resources.remove(_KIND, resource.name)

    def shutdown(self) -> None:
        """End every container; the endpoints stay, and come back with the next start."""
        with self._lock:
            self._end.set()
            servers = list(self._servers.values())
        for server in servers:
            server.close()

    def invoke(self, name: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Return the model's answer. Raises the service's own faults, ModelError among them."""
        server, resource = self._servers.get(name), self._resources.find(_KIND, name)
        if server is None or resource is None or resource.status != "InService":
            raise AwsError("ValidationError", f"Endpoint {name} of account {EMULATED_ACCOUNT} not found.")
        try:
            reply = server.invoke(body, headers, self._context.shared.options.invoke_timeout_s)
        except NoAnswer as error:
            raise self._model_error(name, error.status, str(error)) from error
        if reply.status != 200:
            raise self._model_error(name, reply.status, reply.body.decode("utf-8", "replace"))
        if len(reply.body) > LARGEST_ANSWER:
            raise self._model_error(name, 500, f"the answer is larger than {LARGEST_ANSWER} bytes")
        return reply

    def _model_error(self, name: str, status: int, text: str) -> AwsError:
        message = text[:_MESSAGE]
        where = (
            f"https://{self._context.region}.console.aws.amazon.com/cloudwatch/home?region={self._context.region}"
            f"#logEventViewer:group={GROUP}/{name}"
        )
        return AwsError(
            "ModelError",
            f"Received {'client' if 400 <= status < 500 else 'server'} error ({status}) from primary with message "
            f'"{message}". See {where} in account {EMULATED_ACCOUNT} for more information.',
            424,
            {
                "OriginalStatusCode": status,
                "OriginalMessage": message,
                "LogStreamArn": f"arn:aws:logs:{self._context.region}:{EMULATED_ACCOUNT}:log-group:{GROUP}/{name}",
            },
        )

    def _bring_up(self, name: str) -> None:
        """Start the endpoint's server; the endpoint is in service, or has failed, when this returns."""
        try:
            self._context.shared.objects.ready.wait()
            self._meet_faults()
            server = self._server(name)
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
            self._resources.change(_KIND, name, status="InService", reason=None)

    def _meet_faults(self) -> None:
        """Meet the faults that were asked for of the next endpoint that is made."""
        self._end.wait(self._context.shared.faults.start_delay(_OPERATION))
        if self._context.shared.faults.insufficient_capacity(_OPERATION):
            raise ServingError(CAPACITY)

    def _server(self, name: str) -> ModelServer:
        endpoint = self._resources.find(_KIND, name)
        config = self._resources.find("endpoint-config", str(endpoint.facts["config"]) if endpoint else "")
        if config is None:
            raise ServingError("the endpoint's configuration was deleted")
        variant = variant_of(config)
        model = self._resources.find("model", variant["ModelName"])
        if model is None:
            raise ServingError(f"the model {variant['ModelName']!r} was deleted")
        stream = f"{GROUP}/{name}:{variant['VariantName']}/i-{secrets.token_hex(8)}"
        return ModelServer(
            container_of(model), variant["VariantName"], self._context, partial(self._lines.append, stream)
        )

    def _take_down(self, name: str) -> None:
        self._close(name)
        self._resources.remove(_KIND, name)

    def _close(self, name: str) -> None:
        with self._lock:
            server = self._servers.pop(name, None)
        if server is not None:
            server.close()

    def _in_thread(self, work: Callable[[str], Any], name: str) -> None:
        def run() -> None:
            try:
                work(name)
            except Exception:  # noqa: BLE001 - the last line of defence: whoever waits must hear of it
                self._resources.change(_KIND, name, status="Failed", reason="InternalServerError")
                traceback.print_exc()

        threading.Thread(target=run, name=f"endpoint {name}", daemon=True).start()
