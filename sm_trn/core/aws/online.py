"""Checks before a launch that need the account: quota, role, bucket, image. Needs credentials; starts nothing.

A question that the identity may not ask is answered by a note that says so, never by silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from ..catalog.images import image_uri
from ..errors import UnknownName
from ..specs.job import JobSpec
from ..specs.problems import Advice, Field, Problem, rules_of
from .backend import make_client
from .errors import FOREIGN

_RULES = rules_of(__package__)
ONLINE001 = _RULES["ONLINE001"]
ONLINE002 = _RULES["ONLINE002"]
ONLINE003 = _RULES["ONLINE003"]
ONLINE004 = _RULES["ONLINE004"]
ONLINE005 = _RULES["ONLINE005"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Boto3Account:
    """The ``Account`` port over a boto3 session."""

    session: boto3.Session
    role: str
    bucket: str
    region: str

    def problems(self, job: JobSpec) -> list[Problem]:
        return online_problems(self.session, job, role=self.role, bucket=self.bucket, region=self.region)


def online_problems(session: boto3.Session, job: JobSpec, *, role: str, bucket: str, region: str) -> list[Problem]:
    """ONLINE001 quota, ONLINE002 role, ONLINE003 bucket, ONLINE004 image; ONLINE005 for what could not be asked."""
    questions: dict[str, Callable[[], Iterator[Problem]]] = {
        "the quota": lambda: quota_problems(make_client(session, "service-quotas"), job),
        "the role": lambda: role_problems(make_client(session, "iam"), role),
        "the bucket": lambda: bucket_problems(make_client(session, "s3"), bucket, region),
        "the image": lambda: image_problems(make_client(session, "ecr"), job, region),
    }
    return [problem for name, question in questions.items() for problem in _answer(name, question)]


def _answer(name: str, question: Callable[[], Iterator[Problem]]) -> list[Problem]:
    try:
        return list(question())
    except (ClientError, BotoCoreError, UnknownName, *FOREIGN) as error:
        fix = Advice("let the identity read it, or look in the console")
        return [ONLINE005.problem(Field("account"), f"{name} could not be looked at", got=str(error), fix=fix)]


def quota_problems(client: Any, job: JobSpec) -> Iterator[Problem]:
    """ONLINE001, by a client of Service Quotas."""
    kind = "spot training job usage" if job.spot is not None else "training job usage"
    wanted = {f"{name} for {kind}": name for name in job.compute.instances}
    pages = client.get_paginator("list_service_quotas").paginate(ServiceCode="sagemaker")
    quotas = {quota["QuotaName"]: quota for page in pages for quota in page["Quotas"]}
    for title, name in wanted.items():
        quota = quotas.get(title)
        if quota is not None and quota["Value"] < job.compute.hosts:
            yield ONLINE001.problem(
                Field("compute.count"),
                f"the quota {title!r} is too small",
                got=f"{quota['Value']:g} instances",
                wanted=f"at least {job.compute.hosts} of {name}",
                fix=Advice(_raise(quota.get("QuotaCode"), title, job.compute.hosts)),
            )


def _raise(code: str | None, title: str, wanted: int) -> str:
    """The command that asks AWS for more; in words where the quota has no code."""
    if code is None:
        return f"request quota {title!r} in Service Quotas"
    return (
        "aws service-quotas request-service-quota-increase --service-code sagemaker "
        f"--quota-code {code} --desired-value {wanted}"
    )


def role_problems(client: Any, role: str) -> Iterator[Problem]:
    """ONLINE002, by a client of IAM."""
    try:
        policy = client.get_role(RoleName=role.rsplit("/", 1)[-1])["Role"].get("AssumeRolePolicyDocument", {})
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchEntity":
            raise
        yield ONLINE002.problem(
            Field("role"),
            "the execution role does not exist",
            got=repr(role),
            wanted="an IAM role of this account",
            fix=Advice("connect(role='arn:aws:iam::<account>:role/<name>')"),
        )
        return
    if "sagemaker.amazonaws.com" not in str(policy):
        yield ONLINE002.problem(
            Field("role"),
            "SageMaker may not assume the execution role",
            got=repr(role),
            wanted="a trust policy with the principal sagemaker.amazonaws.com",
            fix=Advice("add the principal to the role's trust policy"),
        )


def bucket_problems(client: Any, bucket: str, region: str) -> Iterator[Problem]:
    """ONLINE003, by a client of S3."""
    answer = client.get_bucket_location(Bucket=bucket)["LocationConstraint"]
    where = answer or "us-east-1"  # GetBucketLocation answers nothing for the oldest region
    if where != region:
        yield ONLINE003.problem(
            Field("bucket"),
            "the bucket lies in another region than the job",
            got=f"{bucket!r} in {where}",
            wanted=f"a bucket in {region}",
            fix=Advice("connect(bucket='…') with one of this region"),
        )


def image_problems(client: Any, job: JobSpec, region: str) -> Iterator[Problem]:
    """ONLINE004, by a client of ECR. Raises UnknownName where the catalogue has no image."""
    uri = image_uri(job, region)
    registry, _, rest = uri.partition("/")
    repository, _, tag = rest.partition(":")
    try:
        client.describe_images(
            registryId=registry.split(".")[0], repositoryName=repository, imageIds=[{"imageTag": tag}]
        )
    except ClientError as error:
        if error.response["Error"]["Code"] not in {"ImageNotFoundException", "RepositoryNotFoundException"}:
            raise
        yield ONLINE004.problem(
            Field("framework"),
            "the image is not in the registry",
            got=repr(uri),
            wanted="an image that can be pulled",
            fix=Advice("another version, or image_uri=…"),
        )
