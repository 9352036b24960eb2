"""What policies are made of: ARNs of one account and region, statements, places in S3. Knows no operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...core.specs.data import bucket_and_key
from ...core.specs.destination import Destination
from ...core.specs.job import JobSpec

VERSION = "2012-10-17"
LOG_GROUP = "/aws/sagemaker/TrainingJobs"
CODE = "sm_trn"  # the prefix of sources, uploaded inputs and specs in the session's bucket


Statement: TypeAlias = dict[str, Any]  # of a policy, by IAM's own names
Policy: TypeAlias = dict[str, Any]  # as IAM takes it, before it is JSON


@dataclass(frozen=True, slots=True)
class Place:
    """The account, partition and region that a policy's ARNs are of."""

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


def policy(statements: Iterable[Statement]) -> Policy:
    """A whole policy."""
    return {"Version": VERSION, "Statement": list(statements)}


def allow(
    sid: str, actions: Iterable[str], resources: Iterable[str], condition: dict[str, dict[str, str]] | None = None
) -> Statement:
    """A statement that allows ``actions`` on ``resources``, each named once."""
    statement: Statement = {
        "Sid": sid,
        "Effect": "Allow",
        "Action": sorted(actions),
        "Resource": sorted(set(resources)),
    }
    return statement | ({"Condition": condition} if condition else {})


def in_a_container(where: Place, log_streams: Iterable[str]) -> Iterator[Statement]:
    """What every role of a container needs: to write its log, put its metrics and be pulled."""
    logs = ("CreateLogGroup", "CreateLogStream", "DescribeLogStreams", "PutLogEvents")
    yield allow("Logs", (f"logs:{name}" for name in logs), log_streams)
    own = {"StringLike": {"cloudwatch:namespace": "/aws/sagemaker/*"}}
    yield allow("Metrics", ["cloudwatch:PutMetricData"], ["*"], own)
    yield allow("Login", ["ecr:GetAuthorizationToken"], ["*"])
    pull = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    yield allow("Image", pull, [f"arn:{where.partition}:ecr:{where.at.region}:*:repository/*"])


def places(uris: Iterable[str]) -> Iterator[tuple[str, str]]:
    for uri in uris:
        yield bucket_and_key(uri) or (uri, "")
