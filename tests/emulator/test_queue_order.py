"""In what order queues start jobs, whom they preempt, and what becomes of attempts: the documented rules, on a clock of our own."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from emulator.contract import requests
from emulator.queue_world import REQUEST, QueueWorld
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from sm_trn.emulator.api.shapes import service_model
from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.queueing.request import needs_of

pytest.importorskip("boto3")
WEIGHTS = {"research": 1.0, "product": 0.5, "interns": 4.0}
FAIR = {
    "fairsharePolicy": {
        "shareDecaySeconds": 3600,
        "shareDistribution": [{"shareIdentifier": name, "weightFactor": weight} for name, weight in WEIGHTS.items()],
    }
}
QUOTA = {"quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}
BATCH = "arn:aws:batch:us-west-2:000000000000"
PAYLOAD = {**REQUEST, "TrainingJobName": "x", "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1}}
INTERNAL = "InternalServerError: We encountered an internal error. Please try again."


def test_without_a_policy_the_first_job_is_the_first_to_start() -> None:
    world, dice = QueueWorld(), random.Random(1)
    world.queue(5)
    ids = [world.submit(f"job-{n}", count=dice.randint(1, 5), schedulingPriority=dice.randint(0, 9)) for n in range(60)]
    started: list[str] = []
    while len(started) < 60:
        started += world.look()
        running = [job for job in started if world.resources.get("service-job", job).status != "SUCCEEDED"]
        assert sum(_count(world, job) for job in running) <= 5
        world.finish(dice.choice(running))
    assert ids == started


def _count(world: QueueWorld, job: str) -> int:
    return sum(needs_of(world.resources.get("service-job", job).request).values())


@pytest.mark.parametrize("seed", range(int(os.environ.get("SM_TRN_ROUNDS", "1"))))
def test_two_hundred_jobs_on_three_shares_start_in_the_documented_order(seed: int) -> None:
    """Each start is of the share with the least T × weightFactor, and there of the highest priority that came first."""
    world, dice = QueueWorld(), random.Random(seed)
    world.queue(8, policy=FAIR)
    jobs: dict[str, dict[str, Any]] = {}
    for number in range(200):
        asked: dict[str, Any] = {
            "share": dice.choice(list(WEIGHTS)),
            "priority": dice.randint(0, 3),
            "count": dice.randint(1, 3),
        }
        name = world.submit(
            f"job-{number}", count=asked["count"], shareIdentifier=asked["share"], schedulingPriority=asked["priority"]
        )
        jobs[name] = {**asked, "number": number, "start": None, "end": None}

    def usage(share: str) -> float:
        """Instance-seconds of the last hour; what has begun counts for a second."""
        total = 0.0
        for job in jobs.values():
            if job["share"] == share and job["start"] is not None:
                end = world.now if job["end"] is None else job["end"]
                if end >= world.now - 3600:
                    total += (end - max(job["start"], world.now - 3600) + 1) * job["count"]
        return total * WEIGHTS[share]

    def expected() -> str:
        heads: dict[str, str] = {}
        waiting = sorted(
            (name for name, job in jobs.items() if job["start"] is None),
            key=lambda name: (-jobs[name]["priority"], jobs[name]["number"]),
        )
        for name in waiting:
            heads.setdefault(jobs[name]["share"], name)
        return min(heads.values(), key=lambda name: (usage(jobs[name]["share"]), jobs[name]["number"]))

    while any(job["end"] is None for job in jobs.values()):
        for name in world.look(dice.choice([1.0, 30.0, 400.0])):
            assert expected() == name
            jobs[name]["start"] = world.now
        running = [name for name, job in jobs.items() if job["start"] is not None and job["end"] is None]
        used = sum(jobs[name]["count"] for name in running)
        assert used <= 8
        if any(job["start"] is None for job in jobs.values()):
            assert used + jobs[expected()]["count"] > 8
            front = world.call("GetJobQueueSnapshot", jobQueue="q")["frontOfQueue"]["jobs"]
            assert expected() == front[0]["jobArn"].rpartition("/")[2]
        over = dice.choice(running)
        world.finish(over)
        world.now += 5.0
        world.batch.scheduler._follow(world.resources.get("service-job", over))
        jobs[over]["end"] = world.now
    assert {"SUCCEEDED"} == {world.status(name) for name in jobs}


def quotas(world: QueueWorld, **shares: dict[str, Any]) -> None:
    """Quota shares of two instances each, unless they say otherwise."""
    for name, said in shares.items():
        world.call(
            "CreateQuotaShare",
            quotaShareName=name,
            jobQueue="q",
            capacityLimits=[{"maxCapacity": said.get("most", 2), "capacityUnit": "ml.m5.large"}],
            resourceSharingConfiguration={
                "strategy": said.get("strategy", "LEND_AND_BORROW"),
                **({"borrowLimit": said["borrow"]} if "borrow" in said else {}),
            },
            preemptionConfiguration={"inSharePreemption": said.get("preempts", "DISABLED")},
        )


def quota_world(capacity: int = 4, **shares: dict[str, Any]) -> QueueWorld:
    world = QueueWorld()
    world.queue(capacity, unit="ml.m5.large", policy=QUOTA)
    quotas(world, **shares)
    return world


def test_idle_capacity_is_borrowed_and_given_back() -> None:
    world = quota_world(a={}, b={})
    borrowing = [world.submit(f"a-{n}", quotaShareName="a") for n in range(4)]
    assert borrowing == world.look()
    for job in borrowing:
        world.run(job)
    own = world.submit("b-0", quotaShareName="b")
    assert [] == world.look()  # the newest borrower is stopped first
    assert {world.training_of(borrowing[3])} == world.stopped
    assert [own] == world.look()
    told = world.call("DescribeServiceJob", jobId=borrowing[3])
    assert ("RUNNABLE", 1) == (told["status"], told["preemptionSummary"]["preemptedAttemptCount"])
    assert [] == told["attempts"]
    world.finish(own)
    assert [borrowing[3]] == world.look()


def test_a_share_that_reserves_lends_nothing() -> None:
    world = quota_world(a={}, b={"strategy": "RESERVE"})
    ids = [world.submit(f"a-{n}", quotaShareName="a") for n in range(3)]
    assert ids[:2] == world.look()


def test_a_borrow_limit_is_kept() -> None:
    world = quota_world(8, a={"borrow": 50}, b={"most": 6})
    ids = [world.submit(f"a-{n}", quotaShareName="a") for n in range(5)]
    assert ids[:3] == world.look()


def test_a_higher_priority_preempts_within_its_share_where_that_is_enabled() -> None:
    for enabled, victims in (("ENABLED", 1), ("DISABLED", 0)):
        world = quota_world(2, a={"preempts": enabled, "strategy": "RESERVE"})
        low = [world.submit(f"low-{n}", quotaShareName="a", schedulingPriority=n) for n in range(2)]
        assert low[::-1] == world.look()
        high = world.submit("high", quotaShareName="a", schedulingPriority=9)
        world.look()
        assert victims == len(world.stopped)
        assert ([high] if victims else []) == world.look()
        assert "RUNNABLE" == world.status(low[0] if victims else high)


def test_a_job_that_may_not_be_preempted_again_fails() -> None:
    world = quota_world(2, a={"preempts": "ENABLED", "strategy": "RESERVE"})
    limit = {"preemptionRetriesBeforeTermination": 0}
    low = world.submit("low", quotaShareName="a", count=2, preemptionConfiguration=limit)
    world.look()
    world.submit("high", quotaShareName="a", count=2, schedulingPriority=1)
    world.look()
    world.look()
    assert "FAILED" == world.status(low)


def test_a_priority_can_be_changed_while_a_job_waits() -> None:
    world = QueueWorld()
    world.queue(1, policy=FAIR)
    first, second, third = (world.submit(f"job-{n}", shareIdentifier="research") for n in range(3))
    assert [first] == world.look()
    world.call("UpdateServiceJob", jobId=third, schedulingPriority=5)
    world.finish(first)
    assert [third] == world.look()
    assert "RUNNABLE" == world.status(second)


@pytest.mark.parametrize(
    ("rules", "reason", "attempts"),
    [
        ([], "AlgorithmError: x", 3),
        ([{"action": "RETRY", "onStatusReason": f"Received status from SageMaker:{INTERNAL}"}, {"action": "EXIT"}], INTERNAL, 3),
        ([{"action": "RETRY", "onStatusReason": f"Received status from SageMaker:{INTERNAL}"}, {"action": "EXIT", "onStatusReason": "*"}],
         "AlgorithmError: x", 1),
        ([{"action": "EXIT", "onStatusReason": "Received status from SageMaker: AlgorithmError*"}], "AlgorithmError: x", 1),
        ([{"action": "EXIT", "onStatusReason": "Received status from SageMaker: Other*"}], "AlgorithmError: x", 3),
    ],
)  # fmt: skip
def test_a_failed_attempt_is_followed_by_another_as_its_rules_say(rules: list[Any], reason: str, attempts: int) -> None:
    world = QueueWorld()
    world.queue(1)
    job = world.submit(retryStrategy={"attempts": 3, **({"evaluateOnExit": rules} if rules else {})})
    while world.look():
        world.finish(job, reason=reason)
    told = world.call("DescribeServiceJob", jobId=job)
    assert ("FAILED", attempts, f"Received status from SageMaker: {reason}") == (
        told["status"], len(told["attempts"]), told["statusReason"],
    )  # fmt: skip


def test_missing_capacity_costs_no_attempt() -> None:
    world = QueueWorld()
    world.queue(1)
    job = world.submit(retryStrategy={"attempts": 1})
    for _ in range(3):
        assert [job] == world.look(5.0)
        world.finish(job, reason="CapacityError: Unable to provision requested ML compute capacity.")
        assert [] == world.look(0.1)
        assert "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY" in world.call("DescribeServiceJob", jobId=job)["statusReason"]
    assert 1 == len(world.jobs.all())  # the newest is retained
    assert [job] == world.look(5.0)
    world.finish(job)
    world.look()
    assert "SUCCEEDED" == world.status(job)


def test_an_attempt_ends_at_its_timeout_and_a_job_when_it_is_terminated() -> None:
    world = QueueWorld()
    world.queue(2)
    late, ended, waiting = (
        world.submit(f"job-{n}", timeoutConfig={"attemptDurationSeconds": 60}, retryStrategy={"attempts": 3})
        for n in range(3)
    )
    world.look()
    world.run(late)
    world.run(ended)
    world.look()
    world.call("TerminateServiceJob", jobId=waiting, reason="not needed")
    world.call("TerminateServiceJobs", jobs=[ended, "gone"], reason="enough")
    world.look(61.0)
    world.look()
    told = {job: world.call("DescribeServiceJob", jobId=job) for job in (late, ended, waiting)}
    assert {"FAILED"} == {each["status"] for each in told.values()}
    assert [("Job attempt duration exceeded timeout", None), ("enough", True), ("not needed", True)] == [
        (each["statusReason"], each.get("isTerminated")) for each in told.values()
    ]


def test_what_sagemaker_refuses_is_a_failed_attempt_with_its_words() -> None:
    world = QueueWorld()
    world.queue(1)
    kind = {"serviceJobType": "SAGEMAKER_TRAINING", "jobQueue": "q"}
    payload = json.dumps(
        {**REQUEST, "TrainingJobName": "x", "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 0}}
    )
    job = world.call("SubmitServiceJob", jobName="x", serviceRequestPayload=payload, **kind)["jobId"]
    world.look()
    told = world.call("DescribeServiceJob", jobId=job)
    assert "FAILED" == told["status"]
    assert "Received status from SageMaker: ValidationException" in told["statusReason"]


JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-3, 3) | some.sampled_from(["", "ml.m5.large", "a b"]),
    lambda inner: (
        some.lists(inner, max_size=2) | some.dictionaries(some.sampled_from(sorted(PAYLOAD)), inner, max_size=3)
    ),
    max_leaves=6,
)
CLUSTER = {"InstanceGroups": JSON, "InstanceType": JSON, "InstanceCount": JSON, "VolumeSizeInGB": JSON}


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(some.dictionaries(some.sampled_from(sorted(PAYLOAD)), JSON), some.fixed_dictionaries({}, optional=CLUSTER))
def test_a_payload_of_any_form_fails_alone(changes: dict[str, Any], cluster: dict[str, Any]) -> None:
    world = QueueWorld()
    world.queue(1)
    payload = json.dumps({**PAYLOAD, **changes, **({"ResourceConfig": cluster} if cluster else {})})
    kind = {"serviceJobType": "SAGEMAKER_TRAINING", "jobQueue": "q"}
    hostile = world.call("SubmitServiceJob", jobName="x", serviceRequestPayload=payload, **kind)["jobId"]
    world.look()
    if world.status(hostile) == "SCHEDULED":
        world.finish(hostile)
    world.look()
    if world.status(hostile) == "RUNNABLE":  # larger than the queue: it waits, until somebody ends it
        world.call("TerminateServiceJob", jobId=hostile, reason="too large")
    good = world.submit("good")
    assert [good] == world.look()


def test_the_same_token_is_the_same_job() -> None:
    world = QueueWorld()
    world.queue(1)
    first = world.submit("a", clientToken="t")
    assert first == world.submit("a", clientToken="t")
    with pytest.raises(AwsError, match="another payload"):
        world.submit("b", clientToken="t")


@pytest.mark.parametrize(
    ("policy", "body", "words"),
    [
        (None, {"shareIdentifier": "a"}, "takes no shareIdentifier"),
        (FAIR, {}, "needs shareIdentifier"),
        (FAIR, {"shareIdentifier": "research", "quotaShareName": "a"}, "takes no quotaShareName"),
        (QUOTA, {}, "needs quotaShareName"),
        (QUOTA, {"quotaShareName": "z"}, "has no quota share z"),
        (None, {"retryStrategy": {"attempts": 11}}, "1 to 10 attempts"),
        (None, {"schedulingPriority": 10_000}, "0 to 9999"),
    ],
)  # fmt: skip
def test_what_the_reference_refuses_is_refused(policy: Any, body: dict[str, Any], words: str) -> None:
    world = QueueWorld()
    world.queue(1, unit="ml.m5.large" if policy is QUOTA else "NUM_INSTANCES", policy=policy)
    with pytest.raises(AwsError, match=words):
        world.submit(**body)


# Members by name: few values, so that requests meet one another, and mostly legal ones.
VALUES: dict[str, list[Any]] = {
    "jobQueue": ["q", "none"],
    "jobQueueName": ["q", "p"],
    "jobQueues": [["q"]],
    "jobQueueType": ["SAGEMAKER_TRAINING"],
    "computeEnvironmentOrder": [[]],
    "serviceEnvironmentOrder": [[{"order": 1, "serviceEnvironment": "env"}]],
    "serviceEnvironment": ["env", "none"],
    "serviceEnvironmentName": ["env", "e"],
    "name": ["policy", "JOB_NAME", "SHARE_IDENTIFIER", "BEFORE_CREATED_AT"],
    "values": [["job*"], ["5000000"]],
    "filters": [[], [{"name": "JOB_NAME", "values": ["job"]}]],
    "arns": [[f"{BATCH}:scheduling-policy/policy"]],
    "arn": [f"{BATCH}:scheduling-policy/policy"],
    "schedulingPolicyArn": [f"{BATCH}:scheduling-policy/policy"],
    "resourceArn": [f"{BATCH}:{what}" for what in ("job-queue/q", "service-environment/env", "service-environment/e")],
    "quotaShareArn": [f"{BATCH}:job-queue/q/quota-share/a"],
    "quotaShareName": ["a", "b"],
    "shareIdentifier": ["research"],
    "serviceRequestPayload": [json.dumps(PAYLOAD), "no JSON", "[]"],
    "capacityLimits": [[{"maxCapacity": 2, "capacityUnit": unit}] for unit in ("ml.m5.large", "NUM_INSTANCES")],
    "nextToken": [""],
    "maxResults": [1, 2],
    "tags": [{"k": "v"}],
    "clientToken": ["t", "u"],
}


@settings(
    max_examples=25, deadline=None, phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck)
)
@given(some.sampled_from([None, FAIR, QUOTA]), some.data())
def test_every_answer_has_the_models_shape_and_every_refusal_a_code_of_the_model(policy: Any, data: Any) -> None:
    world = QueueWorld()
    world.queue(2, unit="ml.m5.large" if policy is QUOTA else "NUM_INSTANCES", policy=policy)
    if policy is QUOTA:
        quotas(world, a={}, b={})
    model, ids = service_model("batch").operation_model, ["none"]
    for operation in data.draw(some.lists(some.sampled_from(sorted(world.batch.operations)), min_size=8, max_size=20)):
        body = data.draw(requests(model(operation).input_shape, {**VALUES, "jobId": ids, "jobs": [ids[:3]]}))
        try:
            answer = world.call(operation, **body)
        except AwsError:
            continue
        except AssertionError:
            if world.batch.answer(operation, body) is not None:  # None is not ours to answer
                raise
            continue
        if operation == "SubmitServiceJob":
            ids.append(answer["jobId"])
        world.look()
