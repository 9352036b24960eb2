"""The region of a launch is the one that the launcher names; one that nobody knows is a hole, and never another region."""

from __future__ import annotations

import pytest

from sm_trn.bridge.launchers import read_text
from sm_trn.bridge.launchers.launches import Launch

MADE = """
PyTorch("t.py", role="arn:aws:iam::111122223333:role/r", framework_version="2.1", py_version="py310", instance_type="ml.m5.xlarge",
        instance_count=1{session}).fit("s3://b/x")
"""
HEAD = "import boto3, os, sagemaker\nfrom sagemaker.pytorch import PyTorch\n"


def only(body: str, *, session: str = "", **given: object) -> Launch:
    text = HEAD + body + MADE.format(session=f", sagemaker_session={session}" if session else "")
    (launch,) = read_text(text, "launch.py", given=given).launches
    return launch


@pytest.mark.parametrize(
    ("body", "session"),
    [
        ("s = sagemaker.Session(boto_session=boto3.Session(region_name='eu-west-1'))", "s"),
        ("s = sagemaker.Session(boto3.session.Session(None, None, None, 'eu-west-1'))", "s"),
        ("r = 'eu-west-1'\nb = boto3.Session(region_name=r)\ns = sagemaker.Session(boto_session=b)", "s"),
        ("def made(r):\n    return sagemaker.Session(boto3.Session(region_name=r))\ns = made('eu-west-1')", "s"),
        ("boto3.setup_default_session(region_name='eu-west-1')", ""),
        ("boto3.setup_default_session(region_name='eu-west-1')\ns = sagemaker.Session()", "s"),
        ("os.environ['AWS_DEFAULT_REGION'] = 'eu-west-1'", ""),
        ("os.environ['AWS_DEFAULT_REGION'] = 'eu-west-1'\ns = sagemaker.Session(boto3.Session())", "s"),
    ],
)
def test_the_region_of_a_session_is_that_of_its_launches(body: str, session: str) -> None:
    launch = only(body, session=session)
    (job,) = launch.jobs
    assert "eu-west-1" == job.at.region
    assert ".dkr.ecr.eu-west-1." in str(job.request["AlgorithmSpecification"])
    assert () == launch.placeholders


def test_a_region_that_only_a_run_tells_is_a_hole_at_its_place_until_it_is_given() -> None:
    body, session = "s = sagemaker.Session(boto3.Session(region_name=ask()))", "s"
    (hole,) = only(body, session=session).holes
    assert (3, "region") == (hole.place.line, hole.give)
    (job,) = only(body, session=session, region="eu-west-1").jobs
    assert "eu-west-1" == job.at.region


def test_a_session_that_nobody_knows_may_be_of_any_region() -> None:
    launch = only("s = ask()", session="s")
    assert (["region"], ()) == ([hole.give for hole in launch.holes], launch.jobs)


def test_the_region_of_the_environment_is_a_placeholder_that_is_named() -> None:
    launch = only("")
    assert (True, ("region",)) == (launch.complete, launch.placeholders)
    assert () == only("", region="eu-west-1").placeholders


def test_a_region_that_may_have_been_set_in_the_environment_is_not_known() -> None:
    maybe = only("if os.path.exists('x'):\n    os.environ['AWS_DEFAULT_REGION'] = 'eu-west-1'")
    assert {"eu-west-1", "us-west-2"} == {job.at.region for job in maybe.jobs}
    assert () == only("for name in open('x'):\n    os.environ['AWS_DEFAULT_REGION'] = name").jobs
    text = f"{HEAD}{MADE.format(session='')}\nos.environ['AWS_DEFAULT_REGION'] = 'eu-west-1'"
    assert "us-west-2" == read_text(text, "launch.py").launches[0].jobs[0].at.region


def test_a_job_that_boto3_starts_is_in_its_clients_region() -> None:
    text = (
        "import boto3\nboto3.client('sagemaker', 'eu-west-1').create_training_job(TrainingJobName='a',"
        " RoleArn='arn:aws:iam::111122223333:role/r',"
        " AlgorithmSpecification={'TrainingImage': '1.dkr.ecr.eu-west-1.amazonaws.com/x:1', 'TrainingInputMode': 'File'},"
        " OutputDataConfig={'S3OutputPath': 's3://b/o'}, StoppingCondition={'MaxRuntimeInSeconds': 60},"
        " ResourceConfig={'InstanceCount': 1, 'InstanceType': 'ml.m5.xlarge', 'VolumeSizeInGB': 1})\n"
    )
    (launch,) = read_text(text, "launch.py").launches
    assert ["eu-west-1"] == [job.at.region for job in launch.jobs]
