"""A warm pool keeps a job's instances for another job: this module says until when, and for which. It is pure; time is an argument.

A pool here holds no place of the machine: it saves the next job the time that instances take to start, and is billed.
The rules are those of https://docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools.html.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..api.shapes import given

if TYPE_CHECKING:
    from .job import Job
    from .request import TrainingRequest

_PERIOD: Final = "KeepAlivePeriodInSeconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmPool:
    """``retained_s`` is the billed wall time of each instance since its job ended; ``message`` stands at the job's end."""

    status: str
    retained_s: int | None = None
    reused_by: str | None = None
    message: str = ""

    def answer(self) -> dict[str, str | int]:
        """Return WarmPoolStatus, as answers have it."""
        return given(
            Status=self.status, ResourceRetainedBillableTimeInSeconds=self.retained_s, ReusedByJob=self.reused_by
        )


def keep_alive(request: TrainingRequest) -> int:
    """Return seconds; 0 is no pool."""
    return (request.get("ResourceConfig") or {}).get("KeepAlivePeriodInSeconds") or 0


def pool_of(job: Job, now: float) -> WarmPool | None:
    """Return the pool as it stands at ``now``; None for a job that asked for none."""
    period, end = keep_alive(job.request), job.pool_end
    if not period and end is None:
        return None
    if not job.state.terminal:
        return WarmPool(status="InUse" if end is None else "Terminated")
    ended = job.state.ended
    if ended is None or job.state.status == "Stopped":  # a stopped job's instances go with it; others never came
        return WarmPool(status="Terminated")
    if end is None and now < ended + period:
        return WarmPool(status="Available", retained_s=_seconds(ended, now), message="Resource retained for reuse")
    retained = _seconds(ended, ended + period if end is None else end)
    if job.reused_by is not None:
        message = f"Resource reused by training job: {job.reused_by}"
        return WarmPool(status="Reused", retained_s=retained, reused_by=job.reused_by, message=message)
    message = "Resource released due to keep alive period expiry"
    return WarmPool(status="Terminated", retained_s=retained, message=message)


def matches(one: TrainingRequest, other: TrainingRequest) -> bool:
    """Return whether a job may take over another's pool: both keep one, on the same cluster, for the same role and network."""
    return bool(keep_alive(one) and keep_alive(other)) and _identity(one) == _identity(other)


def _identity(request: TrainingRequest) -> list[object]:
    """What a job must share with the one whose pool it takes over."""
    cluster = {name: value for name, value in (request.get("ResourceConfig") or {}).items() if name != _PERIOD}
    isolated, encrypted = request.get("EnableNetworkIsolation"), request.get("EnableInterContainerTrafficEncryption")
    return [cluster, request.get("RoleArn"), request.get("VpcConfig") or None, bool(isolated), bool(encrypted)]


def _seconds(start: float, end: float) -> int:
    return max(0, math.floor(end) - math.floor(start))
