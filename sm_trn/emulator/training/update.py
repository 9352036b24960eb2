"""This module answers UpdateTrainingJob: what may change, and when. It is pure and must not read or change the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import validation
from .warm_pool import pool_of

if TYPE_CHECKING:
    from .job import Job
    from .request import TrainingRequest

_REMOTE_DEBUG = ("Downloading", "Training")  # the API reference of UpdateTrainingJob


def updated(job: Job, body: TrainingRequest, now: float) -> tuple[TrainingRequest, float | None]:
    """Return the job's request after the change, and when its warm pool ends if the change ends it. Raises AwsError."""
    request, pool_end = job.request.copy(), None
    profiler, rules = body.get("ProfilerConfig"), body.get("ProfilerRuleConfigurations")
    if (profiler or rules) and job.state.terminal:
        name = "ProfilerConfig" if profiler else "ProfilerRuleConfigurations"
        raise validation(f"{name}: the training job is in status {job.status}; its profiling is over")
    if profiler:
        request["ProfilerConfig"] = {**request.get("ProfilerConfig", {}), **profiler}
    if rules:
        request["ProfilerRuleConfigurations"] = rules
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
