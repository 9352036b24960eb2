"""Each step of hosting makes the calls that are written here, and the policies for hosting allow exactly those."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jobs
import pytest
from jobs import job_of

import sm_trn as st
from sm_trn.core import aws
from sm_trn.core.specs import Destination

# https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
# A create with Tags also needs sagemaker:AddTags; one with a role, iam:PassRole.
NEEDS = {
    "CreateModel": {"sagemaker:CreateModel", "sagemaker:AddTags", "iam:PassRole"},
    "CreateEndpointConfig": {"sagemaker:CreateEndpointConfig", "sagemaker:AddTags"},
    "CreateEndpoint": {"sagemaker:CreateEndpoint", "sagemaker:AddTags"},
    "HeadObject": {"s3:GetObject"},
    "GetObject": {"s3:GetObject"},
    "PutObject": {"s3:PutObject"},
}
BUCKETS = {"s3:ListBucket"}  # without it S3 answers 403 where an object is missing, and the reason could not be said
LOOK = {"DescribeTrainingJob", "HeadObject", "GetObject"}
STEPS = {
    "deploy": LOOK
    | {"ListTags", "PutObject", "CreateModel", "CreateEndpointConfig", "CreateEndpoint", "DescribeEndpoint"},
    "predict": {"InvokeEndpoint"},
    "list": {"ListEndpoints", "DescribeEndpoint", "DescribeEndpointConfig", "ListTags"},
    "delete": {"DescribeEndpoint", "DescribeEndpointConfig", "DeleteEndpoint", "DeleteEndpointConfig", "DeleteModel"},
}
CODE = "import json\ndef model_fn(f): return 2\ndef input_fn(b, c): return json.loads(b)\ndef predict_fn(d, m): return d * m\n"
AT = Destination(role="arn:aws:iam::111122223333:role/training", region="us-west-2", bucket="a-bucket")


def actions(policy: Mapping[str, Any]) -> set[str]:
    return {action for statement in policy["Statement"] for action in statement["Action"]}


def allowed(policy: Mapping[str, Any], action: str, resource: str) -> bool:
    return any(
        action in statement["Action"]
        and any(fnmatch.fnmatchcase(resource, pattern) for pattern in statement["Resource"])
        for statement in policy["Statement"]
    )


@pytest.mark.local
def test_hosting_makes_these_calls_and_no_others(session: st.Session, tmp_path: Path) -> None:
    (tmp_path / "inference.py").write_text(CODE)
    text = "import os\nopen(os.environ['SM_MODEL_DIR'] + '/weights', 'w').write('2')\n"
    spec = job_of(tmp_path / "source", text, name="Hosted", framework=st.PyTorch("2.6.0", python="py312"))
    name = session.submit(spec).name
    calls: set[str] = set()
    made: set[str] = set()

    def seen(model: Any, **_: Any) -> None:
        calls.add(model.name)

    def named(params: dict[str, Any], **_: Any) -> None:
        made.add(str(params["EndpointName"]))

    assert session.boto_session is not None
    boto = session.boto_session
    boto.events.register("before-call", seen)
    boto.events.register("provide-client-params.sagemaker.CreateEndpoint", named)
    session = dataclasses.replace(  # clients that were made before the ear was are deaf to it
        session, backend=aws.Boto3Backend(boto), storage=aws.S3Storage(boto, session.bucket)
    )
    job = st.TrainingJob(name=name, session=session)
    job.wait(progress=False)
    found: dict[str, set[str]] = {}

    def did(step: str) -> None:
        found[step] = set(calls)
        calls.clear()

    calls.clear()
    endpoint = job.deploy("ml.c5.xlarge", code=str(tmp_path / "inference.py"))
    did("deploy")
    assert 4 == endpoint.predict(2)
    did("predict")
    assert len(session.endpoints()) >= 1
    did("list")
    endpoint.delete()
    did("delete")
    assert found == {step: STEPS[step] for step in found}
    for each in made:
        arn = f"arn:aws:sagemaker:us-west-2:111122223333:endpoint/{each.lower()}"
        assert allowed(st.policies(spec, AT).hosting, "sagemaker:CreateEndpoint", arn)


def test_the_policy_for_hosting_allows_what_is_called_and_nothing_else() -> None:
    called = {action for calls in STEPS.values() for call in calls for action in NEEDS.get(call, {f"sagemaker:{call}"})}
    assert called | BUCKETS == actions(st.policies(jobs.trainium("."), AT).hosting)


def test_nobody_elses_endpoint_may_be_asked_or_deleted() -> None:
    policy = st.policies(jobs.trainium(".").replace(name="bert"), AT).hosting
    for name, may in (("bert-261120-101010-0a1b2c", True), ("gpt2-261120-101010-0a1b2c", False)):
        arn = f"arn:aws:sagemaker:us-west-2:111122223333:endpoint/{name}"
        assert may is allowed(policy, "sagemaker:DeleteEndpoint", arn)
        assert may is allowed(policy, "sagemaker:InvokeEndpoint", arn)


def test_the_hosts_role_reads_the_model_and_writes_nothing() -> None:
    job = jobs.trainium(".").replace(name="bert", output=st.Output(s3_uri="s3://models/of/mine"))
    policy = st.policies(job, AT).hosting_execution
    assert allowed(policy, "s3:GetObject", "arn:aws:s3:::models/of/mine/bert-261120/output/model.tar.gz")
    assert allowed(policy, "s3:GetObject", "arn:aws:s3:::a-bucket/sm_trn/models/x/model.tar.gz")
    assert not allowed(policy, "s3:PutObject", "arn:aws:s3:::models/of/mine/bert-261120/output/model.tar.gz")
    assert {"sagemaker:ListEndpoints"} == _everywhere(st.policies(job, AT).hosting)
    assert {"cloudwatch:PutMetricData", "ecr:GetAuthorizationToken"} == _everywhere(policy)


def _everywhere(policy: Mapping[str, Any]) -> set[str]:
    return {
        action for statement in policy["Statement"] if "*" in statement["Resource"] for action in statement["Action"]
    }
