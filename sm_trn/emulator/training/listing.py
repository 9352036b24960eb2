"""This module answers ListTrainingJobs: it filters, sorts and pages. It is pure and must not read the registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..api.paging import ListRequest, select
from .describe import summary
from .warm_pool import pool_of

if TYPE_CHECKING:
    from .job import Job


def list_jobs(jobs: Sequence[Job], body: ListRequest, now: float) -> dict[str, Any]:
    """List jobs; StatusEquals thins a page after it was cut, as the service documents. Raises AwsError."""
    pool, plan, status = body.get("WarmPoolStatusEquals"), body.get("TrainingPlanArnEquals"), body.get("StatusEquals")
    if pool is not None:
        jobs = [job for job in jobs if getattr(pool_of(job, now), "status", None) == pool]
    if plan is not None:
        jobs = [job for job in jobs if (job.request.get("ResourceConfig") or {}).get("TrainingPlanArn") == plan]
    rows, more = select(jobs, body)
    return {"TrainingJobSummaries": [summary(job, now) for job in rows if status in {None, job.status}], **more}
