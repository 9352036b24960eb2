"""What capacity needs of the cloud, as protocols: queues and the jobs in them, and plans that reserve machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Protocol

from ..core.formatting import numbers as fmt
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

    def update(self, job_id: str, priority: int) -> None: ...

    def terminate(self, job_id: str, reason: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A training plan on offer, or with ``plan`` an extension of one. ``fee`` is paid in advance, in ``currency``, whether the machines are
    used or not. ``instance`` and ``count`` are empty and 0 for an extension: they are the plan's own.
    """

    id: str
    length: timedelta
    fee: Decimal
    currency: str
    starts: datetime | None
    ends: datetime | None
    instance: str = ""
    count: int = 0
    zones: tuple[str, ...] = ()
    plan: str = ""

    @property
    def per_instance_hour(self) -> Decimal | None:
        """The fee of one instance for an hour, in ``currency``; None for an extension, and for an offer without a length."""
        hours = Decimal(str(self.length.total_seconds())) / 3600
        return self.fee / (hours * self.count) if hours and self.count else None

    def __str__(self) -> str:
        machines = (
            fmt.instances(self.instance, self.count) if self.count else f"extension of {self.plan.rpartition('/')[2]}"
        )
        start = fmt.stamp(self.starts) if self.starts is not None else "start not said"
        hour = f", {self.per_instance_hour:,.2f} an instance and hour" if self.per_instance_hour is not None else ""
        return (
            f"{machines} from {start} for {self.length.total_seconds() / 3600:g} h: {self.fee:,} {self.currency}{hour}"
        )


class Plans(Protocol):
    """Training plans. Every method raises CloudError; those that buy raise LaunchUnknown when nobody knows whether they did."""

    def search(
        self, instance: str, count: int, hours: int, *, after: datetime | None = None, before: datetime | None = None
    ) -> tuple[Offer, ...]: ...

    def extensions(self, plan_arn: str) -> tuple[Offer, ...]: ...

    def buy(self, offer: Offer, name: str) -> str: ...

    def extend(self, offer: Offer) -> None: ...
