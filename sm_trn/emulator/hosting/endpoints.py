"""The life of endpoints. An update keeps the old containers until the new ones answer.

Endpoints that were in service when the emulator was killed are brought back by ``restore``
(SystemUpdating until they answer); those that were only being made are Failed.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import traceback
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ...core.specs.snapshot import EMULATED_ACCOUNT
from ..errors import AwsError
from ..fault_injection import CAPACITY
from .model_server import LARGEST_ANSWER, ModelServer, NoAnswer, Reply, ServingError
from .request import container_of, variants_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..container.context import RunContext
    from ..state.resources import Resources
    from ..telemetry.log_store import LogLines

GROUP: Final = "/aws/sagemaker/Endpoints"
_KIND = "endpoint"
_OPERATION = "CreateEndpoint"
_MESSAGE = 1024  # characters of the model's own answer that an error carries

Fleet = dict[str, tuple[ModelServer, float]]


class Endpoints:
    """This is what runs behind endpoints."""

    def __init__(self, resources: Resources, lines: LogLines, context: RunContext) -> None:
        self._resources = resources
        self._lines = lines
        self._context = context
        self._lock = threading.Lock()
        self._fleets: dict[str, Fleet] = {}
        self._starting: dict[str, Fleet] = {}
        self._turns: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
        self._end = threading.Event()

    def create(self, name: str) -> None:
        self._in_thread(self._bring_up, name, self._config_of(name), "Failed")

    def update(self, name: str, config: str) -> None:
        self._resources.change(_KIND, name, status="Updating", reason=None)
        self._in_thread(self._bring_up, name, config, "InService")

    def delete(self, name: str) -> None:
        self._resources.change(_KIND, name, status="Deleting")
        self._in_thread(self._take_down, name)

    def restore(self) -> None:
        """After a restart: what was in service comes back, what was being made has failed."""
        for resource in self._resources.all(_KIND):
            if resource.status in {"InService", "SystemUpdating", "Updating"}:
                self._resources.change(_KIND, resource.name, status="SystemUpdating")
                self._in_thread(self._bring_up, resource.name, self._config_of(resource.name), "Failed")
            elif resource.status == "Creating":
                reason = "InternalServerError: the emulator was killed while the endpoint was being created."
                self._resources.change(_KIND, resource.name, status="Failed", reason=reason)
            elif resource.status == "Deleting":
                self._resources.remove(_KIND, resource.name)

    def shutdown(self) -> None:
        """End every container; the endpoints stay, and come back with the next start."""
        with self._lock:
            self._end.set()
            fleets = [*self._fleets.values(), *self._starting.values()]
        for server, _ in [entry for fleet in fleets for entry in fleet.values()]:
            server.close()

    def invoke(self, name: str, body: bytes, headers: Mapping[str, str], target: str = "") -> tuple[str, Reply]:
        """Return the variant that answered, and its answer. Raises the service's own faults, ModelError among them."""
        with self._lock:
            fleet = self._fleets.get(name)
        resource = self._resources.find(_KIND, name)
        if fleet is None or resource is None or resource.status == "Deleting":
            raise AwsError("ValidationError", f"Endpoint {name} of account {EMULATED_ACCOUNT} not found.")
        if target and target not in fleet:
            raise AwsError("ValidationError", f"Variant {target!r} of endpoint {name} not found.")
        variant = target or self._chosen(name, fleet)
        try:
            reply = fleet[variant][0].invoke(body, headers, self._context.shared.options.invoke_timeout_s)
        except NoAnswer as error:
            raise self._model_error(name, error.status, str(error)) from error
        if reply.status != 200:
            raise self._model_error(name, reply.status, reply.body.decode("utf-8", "replace"))
        if len(reply.body) > LARGEST_ANSWER:
            raise self._model_error(name, 500, f"the answer is larger than {LARGEST_ANSWER} bytes")
        return variant, reply

    def _model_error(self, name: str, status: int, said: str) -> AwsError:
        message = said[:_MESSAGE]
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

    def _chosen(self, name: str, fleet: Fleet) -> str:
        """Variants take turns in proportion to their weights."""
        whole = sum(weight for _, weight in fleet.values())
        if whole <= 0:
            return next(iter(fleet))
        turn = next(self._turns[name])
        point = (turn * 0.618033988749895) % 1.0 * whole  # the golden ratio spreads any proportion evenly
        for variant, (_, weight) in fleet.items():
            point -= weight
            if point < 0:
                return variant
        return next(reversed(fleet))

    def _config_of(self, name: str) -> str:
        resource = self._resources.find(_KIND, name)
        return str((resource.facts if resource else {}).get("config", ""))

    def _bring_up(self, name: str, config: str, otherwise: str) -> None:
        """Start a fleet for ``config``; the old one, if any, goes only when the new one answers."""
        fleet: Fleet = {}
        try:
            self._context.shared.objects.ready.wait()
            resource = self._resources.find(_KIND, name)
            if resource is not None and resource.status == "Creating":
                self._meet_faults()
            fleet = self._fleet(name, config)
            with self._lock:
                self._starting[name] = fleet
            for variant, (server, _) in fleet.items():
                self._start(variant, server)
        except ServingError as error:
            self._give_up(name, fleet, otherwise, str(error))
            return
        with self._lock:
            self._starting.pop(name, None)
            alive = self._resources.find(_KIND, name)
            wanted = not self._end.is_set() and alive is not None and alive.status != "Deleting"
            old = self._fleets.get(name, {})
            if wanted:
                self._fleets[name] = fleet
        for server, _ in (old if wanted else fleet).values():
            server.close()
        if wanted and alive is not None:
            facts = {**alive.facts, "config": config}
            self._resources.change(_KIND, name, status="InService", reason=None, facts=facts)

    def _meet_faults(self) -> None:
        """What was asked to go wrong with the next endpoint that is made."""
        self._end.wait(self._context.shared.faults.start_delay(_OPERATION))
        if self._context.shared.faults.insufficient_capacity(_OPERATION):
            raise ServingError(CAPACITY)

    def _give_up(self, name: str, fleet: Fleet, status: str, reason: str) -> None:
        with self._lock:
            self._starting.pop(name, None)
            ended = self._end.is_set()
        for server, _ in fleet.values():
            server.close()
        resource = self._resources.find(_KIND, name)
        if resource is not None and resource.status != "Deleting" and not ended:
            self._resources.change(_KIND, name, status=status, reason=reason[:1024])

    def _start(self, variant: str, server: ModelServer) -> None:
        try:
            server.start()
        except ServingError as error:
            text = str(error)
            if text.startswith("did not pass"):
                text = f"The primary container for production variant {variant} {text} for this endpoint."
            raise ServingError(text) from error

    def _fleet(self, name: str, config: str) -> Fleet:
        found = self._resources.find("endpoint-config", config)
        if found is None:
            raise ServingError(f"the endpoint configuration {config!r} was deleted")
        fleet: Fleet = {}
        for variant in variants_of(found):
            model = self._resources.find("model", variant["ModelName"])
            if model is None:
                raise ServingError(f"the model {variant['ModelName']!r} was deleted")
            stream = f"{GROUP}/{name}:{variant['VariantName']}/i-{secrets.token_hex(8)}"
            server = ModelServer(container_of(model), self._context, partial(self._lines.append, stream))
            fleet[variant["VariantName"]] = (server, float(variant.get("InitialVariantWeight", 1.0)))
        return fleet

    def _take_down(self, name: str) -> None:
        with self._lock:
            fleets = [self._fleets.pop(name, {}), self._starting.get(name, {})]
        for server, _ in [entry for fleet in fleets for entry in fleet.values()]:
            server.close()
        self._resources.remove(_KIND, name)

    def _in_thread(self, work: Any, *arguments: Any) -> None:
        def run() -> None:
            try:
                work(*arguments)
            except Exception:  # noqa: BLE001 - the last line of defence: whoever waits must hear of it
                self._resources.change(_KIND, arguments[0], status="Failed", reason="InternalServerError")
                traceback.print_exc()

        threading.Thread(target=run, name=f"endpoint {arguments[0]}", daemon=True).start()
