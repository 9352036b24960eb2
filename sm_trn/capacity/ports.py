"""The queues of AWS Batch as a protocol, and the values that it exchanges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ..core.specs.json import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One start of a queued job. ``training_job`` is the name of the training job that it made; times are epoch seconds."""

    training_job: str
    started: float | None = None
    stopped: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceJob:
    """A job in a queue of AWS Batch at one time. ``status`` is Batch's word; ``training_job`` is empty until it was started once.

    ``queue`` is the queue's ARN, and ``payload`` the request as it was queued; a list knows neither them nor the attempts.
    """

    id: str
    name: str
    status: str
    reason: str = ""
    queue: str = ""
    payload: str = ""
    training_job: str = ""
    share: str = ""
    priority: int | None = None
    created: float | None = None
    started: float | None = None
    stopped: float | None = None
    terminated: bool = False
    attempts: tuple[Attempt, ...] = ()

    @property
    def terminal(self) -> bool:
        """A status that Batch adds later is not terminal."""
        return self.status in {"SUCCEEDED", "FAILED"}


class Queues(Protocol):
    """Training queues of AWS Batch. Every method raises CloudError.

    ``refuse`` raises InvalidJob for a training request that does not have the shape of one: Batch hands it on unread.
    ``submit`` makes one job, however often its answer is lost; it raises LaunchUnknown when nobody can say whether it did.
    ``fetch_front`` are the ids of the jobs that are started next, in order.
    """

    def refuse(self, request: Object) -> None: ...

    def submit(self, job: Object) -> str: ...

    def fetch(self, job_id: str) -> ServiceJob: ...

    def fetch_named(self, queue: str, name: str) -> ServiceJob | None: ...

    def fetch_all(self, queue: str, status: str = "") -> Iterator[ServiceJob]: ...

    def fetch_front(self, queue: str) -> tuple[str, ...]: ...

    def terminate(self, job_id: str, reason: str) -> None: ...
