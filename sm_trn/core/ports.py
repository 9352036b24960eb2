"""The outside world of a session as protocols: the cloud or its emulator, the logs, the storage, the clock."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol

from .errors import CloudError, SmTrnError
from .logs.events import LogEvent
from .specs.job import JobSpec
from .specs.metrics import MetricPoint
from .specs.problems import Problem
from .specs.snapshot import EMULATED_ACCOUNT, JobSnapshot


class Clock(Protocol):
    """The only thing that sleeps."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


OTHER_ACCOUNT = "OtherAccount"  # our own code of a CloudError: the login is good, and of another account than the job


class Trouble(enum.Enum):
    """Why a call failed although nothing about it was wrong."""

    TRANSIENT = "the service throttles, fails or cannot be reached"
    EXPIRED = "the login expired, or is another account's"
    NOT_FOUND = "what was asked about does not exist"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """Which jobs a list is about; the empty query is about all of them. ``status`` is AWS's word."""

    containing: str = ""
    modified_after: datetime | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    status: str = ""


@dataclass(frozen=True, slots=True)
class JobPage:
    """Part of a list of jobs, newest first, and the token of the part that follows. Its snapshots know what a list knows."""

    jobs: tuple[JobSnapshot, ...]
    token: str | None = None


class JobFeed(Protocol):
    """The jobs as a watch reads them. The fetches raise CloudError with the operation and the job's name.

    ``trouble`` says whether such an error passes by itself; ``renew`` looks for new credentials and says whether there are
    any; ``service_time`` is the service's own clock in its newest answer, None before the first.
    """

    def fetch_snapshot(self, name: str) -> JobSnapshot: ...

    def fetch_page(self, query: JobQuery, token: str | None = None) -> JobPage: ...

    def service_time(self) -> float | None: ...

    def trouble(self, error: CloudError) -> Trouble | None: ...

    def renew(self) -> bool: ...


class Backend(JobFeed, Protocol):
    """SageMaker's training jobs. Every method raises CloudError with the operation and the job's name."""

    def create_job(self, request: Mapping[str, Any]) -> str: ...

    def search_page(self, query: JobQuery, token: str | None = None) -> JobPage: ...

    def fetch_tags(self, arn: str) -> Mapping[str, str]: ...

    def stop_job(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlace:
    """Where a reader stands in one stream: ``skip`` events into the page that ``token`` names (None: the stream's head).

    ``at_ms`` and ``same`` – the newest time that was read, and how many events had it – find the place again when the
    token is no longer valid: CloudWatch's expire after 24 hours.
    """

    stream: str
    token: str | None = None
    skip: int = 0
    at_ms: int | None = None
    same: int = 0


@dataclass(frozen=True, slots=True)
class LogCursor:
    """Where a reader of a job's log stands: one place for every stream it has seen. A value: keep it, and reading goes on
    there; ``dump_cursor`` and ``parse_cursor`` make it text and back. ``since_ms`` is where unread streams begin.
    """

    places: tuple[StreamPlace, ...] = ()
    looks: int = 0
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Events in time order, and the cursor behind the last of them."""

    events: tuple[LogEvent, ...]
    cursor: LogCursor


class LogSource(Protocol):
    """A job's log. Both methods read what is new since ``cursor``; at least one batch comes, be it empty.

    ``streams`` None reads everything there is. A number says how many streams a running job must have by now: streams are
    looked for only until so many are known, and then seldom, and a page that may follow is left to the next look.
    """

    def fetch_events(
        self, job_name: str, cursor: LogCursor, *, streams: int | None = None
    ) -> tuple[Iterable[LogEvent], LogCursor]: ...

    def stream_events(self, job_name: str, cursor: LogCursor, *, streams: int | None = None) -> Iterator[LogBatch]: ...


def dump_cursor(cursor: LogCursor) -> str:
    """The cursor as one line of JSON."""
    return json.dumps(dataclasses.asdict(cursor))


def parse_cursor(text: str) -> LogCursor:
    """Read ``dump_cursor``'s text back. Raises SmTrnError when it is something else."""
    try:
        body = json.loads(text)
        places = tuple(StreamPlace(**place) for place in body.pop("places"))
        return LogCursor(places=places, **body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SmTrnError(
            f"cursor: got {text[:60]!r}, wanted the text of a saved LogCursor; read from the start"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObjects:
    """The objects under an S3 URI: how many objects, their bytes, and when the newest was written."""

    uri: str
    count: int
    size_bytes: int
    newest: datetime | None

    def __str__(self) -> str:
        if self.newest is None:
            return f"no objects in {self.uri}"
        return f"{self.count} objects in {self.uri}, {self.size_bytes:,} bytes, newest of {self.newest:%Y-%m-%d %H:%M:%S} UTC"


class Storage(Protocol):
    """S3, content-addressed: the same content is uploaded once. ``fetch_objects`` is None where looking is
    not allowed, ``fetch_text`` where there is nothing to read.
    """

    def put_source(self, folder: str, dependencies: Sequence[str] = (), *, allow_secrets: bool = False) -> str: ...

    def put_input(self, path: str) -> str: ...

    def put_text(self, key: str, text: str) -> str: ...

    def fetch_text(self, uri: str) -> str | None: ...

    def fetch_objects(self, uri: str) -> StoredObjects | None: ...

    def is_empty(self, uri: str) -> bool | None: ...


class Account(Protocol):
    """Checks before a launch that need the account.

    ``problems`` says as a problem what it may not look at.
    """

    def problems(self, job: JobSpec) -> Iterable[Problem]: ...


class Utilization(Protocol):
    """Return the measurements of a job's hosts, in percent; empty where there are none. Raises CloudError."""

    def fetch_utilization(self, snapshot: JobSnapshot, *, now: float) -> tuple[MetricPoint, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """A model archive, looked at. ``bad`` are members that a host would refuse, or that lead out of the folder."""

    uri: str
    size_bytes: int
    names: tuple[str, ...]
    bad: tuple[str, ...]

    @property
    def code(self) -> bool:
        """Return True if it brings the functions that answer."""
        return "code/inference.py" in self.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model of an endpoint: the image, the archive, and the variables that the image reads."""

    image: str
    uri: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSnapshot:
    """An endpoint at one time; ``status`` is AWS's word. ``instance``, ``count`` and ``tags`` are known to a whole look only,
    and ``instance`` is empty where the configuration was deleted under a living endpoint, which is billed all the same.
    """

    name: str
    arn: str
    status: str
    config: str
    reason: str = ""
    created: datetime | None = None
    instance: str = ""
    count: int = 1
    tags: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))

    @property
    def emulated(self) -> bool:
        return f":{EMULATED_ACCOUNT}:" in self.arn


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An endpoint's answer."""

    body: bytes
    content_type: str


class Models(Protocol):
    """Model archives in S3, and models made of them. Every method raises CloudError.

    ``look`` is None where there is no archive, and does not open one of more than ``largest`` bytes; ``with_code`` is the URI
    of the same archive with other code.
    """

    def look(self, uri: str, largest: int) -> Artefact | None: ...

    def with_code(self, uri: str, code: Mapping[str, bytes]) -> str: ...

    def create_model(self, name: str, role: str, model: Model, tags: Mapping[str, str]) -> None: ...


class EndpointService(Protocol):
    """Endpoints, each called as its model is. Every method raises CloudError.

    A create that was refused leaves nothing, the model neither; it raises LaunchUnknown when nobody can say whether the
    endpoint was made. Deleting takes the configuration and the models along.
    """

    def create_endpoint(self, name: str, instance: str, count: int, tags: Mapping[str, str]) -> None: ...

    def fetch_endpoint(self, name: str, *, whole: bool = False) -> EndpointSnapshot: ...

    def fetch_endpoints(self) -> Iterator[EndpointSnapshot]: ...

    def delete_endpoint(self, name: str) -> None: ...

    def invoke(self, name: str, body: bytes, content_type: str, accept: str) -> Answer: ...


class Hosting(Models, EndpointService, Protocol):
    """All that lets a model answer."""
