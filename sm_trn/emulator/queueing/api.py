"""The operations of Batch on queues and on what is around them: service environments, scheduling policies, quota shares, tags.

Jobs are ``jobs.py``'s. A queue of containers is none of ours: its operations are passed on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ..api.paging import page
from ..api.shapes import given
from ..options import EMULATED_TAG
from .order import INSTANCES
from .request import QueueRequest, client_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..state.resources import Resource, Resources

QUEUE, ENVIRONMENT, POLICY, SHARE, JOB = (
    "job-queue", "service-environment", "scheduling-policy", "quota-share", "service-job",
)  # fmt: skip
SAGEMAKER: Final = "SAGEMAKER_TRAINING"
LIVE: Final = ("SUBMITTED", "PENDING", "RUNNABLE", "SCHEDULED", "STARTING", "RUNNING")
_PAGE: Final = 100
# https://docs.aws.amazon.com/batch/latest/userguide/quota-shares.html
_MOST_SHARES, _MOST_LIMITS = 20, 5


class QueueApi:
    """The operations on what jobs wait in. Every one raises AwsError; None is an answer that is not ours to give."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def find(self, kind: str, said: str) -> Resource:
        """What a name or an ARN means. Raises AwsError where there is no such thing."""
        found = self._resources.by_arn(said) if said.startswith("arn:") else self._resources.find(kind, said)
        if found is None or found.kind != kind:
            raise client_error(f"{kind} {said} does not exist")
        return found

    def shares_of(self, queue: Resource) -> list[Resource]:
        return [each for each in self._resources.of_kind(SHARE) if each.facts["queue"] == queue.name]

    def policy_of(self, queue: Resource) -> Resource | None:
        arn = queue.request.get("schedulingPolicyArn")
        return self._resources.by_arn(arn) if arn else None

    # --- service environments

    def create_environment(self, body: QueueRequest) -> dict[str, object]:
        """Answer CreateServiceEnvironment. Raises AwsError for capacity that no environment has."""
        limits = body["capacityLimits"]
        if not limits or any(each.get("maxCapacity") is None for each in limits):
            raise client_error("capacityLimits: wanted at least one, each with maxCapacity and capacityUnit")
        if len(limits) > 1 and any(each.get("capacityUnit", INSTANCES) == INSTANCES for each in limits):
            raise client_error(
                f"capacityLimits: {INSTANCES} stands alone; a quota managed environment names instance types"
            )
        made = self._add(ENVIRONMENT, body["serviceEnvironmentName"], body)
        return {"serviceEnvironmentName": made.name, "serviceEnvironmentArn": made.arn}

    def describe_environments(self, body: QueueRequest) -> dict[str, object]:
        found, more = self._chosen(ENVIRONMENT, body.get("serviceEnvironments"), body)
        rows = [
            {
                "serviceEnvironmentName": each.name,
                "serviceEnvironmentArn": each.arn,
                "serviceEnvironmentType": each.request["serviceEnvironmentType"],
                "state": each.request.get("state", "ENABLED"),
                "status": each.status,
                "capacityLimits": each.request["capacityLimits"],
                "tags": dict(each.tags),
            }
            for each in found
        ]
        return {"serviceEnvironments": rows, **more}

    def update_environment(self, body: QueueRequest) -> dict[str, object]:
        made = self._update(self.find(ENVIRONMENT, body["serviceEnvironment"]), body, "state", "capacityLimits")
        return {"serviceEnvironmentName": made.name, "serviceEnvironmentArn": made.arn}

    def delete_environment(self, body: QueueRequest) -> dict[str, object]:
        found = self.find(ENVIRONMENT, body["serviceEnvironment"])
        users = [
            queue.name
            for queue in self._resources.of_kind(QUEUE)
            if found
            in [self.find(ENVIRONMENT, each["serviceEnvironment"]) for each in queue.request["serviceEnvironmentOrder"]]
        ]
        return self._delete(found, users)

    # --- scheduling policies

    def create_policy(self, body: QueueRequest) -> dict[str, object] | None:
        """Answer CreateSchedulingPolicy. Raises AwsError for a policy of two kinds."""
        if body.get("fairsharePolicy") and body.get("quotaSharePolicy"):
            raise client_error("got fairsharePolicy and quotaSharePolicy, wanted one of them")
        made = self._add(POLICY, body["name"], body)
        return {"name": made.name, "arn": made.arn}

    def describe_policies(self, body: QueueRequest) -> dict[str, object] | None:
        known = [self._resources.by_arn(arn) for arn in body["arns"]]
        found = [each for each in known if each is not None and each.kind == POLICY]
        rows = [
            {
                "name": each.name,
                "arn": each.arn,
                "tags": dict(each.tags),
                **_some(each, "fairsharePolicy", "quotaSharePolicy"),
            }
            for each in found
        ]
        return {"schedulingPolicies": rows} if rows or not body["arns"] else None

    def list_policies(self, body: QueueRequest) -> dict[str, object]:
        found, more = self._chosen(POLICY, None, body)
        return {"schedulingPolicies": [{"arn": each.arn} for each in found], **more}

    def update_policy(self, body: QueueRequest) -> dict[str, object]:
        """Answer UpdateSchedulingPolicy. Raises AwsError where the kind of a policy would change."""
        found = self.find(POLICY, body["arn"])
        for name, other in (("fairsharePolicy", "quotaSharePolicy"), ("quotaSharePolicy", "fairsharePolicy")):
            if body.get(name) and found.request.get(other):
                raise client_error(f"{found.name} has a {other}, which cannot be changed to a {name}")
        self._update(found, body, "fairsharePolicy", "quotaSharePolicy")
        return {}

    def delete_policy(self, body: QueueRequest) -> dict[str, object]:
        found = self.find(POLICY, body["arn"])
        users = [
            each.name for each in self._resources.of_kind(QUEUE) if each.request.get("schedulingPolicyArn") == found.arn
        ]
        self._resources.remove(POLICY, found.name) if not users else self._refuse_used(found, users)
        return {}

    # --- queues

    def create_queue(self, body: QueueRequest) -> dict[str, object] | None:
        """Answer CreateJobQueue; None for a queue of containers. Raises AwsError for what no queue of service jobs has."""
        environments = body.get("serviceEnvironmentOrder")
        if not environments:
            return None
        if body.get("jobQueueType", SAGEMAKER) != SAGEMAKER:
            raise client_error(
                f"jobQueueType: got {body['jobQueueType']}, wanted {SAGEMAKER} with service environments"
            )
        for each in environments:
            self.find(ENVIRONMENT, each["serviceEnvironment"])
        if body.get("schedulingPolicyArn"):
            self.find(POLICY, body["schedulingPolicyArn"])
        _check_actions(body)
        made = self._add(QUEUE, body["jobQueueName"], body)
        return {"jobQueueName": made.name, "jobQueueArn": made.arn}

    def describe_queues(self, body: QueueRequest) -> dict[str, object] | None:
        if not self._ours(body.get("jobQueues")):
            return None
        found, more = self._chosen(QUEUE, body.get("jobQueues"), body)
        rows = [
            {
                "jobQueueName": each.name,
                "jobQueueArn": each.arn,
                "state": each.request.get("state", "ENABLED"),
                "status": each.status,
                "statusReason": "JobQueue Healthy",
                "priority": each.request["priority"],
                "computeEnvironmentOrder": [],
                "serviceEnvironmentOrder": each.request["serviceEnvironmentOrder"],
                "jobQueueType": SAGEMAKER,
                "tags": dict(each.tags),
                **_some(each, "schedulingPolicyArn", "jobStateTimeLimitActions"),
            }
            for each in found
        ]
        return {"jobQueues": rows, **more}

    def update_queue(self, body: QueueRequest) -> dict[str, object] | None:
        if not self._ours([body["jobQueue"]]):
            return None
        found = self.find(QUEUE, body["jobQueue"])
        _check_actions(body)
        changes = ("state", "schedulingPolicyArn", "priority", "serviceEnvironmentOrder", "jobStateTimeLimitActions")
        made = self._update(found, body, *changes)
        return {"jobQueueName": made.name, "jobQueueArn": made.arn}

    def delete_queue(self, body: QueueRequest) -> dict[str, object] | None:
        if not self._ours([body["jobQueue"]]):
            return None
        found = self.find(QUEUE, body["jobQueue"])
        waiting = [
            each.name
            for each in self._resources.of_kind(JOB)
            if each.facts["queue"] == found.name and each.status in LIVE
        ]
        for share in self.shares_of(found):
            self._resources.remove(SHARE, share.name)
        return self._delete(found, waiting)

    def _ours(self, said: object) -> bool:
        """Whether a request is about service queues: it names one of them, or names none and there are some."""
        names = cast("list[str]", said or [])
        known = self._resources.of_kind(QUEUE)
        return any({each.name, each.arn} & set(names) for each in known) if names else bool(known)

    # --- quota shares

    def create_share(self, body: QueueRequest) -> dict[str, object]:
        """Answer CreateQuotaShare. Raises AwsError for a queue without such a policy, and for more than it may have."""
        queue = self.find(QUEUE, body["jobQueue"])
        policy = self.policy_of(queue)
        if policy is None or not policy.request.get("quotaSharePolicy"):
            raise client_error(f"{queue.name} has no quota share scheduling policy")
        if len(self.shares_of(queue)) >= _MOST_SHARES or not 1 <= len(body["capacityLimits"]) <= _MOST_LIMITS:
            raise client_error(
                f"wanted at most {_MOST_SHARES} quota shares in a queue, each with 1 to {_MOST_LIMITS} capacityLimits"
            )
        made = self._add(SHARE, f"{queue.name}/quota-share/{body['quotaShareName']}", body, queue=queue.name)
        return {"quotaShareName": body["quotaShareName"], "quotaShareArn": made.arn}

    def describe_share(self, body: QueueRequest) -> dict[str, object]:
        return self._shown(self.find(SHARE, body["quotaShareArn"]), tags=True)

    def list_shares(self, body: QueueRequest) -> dict[str, object]:
        found, more = page(
            self.shares_of(self.find(QUEUE, body["jobQueue"])), body.get("nextToken"), body.get("maxResults") or _PAGE
        )
        return {"quotaShares": [self._shown(each, tags=False) for each in found], **_next(more)}

    def update_share(self, body: QueueRequest) -> dict[str, object]:
        changes = ("capacityLimits", "resourceSharingConfiguration", "preemptionConfiguration", "state")
        made = self._update(self.find(SHARE, body["quotaShareArn"]), body, *changes)
        return {"quotaShareName": made.request["quotaShareName"], "quotaShareArn": made.arn}

    def delete_share(self, body: QueueRequest) -> dict[str, object]:
        found = self.find(SHARE, body["quotaShareArn"])
        name = found.request["quotaShareName"]
        users = [
            each.name
            for each in self._resources.of_kind(JOB)
            if each.status in LIVE
            and each.facts["queue"] == found.facts["queue"]
            and each.request.get("quotaShareName") == name
        ]
        return self._delete(found, users)

    def _shown(self, share: Resource, *, tags: bool) -> dict[str, object]:
        asked = share.request
        return {
            "quotaShareName": asked["quotaShareName"],
            "quotaShareArn": share.arn,
            "jobQueueArn": self.find(QUEUE, share.facts["queue"]).arn,
            "state": asked.get("state", "ENABLED"),
            "status": share.status,
            **_some(share, "capacityLimits", "resourceSharingConfiguration", "preemptionConfiguration"),
            **({"tags": dict(share.tags)} if tags else {}),
        }

    # --- tags

    def tags(self, body: QueueRequest) -> dict[str, object] | None:
        found = self._resources.by_arn(body["resourceArn"])
        return None if found is None else {"tags": dict(found.tags)}

    def tag(self, body: QueueRequest) -> dict[str, object] | None:
        found = self._resources.by_arn(body["resourceArn"])
        if found is None:
            return None
        self._resources.change(found.kind, found.name, tags={**found.tags, **body["tags"]})
        return {}

    def untag(self, body: QueueRequest) -> dict[str, object] | None:
        found = self._resources.by_arn(body["resourceArn"])
        if found is None:
            return None
        gone = set(body["tagKeys"]) - {EMULATED_TAG}
        kept = {name: value for name, value in found.tags.items() if name not in gone}
        self._resources.change(found.kind, found.name, tags=kept)
        return {}

    # --- what they share

    def _add(self, kind: str, name: str, body: QueueRequest, **facts: str) -> Resource:
        if self._resources.find(kind, name) is not None:
            raise client_error(f"{kind} {name} already exists")
        tags = {**body.get("tags", {}), EMULATED_TAG: "true"}
        return self._resources.add(kind, name, dict(body), tags=tags, status="VALID", facts=facts)

    def _update(self, found: Resource, body: QueueRequest, *names: str) -> Resource:
        changes = {name: body[name] for name in names if name in body}  # type: ignore[literal-required]  # members of the request
        self._resources.change(found.kind, found.name, request={**found.request, **changes})
        return found

    def _delete(self, found: Resource, users: list[str]) -> dict[str, object]:
        if found.request.get("state", "ENABLED") != "DISABLED":
            raise client_error(f"{found.kind} {found.name} must be DISABLED before it is deleted")
        if users:
            self._refuse_used(found, users)
        self._resources.remove(found.kind, found.name)
        return {}

    def _refuse_used(self, found: Resource, users: list[str]) -> None:
        raise client_error(f"{found.kind} {found.name} is in use: {', '.join(users[:5])}")

    def _chosen(self, kind: str, names: object, body: QueueRequest) -> tuple[list[Resource], dict[str, object]]:
        """Those of a kind that are named by name or ARN, or all; a page of them."""
        wanted = cast("list[str]", names or [])
        found = [each for each in self._resources.of_kind(kind) if not wanted or {each.name, each.arn} & set(wanted)]
        shown, more = page(found, body.get("nextToken"), body.get("maxResults") or _PAGE)
        return shown, _next(more)


def _next(more: Mapping[str, object]) -> dict[str, object]:
    return given(nextToken=more.get("NextToken"))


def _some(resource: Resource, *names: str) -> dict[str, object]:
    return {name: resource.request[name] for name in names if resource.request.get(name) is not None}


def _check_actions(body: QueueRequest) -> None:
    for each in body.get("jobStateTimeLimitActions", ()):
        if each["action"] != "TERMINATE" or not 600 <= each["maxTimeSeconds"] <= 86_400:
            raise client_error(
                "jobStateTimeLimitActions: wanted TERMINATE after 600 to 86400 seconds for a queue of service jobs"
            )
