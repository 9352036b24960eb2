"""Models, endpoints and their configurations, as they were asked for, and what became of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from ..api.listing import select, tags_of
from ..api.shapes import Body, given
from ..errors import validation
from ..options import EMULATED_ACCOUNT
from .registry import Registry
from .store import Store

# The service's words for a kind, by the one in ARNs: in messages, and in the names of operations and members.
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "model": ("model", "Model"),
    "endpoint-config": ("endpoint configuration", "EndpointConfig"),
    "endpoint": ("endpoint", "Endpoint"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A request as it was sent, and what became of it. Only endpoints have a ``status`` and a ``reason``."""

    kind: str
    name: str
    arn: str
    request: Any
    tags: Mapping[str, str]
    created: float
    modified: float
    status: str = ""
    reason: str | None = None


class Resources(Registry[Resource]):
    """All models, endpoint configurations and endpoints. ``kind`` is one of KINDS."""

    def __init__(self, store: Store, region: str, clock: Callable[[], float] = time.time) -> None:
        resources = [Resource(**json.loads(text)) for kind in KINDS for text in store.records(kind).values()]
        super().__init__(store, resources, lambda resource: json.dumps(asdict(resource)), clock)
        self._region = region

    def get(self, kind: str, name: str) -> Resource:
        """Return a resource. Raises AwsError, as the service does, when there is no such thing."""
        resource = self.find(kind, name)
        if resource is None:
            raise validation(f'Could not find {KINDS[kind][0]} "{self._arn(kind, name)}".')
        return resource

    def add(self, kind: str, body: Body, *, status: str = "") -> Resource:
        """Keep what a request asks for. Raises AwsError for a name that is taken."""
        now, name = self.now(), body[f"{KINDS[kind][1]}Name"]
        resource = Resource(
            kind=kind,
            name=name,
            arn=self._arn(kind, name),
            tags=tags_of(body.pop("Tags", [])),
            request=body,
            created=now,
            modified=now,
            status=status,
        )
        with self._lock:
            if self.find(kind, name) is not None:
                raise validation(f'Cannot create already existing {KINDS[kind][0]} "{resource.arn}".')
            self._save(resource)
        return resource

    def change(self, kind: str, name: str, *, status: str, reason: str | None = None) -> None:
        """Set the status of a resource, if it is still there."""
        with self._lock:
            resource = self.find(kind, name)
            if resource is not None:
                modified = max(self.now(), resource.modified)
                self._save(replace(resource, modified=modified, status=status, reason=reason))

    def describe(self, kind: str, body: Body) -> dict[str, Any]:
        """Return what was sent, and what became of it."""
        resource = self.get(kind, body[f"{KINDS[kind][1]}Name"])
        return {**resource.request, **_row(resource), **given(FailureReason=resource.reason)}

    def listed(self, kind: str, body: Body) -> dict[str, object]:
        """Answer a list of any kind. Raises AwsError for a token that is none."""
        status = body.get("StatusEquals")
        resources, more = select([each for each in self.of_kind(kind) if status in {None, each.status}], body)
        return {f"{KINDS[kind][1]}s": [_row(each) for each in resources], **more}

    def delete(self, kind: str, body: Body) -> dict[str, str]:
        """Delete a model, or a configuration. Raises AwsError where there is none."""
        self.remove(kind, self.get(kind, body[f"{KINDS[kind][1]}Name"]).name)
        return {}

    def _arn(self, kind: str, name: str) -> str:
        return f"arn:aws:sagemaker:{self._region}:{EMULATED_ACCOUNT}:{kind}/{name.lower()}"


def _row(resource: Resource) -> dict[str, object]:
    word = KINDS[resource.kind][1]
    row: dict[str, object] = {
        f"{word}Name": resource.name,
        f"{word}Arn": resource.arn,
        "CreationTime": resource.created,
    }
    if resource.status:
        row |= {f"{word}Status": resource.status, "LastModifiedTime": resource.modified}
    return row
