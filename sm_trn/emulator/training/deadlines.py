"""When a job's StoppingCondition ends it. It is pure: the present time is an argument, in epoch seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core.catalog.instances import find_instance
from ...core.specs.compute import Accelerator
from .engine import Event

if TYPE_CHECKING:
    from ..container.cluster import Plan
    from .job import Job

_DAY: float = 86_400  # MaxRuntimeInSeconds where it is not given


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    max_run_s: float
    wait_until: float
    pending_until: float

    @property
    def while_waiting(self) -> float:
        """Return when a job that has had no place yet is ended."""
        return min(self.wait_until, self.pending_until)

    def overdue(self, now: float, *, started: bool) -> Event | None:
        """Return what a job has run into that has nothing on the machine at present."""
        if now >= self.wait_until:
            return Event.WAIT_EXCEEDED
        return Event.PENDING_EXCEEDED if now >= self.pending_until and not started else None

    def run_until(self, attempts: tuple[tuple[float, float | None], ...]) -> float:
        """Return the end of the last attempt: all of them together may run so long."""
        used = sum((end or start) - start for start, end in attempts)
        return attempts[-1][0] + self.max_run_s - used


def deadlines_of(job: Job, plan: Plan) -> Deadlines:
    """MaxPendingTimeInSeconds has no effect on clusters of CPU instances (the API reference of StoppingCondition)."""
    given = job.request.get("StoppingCondition") or {}
    rows = [find_instance(group.instance_type) for group in plan.groups]
    accelerated = any(row is not None and row.accelerator is not Accelerator.CPU for row in rows)
    wait, pending = given.get("MaxWaitTimeInSeconds"), given.get("MaxPendingTimeInSeconds") if accelerated else None
    return Deadlines(
        max_run_s=float(given.get("MaxRuntimeInSeconds", _DAY)),
        wait_until=job.state.created + float(wait or "inf"),
        pending_until=job.state.created + float(pending or "inf"),
    )
