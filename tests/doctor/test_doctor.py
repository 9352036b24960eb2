"""The doctor in broken situations: each is named with its mend, nothing else is called broken, no secret is shown, only reads are sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jobs
import pytest
from account_answers import Account, Refused, denying, group, healthy, quota, routes

import sm_trn as st
from sm_trn.account.doctor import Findings, State, examine, login, machine

SECRET = "canary/SECRET+key"
READS = re.compile(r"^(Get|List|Describe|Head|Simulate)")


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "run_clm.py").write_text("from transformers import Trainer\nfrom smdistributed import dataparallel\n")
    return str(tmp_path)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "SM_TRN_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    named = {
        "AWS_ACCESS_KEY_ID": "AKIACANARY",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": jobs.REGION,
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "SM_TRN_ROLE": jobs.ROLE,
        "SM_TRN_BUCKET": jobs.BUCKET,
    }
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def the_job(source: str) -> st.JobSpec:
    network = st.Network(subnets=("subnet-1",), security_groups=("sg-1",))
    return jobs.smddp(source).replace(network=network, inputs={"train": st.Channel("s3://squad-data/train")})


def examined(patch: pytest.MonkeyPatch, account: Account, job: st.JobSpec | None, **named: Any) -> Findings:
    patch.setattr(login, "RenewableSession", account.session)
    found = examine(job, name="squad.toml", **named)
    assert [name for name in account.asked if not READS.match(name)] == []
    assert SECRET not in repr(found)
    assert "AKIA" not in repr(found)
    return found


def test_all_is_ready(environment: pytest.MonkeyPatch, source: str) -> None:
    found = examined(environment, Account(healthy()), the_job(source))
    assert found.ready
    assert {each.about for each in found if each.state is State.READY} >= {
        "Python", "credentials", "role", "you", "bucket", "data", "quota", "image", "network", "job",
    }  # fmt: skip
    assert {each.about for each in found if each.state is State.WARNING} == set()


def test_without_a_job_the_place_is_looked_at(environment: pytest.MonkeyPatch) -> None:
    found = examined(environment, Account(healthy()), None)
    assert found.ready
    assert [each.about for each in found][-2:] == ["role", "bucket"]


Break = Callable[[pytest.MonkeyPatch, dict[str, Any]], Any]


def answers(**changed: Any) -> Break:
    def change(_: pytest.MonkeyPatch, table: dict[str, Any]) -> None:
        table.update(changed)

    return change


def without_a_bucket(patch: pytest.MonkeyPatch, table: dict[str, Any]) -> None:
    patch.delenv("SM_TRN_BUCKET")
    table["HeadBucket"] = Refused("404")


def variables(**changed: str | None) -> Break:
    def change(patch: pytest.MonkeyPatch, table: dict[str, Any]) -> None:
        for name, value in changed.items():
            patch.setenv(name, value) if value is not None else patch.delenv(name)

    return change


# what is broken, how, the line that says it, its state, a word of what it says, a word of the fix
BROKEN: list[tuple[str, Break, str, State, str, str]] = [
    ("no keys", variables(AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None), "credentials", State.ERROR,
     "none found", "aws configure sso"),
    ("a profile that is not there", variables(AWS_PROFILE="mll"), "credentials", State.ERROR, "'mll'", "list-profiles"),
    ("a wrong key", answers(GetCallerIdentity=Refused("InvalidClientTokenId")), "credentials", State.ERROR,
     "does not know this key", "aws sso login"),
    ("an expired login", answers(GetCallerIdentity=Refused("ExpiredToken")), "credentials", State.ERROR, "expired", "aws sso login"),
    ("no network", answers(GetCallerIdentity=Refused("EndpointConnectionError")), "network", State.ERROR, "GetCallerIdentity", "proxy"),
    ("no region", variables(AWS_DEFAULT_REGION=None), "region", State.ERROR, "none set", "AWS_DEFAULT_REGION"),
    ("no role", variables(SM_TRN_ROLE=None), "role", State.ERROR, "role", "SM_TRN_ROLE"),
    ("a role that is gone", answers(GetRole=Refused("NoSuchEntity")), "role", State.ERROR, "does not exist", "--for trust"),
    ("a role of another service", answers(GetRole={"Role": {"AssumeRolePolicyDocument": "{}"}}), "role", State.ERROR, "may not assume",
     "sm-trn policy squad.toml --for trust"),
    ("no bucket", without_a_bucket, "bucket", State.ERROR,
     "not there", "SM_TRN_BUCKET"),
    ("a bucket elsewhere", answers(GetBucketLocation={"LocationConstraint": "eu-west-1"}), "bucket", State.ERROR, "eu-west-1", "bucket"),
    ("data that the role may not read", answers(SimulatePrincipalPolicy=denying("s3:GetObject", jobs.ROLE)), "role", State.ERROR,
     "s3:GetObject on arn:aws:s3:::", "sm-trn policy squad.toml --for execution"),
    ("a launch that you may not make", answers(SimulatePrincipalPolicy=denying("sagemaker:CreateTrainingJob", "role/people")), "you",
     State.ERROR, "sagemaker:CreateTrainingJob", "sm-trn policy squad.toml --for launch"),
    ("no data", answers(ListObjectsV2={"KeyCount": 0}), "data", State.ERROR, "nothing at s3://", "aws s3 ls"),
    ("a bucket of data that is not there", answers(ListObjectsV2=Refused("NoSuchBucket")), "data", State.ERROR,
     "nothing at", "aws s3 ls"),
    ("no quota", answers(ListServiceQuotas=quota("ml.p4d.24xlarge", 0.0)), "quota", State.ERROR, "got 0 instances",
     "--quota-code L-1 --desired-value"),
    ("no image", answers(DescribeImages=Refused("ImageNotFoundException")), "image", State.ERROR, "not in the registry", "image_uri"),
    ("no way to S3", answers(DescribeRouteTables=routes("local", "igw-1")), "network", State.WARNING, "subnet-1", "gateway endpoint"),
    ("hosts that may not talk", answers(DescribeSecurityGroups=group(itself=False)), "network", State.WARNING,
     "talk to one another", "all traffic"),
    ("questions that are not allowed", answers(SimulatePrincipalPolicy=Refused("AccessDenied")), "your rights",
     State.UNKNOWN, "AccessDenied",
     "let your identity"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("breaks", "about", "state", "says", "fix"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_what_is_broken_is_named_with_its_mend(
    breaks: Break, about: str, state: State, says: str, fix: str, environment: pytest.MonkeyPatch, source: str
) -> None:
    table = healthy()
    breaks(environment, table)
    found = examined(environment, Account(table), the_job(source))
    wrong = [each for each in found if each.about == about and each.state is state]
    assert wrong, found
    assert says in wrong[0].says
    assert fix in wrong[0].fix
    others = [each for each in found if each.state in {State.ERROR, State.WARNING} and each not in wrong]
    assert others == [], others
    assert found.ready == (state is not State.ERROR)


def test_a_job_with_errors_is_sent_to_check(environment: pytest.MonkeyPatch, source: str) -> None:
    wrong = the_job(source).replace(compute=st.Compute("ml.m5.large", count=2))
    found = examined(environment, Account(healthy()), wrong)
    (line,) = [each for each in found if each.about == "job"]
    assert (line.state, line.fix) == (State.ERROR, "sm-trn check squad.toml")


def test_the_machine(environment: pytest.MonkeyPatch) -> None:
    environment.setattr(machine, "_version", lambda _: None)
    found = {each.about: each for each in machine.findings()}
    assert found["SDK"].fix == 'pip install "sm_trn[sdk]"'
    assert "torch and transformers" in found["local runs"].says
    environment.setattr(machine, "_version", lambda _: "3.27.0")
    assert "estimators are of version 2" in {each.about: each for each in machine.findings()}["SDK"].says
