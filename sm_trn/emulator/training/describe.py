"""This module makes SageMaker's answers about a job: DescribeTrainingJob, and one row of ListTrainingJobs.

Times are epoch seconds, as on the wire. It must not change a job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .warm_pool import pool_of

if TYPE_CHECKING:
    from .engine import JobState
    from .job import Job
    from .warm_pool import WarmPool

# Echoed as sent. HyperParameters is absent, not empty, when none were sent; Tags are never echoed.
_ECHOED = (
    "HyperParameters",
    "AlgorithmSpecification",
    "RoleArn",
    "ResourceConfig",
    "VpcConfig",
    "StoppingCondition",
    "CheckpointConfig",
    "DebugHookConfig",
    "DebugRuleConfigurations",
    "TensorBoardOutputConfig",
    "ExperimentConfig",
    "ProfilerConfig",
    "ProfilerRuleConfigurations",
    "Environment",
    "RetryStrategy",
    "RemoteDebugConfig",
    "InfraCheckConfig",
    "MlflowConfig",
    "ModelPackageConfig",
)
_FLAGS = ("EnableNetworkIsolation", "EnableInterContainerTrafficEncryption", "EnableManagedSpotTraining")
_DAY = 86_400  # the default of MaxRuntimeInSeconds


def describe(job: Job, now: float, spot_discount: float) -> dict[str, Any]:
    """Return the whole answer of DescribeTrainingJob."""
    request, state = job.request, job.state
    answer: dict[str, Any] = {"TrainingJobName": job.name, "TrainingJobArn": job.arn}
    if job.model_uri is not None:
        answer["ModelArtifacts"] = {"S3ModelArtifacts": job.model_uri}
    answer |= {"TrainingJobStatus": state.status, "SecondaryStatus": state.secondary}
    if state.failure_reason is not None:
        answer["FailureReason"] = state.failure_reason
    answer |= {name: request[name] for name in _ECHOED if request.get(name)}
    answer["StoppingCondition"] = {"MaxRuntimeInSeconds": _DAY, **request.get("StoppingCondition", {})}
    if request.get("InputDataConfig"):
        plain = {"CompressionType": "None", "RecordWrapperType": "None"}
        answer["InputDataConfig"] = [{**plain, **channel} for channel in request["InputDataConfig"]]
    answer["OutputDataConfig"] = {"KmsKeyId": "", "CompressionType": "GZIP", **request["OutputDataConfig"]}
    answer |= {name: bool(request.get(name, False)) for name in _FLAGS}
    answer |= _times(state, now, spot_discount)
    pool = pool_of(job, now)
    if pool is not None:
        answer["WarmPoolStatus"] = _pool(pool)
    answer["SecondaryStatusTransitions"] = transitions(state, pool.message if pool else "")
    if job.metrics:
        answer["FinalMetricDataList"] = [
            {"MetricName": metric.name, "Value": metric.value, "Timestamp": metric.timestamp} for metric in job.metrics
        ]
    answer["ProfilingStatus"] = "Disabled"
    return answer


def summary(job: Job, now: float) -> dict[str, Any]:
    """Return one of ListTrainingJobs' TrainingJobSummaries."""
    state = job.state
    row: dict[str, Any] = {
        "TrainingJobName": job.name,
        "TrainingJobArn": job.arn,
        "CreationTime": state.created,
        "LastModifiedTime": state.modified,
        "TrainingJobStatus": state.status,
        "SecondaryStatus": state.secondary,
    }
    if state.ended is not None:
        row["TrainingEndTime"] = state.ended
    pool = pool_of(job, now)
    if pool is not None:
        row["WarmPoolStatus"] = _pool(pool)
    plan = (job.request.get("ResourceConfig") or {}).get("TrainingPlanArn")
    return row | ({"TrainingPlanArn": plan} if plan else {})


def transitions(state: JobState, last: str = "") -> list[dict[str, Any]]:
    """Return rows of SecondaryStatusTransitions; ``last`` replaces the message of the last one."""
    rows = []
    for row in state.transitions:
        known = {"Status": row.status, "StartTime": row.start, "EndTime": row.end, "StatusMessage": row.message}
        rows.append({name: value for name, value in known.items() if value is not None})
    if last:
        rows[-1]["StatusMessage"] = last
    return rows


def _pool(pool: WarmPool) -> dict[str, Any]:
    known = {
        "Status": pool.status,
        "ResourceRetainedBillableTimeInSeconds": pool.retained_s,
        "ReusedByJob": pool.reused_by,
    }
    return {name: value for name, value in known.items() if value is not None}


def _times(state: JobState, now: float, spot_discount: float) -> dict[str, Any]:
    trained = state.training_seconds(now)
    known = {
        "CreationTime": state.created,
        "TrainingStartTime": state.started,
        "TrainingEndTime": state.ended,
        "LastModifiedTime": state.modified,
        # No answer of the service with 0 is known: the member is absent until a job has instances, then at least what is billed.
        "TrainingTimeInSeconds": None if trained is None else max(1, trained),
        "BillableTimeInSeconds": state.billable_seconds(now, spot_discount),
    }
    return {name: value for name, value in known.items() if value is not None}
