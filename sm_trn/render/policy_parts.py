"""What policies are made of: ARNs of one account and region, statements, places in S3. Knows no deed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..specs.destination import Destination
from ..specs.job import JobSpec

VERSION = "2012-10-17"
LOG_GROUP = "/aws/sagemaker/TrainingJobs"
CODE = "sm_trn"  # the prefix of sources, uploaded inputs and specs in the session's bucket


@dataclass(frozen=True, slots=True)
class Place:
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


def policy(statements: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"Version": VERSION, "Statement": list(statements)}


def allow(sid: str, actions: Iterable[str], resources: Iterable[str], **more: Any) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": sorted(actions), "Resource": sorted(set(resources)), **more}


def in_a_container(where: Place, log_streams: Iterable[str]) -> Iterator[dict[str, Any]]:
    """What every role of a container needs: to write its log, put its metrics and be pulled."""
    logs = ("CreateLogGroup", "CreateLogStream", "DescribeLogStreams", "PutLogEvents")
    yield allow("Logs", (f"logs:{name}" for name in logs), log_streams)
    own = {"StringLike": {"cloudwatch:namespace": "/aws/sagemaker/*"}}
    yield allow("Metrics", ["cloudwatch:PutMetricData"], ["*"], Condition=own)
    yield allow("Login", ["ecr:GetAuthorizationToken"], ["*"])
    pull = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    yield allow("Image", pull, [f"arn:{where.partition}:ecr:{where.at.region}:*:repository/*"])


def places(uris: Iterable[str]) -> Iterator[tuple[str, str]]:
    for uri in uris:
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        yield bucket, key
