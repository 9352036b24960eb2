"""What makes expressions quick changes no result: the beginning that every match has, and the standard library for simple ones."""

from __future__ import annotations

import random
import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.logs import LogEvent, MetricReader, RuleReader, parse_log, saved_line
from sm_trn.core.logs.dicts import dicts, whole_dicts
from sm_trn.core.logs.rules import _number, _quick
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


LINE = some.sampled_from(
    ["{'loss': 0.5, 'step': 1}", '{"a": 1}', "{'a': 'it', 'b': 2}", "{}", "{'a': nan}", "{'a': [1, 2], 'b': 3.0}", "{'a': }",
     "{'loss': 1}x",
     "{'a': {'b': 1}}", "{'a': '}'}", '{"a": "it\'s", "b": 1}', "{'a': 1}, {'b': 2}",
     "x{'a': 1}", "{'a':[{", "}]}", "{'SM_X': 1}", "{'a': '1.5'}",
     "{'a': 1, 'a': 2}", "{'a': \"b}", "SM_HPS={\"lr\":1}", "{'a': NaN}", "\x1b[34m{'a': 1}\x1b[0m",
     "{'é': 1, 'b': 1}", "plain", "{'loss': 0.25}",
     "[1,0]<stdout>:{'loss': 0.5, 'step': 1}", "PARALLEL_COMPILE||: Running trial run {'a': 1}", "{'a': #0331}"]
)  # fmt: skip


@given(some.lists(LINE, max_size=12))
def test_lines_that_are_decoded_together_are_what_each_of_them_is(lines: list[str]) -> None:
    together = whole_dicts(lines)
    if together is not None:
        assert repr([dicts(line) for line in lines]) == repr([[tree] if tree else [] for tree in together])
    events = [LogEvent(1000.0 + at, f"algo-{1 + at % 2}", line) for at, line in enumerate(lines)]
    one_by_one = list(MetricReader().lines(iter(events)))
    assert repr(one_by_one) == repr(list(MetricReader().lines(events)))
    assert repr(one_by_one) == repr(list(parse_log("".join(map(saved_line, events))).lines()))


RULES = [
    "'loss': ([0-9.]+)",
    r"'(?:loss|step)': ([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)",
    "a(.*)b",
    "(?P<n>[0-9.]+)}",
]


@given(some.lists(LINE, max_size=12), some.lists(some.sampled_from(RULES), min_size=1, max_size=3))
def test_a_jobs_own_rules_find_the_same_in_lines_that_are_decoded_together(lines: list[str], own: list[str]) -> None:
    rules = [MetricRule(f"own_{at}" if at else "loss", expression) for at, expression in enumerate(own)]
    events = [LogEvent(1000.0 + at, f"algo-{1 + at % 2}", line) for at, line in enumerate(lines)]
    assert repr(list(MetricReader(rules).lines(iter(events)))) == repr(list(MetricReader(rules).lines(events)))


@pytest.mark.parametrize(
    ("expression", "quick"),
    [(RULES[0], True), (RULES[1], True), (r"loss[:=]\s*([0-9.]+)", True), (r"step (\d+).*loss=([0-9.]+),", False),
     ("'loss': ([0-9]+(.|e\\-)[0-9]+),?", True), ("(a+)+$", False), ("a*a*b", False), ("a?" * 4 + "b", False),
     ("a*a*(?:$)", False), ("a*a*(?:(?:^)|$)", False), ("a*(?:$)", True)],
)  # fmt: skip
def test_an_expression_that_tries_little_in_vain_needs_no_limit(expression: str, quick: bool) -> None:
    assert quick is (_quick(expression) is not None)


@pytest.mark.parametrize("seed", range(5))
def test_a_text_is_read_the_same_in_blocks_of_any_density(seed: int) -> None:
    chance = random.Random(seed)
    lines: list[str] = []
    for _ in range(9000):
        dense = chance.random() < (0.02, 0.9)[seed % 2]
        lines.append(
            f"{{'loss': {chance.randint(1, 9999)}, 'step': {len(lines)}}}" if dense else "x" * chance.randint(0, 400)
        )
    text = "\n".join(lines)
    assert len(text.encode()) > 1_000_000 or seed % 2
    wanted = MetricReader().lines(LogEvent(float("nan"), "", line) for line in lines)
    assert repr(list(wanted)) == repr(list(parse_log(text).lines()))
