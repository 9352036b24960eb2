"""IAM policies: every place that a job's request names is allowed, nothing else is, and what knows no resource says so."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping
from typing import Any

import jobs
import pytest
from hypothesis import given, settings
from strategies_of_values import sensible

import sm_trn as st
from sm_trn.core.specs import Destination

AT = Destination(
    role="arn:aws:iam::111122223333:role/training", region="us-west-2", bucket="a-bucket", source_uri="s3://a-bucket/sm_trn/source/x.tar.gz"
)  # fmt: skip
# Actions whose resource can only be "*": the service authorization reference lists no resource type for them.
NO_RESOURCE = {
    "sagemaker:ListTrainingJobs", "sagemaker:Search", "cloudwatch:GetMetricData", "cloudwatch:PutMetricData",
    "ecr:GetAuthorizationToken",
}  # fmt: skip


def allowed(policy: Mapping[str, Any], action: str, resource: str) -> bool:
    return any(
        action in statement["Action"]
        and any(fnmatch.fnmatchcase(resource, pattern) for pattern in statement["Resource"])
        for statement in policy["Statement"]
    )


def objects(uri: str) -> str:
    return f"arn:aws:s3:::{uri.removeprefix('s3://').rstrip('/')}/object"


@settings(max_examples=100)
@given(job=sensible("s3://a-bucket/source.tar.gz"))
def test_the_role_may_read_and_write_every_place_that_the_request_names(job: st.JobSpec) -> None:
    request, policy = st.render(job, at=AT) if not _refused(job) else None, st.policies(job, AT).execution
    if request is None:
        return
    for channel in request.get("InputDataConfig", ()):
        if "S3DataSource" in channel["DataSource"]:  # a file system is mounted, which no role is asked about
            assert allowed(policy, "s3:GetObject", objects(channel["DataSource"]["S3DataSource"]["S3Uri"]))
    assert allowed(policy, "s3:PutObject", objects(request["OutputDataConfig"]["S3OutputPath"]))
    if "CheckpointConfig" in request:
        for action in ("GetObject", "PutObject", "DeleteObject"):
            assert allowed(policy, f"s3:{action}", objects(request["CheckpointConfig"]["S3Uri"]))
    assert allowed(policy, "ec2:CreateNetworkInterface", "*") is ("VpcConfig" in request)
    keyed = "KmsKeyId" in request["OutputDataConfig"] or "VolumeKmsKeyId" in request.get(
        "ResourceConfig", {}
    )  # a serverless job has none
    assert keyed is any("kms:Decrypt" in statement["Action"] for statement in policy["Statement"])


def _refused(job: st.JobSpec) -> bool:
    return any(problem.severity is st.Severity.ERROR for problem in st.check(job))


def test_nothing_else_may_be_read() -> None:
    policy = st.policies(jobs.trainium(".").replace(output=st.Output(s3_uri="s3://a-bucket/models")), AT).execution
    assert not allowed(policy, "s3:GetObject", "arn:aws:s3:::another-bucket/x")
    assert not allowed(policy, "s3:PutObject", "arn:aws:s3:::a-bucket/elsewhere/x")
    assert not allowed(policy, "s3:DeleteObject", "arn:aws:s3:::a-bucket/models/x")


def test_only_jobs_of_this_name_may_be_started_and_stopped() -> None:
    policy = st.policies(jobs.trainium(".").replace(name="Bert-Base"), AT).launch
    own = "arn:aws:sagemaker:us-west-2:111122223333:training-job/bert-base-261120-101010-0a1b2c"
    for action in ("Create", "Describe", "Stop"):
        assert allowed(policy, f"sagemaker:{action}TrainingJob", own)
        assert not allowed(policy, f"sagemaker:{action}TrainingJob", own.replace("bert-base", "another"))
    assert allowed(policy, "iam:PassRole", AT.role)
    assert not allowed(policy, "iam:PassRole", AT.role + "2")


@pytest.mark.parametrize("tagged", [True, False])
def test_tagging_is_allowed_where_the_job_has_tags(tagged: bool) -> None:
    policy = st.policies(jobs.trainium(".").replace(tags={"team": "nlp"} if tagged else {}), AT).launch
    assert tagged is any("sagemaker:AddTags" in statement["Action"] for statement in policy["Statement"])


@pytest.mark.parametrize("letter", jobs.CONFIGURATIONS)
def test_a_star_stands_only_where_no_resource_exists(letter: str) -> None:
    found = st.policies(jobs.CONFIGURATIONS[letter]("."), AT)
    for policy in (found.launch, found.execution):
        for statement in policy["Statement"]:
            if "*" in statement["Resource"]:
                assert set(statement["Action"]) <= NO_RESOURCE
        json.dumps(policy)


@pytest.mark.parametrize(
    ("region", "partition"), [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov"), ("eu-west-1", "aws")]
)
def test_other_partitions_have_their_own_arns(region: str, partition: str) -> None:
    at = Destination(role=f"arn:{partition}:iam::111122223333:role/training", region=region, bucket="a-bucket")
    text = json.dumps(st.policies(jobs.trainium("."), at).launch)
    assert f"arn:{partition}:s3:::a-bucket" in text
    assert f"arn:{partition}:sagemaker:{region}" in text


def test_sagemaker_may_assume_the_role() -> None:
    (statement,) = st.policies(jobs.trainium("."), AT).trust["Statement"]
    assert ("sagemaker.amazonaws.com", "sts:AssumeRole") == (statement["Principal"]["Service"], statement["Action"])
