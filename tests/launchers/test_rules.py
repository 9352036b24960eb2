"""Rules of the debugger and the profiler: what is read of them is what SDK v2 sends."""

from __future__ import annotations

from typing import Any

import boto3
import jobs
import pytest

import sm_trn as st
from sm_trn.bridge.launchers import Reason, read_text
from sm_trn.core import sdk

HEAD = """
from sagemaker.pytorch import PyTorch
from sagemaker.debugger import (CollectionConfig, DebuggerHookConfig, ProfilerConfig, ProfilerRule, Rule, rule_configs)
role = "arn:aws:iam::111122223333:role/r"
def launch(**more):
    PyTorch("train.py", role=role, source_dir="s3://b/s.tar.gz", framework_version="1.12", py_version="py38", output_path="s3://b/out",
            instance_type="ml.p3.2xlarge", instance_count=1, base_job_name="ruled", **more).fit(wait=False)
"""
LAUNCHES = (
    "rules=[Rule.sagemaker(rule_configs.loss_not_decreasing())]",
    """rules=[
        Rule.sagemaker(rule_configs.vanishing_gradient(), 'mine', rule_parameters={'threshold': '0.1'}, s3_output_path='s3://b/r'),
        Rule.sagemaker(base_config=rule_configs.loss_not_decreasing(), collections_to_save=[CollectionConfig('all')])]""",
    """rules=[Rule.sagemaker(rule_configs.overfit(), other_trials_s3_input_paths=['s3://b/1', 's3://b/2'])],
        debugger_hook_config=False""",
    "rules=[Rule.custom('own', 'an/image:1', 'ml.t3.medium', 10, source='s3://b/own.py', rule_to_invoke='Own')]",
    """rules=[ProfilerRule.sagemaker(rule_configs.ProfilerReport(CPUBottleneck_threshold=90)),
        ProfilerRule.sagemaker(rule_configs.StepOutlier())]""",
    """rules=[ProfilerRule.custom('own', 'an/image:1', 'ml.t3.medium', 10, rule_parameters={'rate': 3})],
        profiler_config=ProfilerConfig(system_monitor_interval_millis=500)""",
    """rules=[Rule.sagemaker(rule_configs.dead_relu()), Rule.sagemaker(rule_configs.dead_relu(), name='again')],
        debugger_hook_config=DebuggerHookConfig('s3://b/hook', hook_parameters={'a': 'b'},
                                                collection_configs=[CollectionConfig('x', {'save_interval': '3'})])""",
)


def read(arguments: str) -> Any:
    (launch,) = read_text(f"{HEAD}launch({arguments})\n", "launch.py").launches
    return launch


class Answered:
    status_code = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - botocore reads it, nobody writes it


def sent(arguments: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What SDK v2 sends for the same text, with its calls answered in this process."""
    requests: list[dict[str, Any]] = []
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-west-2")
    session.events.register(
        "provide-client-params.sagemaker.CreateTrainingJob", lambda params, **_: requests.append(dict(params))
    )
    answer = {"TrainingJobArn": "x", "ResponseMetadata": {"HTTPStatusCode": 200}}
    session.events.register("before-call", lambda **_: (Answered(), answer))
    own = sdk.sdk_session(boto_session=session, bucket=jobs.BUCKET)
    monkeypatch.setattr("sagemaker.session.Session", lambda **_: own)
    monkeypatch.setattr("sagemaker.estimator.Session", lambda **_: own)
    with sdk.contained():
        exec(compile(f"{HEAD}launch({arguments})\n", "launch", "exec"), {})  # noqa: S102 - the text above
    (request,) = requests
    return request


def unordered(request: dict[str, Any]) -> dict[str, Any]:
    """SDK v2 sends tensor collections in no order."""
    hook = dict(request.get("DebugHookConfig", {}))
    hook["CollectionConfigurations"] = sorted(
        hook.get("CollectionConfigurations", ()), key=lambda each: each["CollectionName"]
    )
    names = ("DebugRuleConfigurations", "ProfilerConfig", "ProfilerRuleConfigurations")
    return {"DebugHookConfig": hook} | {name: request.get(name) for name in names}


@pytest.mark.sdk
@pytest.mark.parametrize("arguments", LAUNCHES)
def test_what_is_read_is_what_sdk_v2_sends(arguments: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    launch = read(arguments)
    assert () == launch.holes, [str(hole) for hole in launch.holes]
    theirs = sent(arguments, monkeypatch)
    assert unordered(theirs) == unordered(dict(launch.jobs[0].request))


@pytest.mark.parametrize("arguments", LAUNCHES)
def test_rules_are_fields_of_the_job_and_nothing_is_kept(arguments: str) -> None:
    spec = read(arguments).jobs[0].spec
    assert () == spec.kept
    assert spec.debug_rules or spec.profiler_rules
    request = dict(read(arguments).jobs[0].request)
    assert unordered(request) == unordered(st.render(spec, at=read(arguments).jobs[0].at))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("rules=[Rule.sagemaker(rule_configs.no_such_rule())]", "has no attribute 'no_such_rule'"),
        ("rules=[Rule.sagemaker({})]", "KeyError: 'DebugRuleConfiguration'"),
        ("rules=[Rule.sagemaker(rule_configs.overfit(), rule_parameters=[1])]", "'list' object has no attribute 'get'"),
        ("rules=[3]", "Rules list can only contain sagemaker.debugger.Rule"),
    ],
)
def test_what_the_sdk_refuses_is_one_hole_with_its_words(arguments: str, words: str) -> None:
    (hole,) = read(arguments).holes
    assert (Reason.REFUSED, True) == (hole.reason, words in hole.detail)


def test_actions_of_a_rule_are_what_the_sdk_makes_of_them() -> None:
    launch = read("rules=[Rule.sagemaker(rule_configs.overfit(), actions=rule_configs.StopTraining())]")
    assert "stoptraining" in str(launch.jobs[0].request["DebugRuleConfigurations"])
