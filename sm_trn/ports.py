"""What the session needs of the outside, as protocols: the cloud or its emulator, the logs, the storage, the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from .logs import LogEvent
from .specs import JobSnapshot


class Clock(Protocol):
    """The only thing that sleeps."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class Backend(Protocol):
    """SageMaker's training jobs. Every method raises CloudError with the operation and the job's name."""

    def create_job(self, request: Mapping[str, Any]) -> str: ...

    def fetch_snapshot(self, name: str) -> JobSnapshot: ...

    def fetch_tags(self, arn: str) -> Mapping[str, str]: ...

    def fetch_names(self, *, containing: str = "", limit: int = 50) -> tuple[str, ...]: ...

    def stop_job(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class LogCursor:
    """Where a reader stands: the next token of every stream it has seen. A value: keep it, and reading goes on there."""

    tokens: tuple[tuple[str, str], ...] = ()


class LogSource(Protocol):
    """A job's log. ``fetch_events`` returns what is new since ``cursor`` and the cursor to come back with."""

    def fetch_events(self, job_name: str, cursor: LogCursor) -> tuple[Iterable[LogEvent], LogCursor]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObjects:
    """What lies under a place in S3: how many objects, their bytes, and when the newest was written."""

    uri: str
    count: int
    size_bytes: int
    newest: datetime | None

    def __str__(self) -> str:
        if self.newest is None:
            return f"no objects in {self.uri}"
        return f"{self.count} objects in {self.uri}, {self.size_bytes:,} bytes, newest of {self.newest:%Y-%m-%d %H:%M:%S} UTC"


class Storage(Protocol):
    """S3, content-addressed: the same content is uploaded once. ``fetch_text`` is None where there is nothing to read."""

    def put_source(self, folder: str) -> str: ...

    def put_input(self, path: str) -> str: ...

    def put_text(self, key: str, text: str) -> str: ...

    def fetch_text(self, uri: str) -> str | None: ...

    def fetch_objects(self, uri: str) -> StoredObjects: ...
