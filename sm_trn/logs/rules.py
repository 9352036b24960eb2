"""A job's own expressions over its log lines, as the service applies them – but bounded in time and right about exponents."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

import regex

from ..specs import MetricRule
from .dicts import NAN

LIMIT_S = 0.25  # processor seconds for one expression and one line; an honest one needs microseconds
_EXPONENT = re.compile(r"[eE][+-]?\d{1,5}(?![\w.])")


class RuleReader:
    """Search every rule in a line, in order; the first group is a float.

    Where a group ends right before an exponent – ``([0-9.]*)`` in ``2.38e-05`` – the service keeps 2.38; here the value
    is 2.38e-05. An expression that is wrong, or needs more than ``LIMIT_S`` for one line, is switched off and named in
    ``disabled``; the others go on.
    """

    def __init__(self, rules: Iterable[MetricRule]) -> None:
        self.disabled: dict[str, str] = {}
        self._rules: dict[MetricRule, regex.Pattern[str]] = {}
        for rule in rules:
            try:
                self._rules[rule] = regex.compile(rule.regex)
            except (regex.error, OverflowError, RecursionError) as error:  # noqa: PERF203 - at most 40 rules
                self.disabled[rule.name] = f"not a regular expression: {error}"

    def __bool__(self) -> bool:
        return bool(self._rules)

    def values(self, text: str) -> Mapping[str, float]:
        """Name and value of every rule that matches."""
        found: dict[str, float] = {}
        for rule, pattern in list(self._rules.items()):
            try:
                match = pattern.search(text, timeout=LIMIT_S)
            except TimeoutError:
                del self._rules[rule]
                self.disabled[rule.name] = f"one line took more than {LIMIT_S} s; anchor it, or repeat less"
                continue
            value = None if match is None else _number(match, text)
            if value is not None:
                found[rule.name] = value
        return found


def _number(match: regex.Match[str], text: str) -> float | None:
    group = 1 if match.re.groups else 0
    said = match.group(group) or ""
    exponent = _EXPONENT.match(text, match.end(group)) if said else None
    try:
        value = float(said + exponent.group()) if exponent and "e" not in said.lower() else float(said)
    except ValueError:
        return None
    return NAN if math.isnan(value) else value
