"""The catalogue of rules: complete, unambiguous, and equal to the page that ships."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import sm_trn
from sm_trn.cli.files import rules
from sm_trn.core.errors import UnknownName
from sm_trn.core.preflight import RULES, distribution
from sm_trn.core.specs import Field, Rule, Severity
from sm_trn.core.specs.problems import rules_of

PACKAGE = Path(sm_trn.__file__).parent
PAGE = PACKAGE / "docs" / "rules.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == rules.page(), "sm-trn check --rules > sm_trn/docs/rules.md"


def test_an_id_is_one_rule_of_a_known_family() -> None:
    ids = [rule.id for rule in rules.catalogue()]
    assert sorted(set(ids)) == sorted(ids)
    assert {rule.family for rule in rules.catalogue()} <= set(rules.FAMILIES)


@pytest.mark.parametrize("rule", rules.catalogue(), ids=lambda rule: rule.id)
def test_a_rule_says_what_it_finds_and_why(rule: Rule) -> None:
    assert rule.summary
    assert rule.why.endswith(".")
    assert rule.severities
    assert len(set(rule.severities)) == len(rule.severities)


def test_every_rule_is_used() -> None:
    used = Counter(
        name
        for path in PACKAGE.rglob("*.py")
        for name in re.findall(r'(?<!= _RULES\[")\b[A-Z]+\d{3}\b(?! = )', path.read_text("utf-8"))
    )
    assert not [rule.id for rule in rules.catalogue() if not used[rule.id]]


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule is not distribution.distribution], ids=lambda rule: rule.__name__
)
def test_a_rules_docstring_starts_with_the_ids_that_it_yields(rule: object) -> None:
    source = inspect.getsource(rule).partition('"""')[2].partition('"""')[2]  # type: ignore[arg-type]  # a function
    head = str(inspect.getdoc(rule)).partition(":")[0]
    assert set(re.findall(r'([A-Z]+\d{3})(?:"\])?(?:\.|,| if)', source)) == set(head.split(", "))


def test_a_rule_refuses_a_severity_that_it_does_not_name() -> None:
    with pytest.raises(ValueError, match=r"SPOT001: got Severity.INFO, wanted one of Severity.ERROR"):
        rules_of("sm_trn.core.preflight")["SPOT001"].problem(Field("spot"), "nothing", severity=Severity.INFO)


def test_a_rule_is_explained_in_any_case() -> None:
    text = rules.explain("spot001")
    assert "error[SPOT001]" in text
    assert "API reference, StoppingCondition" in text


def test_an_unknown_rule_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'SPOT001'"):
        rules.explain("SPT001")
