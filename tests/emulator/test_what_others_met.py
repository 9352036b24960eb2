"""What suites and launchers of public repositories met here and found wrong: one test for each."""

from __future__ import annotations

from typing import Any

import pytest
from emulator.bench import Bench

pytestmark = pytest.mark.local


def test_a_launcher_may_attach_amazons_own_policy_to_a_role_that_it_makes(bench: Bench) -> None:
    iam, policy = bench.client("iam"), "arn:aws:iam::aws:policy/AmazonSageMakerFullAccess"
    iam.create_role(RoleName="MadeByALauncher", AssumeRolePolicyDocument="{}")
    iam.attach_role_policy(RoleName="MadeByALauncher", PolicyArn=policy)
    attached = iam.list_attached_role_policies(RoleName="MadeByALauncher")["AttachedPolicies"]
    assert [policy] == [each["PolicyArn"] for each in attached]


@pytest.mark.parametrize(
    ("create", "members", "arn"),
    [
        ("create_experiment", {"ExperimentName": "tagged"}, "ExperimentArn"),
        ("create_trial", {"TrialName": "tagged", "ExperimentName": "of-the-trial"}, "TrialArn"),
        ("create_trial_component", {"TrialComponentName": "tagged"}, "TrialComponentArn"),
    ],
)
def test_an_experiments_tags_are_there_once_it_is_made(
    bench: Bench, create: str, members: dict[str, Any], arn: str
) -> None:
    tags = [{"Key": "k", "Value": "v"}]
    if create == "create_trial":
        bench.sagemaker.create_experiment(ExperimentName="of-the-trial")
    made = getattr(bench.sagemaker, create)(**members, Tags=tags)
    assert tags == bench.sagemaker.list_tags(ResourceArn=made[arn])["Tags"]
