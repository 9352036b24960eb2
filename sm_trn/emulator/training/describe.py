"""SageMaker's answers about jobs: DescribeTrainingJob and ListTrainingJobs.

Times are epoch seconds, as on the wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..api.paging import select
from ..api.shapes import given, service_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..api.shapes import Body
    from .job import Job

# What is not said as it was sent.
_CHANGED = {"TrainingJobName", "StoppingCondition", "InputDataConfig", "OutputDataConfig"}
_DAY = 86_400  # the default of MaxRuntimeInSeconds


def describe(job: Job, now: float, spot_discount: float) -> dict[str, Any]:
    """Return the whole answer of DescribeTrainingJob."""
    request, state, trained = job.request, job.state, job.state.training_seconds(now)
    answered = service_model().shape_for("DescribeTrainingJobResponse").members
    flags = [name for name, shape in answered.items() if shape.type_name == "boolean"]
    rows = [
        given(Status=row.status, StartTime=row.start, EndTime=row.end, StatusMessage=row.message)
        for row in state.transitions
    ]
    plain = {"CompressionType": "None", "RecordWrapperType": "None"}
    metrics = [{"MetricName": each.name, "Value": each.value, "Timestamp": each.timestamp} for each in job.metrics]
    return given(
        TrainingJobName=job.name,
        TrainingJobArn=job.arn,
        ModelArtifacts={"S3ModelArtifacts": job.model_uri} if job.model_uri is not None else None,
        TrainingJobStatus=state.status,
        SecondaryStatus=state.secondary,
        FailureReason=state.failure_reason,
        **{
            name: value
            for name, value in request.items()
            if name in answered and value and name not in {*_CHANGED, *flags}
        },
        StoppingCondition={"MaxRuntimeInSeconds": _DAY, **request.get("StoppingCondition", {})},
        InputDataConfig=[{**plain, **channel} for channel in request.get("InputDataConfig") or ()] or None,
        OutputDataConfig={"KmsKeyId": "", "CompressionType": "GZIP", **request["OutputDataConfig"]},
        **{name: bool(request.get(name)) for name in flags},
        CreationTime=state.created,
        TrainingStartTime=state.started,
        TrainingEndTime=state.ended,
        LastModifiedTime=state.modified,
        # No answer of the service with 0 is known: the member is absent until a job has instances, then at least what is billed.
        TrainingTimeInSeconds=None if trained is None else max(1, trained),
        BillableTimeInSeconds=state.billable_seconds(now, spot_discount),
        SecondaryStatusTransitions=rows,
        FinalMetricDataList=metrics or None,
        ProfilingStatus="Disabled",
    )


def summary(job: Job) -> dict[str, Any]:
    """Return one of ListTrainingJobs' TrainingJobSummaries."""
    return given(
        TrainingJobName=job.name,
        TrainingJobArn=job.arn,
        CreationTime=job.created,
        LastModifiedTime=job.modified,
        TrainingJobStatus=job.status,
        SecondaryStatus=job.state.secondary,
        TrainingEndTime=job.state.ended,
        TrainingPlanArn=(job.request.get("ResourceConfig") or {}).get("TrainingPlanArn") or None,
    )


def list_jobs(jobs: Sequence[Job], body: Body) -> dict[str, Any]:
    """List jobs; StatusEquals thins a page after it was cut, as the service documents. Raises AwsError."""
    plan, status = body.get("TrainingPlanArnEquals"), body.get("StatusEquals")
    if body.get("WarmPoolStatusEquals"):
        jobs = []  # there are no warm pools here
    if plan is not None:
        jobs = [job for job in jobs if (job.request.get("ResourceConfig") or {}).get("TrainingPlanArn") == plan]
    rows, more = select(jobs, body)
    return {"TrainingJobSummaries": [summary(job) for job in rows if status in {None, job.status}], **more}
