"""IAM policies for ``sm-trn conformance``: for whoever runs it, and for the role of its jobs. All of it is named by one prefix.

Which calls a run makes, and on what, is recorded by a test and held against these statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from ...core.specs.destination import Destination
from .parts import LOG_GROUP, Place, Policy, Statement, allow, in_a_container, policy

PREFIX: Final = "sm-trn-conformance"
CONFORMANCE: Final = ("conformance", "conformance-execution", "conformance-hosting")


def conformance_policy(kind: str, at: Destination | None = None) -> Policy:
    """The policy of this name in ``CONFORMANCE``; ``conformance-hosting`` comes on top for ``--hosting``. Raises KeyError for another.

    >>> "sagemaker:StopTrainingJob" in str(conformance_policy("conformance"))
    True
    """
    return policy(_KINDS[kind](Place(at or Destination())))


def _people(where: Place) -> Iterator[Statement]:
    actions = ("Create", "Describe", "Stop", "Delete", "Update")
    own = {*(f"sagemaker:{name}TrainingJob" for name in actions), *_tagging()}
    yield allow("Jobs", own, [where.arn("sagemaker", f"training-job/{PREFIX}-*")])
    yield allow("ListJobs", ["sagemaker:ListTrainingJobs", "sagemaker:Search"], ["*"])  # neither knows a resource
    yield from _role(where)
    bucket = where.at.bucket
    yield allow("Objects", ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"], [where.s3(f"{bucket}/{PREFIX}/*")])
    yield allow("Bucket", ["s3:ListBucket"], [where.s3(bucket)])
    groups = [where.arn("logs", f"log-group:{LOG_GROUP}{end}") for end in (":*", f":log-stream:{PREFIX}-*")]
    yield allow("Logs", ["logs:DescribeLogStreams", "logs:GetLogEvents"], groups)


def _execution(where: Place) -> Iterator[Statement]:
    bucket = where.at.bucket
    yield allow("Objects", ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"], [where.s3(f"{bucket}/{PREFIX}/*")])
    yield allow("Bucket", ["s3:ListBucket"], [where.s3(bucket)])
    groups = [where.arn("logs", f"log-group:{LOG_GROUP}{end}") for end in (":*", f":log-stream:{PREFIX}-*")]
    yield from in_a_container(where, groups)


def _hosting(where: Place) -> Iterator[Statement]:
    kinds = {"endpoint": "Endpoint", "endpoint-config": "EndpointConfig", "model": "Model"}
    own = {f"sagemaker:{verb}{kind}" for verb in ("Create", "Describe", "Delete") for kind in kinds.values()}
    arns = [where.arn("sagemaker", f"{kind}/{PREFIX}-*") for kind in kinds]
    yield allow("Endpoints", {*own, "sagemaker:AddTags"}, arns)
    yield allow("Ask", ["sagemaker:InvokeEndpoint"], arns[:1])


def _role(where: Place) -> Iterator[Statement]:
    condition = {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    yield allow("RoleOfTheJobs", ["iam:PassRole"], [where.at.role], condition=condition)


def _tagging() -> set[str]:
    return {f"sagemaker:{verb}Tags" for verb in ("Add", "Delete", "List")}


_KINDS: Final = MappingProxyType({
    "conformance": _people, "conformance-execution": _execution, "conformance-hosting": _hosting,
})  # fmt: skip
