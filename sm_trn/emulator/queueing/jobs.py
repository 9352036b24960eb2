"""The operations of Batch on service jobs. They record what is asked; the scheduler starts training jobs and follows them."""

from __future__ import annotations

import itertools
import re
import threading
import uuid
from typing import TYPE_CHECKING, Final, Protocol

from ..api.paging import page
from ..api.shapes import given
from ..options import EMULATED_TAG
from .api import JOB, QUEUE, SAGEMAKER, QueueApi, _next
from .request import QueueRequest, client_error, needs_of, payload_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..state.resources import Resource, Resources

ACTIVE: Final = ("SCHEDULED", "STARTING", "RUNNING")
WAITING: Final = ("SUBMITTED", "PENDING", "RUNNABLE")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PAGE: Final = 100
_FRONT: Final = 100  # jobs of a snapshot of a queue


class Schedule(Protocol):
    """Whoever starts jobs is asked by these names."""

    def wake(self) -> None: ...
    def front(self, queue: Resource) -> list[str]: ...
    def terminate(self, name: str, reason: str) -> None: ...


class JobApi:
    """The operations on service jobs. Every one raises AwsError."""

    def __init__(self, resources: Resources, queues: QueueApi, schedule: Schedule) -> None:
        self._resources = resources
        self._queues = queues
        self._schedule = schedule
        self._lock = threading.Lock()  # a token is looked for and a number given in one step
        self._number = itertools.count(max((each.facts["number"] for each in resources.of_kind(JOB)), default=0) + 1)

    def submit(self, body: QueueRequest) -> dict[str, object]:
        """Answer SubmitServiceJob. A second request with the token of a first one is answered as that was."""
        queue = self._queues.find(QUEUE, body["jobQueue"])
        with self._lock:
            first = self._same(body)
            if first is None:
                self._check(body, queue)
                first = self._add(body, queue)
        self._schedule.wake()
        return {"jobArn": first.arn, "jobName": first.request["jobName"], "jobId": first.name}

    def _same(self, body: QueueRequest) -> Resource | None:
        token = body.get("clientToken")
        found = next(
            (each for each in self._resources.of_kind(JOB) if token and each.request.get("clientToken") == token), None
        )
        if found is not None and found.request["serviceRequestPayload"] != body["serviceRequestPayload"]:
            raise client_error(f"clientToken: {token} was given with another payload before")
        return found

    def _add(self, body: QueueRequest, queue: Resource) -> Resource:
        facts: dict[str, object] = {"queue": queue.name, "number": next(self._number), "attempts": [], "used": 0}
        tags = {**body.get("tags", {}), EMULATED_TAG: "true"}
        return self._resources.add(JOB, str(uuid.uuid4()), dict(body), tags=tags, status="RUNNABLE", facts=facts)

    def _check(self, body: QueueRequest, queue: Resource) -> None:
        if not _NAME.fullmatch(body["jobName"]):
            raise client_error(
                f"jobName: got {body['jobName']!r}, wanted at most 128 letters, digits, hyphens and underscores"
            )
        if queue.request.get("state", "ENABLED") != "ENABLED":
            raise client_error(f"{queue.name} is DISABLED, and accepts no jobs")
        payload_of(body)
        attempts = body.get("retryStrategy", {}).get("attempts", 1)
        rules = body.get("retryStrategy", {}).get("evaluateOnExit", ())
        if not 1 <= attempts <= 10 or len(rules) > 5:
            raise client_error("retryStrategy: wanted 1 to 10 attempts and at most 5 of evaluateOnExit")
        if not 0 <= body.get("schedulingPriority", 0) <= 9999:
            raise client_error(f"schedulingPriority: got {body['schedulingPriority']}, wanted 0 to 9999")
        self._check_share(body, queue)

    def _check_share(self, body: QueueRequest, queue: Resource) -> None:
        """A policy wants its share, and no policy none: the API reference of SubmitServiceJob."""
        policy = self._queues.policy_of(queue)
        fair = policy is not None and not policy.request.get("quotaSharePolicy")
        quota = policy is not None and not fair
        for name, wanted in (("shareIdentifier", fair), ("quotaShareName", quota)):
            if bool(body.get(name)) != wanted:
                has = "needs" if wanted else "takes no"
                raise client_error(f"{name}: the scheduling policy of {queue.name} {has} {name}")
        if quota and body["quotaShareName"] not in [
            each.request["quotaShareName"] for each in self._queues.shares_of(queue)
        ]:
            raise client_error(f"quotaShareName: {queue.name} has no quota share {body['quotaShareName']}")

    def describe(self, body: QueueRequest) -> dict[str, object]:
        return described(self._find(body["jobId"]), self._queues.find(QUEUE, self._find(body["jobId"]).facts["queue"]))

    def listed(self, body: QueueRequest) -> dict[str, object]:
        """Answer ListServiceJobs, newest first: of one status, RUNNING unless said otherwise, or of any status by a filter.
        Raises AwsError for a list of no queue, and for two filters."""
        if not body.get("jobQueue"):
            raise client_error("jobQueue: missing")
        queue = self._queues.find(QUEUE, body["jobQueue"])
        filters = body.get("filters", ())
        if len(filters) > 1:
            raise client_error("filters: wanted at most one")
        found = [each for each in self._resources.of_kind(JOB) if each.facts["queue"] == queue.name]
        shares = False
        for each in filters:
            keep = _filter(each.get("name", ""), each.get("values", ()))
            shares = each.get("name") in {"SHARE_IDENTIFIER", "QUOTA_SHARE_NAME"}
            found = [job for job in found if keep(job)]
        status = body.get("jobStatus") or ("" if filters else "RUNNING")
        if status and (shares or not filters):
            found = [job for job in found if job.status == status]
        found.sort(key=lambda job: job.facts["number"], reverse=True)
        shown, more = page(found, body.get("nextToken"), body.get("maxResults") or _PAGE)
        return {"jobSummaryList": [summary(job) for job in shown], **_next(more)}

    def update(self, body: QueueRequest) -> dict[str, object]:
        """Answer UpdateServiceJob. Raises AwsError for a priority that no job has."""
        found = self._find(body["jobId"])
        if not 0 <= body["schedulingPriority"] <= 9999:
            raise client_error(f"schedulingPriority: got {body['schedulingPriority']}, wanted 0 to 9999")
        self._resources.change(
            JOB, found.name, request={**found.request, "schedulingPriority": body["schedulingPriority"]}
        )
        self._schedule.wake()
        return {"jobArn": found.arn, "jobName": found.request["jobName"], "jobId": found.name}

    def terminate(self, body: QueueRequest) -> dict[str, object]:
        self._schedule.terminate(self._find(body["jobId"]).name, body["reason"])
        return {}

    def terminate_all(self, body: QueueRequest) -> dict[str, object]:
        """Answer TerminateServiceJobs: one that is not there counts as ended, says the API reference. Raises AwsError for too
        many."""
        if len(body["jobs"]) > 50:
            raise client_error(f"jobs: got {len(body['jobs'])}, wanted at most 50")
        there = {each.name for each in self._resources.of_kind(JOB)}
        for name in (each.rsplit("/", 1)[-1] for each in body["jobs"]):
            if name in there:
                self._schedule.terminate(name, body["reason"])
        return {"successful": list(body["jobs"]), "errors": []}

    def snapshot(self, body: QueueRequest) -> dict[str, object]:
        """Answer GetJobQueueSnapshot: the order of what waits, and what is in use."""
        queue = self._queues.find(QUEUE, body["jobQueue"])
        jobs = {each.name: each for each in self._resources.of_kind(JOB) if each.facts["queue"] == queue.name}
        now = int(self._resources.now() * 1000)
        rows = [
            {"jobArn": jobs[name].arn, "earliestTimeAtPosition": int(jobs[name].created * 1000)}
            for name in self._schedule.front(queue)[:_FRONT]
            if name in jobs
        ]
        used: dict[str, int] = {}
        for job in jobs.values():
            for kind, count in needs_of(job.request).items() if job.status in ACTIVE else ():
                used[kind] = used.get(kind, 0) + count
        usage = [{"capacityUnit": kind, "quantity": float(count)} for kind, count in sorted(used.items())]
        return {
            "frontOfQueue": {"jobs": rows, "lastUpdatedAt": now},
            "queueUtilization": {"totalCapacityUsage": usage, "lastUpdatedAt": now},
        }

    def _find(self, said: str) -> Resource:
        return self._queues.find(JOB, said)


def described(job: Resource, queue: Resource) -> dict[str, object]:
    """The answer of DescribeServiceJob. Before a job has started, ``startedAt`` is 0: the model wants the member."""
    names = (
        "retryStrategy",
        "schedulingPriority",
        "serviceRequestPayload",
        "quotaShareName",
        "preemptionConfiguration",
        "timeoutConfig",
    )
    asked = {name: job.request[name] for name in names if job.request.get(name) is not None}
    ended = [_attempt(each) for each in job.facts["attempts"] if each.get("stopped") and each["kind"] != "preempted"]
    lost = [_attempt(each) for each in job.facts["attempts"] if each.get("stopped") and each["kind"] == "preempted"]
    preempted = {"preemptedAttemptCount": len(lost), "recentPreemptedAttempts": lost[-10:]} if lost else None
    return {
        **summary(job),
        **asked,
        "attempts": ended,
        "jobQueue": queue.arn,
        "serviceJobType": SAGEMAKER,
        "startedAt": int((job.facts.get("started") or 0) * 1000),
        "tags": dict(job.tags),
        **given(preemptionSummary=preempted),
    }


def summary(job: Resource) -> dict[str, object]:
    """A row of ListServiceJobs."""
    facts, latest = job.facts, job.facts.get("latest")
    needs = needs_of(job.request)
    return {
        "jobArn": job.arn,
        "jobId": job.name,
        "jobName": job.request["jobName"],
        "serviceJobType": SAGEMAKER,
        "createdAt": int(job.created * 1000),
        "status": job.status,
        **given(
            latestAttempt={"serviceResourceId": _arn(latest)} if latest else None,
            capacityUsage=[{"capacityUnit": kind, "quantity": float(count)} for kind, count in needs.items()] or None,
            shareIdentifier=job.request.get("shareIdentifier"),
            quotaShareName=job.request.get("quotaShareName"),
            statusReason=job.reason or None,
            scheduledAt=_ms(facts.get("scheduled")),
            startedAt=_ms(facts.get("started")),
            stoppedAt=_ms(facts.get("stopped")),
            isTerminated=True if facts.get("terminated") else None,
        ),
    }


def _attempt(each: dict[str, object]) -> dict[str, object]:
    return given(
        serviceResourceId=_arn(str(each["arn"])) if each.get("arn") else None,
        startedAt=_ms(each.get("started")),
        stoppedAt=_ms(each.get("stopped")),
        statusReason=each.get("reason"),
    )


def _arn(value: str) -> dict[str, str]:
    return {"name": "TrainingJobArn", "value": value}


def _ms(seconds: object) -> int | None:
    return int(seconds * 1000) if isinstance(seconds, (int, float)) else None


def _filter(name: str, values: object) -> Callable[[Resource], bool]:
    """What a filter of ListServiceJobs keeps: names without regard to case, ``*`` at the end for any, times in milliseconds."""
    wanted = str(values[0]) if isinstance(values, (list, tuple)) and values else ""
    if name == "JOB_NAME":
        lowered = wanted.lower()
        if lowered.endswith("*"):
            return lambda job: job.request["jobName"].lower().startswith(lowered[:-1])
        return lambda job: job.request["jobName"].lower() == lowered
    if name in {"BEFORE_CREATED_AT", "AFTER_CREATED_AT"}:
        if not wanted.isdecimal():
            raise client_error(f"filters: {name}: got {wanted!r}, wanted milliseconds since 1970")
        at = int(wanted) / 1000
        return (lambda job: job.created < at) if name == "BEFORE_CREATED_AT" else (lambda job: job.created > at)
    if name == "SHARE_IDENTIFIER":
        return lambda job: job.request.get("shareIdentifier") == wanted
    if name == "QUOTA_SHARE_NAME":
        return lambda job: job.request.get("quotaShareName") == wanted
    raise client_error(
        f"filters: got {name!r}, wanted JOB_NAME, BEFORE_CREATED_AT, AFTER_CREATED_AT, SHARE_IDENTIFIER or QUOTA_SHARE_NAME"
    )
