"""The scheduler starts waiting jobs as training jobs, in the order of their queue, and follows them to their end.

Statuses are those of https://docs.aws.amazon.com/batch/latest/userguide/service-job-status.html, retries those of service-job-retries.html
and sm_job_stuck_in_runnable_capacity.html there.
"""

from __future__ import annotations

import copy
import threading
import traceback
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ..api import shapes
from ..api.tags import tag_list
from ..errors import AwsError
from .api import ENVIRONMENT, JOB, QUEUE, QueueApi
from .jobs import ACTIVE, WAITING
from .order import INSTANCES, Entry, Fair, Line, Quota, Step, capacity_of, front, step
from .request import QueueRequest, needs_of, payload_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..state.resources import Resource, Resources
    from ..training.api import TrainingApi
    from ..training.job import Job
    from ..training.jobs import Jobs

LOOK_S: Final = 0.2  # between two looks at the training jobs, which are in this process
AGAIN_S: Final = 1.0  # before a job that found no capacity is started again; how long Batch waits is not known
SAID: Final = "Received status from SageMaker: "
CAPACITY: Final = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"
_STUCK: Final = f"{CAPACITY} - Unable to provision requested compute resources"
_TIMEOUT: Final = "Job attempt duration exceeded timeout"
_PREEMPTED: Final = "Preempted"
# The secondary statuses of a training job that holds no data yet, and of one that gets it.
_SCHEDULED: Final = frozenset({"Starting", "Pending", "Preparing", "LaunchingMLInstances", "PreparingTrainingStack"})
_STARTING: Final = frozenset({"Downloading", "DownloadingTrainingImage"})
_LONGEST_NAME: Final = 63


class QueueScheduler:
    """The queues of one region. ``look`` does what there is to do; a thread calls it until ``shutdown``."""

    def __init__(self, resources: Resources, jobs: Jobs, training: TrainingApi, queues: QueueApi) -> None:
        self._resources = resources
        self._jobs = jobs
        self._training = training
        self._queues = queues
        self._wake = threading.Event()
        self._lock = threading.RLock()
        self._over = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """There may be something to do. The thread starts with the first job, so that an emulator without queues has none."""
        with self._lock:
            if self._thread is None and not self._over:
                self._thread = threading.Thread(target=self._run, name="queues", daemon=True)
                self._thread.start()
        self._wake.set()

    def restore(self) -> None:
        """Go on with what waits; what ran has failed with its training job."""
        if any(job.status in (*WAITING, *ACTIVE) for job in self._resources.of_kind(JOB)):
            self.wake()

    def shutdown(self) -> None:
        self._over = True
        self._wake.set()

    def _run(self) -> None:
        while not self._over:
            self.look()
            self._wake.wait(LOOK_S)
            self._wake.clear()

    def look(self) -> None:
        """Follow what runs, then start what may start."""
        with self._lock:
            for job in self._resources.of_kind(JOB):
                if job.status in ACTIVE:
                    _go_on(self._follow, job)
            for queue in self._ordered_queues():
                _go_on(self._serve, queue)

    def front(self, queue: Resource) -> list[str]:
        """The ids of the waiting jobs of a queue, in the order in which they would start."""
        with self._lock:
            environment = self._environments(queue)[0]
            return [each.id for each in front(self._line(queue, environment), self._resources.now())]

    def terminate(self, name: str, reason: str) -> None:
        """End a job. One that waits is over at once, one that runs when its training job has stopped."""
        with self._lock:
            job = self._resources.find(JOB, name)
            if job is None or job.status not in (*WAITING, *ACTIVE):
                return
            self._change(job, reason=reason, terminated=True)
            if job.status in WAITING:
                self._end(name, "FAILED", reason)
            else:
                self._stop_training(job)

    # --- starting

    def _ordered_queues(self) -> list[Resource]:
        """Of queues that share an environment, those of a higher priority are served first."""
        return sorted(self._resources.of_kind(QUEUE), key=lambda each: (-each.request["priority"], each.created))

    def _environments(self, queue: Resource) -> list[Resource]:
        listed = sorted(queue.request["serviceEnvironmentOrder"], key=lambda each: int(each["order"]))
        return [self._queues.find(ENVIRONMENT, each["serviceEnvironment"]) for each in listed]

    def _serve(self, queue: Resource) -> None:
        while True:
            chosen = self._next(queue)
            if chosen is None:
                return
            what, environment = chosen
            if what.start:
                self._start(self._resources.get(JOB, what.start), environment)
            for name in what.preempt:
                job = self._resources.get(JOB, name)
                self._change(job, leaving="preempted")
                self._stop_training(job)

    def _next(self, queue: Resource) -> tuple[Step, Resource] | None:
        for environment in self._environments(queue):
            if environment.request.get("state", "ENABLED") == "ENABLED":
                what = step(self._line(queue, environment), self._resources.now())
                if what is not None and not (what.preempt and self._someone_leaves(queue)):
                    return what, environment
        return None

    def _someone_leaves(self, queue: Resource) -> bool:
        """Whether room is being made already: what it is made for comes first."""
        return any(
            job.status in ACTIVE and job.facts.get("leaving") and job.facts["queue"] == queue.name
            for job in self._resources.of_kind(JOB)
        )

    def _line(self, queue: Resource, environment: Resource) -> Line:
        now, policy = self._resources.now(), self._queues.policy_of(queue)
        capacity = capacity_of(environment.request["capacityLimits"])
        used: Counter[str] = Counter()
        for job in self._resources.of_kind(JOB):
            if job.status in ACTIVE and job.facts.get("environment") == environment.name:
                needs = needs_of(job.request)
                used.update({INSTANCES: sum(needs.values())} if INSTANCES in capacity else needs)
        asked: QueueRequest = policy.request if policy is not None else {}
        return Line(
            entries=[_entry(job, now) for job in self._resources.of_kind(JOB) if job.facts["queue"] == queue.name],
            room={unit: most - used[unit] for unit, most in capacity.items()},
            capacity=capacity.get(INSTANCES, 0),
            fair=_fair(asked) if policy is not None and not asked.get("quotaSharePolicy") else None,
            quotas=[_quota(each) for each in self._queues.shares_of(queue)] if asked.get("quotaSharePolicy") else (),
        )

    def _start(self, job: Resource, environment: Resource) -> None:
        """Make the training job of the next attempt. What SageMaker refuses ends the attempt."""
        payload = copy.deepcopy(payload_of(job.request))
        name = attempt_name(str(payload.get("TrainingJobName") or job.request["jobName"]))
        request: Any = {**payload, "TrainingJobName": name, "Tags": tag_list(job.tags)}
        now = self._resources.now()
        try:
            shapes.check("CreateTrainingJob", request)  # Batch has not looked into it
            made = self._training.create(shapes.known("CreateTrainingJob", request))
        except AwsError as fault:
            self._attempted(
                job,
                {"started": now, "stopped": now, "reason": f"{SAID}{fault.code}: {fault.message}", "kind": "failed"},
            )
            self._fail_or_retry(self._resources.get(JOB, job.name), f"{SAID}{fault.code}: {fault.message}")
            return
        arn = (
            f"{made['TrainingJobArn'].rpartition('/')[0]}/{name}"  # in the name's own case: clients read the name there
        )
        self._attempted(job, {"arn": arn, "name": name, "held": now, "kind": ""})
        facts = {
            **self._resources.get(JOB, job.name).facts,
            "latest": arn,
            "environment": environment.name,
        }
        facts |= {"scheduled": now, "leaving": ""}
        self._resources.change(JOB, job.name, status="SCHEDULED", reason=None, facts=facts)

    # --- following

    def _follow(self, job: Resource) -> None:
        attempt = job.facts["attempts"][-1]
        training = self._jobs.get(attempt["name"]) if self._jobs.has(attempt["name"]) else None
        if training is None or training.state.terminal:
            self._ended(job, training)
            return
        secondary = training.state.secondary
        status = "SCHEDULED" if secondary in _SCHEDULED else "STARTING" if secondary in _STARTING else "RUNNING"
        started = attempt.get("started") or (self._resources.now() if status != "SCHEDULED" else None)
        if status != job.status or started != attempt.get("started"):
            self._attempted(job, {**attempt, "started": started}, replace=True)
            facts = {**self._resources.get(JOB, job.name).facts, "started": started}
            self._resources.change(JOB, job.name, status=status, facts=facts)
        longest = (job.request.get("timeoutConfig") or {}).get("attemptDurationSeconds")
        overdue = longest is not None and started is not None and self._resources.now() - started > longest
        if overdue and not job.facts.get("leaving"):
            self._change(job, leaving="timeout")
            self._stop_training(job)

    def _ended(self, job: Resource, training: Job | None) -> None:
        """An attempt is over: the job has succeeded, is started again, or has failed."""
        now, attempt = self._resources.now(), job.facts["attempts"][-1]
        status = training.status if training is not None else "Failed"
        said = (
            (training.state.failure_reason or "")
            if training is not None
            else "InternalServerError: the training job was deleted"
        )
        reason = f"{SAID}{said}" if status == "Failed" else f"{SAID}Training job {status.lower()}"
        leaving = str(job.facts.get("leaving") or "")
        stuck = _found_no_capacity(training) and not job.facts.get("terminated")
        kind = leaving if leaving and status != "Completed" else "capacity" if stuck else status.lower()
        closed = {**attempt, "started": attempt.get("started") or now, "stopped": now, "kind": kind}
        self._attempted(job, {**closed, "reason": _PREEMPTED if kind == "preempted" else reason}, replace=True)
        job = self._resources.get(JOB, job.name)
        if status == "Completed":
            self._end(job.name, "SUCCEEDED", reason)
        elif job.facts.get("terminated"):
            self._end(job.name, "FAILED", str(job.facts["reason"]))
        elif kind == "timeout":
            self._end(job.name, "FAILED", _TIMEOUT)
        elif kind == "preempted":
            self._preempted(job)
        elif stuck:
            self._stuck(job)
        else:
            self._fail_or_retry(job, reason)

    def _preempted(self, job: Resource) -> None:
        times = sum(each["kind"] == "preempted" for each in job.facts["attempts"])
        most = (job.request.get("preemptionConfiguration") or {}).get("preemptionRetriesBeforeTermination")
        if most is not None and times > most:
            self._end(job.name, "FAILED", f"{_PREEMPTED} {times} times")
        else:
            self._requeue(job, _PREEMPTED)

    def _stuck(self, job: Resource) -> None:
        """Capacity was not there: the job waits again, which costs no attempt, until an action of its queue ends it."""
        waited = sum(each["stopped"] - each["held"] for each in job.facts["attempts"] if each["kind"] == "capacity")
        actions = self._queues.find(QUEUE, job.facts["queue"]).request.get("jobStateTimeLimitActions") or ()
        if any(each["reason"] == CAPACITY and waited > each["maxTimeSeconds"] for each in actions):
            self._end(job.name, "FAILED", f"Terminated by JobStateTimeLimit action due to reason: {CAPACITY}")
            return
        for each in job.facts["attempts"][:-1]:
            if each["kind"] == "capacity" and self._jobs.has(each["name"]):
                self._training.delete({"TrainingJobName": each["name"]})
        self._requeue(job, _STUCK, not_before=self._resources.now() + AGAIN_S)

    def _fail_or_retry(self, job: Resource, reason: str) -> None:
        used = job.facts["used"] + 1
        self._change(job, used=used)
        job = self._resources.get(JOB, job.name)
        if used < job.request.get("retryStrategy", {}).get("attempts", 1) and retries(job.request, reason):
            self._requeue(job, reason)
        else:
            self._end(job.name, "FAILED", reason)

    def _requeue(self, job: Resource, reason: str, **facts: float) -> None:
        self._resources.change(
            JOB, job.name, status="RUNNABLE", reason=reason, facts={**job.facts, "leaving": "", **facts}
        )

    def _end(self, name: str, status: str, reason: str) -> None:
        facts = {**self._resources.get(JOB, name).facts, "stopped": self._resources.now()}
        self._resources.change(JOB, name, status=status, reason=reason, facts=facts)

    def _stop_training(self, job: Resource) -> None:
        name = job.facts["attempts"][-1]["name"]
        if self._jobs.has(name) and not self._jobs.get(name).state.terminal:
            self._training.stop({"TrainingJobName": name})

    def _change(self, job: Resource, **facts: object) -> None:
        known = self._resources.get(JOB, job.name).facts
        self._resources.change(JOB, job.name, facts={**known, **facts})

    def _attempted(self, job: Resource, attempt: Mapping[str, object], *, replace: bool = False) -> None:
        known: Sequence[object] = self._resources.get(JOB, job.name).facts["attempts"]
        self._change(job, attempts=[*(known[:-1] if replace else known), dict(attempt)])


def _go_on(act: Callable[[Resource], None], resource: Resource) -> None:
    """Do it; what goes wrong with one job or queue is printed, and the others go on."""
    try:
        act(resource)
    except Exception:  # noqa: BLE001 - the last line of defence
        traceback.print_exc()


def attempt_name(base: str) -> str:
    """The name of an attempt's training job: ``AWSBatch``, the beginning of the asked name, and 32 hexadecimal digits, as in
    https://docs.aws.amazon.com/batch/latest/userguide/service-job-events.html.
    """
    digits = uuid.uuid4().hex
    return f"AWSBatch{base[: _LONGEST_NAME - len('AWSBatch') - len(digits)]}{digits}"


def retries(request: QueueRequest, reason: str) -> bool:
    """Whether a failed attempt is followed by another, as far as its reason says: by the first rule that fits it, else it is.

    Batch's pages write "SageMaker: InternalServerError", its SDK "SageMaker:InternalServerError"; both fit here.
    """
    said = reason.replace("SageMaker: ", "SageMaker:")
    for rule in request.get("retryStrategy", {}).get("evaluateOnExit", ()):
        pattern = rule.get("onStatusReason", "*").replace("SageMaker: ", "SageMaker:")
        if said.startswith(pattern[:-1]) if pattern.endswith("*") else said == pattern:
            return rule["action"] == "RETRY"
    return True


def _found_no_capacity(training: Job | None) -> bool:
    """https://docs.aws.amazon.com/batch/latest/userguide/sm_job_stuck_in_runnable_capacity.html"""
    if training is None:
        return False
    pending = any("MaxPendingTimeInSeconds" in each.message for each in training.state.transitions)
    return (training.status == "Failed" and (training.state.failure_reason or "").startswith("CapacityError")) or (
        training.status == "Stopped" and pending
    )


def _entry(job: Resource, now: float) -> Entry:
    spans = tuple((each["held"], each.get("stopped")) for each in job.facts["attempts"] if "held" in each)
    return Entry(
        id=job.name,
        number=job.facts["number"],
        needs=needs_of(job.request),
        share=job.request.get("shareIdentifier") or job.request.get("quotaShareName") or "",
        priority=job.request.get("schedulingPriority", 0),
        active=job.status in ACTIVE,
        waits=job.status in WAITING,
        spans=spans,
        ready=job.facts.get("not_before", 0) <= now,
    )


def _fair(asked: QueueRequest) -> Fair:
    said = asked.get("fairsharePolicy") or {}
    return Fair(
        decay_s=said.get("shareDecaySeconds", 0),
        reservation=said.get("computeReservation", 0),
        weights=tuple(
            (each["shareIdentifier"], each.get("weightFactor", 1.0)) for each in said.get("shareDistribution", ())
        ),
    )


def _quota(share: Resource) -> Quota:
    sharing = share.request["resourceSharingConfiguration"]
    return Quota(
        name=share.request["quotaShareName"],
        limits=capacity_of(share.request["capacityLimits"]),
        strategy=sharing["strategy"],
        borrow_percent=sharing.get("borrowLimit", -1),
        preempts=share.request["preemptionConfiguration"]["inSharePreemption"] == "ENABLED",
    )
