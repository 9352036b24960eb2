"""SageMaker's answers about jobs: DescribeTrainingJob and ListTrainingJobs.

Times are epoch seconds, as on the wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..api.paging import ListRequest, select
from ..api.shapes import given
from .request import Echoed, Flags
from .warm_pool import pool_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .job import Job

_DAY = 86_400  # the default of MaxRuntimeInSeconds


def describe(job: Job, now: float, spot_discount: float) -> dict[str, Any]:
    """Return the whole answer of DescribeTrainingJob."""
    request, state, pool, trained = job.request, job.state, pool_of(job, now), job.state.training_seconds(now)
    sent: Mapping[str, object] = request
    rows = [
        given(Status=row.status, StartTime=row.start, EndTime=row.end, StatusMessage=row.message)
        for row in state.transitions
    ]
    if pool is not None and pool.message:
        rows[-1]["StatusMessage"] = pool.message
    plain = {"CompressionType": "None", "RecordWrapperType": "None"}
    metrics = [{"MetricName": each.name, "Value": each.value, "Timestamp": each.timestamp} for each in job.metrics]
    return given(
        TrainingJobName=job.name,
        TrainingJobArn=job.arn,
        ModelArtifacts={"S3ModelArtifacts": job.model_uri} if job.model_uri is not None else None,
        TrainingJobStatus=state.status,
        SecondaryStatus=state.secondary,
        FailureReason=state.failure_reason,
        **{name: sent[name] for name in Echoed.__annotations__ if sent.get(name) and name != "StoppingCondition"},
        StoppingCondition={"MaxRuntimeInSeconds": _DAY, **request.get("StoppingCondition", {})},
        InputDataConfig=[{**plain, **channel} for channel in request.get("InputDataConfig") or ()] or None,
        OutputDataConfig={"KmsKeyId": "", "CompressionType": "GZIP", **request["OutputDataConfig"]},
        **{name: bool(sent.get(name)) for name in Flags.__annotations__},
        CreationTime=state.created,
        TrainingStartTime=state.started,
        TrainingEndTime=state.ended,
        LastModifiedTime=state.modified,
        # No answer of the service with 0 is known: the member is absent until a job has instances, then at least what is billed.
        TrainingTimeInSeconds=None if trained is None else max(1, trained),
        BillableTimeInSeconds=state.billable_seconds(now, spot_discount),
        WarmPoolStatus=pool and pool.answer(),
        SecondaryStatusTransitions=rows,
        FinalMetricDataList=metrics or None,
        ProfilingStatus="Disabled",
    )


def summary(job: Job, now: float) -> dict[str, Any]:
    """Return one of ListTrainingJobs' TrainingJobSummaries."""
    pool = pool_of(job, now)
    return given(
        TrainingJobName=job.name,
        TrainingJobArn=job.arn,
        CreationTime=job.created,
        LastModifiedTime=job.modified,
        TrainingJobStatus=job.status,
        SecondaryStatus=job.state.secondary,
        TrainingEndTime=job.state.ended,
        WarmPoolStatus=pool and pool.answer(),
        TrainingPlanArn=(job.request.get("ResourceConfig") or {}).get("TrainingPlanArn") or None,
    )


def list_jobs(jobs: Sequence[Job], body: ListRequest, now: float) -> dict[str, Any]:
    """List jobs; StatusEquals thins a page after it was cut, as the service documents. Raises AwsError."""
    pool, plan, status = body.get("WarmPoolStatusEquals"), body.get("TrainingPlanArnEquals"), body.get("StatusEquals")
    if pool is not None:
        jobs = [job for job in jobs if getattr(pool_of(job, now), "status", None) == pool]
    if plan is not None:
        jobs = [job for job in jobs if (job.request.get("ResourceConfig") or {}).get("TrainingPlanArn") == plan]
    rows, more = select(jobs, body)
    return {"TrainingJobSummaries": [summary(job, now) for job in rows if status in {None, job.status}], **more}
