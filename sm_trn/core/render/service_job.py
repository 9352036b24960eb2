"""A job and its place in a queue as the request that Batch gets, and a queue read from such a request.

The form is that of the SageMaker SDK: sagemaker/aws_batch/batch_api_helper.py of 2.254, and of 3.x for quota shares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ..specs.json import Json, Object
from ..specs.services import Queue, Retry, RetryRule

TYPE = "SAGEMAKER_TRAINING"
INTERNAL_ERROR = (
    "Received status from SageMaker:InternalServerError: We encountered an internal error. Please try again."
)
# sagemaker/aws_batch/constants.py: what the SDK sends where it is told nothing.
DEFAULT_RETRY = Retry(
    attempts=1, rules=(RetryRule(action="RETRY", reason=INTERNAL_ERROR), RetryRule(action="EXIT", reason="*"))
)


def service_job(request: Object, queue: Queue, *, token: str = "") -> dict[str, Json]:
    """The arguments of SubmitServiceJob for a CreateTrainingJob ``request``. The job's tags become tags of the queued job.

    ``token`` makes it the same submission however often it is sent. The SDK sends no priority of 0, and neither do we.
    """
    training = {name: value for name, value in request.items() if name != "Tags"}
    job: dict[str, Json] = {
        "jobName": str(request["TrainingJobName"]),
        "jobQueue": queue.name,
        "retryStrategy": _retry(queue.retry or DEFAULT_RETRY),
        "serviceJobType": TYPE,
        "serviceRequestPayload": json.dumps(training),
        "timeoutConfig": {"attemptDurationSeconds": queue.timeout_s},
    }
    if queue.priority:
        job["schedulingPriority"] = queue.priority
    if queue.share:
        job["shareIdentifier"] = queue.share
    if queue.quota_share:
        job["quotaShareName"] = queue.quota_share
    if queue.preemptions is not None:
        job["preemptionConfiguration"] = {"preemptionRetriesBeforeTermination": queue.preemptions}
    tags = {**queue.tags, **_tags(request.get("Tags"))}
    if tags:
        job["tags"] = tags
    if token:
        job["clientToken"] = token
    return job


def _retry(retry: Retry) -> dict[str, Json]:
    strategy: dict[str, Json] = {"attempts": retry.attempts}
    if retry.rules:
        strategy["evaluateOnExit"] = [
            {"action": rule.action, **({"onStatusReason": rule.reason} if rule.reason is not None else {})}
            for rule in retry.rules
        ]
    return strategy


def _tags(tags: Json) -> dict[str, str]:
    listed: Iterable[Json] = tags if isinstance(tags, (list, tuple)) else ()
    return {str(tag["Key"]): str(tag["Value"]) for tag in listed if isinstance(tag, Mapping)}
