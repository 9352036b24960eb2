"""The registry keeps models, endpoint configurations, endpoints and transform jobs, and saves each at every change.

It must not know HTTP, nor what runs behind a record.
"""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ..errors import AwsError, validation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..state.store import Store

# The service's words for each kind of thing, as they stand in its messages and in its ARNs.
NOUNS: Final[Mapping[str, str]] = {
    "model": "model",
    "endpoint-config": "endpoint configuration",
    "endpoint": "endpoint",
    "transform-job": "transform job",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A request as it was sent, and what became of it. ``facts`` holds what the request did not say."""

    kind: str
    name: str
    arn: str
    request: Mapping[str, Any]
    tags: Mapping[str, str]
    created: float
    modified: float
    status: str = ""
    reason: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Resources:
    """All of them, by kind and name. Every method is atomic."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._resources = {(row["kind"], row["name"]): Resource(**row) for row in store.records()}

    def now(self) -> float:
        return self._clock()

    def find(self, kind: str, name: str) -> Resource | None:
        with self._lock:
            return self._resources.get((kind, name))

    def get(self, kind: str, name: str, arn: str) -> Resource:
        """Raises the service's own fault when there is no such thing."""
        found = self.find(kind, name)
        if found is None:
            raise validation(f'Could not find {NOUNS[kind]} "{arn}".')
        return found

    def by_arn(self, arn: str) -> Resource | None:
        with self._lock:
            return next((resource for resource in self._resources.values() if resource.arn == arn), None)

    def all(self, kind: str) -> list[Resource]:
        """In order of creation."""
        with self._lock:
            found = [resource for (known, _), resource in self._resources.items() if known == kind]
        return sorted(found, key=lambda resource: (resource.created, resource.name))

    def add(self, resource: Resource) -> None:
        with self._lock:
            if (resource.kind, resource.name) in self._resources:
                if resource.kind == "transform-job":
                    raise AwsError(
                        "ResourceInUse",
                        "Job name must be unique within an AWS account and region, and a job with this name already "
                        f"exists ({resource.arn}).",
                    )
                raise validation(f'Cannot create already existing {NOUNS[resource.kind]} "{resource.arn}".')
            self._save(resource)

    def change(self, kind: str, name: str, **changes: Any) -> Resource | None:
        """Change some fields, and say when; None when the record is gone."""
        with self._lock:
            resource = self._resources.get((kind, name))
            if resource is None:
                return None
            changed = replace(resource, modified=max(self._clock(), resource.modified), **changes)
            self._save(changed)
            return changed

    def drop(self, kind: str, name: str) -> None:
        with self._lock:
            self._resources.pop((kind, name), None)
            self._store.drop_record(kind, name)

    def _save(self, resource: Resource) -> None:
        self._store.save_record(resource.kind, resource.name, asdict(resource))
        self._resources[resource.kind, resource.name] = resource


def container_of(model: Resource) -> Mapping[str, Any]:
    """Return the one container of a model."""
    containers = model.request.get("Containers")
    found: Mapping[str, Any] = containers[0] if containers else model.request["PrimaryContainer"]
    return found
