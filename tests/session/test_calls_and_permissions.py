"""Each thing that a person does makes the calls that are written here, and the policy of least privilege allows exactly those."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached

import sm_trn as st
from sm_trn.core.session.details import DESCRIBED
from sm_trn.core.specs import Destination

# https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
ACTIONS = {
    "CreateTrainingJob": {"sagemaker:CreateTrainingJob", "iam:PassRole"},
    "DescribeTrainingJob": {"sagemaker:DescribeTrainingJob"},
    "StopTrainingJob": {"sagemaker:StopTrainingJob"},
    "ListTrainingJobs": {"sagemaker:ListTrainingJobs"},
    "ListTags": {"sagemaker:ListTags"},
    "Search": {"sagemaker:Search"},
    "HeadObject": {"s3:GetObject"},
    "GetObject": {"s3:GetObject"},
    "PutObject": {"s3:PutObject"},
    "ListObjectsV2": {"s3:ListBucket"},
    "DescribeLogStreams": {"logs:DescribeLogStreams"},
    "GetLogEvents": {"logs:GetLogEvents"},
}
# job.utilization(): tests/logs/test_job_logs.py; and what boto3 calls when an upload in parts is broken off.
ELSEWHERE = {"cloudwatch:GetMetricData", "s3:AbortMultipartUpload"}
READ_SPEC = {"DescribeTrainingJob", "ListTags", "GetObject"}
LAUNCH = {"HeadObject", "PutObject", "CreateTrainingJob"}
Deed = Callable[[st.TrainingJob], object]
DEEDS: dict[str, tuple[Deed, set[str]]] = {
    "submit": (lambda job: job.session.submit(job.asked or job.spec), LAUNCH),
    "attach": (lambda job: job.session.attach(job.name), {"DescribeTrainingJob"}),
    "spec": (lambda job: attached(job.session, job.name).spec, READ_SPEC),
    "snapshot": (lambda job: job.snapshot(), {"DescribeTrainingJob"}),
    "cost": (lambda job: job.cost(), {"DescribeTrainingJob"}),
    "logs": (lambda job: list(job.logs()), {"DescribeLogStreams", "GetLogEvents"}),
    "stop": (lambda job: job.stop(), {"DescribeTrainingJob", "StopTrainingJob"}),
    "checkpoints": (lambda job: job.checkpoints(), {"ListObjectsV2"}),
    "wait": (
        lambda job: job.session.wait([job, job.session.submit(job.asked or job.spec)], progress=False),
        LAUNCH | {"ListTrainingJobs", "DescribeTrainingJob"},
    ),
    "resubmit": (lambda job: attached(job.session, job.name).resubmit(), READ_SPEC | LAUNCH - {"HeadObject"}),
    "list": (lambda job: job.session.jobs(), {"ListTrainingJobs"}),
    "fleet": (
        lambda job: job.session.fleet("plain", tags=True),
        {"ListTrainingJobs", "DescribeTrainingJob", "ListTags"},
    ),
    "fleet of many": (lambda job: job.session.fleet("many", tags=True), {"ListTrainingJobs", "Search"}),
    "list of many": (lambda job: job.session.snapshots("many", limit=DESCRIBED + 1), {"ListTrainingJobs", "Search"}),
    "stop_all": (lambda job: job.session.stop_all(containing=""), {"ListTrainingJobs", "StopTrainingJob"}),
}


@pytest.fixture
def job(here: World, spec: st.JobSpec) -> st.TrainingJob:
    kept = spec.replace(checkpoint=st.Checkpoint(s3_uri="s3://a-bucket/checkpoints"))
    here.service.story_of = lambda _: Story(lines={"algo-1": ((200.0, "hello"),)})
    made = here.session.submit(kept)
    here.clock.sleep(300)
    for n in range(DESCRIBED + 1):  # more than are described one by one
        here.service.add(f"many-{n}", created=here.clock.now() - 100_000)
    here.service.objects.clear()  # nothing is there yet: the next launch uploads again
    here.wire.calls.clear()
    return made


@pytest.mark.parametrize("deed", DEEDS)
def test_a_deed_makes_these_calls_and_no_others(here: World, job: st.TrainingJob, deed: str) -> None:
    do, wanted = DEEDS[deed]
    do(job)
    assert wanted == set(here.wire.calls)


def test_the_policy_allows_what_is_called_and_nothing_else(spec: st.JobSpec) -> None:
    called = {action for _, calls in DEEDS.values() for call in calls for action in ACTIONS[call]}
    kept = spec.replace(checkpoint=st.Checkpoint(s3_uri="s3://a-bucket/checkpoints"))
    policy = st.policies(kept, Destination(role="arn:aws:iam::111122223333:role/training", bucket="a-bucket")).launch
    assert called | ELSEWHERE == {action for statement in policy["Statement"] for action in statement["Action"]}
