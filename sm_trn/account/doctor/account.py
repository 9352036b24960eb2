"""The account: role, bucket, quota, image, data and the job's VPC. Only reads are sent: Get, List, Describe, Head, Simulate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from ...core.aws import identity, online
from ...core.aws.errors import FOREIGN
from ...core.errors import CloudError, NotConfigured, UnknownName
from ...core.specs.destination import Destination
from ...core.specs.job import JobSpec
from ...core.specs.problems import Problem, Severity
from ..policies.parts import Policy, places
from ..policies.policy import policies
from . import vpc
from .finding import Finding, State
from .login import Login

Looked: TypeAlias = Iterator[Finding]
Question: TypeAlias = Callable[[], Looked]
STATES = {Severity.ERROR: State.ERROR, Severity.WARNING: State.WARNING, Severity.INFO: State.NOTE}


def findings(login: Login, job: JobSpec | None, name: str, role: str | None, bucket: str | None) -> Looked:
    """What the account says of the place (role and bucket) and of ``job``, which the file ``name`` describes."""
    try:
        found_role: str | None = identity.find_role(login.session, role)
    except (NotConfigured, CloudError) as error:
        found_role = None
        yield Finding("role", State.ERROR, _first(error), "export SM_TRN_ROLE=arn:aws:iam::<account>:role/<name>")
    try:
        found_bucket: str | None = identity.find_bucket(login.session, bucket, login.region)
    except (NotConfigured, CloudError) as error:
        found_bucket = None
        yield Finding("bucket", State.ERROR, _first(error), "export SM_TRN_BUCKET=<bucket>")
    for about, question in (
        _of_place(login, name, found_role, found_bucket) | _of_job(login, job, name, found_role, found_bucket)
    ).items():
        yield from _asked(about, question)


def _of_place(login: Login, name: str, role: str | None, bucket: str | None) -> dict[str, Question]:
    found: dict[str, Question] = {}
    if role is not None:
        trust = f"sm-trn policy {name} --for trust"
        found["role"] = lambda: _of(
            online.role_problems(login.client("iam"), role), "role", "SageMaker may assume it", trust
        )
    if bucket is not None:
        there = f"s3://{bucket}, in {login.region}"
        found["bucket"] = lambda: _of(online.bucket_problems(login.client("s3"), bucket, login.region), "bucket", there)
    return found


def _of_job(login: Login, job: JobSpec | None, name: str, role: str | None, bucket: str | None) -> dict[str, Question]:
    if job is None:
        return {}
    found: dict[str, Question] = {}
    if role is not None:
        at = Destination(role=role, region=login.region, **({"bucket": bucket} if bucket else {}))
        needed = policies(job, at)
        found["rights of the role"] = lambda: _rights(
            login, role, needed.execution, "role", f"sm-trn policy {name} --for execution"
        )
        found["your rights"] = lambda: _rights(
            login, _principal(login.arn), needed.launch, "you", f"sm-trn policy {name} --for launch"
        )
    found["data"] = lambda: _data(login.client("s3"), job)
    wanted = f"{', '.join(job.compute.instances)}: enough for {job.compute.hosts}"
    found["quota"] = lambda: _of(online.quota_problems(login.client("service-quotas"), job), "quota", wanted)
    found["image"] = lambda: _of(
        online.image_problems(login.client("ecr"), job, login.region), "image", "in the registry"
    )
    if job.network is not None and job.network.subnets:
        found["network"] = lambda network=job.network: vpc.look(login, network, job.compute.hosts)  # type: ignore[misc]  # mypy knows no default of a lambda
    return found


def _asked(about: str, question: Question) -> Looked:
    try:
        yield from question()
    except UnknownName as error:
        yield Finding(about, State.ERROR, _first(error))
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        yield Finding(about, State.UNKNOWN, f"could not be looked at: {code}", "let your identity read it")
    except BotoCoreError as error:
        yield Finding(about, State.UNKNOWN, f"could not be looked at: {error}")
    except FOREIGN:
        yield Finding(about, State.UNKNOWN, "could not be looked at: got an answer that is not AWS's own")


def _of(problems: Iterator[Problem], about: str, ready: str, fix: str = "") -> Looked:
    found = [
        Finding(
            about,
            STATES[problem.severity],
            f"{problem.what}: got {problem.got}, wanted {problem.wanted}",
            fix or problem.fix,
        )
        for problem in problems
    ]
    yield from found or [Finding(about, State.READY, ready)]


def _principal(arn: str) -> str:
    """The role behind an assumed role: IAM simulates roles and users, not logins."""
    parts = arn.split(":")
    if parts[2] != "sts" or not parts[5].startswith("assumed-role/"):
        return arn
    return ":".join([*parts[:2], "iam", "", parts[4], f"role/{parts[5].split('/')[1]}"])


def _rights(login: Login, principal: str, wanted: Policy, about: str, fix: str) -> Looked:
    """What IAM's simulator denies of a policy. Policies of buckets and keys are not asked: the simulator does not see them."""
    client, denied = login.client("iam"), list[str]()
    for statement in wanted["Statement"]:
        condition = statement.get("Condition", {})
        context = [
            {"ContextKeyName": key, "ContextKeyValues": [value.rstrip("*")], "ContextKeyType": "string"}
            for pairs in condition.values()
            for key, value in pairs.items()
        ]
        answer = client.simulate_principal_policy(
            PolicySourceArn=principal,
            ActionNames=_list(statement["Action"]),
            ResourceArns=_list(statement["Resource"]),
            ContextEntries=context,
        )
        denied += [
            f"{each['EvalActionName']} on {each.get('EvalResourceName', '*')}"
            for each in answer["EvaluationResults"]
            if each["EvalDecision"] != "allowed"
        ]
    if denied:
        more = f", and {len(denied) - 2} more" if len(denied) > 2 else ""
        says = f"may not {', '.join(denied[:2])}{more}"
        yield Finding(about, State.ERROR, says, fix)
    else:
        says = "may do what the job needs" if about == "role" else "may launch and follow the job"
        yield Finding(about, State.READY, f"{says}, by IAM's simulator")


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _data(client: Any, job: JobSpec) -> Looked:
    for channel, each in job.channels.items():
        if not each.uri.startswith("s3://"):
            continue
        ((bucket, key),) = places([each.uri])
        try:
            there = client.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1).get("KeyCount", 0)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise
            there = 0
        if there:
            yield Finding("data", State.READY, f"{channel} at {each.uri}")
        else:
            says = f"{channel}: nothing at {each.uri}"
            yield Finding("data", State.ERROR, says, f"aws s3 ls {each.uri}, or another URI in inputs")


def _first(error: Exception) -> str:
    return str(error).partition("; connect(")[0]
