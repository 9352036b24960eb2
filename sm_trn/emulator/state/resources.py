"""The registry keeps models, endpoints and their configurations; it saves each change."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ..api.paging import select
from ..api.shapes import given
from ..api.tags import Tagged
from ..errors import AwsError, validation
from ..options import EMULATED_ACCOUNT
from .registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..api.shapes import Body
    from .store import Store


@dataclass(frozen=True, slots=True)
class Kind:
    """The service's words for a kind of thing: in messages, in its operations and their members, over a list of them.

    ``unlisted`` is what a describe says and a row of the list does not.
    """

    noun: str
    word: str
    rows: str
    has_status: bool = False
    unlisted: str = ""


KINDS: Final[Mapping[str, Kind]] = {  # by the word in their ARNs
    "model": Kind("model", "Model", "Models"),
    "endpoint-config": Kind("endpoint configuration", "EndpointConfig", "EndpointConfigs"),
    "endpoint": Kind("endpoint", "Endpoint", "Endpoints", has_status=True, unlisted="FailureReason"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A request as it was sent, and what became of it. ``facts`` holds what the request did not say."""

    kind: str
    name: str
    arn: str
    request: Any
    tags: Mapping[str, str]
    created: float
    modified: float
    status: str = ""
    reason: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def row(resource: Resource) -> dict[str, object]:
    """What a describe says of any resource beside its request; a list says it too, but for the ``unlisted``."""
    kind = KINDS[resource.kind]
    found: dict[str, object] = {
        f"{kind.word}Name": resource.name,
        f"{kind.word}Arn": resource.arn,
        "CreationTime": resource.created,
    }
    if kind.has_status:
        found |= {f"{kind.word}Status": resource.status, "LastModifiedTime": resource.modified}
    return found | given(FailureReason=resource.reason or None)


class Resources(Registry[Resource]):
    """It keeps all of a region, by kind and name."""

    def __init__(self, store: Store, region: str, clock: Callable[[], float] = time.time) -> None:
        super().__init__(
            (Resource(**json.loads(text)) for text in store.records(*KINDS)),
            lambda resource: store.save_record(resource.kind, resource.name, json.dumps(asdict(resource))),
            lambda resource: store.drop_record(resource.kind, resource.name),
            clock,
        )
        self._region = region

    def get(self, kind: str, name: str) -> Resource:
        """Return a resource. Raises AwsError, as the service does, when there is no such thing."""
        found = self.find(kind, name)
        if found is None:
            raise validation(f'Could not find {KINDS[kind].noun} "{self._arn(kind, name)}".')
        return found

    def all(self, kind: str, status: str | None = None) -> list[Resource]:
        """Return those of a kind, of one status where it is named, in order of creation."""
        return [each for each in self.of_kind(kind) if status in {None, each.status}]

    def listed(self, kind: str, body: Body) -> dict[str, object]:
        """Answer a list of any kind. Raises AwsError for a token that is none."""
        found, token = select(self.all(kind, body.get("StatusEquals")), body)
        rows = [row(each) for each in found]
        for each in rows:
            each.pop(KINDS[kind].unlisted, None)
        return {KINDS[kind].rows: rows, **token}

    def add(
        self,
        kind: str,
        name: str,
        request: Any,
        *,
        tags: Mapping[str, str],
        status: str = "",
        facts: Mapping[str, object] | None = None,
    ) -> Resource:
        """Make a resource of a request. Raises AwsError for a name that is taken."""
        now = self.now()
        resource = Resource(
            kind=kind,
            name=name,
            arn=self._arn(kind, name),
            request=request,
            tags=tags,
            created=now,
            modified=now,
            status=status,
            facts=facts or {},
        )
        with self._lock:
            if self.find(kind, name) is not None:
                raise _taken(resource)
            self._save(resource)
        return resource

    def tagged(self, arn: str) -> Tagged | None:
        """Return the tags of what has the ARN; None where nothing here has it."""
        resource = self.by_arn(arn)
        if resource is None:
            return None
        return Tagged(resource.tags, lambda tags: self.change(resource.kind, resource.name, tags=tags))

    def change(self, kind: str, name: str, **changes: Any) -> None:
        """Change some fields of a resource, if it is still there, and say when."""
        with self._lock:
            resource = self.find(kind, name)
            if resource is not None:
                self._save(replace(resource, modified=max(self._clock(), resource.modified), **changes))

    def _arn(self, kind: str, name: str) -> str:
        return f"arn:aws:sagemaker:{self._region}:{EMULATED_ACCOUNT}:{kind}/{name.lower()}"


def _taken(resource: Resource) -> AwsError:
    return validation(f'Cannot create already existing {KINDS[resource.kind].noun} "{resource.arn}".')
