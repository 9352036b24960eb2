"""What makes expressions quick changes no result: the beginning that every match has, and the standard library for simple ones."""

from __future__ import annotations

import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.logs import RuleReader
from sm_trn.core.logs.rules import _number
from sm_trn.core.specs import MetricRule

PIECES = ["loss", "'loss': ", "=", ":", " ", r"\s", r"\d", "[0-9.]", "[^,]", ".", "(", ")", "(?:", "*", "+", "?", "{1,2}", "|", r"\.", "a",
          "(?i)", "^", "$", r"\b", "(?P<n>", ")?", "|b)", r"\d+", "[0-9.]+", "(?:e", "*?",
          "++", "[[:alpha:]]", r"\p{L}", "(?<=a)", "(?!b)", "1"]  # fmt: skip
WORDS = ["loss", "'loss': ", "=", ": ", "0.5", "1e-05", "a", "b", "LOSS", " ", ",", "1", "ä", "\t"]


@given(some.lists(some.sampled_from(PIECES), min_size=1, max_size=7), some.lists(some.sampled_from(WORDS), max_size=9))
def test_a_rule_finds_what_its_expression_finds(pieces: list[str], words: list[str]) -> None:
    expression, line = "".join(pieces), "".join(words)
    try:
        pattern = regex.compile(expression)
    except regex.error:
        return
    match = pattern.search(line, timeout=1)
    value = None if match is None else _number(match, line)
    found = RuleReader([MetricRule("x", expression)]).values(line)
    assert repr({} if value is None else {"x": value}) == repr(found)


@pytest.mark.parametrize(
    "expression",
    [
        "(a|aa)+$",
        "(a+)+$",
        "(?:a|a)+b",
        "a*a*a*a*b",
        "(a?){30}a{30}",
        "(a)+$",
        "a+$",
        "(.*)b",
        "([a ]+)b",
        "a?" * 12 + "b",
        "(a|a)" * 12 + "b",
        "(?:a|aa)(?:a|aa)a*b",
        "(?:a*a)?a*b",
        "(?:a?b?c?d?)*x",
        "a*?a*?b",
        "(?:(?:a*)?)?b",
        "a*a*a*(?:$)",
        "a*a*(^|$)",
        "(?:a*a*(?:$))?b",
    ],
)
@pytest.mark.parametrize("length", [30, 1999, 2001, 100_000])
def test_no_expression_takes_long(expression: str, length: int) -> None:
    began = time.process_time()
    RuleReader([MetricRule("x", expression)]).values("a" * length + "!")
    assert time.process_time() - began < 1.0  # the limit is a quarter of a second
