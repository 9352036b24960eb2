"""A job's own expressions over its log lines, as the service applies them – but bounded in time and right about exponents."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeAlias

import regex

from ..specs.metrics import MetricRule
from .dicts import NAN

_Search: TypeAlias = "tuple[str, str, regex.Pattern[str]]"  # name, beginning, expression
LIMIT_S = 0.25  # processor seconds for one expression and one line; an honest one needs microseconds
# Letters, digits and signs that mean themselves; the last one belongs to a repetition that may follow it.
_PLAIN = re.compile(r"[\w '\":=,;/<>@#%&!~`-]+(?![\w '\":=,;/<>@#%&!~`-]|[*?{+])")
_BARE = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)  # escaped characters and classes: what is left is structure
_GROUP = re.compile(r"\([^()]*\)")
_FLAGS = re.compile(r"\(\?[a-zA-OQ-Z-]")  # not of (?P<name>…)
_E = frozenset("eE")
_EXPONENT = re.compile(r"[eE][+-]?\d{1,5}(?![\w.])")


class RuleReader:
    """Search every rule in a line, in order; the first group is a float.

    Where a group ends right before an exponent – ``([0-9.]*)`` in ``2.38e-05`` – the service keeps 2.38; here the value
    is 2.38e-05. An expression that is wrong, or needs more than ``LIMIT_S`` for one line, is switched off and named in
    ``problems``, as is one whose group is no number; the others go on.
    """

    def __init__(self, rules: Iterable[MetricRule]) -> None:
        self.problems: dict[str, str] = {}
        self._rules: list[_Search] = []
        for rule in dict.fromkeys(rules):
            try:
                self._rules.append((rule.name, _beginning(rule.regex), regex.compile(rule.regex)))
            except (regex.error, OverflowError, RecursionError) as error:  # noqa: PERF203 - at most 40 rules
                self.problems[rule.name] = f"not a regular expression: {error}"

        self._beginnings = tuple({beginning for _, beginning, _ in self._rules})

    def __bool__(self) -> bool:
        return bool(self._rules)

    def may_match(self, text: str) -> bool:
        """Whether a rule has to be searched at all."""
        for beginning in self._beginnings:  # noqa: SIM110 - asked of every line, and any() takes twice as long
            if beginning in text:
                return True
        return False

    def values(self, text: str, known: Collection[str] = ()) -> dict[str, float]:
        """Name and value of every rule that matches; those whose names are ``known`` already are not looked for."""
        found: dict[str, float] = {}
        late: list[_Search] = []
        for rule in self._rules:
            name, beginning, pattern = rule
            if name in known or beginning not in text:
                continue
            try:
                match = pattern.search(text, timeout=LIMIT_S)
            except TimeoutError:
                late.append(rule)
                continue
            if match is not None:
                value = _number(match, text)
                if value is not None:
                    found[name] = value
                else:
                    self.problems.setdefault(
                        name, f"no number in {match[0][:60]!r}, wanted one such as 97.5 in its first group"
                    )
        for rule in late:
            self._rules.remove(rule)
            self.problems[rule[0]] = f"one line took more than {LIMIT_S} s; anchor it, or repeat less"
        return found


def _beginning(expression: str) -> str:
    """The plain text that every match begins with: a line without it needs no search. Empty where there is none, where one of
    several alternatives may begin otherwise, and where a flag may change what a letter matches.
    """
    found = _PLAIN.match(expression)
    bare, before = _BARE.sub("", expression), ""
    while bare != before:
        before, bare = bare, _GROUP.sub("", bare)
    return "" if found is None or "|" in bare or _FLAGS.search(expression) else found.group()


def _number(match: regex.Match[str], text: str) -> float | None:
    group = 1 if match.re.groups else 0
    said = match[group] or ""
    end = match.end(group)
    if text[end : end + 1] in _E and said and "e" not in said.lower():
        exponent = _EXPONENT.match(text, end)
        said += exponent.group() if exponent else ""
    try:
        value = float(said)
    except ValueError:
        return None
    return value if value == value else NAN  # noqa: PLR0124 - NaN is the one that is not; a call takes longer
