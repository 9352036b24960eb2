"""The requests of Batch's operations on service jobs and what they wait in, as far as they are read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from ..errors import AwsError

if TYPE_CHECKING:
    from ..training.request import TrainingRequest


class EvaluateOnExit(TypedDict, total=False):
    action: str
    onStatusReason: str


class RetryStrategy(TypedDict, total=False):
    attempts: int
    evaluateOnExit: Sequence[EvaluateOnExit]


class CapacityLimit(TypedDict, total=False):
    maxCapacity: int
    capacityUnit: str


class ServiceEnvironmentOrder(TypedDict):
    order: int
    serviceEnvironment: str


class ShareWeight(TypedDict, total=False):
    shareIdentifier: str
    weightFactor: float


class FairsharePolicy(TypedDict, total=False):
    shareDecaySeconds: int
    computeReservation: int
    shareDistribution: Sequence[ShareWeight]


class TimeLimitAction(TypedDict):
    reason: str
    state: str
    maxTimeSeconds: int
    action: str


class JobFilter(TypedDict, total=False):
    name: str
    values: Sequence[str]


class QueueRequest(TypedDict, total=False):
    """What is read of any request: each operation has some of these members."""

    jobId: str
    jobs: Sequence[str]
    jobName: str
    jobQueue: str
    jobQueues: Sequence[str]
    jobQueueName: str
    jobQueueType: str
    jobStatus: str
    filters: Sequence[JobFilter]
    maxResults: int
    nextToken: str
    reason: str
    retryStrategy: RetryStrategy
    schedulingPriority: int
    serviceRequestPayload: str
    shareIdentifier: str
    quotaShareName: str
    quotaShareArn: str
    preemptionConfiguration: Mapping[str, object]
    timeoutConfig: Mapping[str, int]
    tags: Mapping[str, str]
    tagKeys: Sequence[str]
    resourceArn: str
    clientToken: str
    state: str
    priority: int
    schedulingPolicyArn: str
    serviceEnvironment: str
    serviceEnvironments: Sequence[str]
    serviceEnvironmentName: str
    serviceEnvironmentType: str
    serviceEnvironmentOrder: Sequence[ServiceEnvironmentOrder]
    capacityLimits: Sequence[CapacityLimit]
    resourceSharingConfiguration: Mapping[str, object]
    jobStateTimeLimitActions: Sequence[TimeLimitAction]
    name: str
    arn: str
    arns: Sequence[str]
    fairsharePolicy: FairsharePolicy
    quotaSharePolicy: Mapping[str, str]


def client_error(message: str) -> AwsError:
    """Batch's one code for whatever is the client's fault."""
    return AwsError("ClientException", message)


def payload_of(body: QueueRequest) -> TrainingRequest:
    """The training request that a job carries. Raises AwsError for a text that is no JSON object."""
    try:
        read = json.loads(body["serviceRequestPayload"])
    except (ValueError, RecursionError) as error:
        raise client_error(f"serviceRequestPayload: wanted the JSON of a CreateTrainingJob request: {error}") from error
    if not isinstance(read, dict):
        raise client_error("serviceRequestPayload: wanted the JSON object of a CreateTrainingJob request")
    payload: TrainingRequest = read  # type: ignore[assignment]  # Batch hands it on unread, and so do we
    return payload


def needs_of(body: QueueRequest) -> Mapping[str, int]:
    """How many instances of each type a job takes; what the payload does not say, CreateTrainingJob will refuse."""
    found: Counter[str] = Counter()
    cluster = payload_of(body).get("ResourceConfig")
    if not isinstance(cluster, dict):
        return {}
    groups = cluster.get("InstanceGroups")
    for group in groups if isinstance(groups, list) else [cluster]:
        kind, count = (
            (group.get("InstanceType"), group.get("InstanceCount")) if isinstance(group, dict) else (None, None)
        )
        if isinstance(kind, str) and isinstance(count, int) and count > 0:
            found[kind] += count
    return dict(found)
