"""A job and its place in a queue as the request that Batch gets, and a queue read from such a request.

The form is that of the SageMaker SDK: sagemaker/aws_batch/batch_api_helper.py of 2.254, and of 3.x for quota shares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ..specs.json import Json, Object
from ..specs.services import DAY_S, Queue, Retry, RetryRule

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


def parse_queue(job: Object) -> Queue:
    """The queue of a SubmitServiceJob request; ``service_job`` of it says the same. Tags of the training job count as the queue's.

    Raises ValueError for a request that Batch would refuse.
    """
    timeout = _mapping(job.get("timeoutConfig")).get("attemptDurationSeconds")
    preemptions = _mapping(job.get("preemptionConfiguration")).get("preemptionRetriesBeforeTermination")
    retry = job.get("retryStrategy")
    return Queue(
        str(job.get("jobQueue") or ""),
        priority=_number(job.get("schedulingPriority")),
        share=_text(job.get("shareIdentifier")),
        quota_share=_text(job.get("quotaShareName")),
        retry=_parsed_retry(retry) if isinstance(retry, Mapping) else None,
        timeout_s=DAY_S if timeout is None else _number(timeout) or 0,
        preemptions=_number(preemptions),
        tags={name: str(value) for name, value in _mapping(job.get("tags")).items()},
    )


def _retry(retry: Retry) -> dict[str, Json]:
    strategy: dict[str, Json] = {"attempts": retry.attempts}
    if retry.rules:
        strategy["evaluateOnExit"] = [
            {"action": rule.action, **({"onStatusReason": rule.reason} if rule.reason is not None else {})}
            for rule in retry.rules
        ]
    return strategy


def _parsed_retry(said: Mapping[str, Json]) -> Retry | None:
    """The retry of a request; None where it is the SDK's own."""
    listed = said.get("evaluateOnExit")
    rules = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, (list, tuple)) else []
    retry = Retry(
        attempts=_number(said.get("attempts")) or 0,
        rules=tuple(
            RetryRule(action=str(rule.get("action")), reason=_text(rule.get("onStatusReason"))) for rule in rules
        ),
    )
    return None if retry == DEFAULT_RETRY else retry


def _tags(said: Json) -> dict[str, str]:
    listed: Iterable[Json] = said if isinstance(said, (list, tuple)) else ()
    return {str(tag["Key"]): str(tag["Value"]) for tag in listed if isinstance(tag, Mapping)}


def _mapping(said: Json) -> Mapping[str, Json]:
    return said if isinstance(said, Mapping) else {}


def _text(said: Json) -> str | None:
    return said if isinstance(said, str) and said else None


def _number(said: Json) -> int | None:
    return said if isinstance(said, int) and not isinstance(said, bool) else None
