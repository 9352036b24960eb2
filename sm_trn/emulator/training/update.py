"""This module answers UpdateTrainingJob: what may change, and when. It is pure and must not read or change the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import validation
from .warm_pool import pool_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .job import Job

_REMOTE_DEBUG = ("Downloading", "Training")  # the API reference of UpdateTrainingJob
_PROFILING = ("ProfilerConfig", "ProfilerRuleConfigurations")


def updated(job: Job, body: Mapping[str, Any], now: float) -> tuple[dict[str, Any], float | None]:
    """Return the job's request after the change, and when its warm pool ends if the change ends it. Raises AwsError."""
    request, pool_end = dict(job.request), None
    for name in _PROFILING:
        if body.get(name):
            if job.state.terminal:
                raise validation(f"{name}: the training job is in status {job.state.status}; its profiling is over")
            request[name] = {**request.get(name, {}), **body[name]} if name == "ProfilerConfig" else body[name]
    if body.get("RemoteDebugConfig"):
        if job.state.secondary not in _REMOTE_DEBUG:
            raise validation(
                f"RemoteDebugConfig: got a training job in {job.state.secondary}, wanted one in {' or '.join(_REMOTE_DEBUG)}"
            )
        request["RemoteDebugConfig"] = body["RemoteDebugConfig"]
    if body.get("ResourceConfig"):
        pool = pool_of(job, now)
        if pool is None or pool.status not in {"InUse", "Available"}:
            raise validation(
                f"ResourceConfig.KeepAlivePeriodInSeconds: the training job's warm pool is {pool.status if pool else 'absent'}; "
                "wanted one that is InUse or Available"
            )
        request["ResourceConfig"] = {**request["ResourceConfig"], **body["ResourceConfig"]}
        pool_end = None if body["ResourceConfig"]["KeepAlivePeriodInSeconds"] else now
    return request, pool_end
