"""The catalogue of rules is read from the rules: complete, unambiguous, and equal to the page that ships."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import sm_trn
from sm_trn.cli import rules
from sm_trn.errors import UnknownName
from sm_trn.preflight import RULES, distribution

PACKAGE = Path(sm_trn.__file__).parent
PAGE = PACKAGE / "docs" / "rules.md"
ID = re.compile(r"^[A-Z]{3,6}\d{3}$")


def named(node: ast.AST) -> set[str]:
    """Every rule's id that stands as a text of its own."""
    constants = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant))
    return {value for value in constants if isinstance(value, str) and ID.match(value)}


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == rules.page(), "sm-trn check --rules > sm_trn/docs/rules.md"


def test_every_id_in_the_rules_is_in_the_catalogue() -> None:
    paths = [path for home in rules.HOMES for path in (PACKAGE / home).glob("*.py")]
    assert set().union(*(named(ast.parse(path.read_text("utf-8"))) for path in paths)) == {
        rule.id for rule in rules.catalogue()
    }


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule is not distribution.distribution], ids=lambda rule: rule.__name__
)
def test_a_rules_docstring_starts_with_the_ids_that_it_yields(rule: object) -> None:
    head = str(inspect.getdoc(rule)).partition(":")[0]
    assert named(ast.parse(inspect.getsource(rule))) == set(head.split(", "))  # type: ignore[arg-type]  # a function


def test_an_id_belongs_to_one_family_of_rules() -> None:
    for rule in rules.catalogue():
        assert rule.family in rules.FAMILIES or rule.home.startswith("sm_trn/render/")
        assert rule.severities
        assert rule.says
        assert "sm_trn/strategies/" in rule.home or rule.home.startswith("sm_trn/render/") or ", " not in rule.home


def test_a_rule_is_explained_in_any_case() -> None:
    text = rules.explain("spot001")
    assert "error[SPOT001]" in text
    assert "API reference, StoppingCondition" in text


def test_an_unknown_rule_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'SPOT001'"):
        rules.explain("SPT001")
