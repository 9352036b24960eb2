"""The table of the debugger's rules is SDK v2's own."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from sm_trn.core.catalog import debugger

pytestmark = pytest.mark.sdk
image_uris: Any = pytest.importorskip(
    "sagemaker.image_uris", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'"
)
rule_configs: Any = pytest.importorskip("smdebug_rulesconfig")


def test_every_rule_of_the_sdk_has_its_row() -> None:
    functions = inspect.getmembers(rule_configs, inspect.isfunction)
    classes = inspect.getmembers(rule_configs, inspect.isclass)
    built_in = [name for name, each in functions if each.__module__.endswith("builtin_rules")]
    profiler = [name for name, each in classes if each.__module__.endswith("profiler_rules.rules")]
    assert {*built_in, *profiler} - {"ProfilerRuleBase"} == set(debugger.rules())


@pytest.mark.parametrize("function", debugger.rules())
def test_a_rule_is_what_the_sdk_gives(function: str) -> None:
    from sagemaker.debugger import ProfilerRule, Rule

    made = getattr(rule_configs, function)()
    known = debugger.rule(function, "us-west-2")
    assert known is not None
    rule, tensors = known
    theirs = Rule.sagemaker(made) if isinstance(made, dict) else ProfilerRule.sagemaker(made)
    expected = {name: str(value) for name, value in theirs.rule_parameters.items()}
    assert (theirs.name, expected) == (rule.name, dict(rule.parameters))
    saved = [(each.name, each.parameters or {}) for each in getattr(theirs, "collection_configs", ())]
    assert saved == [(each.name, dict(each.parameters)) for each in tensors]


def test_the_evaluator_of_every_region_is_the_sdks() -> None:
    regions = image_uris.config_for_framework("debugger")["versions"]["latest"]["registries"]
    assert {region: image_uris.retrieve("debugger", region) for region in regions} == {
        region: debugger.evaluator(region) for region in regions
    }
