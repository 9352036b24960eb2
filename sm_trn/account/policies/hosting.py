"""Statements for hosting what a job trained: deploy, ask, list, delete. Who launches is not its affair."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.specs.job import JobSpec
from .parts import CODE, Place, Statement, allow, in_a_container, places

NAMED = 40  # letters of the job's name that its endpoints and models begin with
LOG_GROUPS = ("/aws/sagemaker/Endpoints",)


def people(job: JobSpec, where: Place) -> Iterator[Statement]:
    """For whoever deploys the job's model. Endpoints are found by the beginning of the job's name."""
    own = [where.arn("sagemaker", f"{kind}/{_stem(job)}-*") for kind in ("endpoint", "endpoint-config", "model")]
    ends = ("Create", "Describe", "Delete")
    endpoints = {f"sagemaker:{end}{kind}" for end in ends for kind in ("Endpoint", "EndpointConfig")}
    yield allow(
        "Endpoints",
        {*endpoints, "sagemaker:CreateModel", "sagemaker:DeleteModel", "sagemaker:AddTags", "sagemaker:ListTags"},
        own,
    )
    yield allow("Ask", ["sagemaker:InvokeEndpoint"], own[:1])
    yield allow("ListEndpoints", ["sagemaker:ListEndpoints"], ["*"])  # knows no resource
    yield allow(
        "LookAtTheJob",
        ["sagemaker:DescribeTrainingJob", "sagemaker:ListTags"],
        [where.arn("sagemaker", f"training-job/{job.name.lower()}-*")],
    )
    yield allow(
        "RoleOfTheHost",
        ["iam:PassRole"],
        [where.at.role],
        condition={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
    )
    yield allow("Artefact", ["s3:GetObject"], [where.s3(_artefacts(job, where))])
    yield allow("CodeAndInputs", ["s3:GetObject", "s3:PutObject"], [where.s3(f"{where.at.bucket}/{CODE}/*")])
    yield allow(
        "Buckets", ["s3:ListBucket"], {where.s3(where.at.bucket), where.s3(_artefacts(job, where).split("/")[0])}
    )


def role(job: JobSpec, where: Place) -> Iterator[Statement]:
    """For the role that the model runs under."""
    bucket = where.at.bucket
    yield allow("Model", ["s3:GetObject"], [where.s3(_artefacts(job, where)), where.s3(f"{bucket}/{CODE}/*")])
    yield allow("List", ["s3:ListBucket"], {where.s3(bucket), where.s3(_artefacts(job, where).split("/")[0])})
    groups = [f"log-group:{group}*" for group in LOG_GROUPS]
    ends = (":*", f":log-stream:{_stem(job)}-*")
    yield from in_a_container(where, (where.arn("logs", f"{group}{end}") for group in groups for end in ends))


def _stem(job: JobSpec) -> str:
    return job.name[:NAMED].rstrip("-").lower()


def _artefacts(job: JobSpec, where: Place) -> str:
    ((bucket, key),) = places([job.output.s3_uri or f"s3://{where.at.bucket}/"])
    return f"{bucket}/{key.rstrip('/')}{'/' * bool(key)}{job.name}-*/output/*"
