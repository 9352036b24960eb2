"""IAM policies of least privilege for one job: for whoever launches and follows it, and for the role that it runs under.

Actions and their resources are those of the service authorization reference (docs.aws.amazon.com/service-authorization);
which calls this package makes is recorded by a test, command by command.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...core.specs.destination import Destination
from ...core.specs.job import JobSpec, expect_spec
from ...core.specs.tuning import Sweep
from . import hosting as policy_hosting
from .parts import CODE, LOG_GROUP, Place, Policy, Statement, allow, in_a_container, places, policy

_KEPT_BY_BATCH = 31  # letters of "AWSBatch" and the name that are left beside Batch's 32 digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """``launch``: attach it to the people; ``execution``: attach it to the role; ``trust``: the role's trust policy.

    ``hosting`` and ``hosting_execution`` are what comes on top, for people and role, where the job's model is deployed,
    asked and deleted.
    """

    launch: Policy
    execution: Policy
    trust: Policy
    hosting: Policy
    hosting_execution: Policy


def policies(job: JobSpec | Sweep, at: Destination | None = None) -> Policies:
    """The policies for ``job``, or for a sweep of one, sent to ``at``; placeholders of its role, bucket and account stay visible.

    >>> "sagemaker:CreateTrainingJob" in str(st.policies(job))
    True
    """
    sweep = job if isinstance(job, Sweep) else None
    job = job.job if isinstance(job, Sweep) else job
    expect_spec(job)
    where = Place(at or Destination())
    return Policies(
        launch=policy([*_launch(job, where), *_searched(sweep, where)]),
        execution=policy(_execution(job, where)),
        trust=policy(
            [{"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}]
        ),
        hosting=policy(policy_hosting.people(job, where)),
        hosting_execution=policy(policy_hosting.role(job, where)),
    )


def _launch(job: JobSpec, where: Place) -> Iterator[Statement]:
    at = where.at
    jobs = [where.arn("sagemaker", f"training-job/{job.name.lower()}-*")]
    own = {"CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "ListTags"}
    if job.tags or (job.script is not None and job.script.git is not None):
        own.add("AddTags")
    yield allow("Jobs", (f"sagemaker:{name}" for name in own), jobs)
    # Neither knows a resource. Search tells a hundred jobs a call, where a list of many is described.
    yield allow("ListJobs", ["sagemaker:ListTrainingJobs", "sagemaker:Search"], ["*"])
    yield allow(
        "RoleOfTheJob",
        ["iam:PassRole"],
        [at.role],
        condition={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
    )
    yield allow(
        "SourcesAndSpecs",
        ["s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"],
        [where.s3(f"{at.bucket}/{CODE}/*")],
    )
    buckets = {at.bucket, *(bucket for bucket, _ in places([job.checkpoints.s3_uri] if job.checkpoints else []))}
    yield allow(
        "Buckets", ["s3:ListBucket"], (where.s3(bucket) for bucket in buckets)
    )  # the age of checkpoints is shown
    yield from _queued(job, where)
    yield allow("Logs", ["logs:DescribeLogStreams", "logs:GetLogEvents"], where.log_streams(job))
    yield allow("Utilization", ["cloudwatch:GetMetricData"], ["*"])  # knows no resource


def _searched(sweep: Sweep | None, where: Place) -> Iterator[Statement]:
    """The tuning job of a sweep, and the training jobs that it makes: their names begin with its own."""
    if sweep is None:
        return
    own = ["Create", "Describe", "ListTrainingJobsFor", "Stop"]
    actions = [f"sagemaker:{verb}HyperParameterTuningJob" for verb in own]
    yield allow(
        "Searches",
        [*actions, "sagemaker:AddTags"],
        [where.arn("sagemaker", f"hyper-parameter-tuning-job/{sweep.base.lower()}-*")],
    )
    jobs = [where.arn("sagemaker", f"training-job/{sweep.base.lower()}-*")]
    yield allow(
        "JobsOfSearches", ["sagemaker:DescribeTrainingJob", "sagemaker:ListTags", "sagemaker:StopTrainingJob"], jobs
    )


def _queued(job: JobSpec, where: Place) -> Iterator[Statement]:
    """The queue that the job waits in, and the training jobs that Batch makes of it: ``AWSBatch``, the name's beginning, and digits."""
    if job.queue is None:
        return
    queue = job.queue.name if job.queue.name.startswith("arn:") else where.arn("batch", f"job-queue/{job.queue.name}")
    yield allow("Queue", ["batch:SubmitServiceJob", "batch:TagResource"], [queue, where.arn("batch", "service-job/*")])
    follow = ("DescribeServiceJob", "GetJobQueueSnapshot", "ListServiceJobs", "TerminateServiceJob")
    yield allow("QueuedJobs", (f"batch:{name}" for name in follow), ["*"])
    beginning = f"AWSBatch{job.name}-"[:_KEPT_BY_BATCH]
    read = ("DescribeTrainingJob", "ListTags", "StopTrainingJob")
    yield allow(
        "Attempts",
        (f"sagemaker:{name}" for name in read),
        [where.arn("sagemaker", f"training-job/{beginning.lower()}*")],
    )
    yield allow(
        "LogsOfAttempts", ["logs:GetLogEvents"], [where.arn("logs", f"log-group:{LOG_GROUP}:log-stream:{beginning}*")]
    )


def _execution(job: JobSpec, where: Place) -> Iterator[Statement]:
    at = where.at
    inputs = [channel.uri for channel in job.channels.values() if channel.uri.startswith("s3://")]
    kept = [job.checkpoints.s3_uri] if job.checkpoints else []
    target = job.output.s3_uri or f"s3://{at.bucket}/"
    sources = [f"s3://{at.bucket}/{CODE}/", at.source(job)]
    read = {f"{bucket}/{key}*" for bucket, key in places([*inputs, *sources, *kept])}
    written = {f"{bucket}/{key}*" for bucket, key in places([target, *kept])}
    yield allow("Read", ["s3:GetObject"], (where.s3(path) for path in read))
    yield allow("Write", ["s3:AbortMultipartUpload", "s3:PutObject"], (where.s3(path) for path in written))
    if kept:  # the service mirrors the folder, deletions included
        yield allow("Mirror", ["s3:DeleteObject"], (where.s3(f"{b}/{k}*") for b, k in places(kept)))
    buckets = {bucket for bucket, _ in places([*inputs, *sources, *kept, target])}
    yield allow("List", ["s3:ListBucket"], (where.s3(bucket) for bucket in buckets))
    yield from in_a_container(where, where.log_streams(job))
    if job.network is not None and job.network.subnets:
        names = ("CreateNetworkInterface", "CreateNetworkInterfacePermission", "DeleteNetworkInterface",
                 "DeleteNetworkInterfacePermission", "DescribeDhcpOptions", "DescribeNetworkInterfaces",
                 "DescribeSecurityGroups", "DescribeSubnets", "DescribeVpcs")  # fmt: skip
        yield allow("Vpc", (f"ec2:{name}" for name in names), ["*"])
    yield from _encrypted(job, where)


def _encrypted(job: JobSpec, where: Place) -> Iterator[Statement]:
    keys = [key for key in (job.output.kms_key, job.compute.volume_kms_key) if key]
    if keys:
        arns = [
            key if key.startswith("arn:") else where.arn("kms", "key/*" if key.startswith("alias/") else f"key/{key}")
            for key in keys
        ]
        yield allow("Keys", ["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"], arns)
