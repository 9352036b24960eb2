"""IAM policies of least privilege for one job: for whoever launches and follows it, and for the role that it runs under.

Actions and their resources are those of the service authorization reference (docs.aws.amazon.com/service-authorization);
which calls this package makes is recorded by a test, command by command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..specs import Destination, JobSpec

VERSION = "2012-10-17"
LOG_GROUP = "/aws/sagemaker/TrainingJobs"
CODE = "sm_trn"  # the prefix of sources, uploaded inputs and specs in the session's bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """``launch``: attach it to the people; ``execution``: attach it to the role; ``trust``: the role's trust policy."""

    launch: dict[str, Any]
    execution: dict[str, Any]
    trust: dict[str, Any]


def policies(job: JobSpec, at: Destination | None = None) -> Policies:
    """The policies for ``job`` sent to ``at``; placeholders of its role, bucket and account stay visible."""
    where = _Place(at or Destination())
    return Policies(
        launch=_policy(_launch(job, where)),
        execution=_policy(_execution(job, where)),
        trust=_policy(
            [{"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}]
        ),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    at: Destination

    @property
    def partition(self) -> str:
        prefixes = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}
        return next((name for prefix, name in prefixes.items() if self.at.region.startswith(prefix)), "aws")

    @property
    def account(self) -> str:
        parts = self.at.role.split(":")
        return parts[4] if len(parts) > 5 else "*"

    def arn(self, service: str, resource: str) -> str:
        return f"arn:{self.partition}:{service}:{self.at.region}:{self.account}:{resource}"

    def s3(self, path: str) -> str:
        return f"arn:{self.partition}:s3:::{path}"

    def log_streams(self, job: JobSpec) -> list[str]:
        group = f"log-group:{LOG_GROUP}"
        return [self.arn("logs", f"{group}:*"), self.arn("logs", f"{group}:log-stream:{job.name}-*")]


def _policy(statements: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"Version": VERSION, "Statement": list(statements)}


def _allow(sid: str, actions: Iterable[str], resources: Iterable[str], **more: Any) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": sorted(actions), "Resource": sorted(set(resources)), **more}


def _launch(job: JobSpec, where: _Place) -> Iterator[dict[str, Any]]:
    at = where.at
    jobs = [where.arn("sagemaker", f"training-job/{job.name.lower()}-*")]
    own = {"CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "ListTags"}
    if job.tags or (job.script is not None and job.script.git is not None):
        own.add("AddTags")
    yield _allow("Jobs", (f"sagemaker:{name}" for name in own), jobs)
    yield _allow("ListJobs", ["sagemaker:ListTrainingJobs"], ["*"])  # knows no resource
    yield _allow(
        "RoleOfTheJob",
        ["iam:PassRole"],
        [at.role],
        Condition={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
    )
    yield _allow("SourcesAndSpecs", ["s3:GetObject", "s3:PutObject"], [where.s3(f"{at.bucket}/{CODE}/*")])
    yield from _looking(job, where)
    yield _allow("Logs", ["logs:DescribeLogStreams", "logs:GetLogEvents"], where.log_streams(job))
    yield _allow("Utilization", ["cloudwatch:GetMetricData"], ["*"])  # knows no resource


def _looking(job: JobSpec, where: _Place) -> Iterator[dict[str, Any]]:
    """The bucket must be found to exist, and the age of checkpoints is shown."""
    buckets = {where.at.bucket, *(bucket for bucket, _ in _places([job.checkpoints.s3_uri] if job.checkpoints else []))}
    yield _allow("Buckets", ["s3:ListBucket"], (where.s3(bucket) for bucket in buckets))


def _execution(job: JobSpec, where: _Place) -> Iterator[dict[str, Any]]:
    at = where.at
    inputs = [channel.uri for channel in job.channels.values() if channel.uri.startswith("s3://")]
    kept = [job.checkpoints.s3_uri] if job.checkpoints else []
    target = job.output.s3_uri or f"s3://{at.bucket}/"
    sources = [f"s3://{at.bucket}/{CODE}/", at.source(job)]
    read = {f"{bucket}/{key}*" for bucket, key in _places([*inputs, *sources, *kept])}
    written = {f"{bucket}/{key}*" for bucket, key in _places([target, *kept])}
    yield _allow("Read", ["s3:GetObject"], (where.s3(path) for path in read))
    yield _allow("Write", ["s3:AbortMultipartUpload", "s3:PutObject"], (where.s3(path) for path in written))
    if kept:  # the service mirrors the folder, deletions included
        yield _allow("Mirror", ["s3:DeleteObject"], (where.s3(f"{b}/{k}*") for b, k in _places(kept)))
    buckets = {bucket for bucket, _ in _places([*inputs, *sources, *kept, target])}
    yield _allow("List", ["s3:ListBucket"], (where.s3(bucket) for bucket in buckets))
    yield _allow(
        "Logs",
        ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        where.log_streams(job),
    )
    yield _allow(
        "Metrics",
        ["cloudwatch:PutMetricData"],
        ["*"],
        Condition={"StringLike": {"cloudwatch:namespace": "/aws/sagemaker/*"}},
    )
    yield _allow("Login", ["ecr:GetAuthorizationToken"], ["*"])
    pull = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    yield _allow("Image", pull, [f"arn:{where.partition}:ecr:{at.region}:*:repository/*"])
    yield from _in_vpc(job)
    yield from _encrypted(job, where)


def _in_vpc(job: JobSpec) -> Iterator[dict[str, Any]]:
    if job.network is None or not job.network.subnets:
        return
    actions = (
        "CreateNetworkInterface", "CreateNetworkInterfacePermission", "DeleteNetworkInterface", "DeleteNetworkInterfacePermission",
        "DescribeDhcpOptions", "DescribeNetworkInterfaces", "DescribeSecurityGroups", "DescribeSubnets", "DescribeVpcs",
    )  # fmt: skip
    yield _allow("Vpc", (f"ec2:{name}" for name in actions), ["*"])


def _encrypted(job: JobSpec, where: _Place) -> Iterator[dict[str, Any]]:
    keys = [key for key in (job.output.kms_key, job.compute.volume_kms_key) if key]
    if keys:
        arns = [
            key if key.startswith("arn:") else where.arn("kms", "key/*" if key.startswith("alias/") else f"key/{key}")
            for key in keys
        ]
        yield _allow("Keys", ["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"], arns)


def _places(uris: Iterable[str]) -> Iterator[tuple[str, str]]:
    for uri in uris:
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        yield bucket, key
