"""Models and endpoints on a virtual clock: what SageMaker would answer about them. No network, and no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Refuse = Callable[[str, str], Exception]
_KINDS = ("Model", "EndpointConfig", "Endpoint")
_READY_S = 120.0


class Hosting:
    """``made`` says when each (kind, name) was; ``refused`` names operations, or operations with a name, that are refused."""

    def __init__(self, now: Callable[[], float], refuse: Refuse) -> None:
        self._now = now
        self._refuse = refuse
        self.made: dict[tuple[str, str], float] = {}
        self.refused: set[str] = set()
        self.variant: dict[str, Any] = {}  # what an endpoint that somebody else made runs on
        self._tags: dict[str, list[dict[str, str]]] = {}

    def answers(self, operation: str) -> bool:
        verb, kind = _split(operation)
        return kind in _KINDS or (verb, kind) == ("List", "Endpoints")

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        verb, kind = _split(operation)
        if verb == "List":
            return {"Endpoints": [self._endpoint(name) for each, name in self.made if each == "Endpoint"]}
        name = body[f"{kind}Name"]
        if {operation, f"{operation} {name}"} & self.refused:
            raise self._refuse("ResourceLimitExceeded", f"the limit for {name} is 0 Instances")
        if verb == "Create":
            if (kind, name) in self.made:
                raise self._refuse("ValidationException", f'Cannot create already existing {kind} "{name}".')
            self.made[kind, name] = self._now()
            self._tags[name] = list(body.get("Tags", ()))
            return {f"{kind}Arn": _arn(kind, name)}
        if (kind, name) not in self.made:
            raise self._refuse("ValidationException", f'Could not find {kind.lower()} "{name}".')
        if verb == "Delete":
            del self.made[kind, name]
            return {}
        return getattr(self, f"_{kind.lower()}")(name)  # type: ignore[no-any-return]  # one of the four below

    def tags(self, arn: str) -> list[dict[str, str]]:
        return self._tags[arn.rpartition("/")[2]]

    def _endpoint(self, name: str) -> dict[str, Any]:
        at = self.made["Endpoint", name]
        return {
            "EndpointName": name,
            "EndpointArn": _arn("Endpoint", name),
            "EndpointConfigName": name,
            "EndpointStatus": "InService" if self._now() - at > _READY_S else "Creating",
            "CreationTime": at,
            "LastModifiedTime": at,
        }

    def _endpointconfig(self, name: str) -> dict[str, Any]:
        machines = {"ModelName": name, "InstanceType": "ml.c5.xlarge", "InitialInstanceCount": 1}
        return {
            "EndpointConfigName": name,
            "ProductionVariants": [{"VariantName": "AllTraffic", **(self.variant or machines)}],
        }

    def _model(self, name: str) -> dict[str, Any]:
        return {"ModelName": name, "ModelArn": _arn("Model", name), "CreationTime": self.made["Model", name]}


def _split(operation: str) -> tuple[str, str]:
    verb = next(each for each in ("Create", "Describe", "Delete", "List", operation) if operation.startswith(each))
    return verb, operation.removeprefix(verb)


def _arn(kind: str, name: str) -> str:
    return f"arn:aws:sagemaker:us-west-2:123456789012:{kind.lower()}/{name}"
