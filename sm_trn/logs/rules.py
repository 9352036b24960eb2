"""A job's own expressions over its log lines, as the service applies them – but bounded in time and right about exponents."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from typing import TypeAlias

import regex

from ..specs import MetricRule
from .dicts import NAN

Match: TypeAlias = "re.Match[str] | regex.Match[str]"
LIMIT_S = 0.25  # processor seconds for one expression and one line; an honest one needs microseconds
# Letters, digits and signs that mean themselves; the last one belongs to a repetition that may follow it.
_PLAIN = re.compile(r"[\w '\":=,;/<>@#%&!~`-]+(?![\w '\":=,;/<>@#%&!~`-]|[*?{+])")
_BARE = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)  # escaped characters and classes: what is left is structure
_GROUP = re.compile(r"\([^()]*\)")
_FLAGS = re.compile(r"\(\?[a-zA-OQ-Z-]")  # not of (?P<name>…)
_REPEATS = re.compile(r"[*+?{]\??")
_OTHER = re.compile(
    r"\\[^dsw.,:;=|/()\[\]{}*+?'\"$ -]|\[[^\]]*(?:\[|--|&&|\|\||~~)|[*+?}]\+"
)  # what the two may read differently
_QUICK_CHARACTERS = 2000  # four million steps, some hundredths of a second
_EXPONENT = re.compile(r"[eE][+-]?\d{1,5}(?![\w.])")


class RuleReader:
    """Search every rule in a line, in order; the first group is a float.

    Where a group ends right before an exponent – ``([0-9.]*)`` in ``2.38e-05`` – the service keeps 2.38; here the value
    is 2.38e-05. An expression that is wrong, or needs more than ``LIMIT_S`` for one line, is switched off and named in
    ``disabled``; the others go on.
    """

    def __init__(self, rules: Iterable[MetricRule]) -> None:
        self.disabled: dict[str, str] = {}
        self._rules: dict[MetricRule, tuple[str, re.Pattern[str] | None, regex.Pattern[str]]] = {}
        for rule in rules:
            try:
                self._rules[rule] = (_beginning(rule.regex), _quick(rule.regex), regex.compile(rule.regex))
            except (regex.error, OverflowError, RecursionError) as error:  # noqa: PERF203 - at most 40 rules
                self.disabled[rule.name] = f"not a regular expression: {error}"

        self._beginnings = tuple({beginning for beginning, _, _ in self._rules.values()})

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
        for rule, (beginning, quick, pattern) in list(self._rules.items()):
            if beginning not in text or rule.name in known:
                continue
            try:
                match: Match | None
                if quick is not None and len(text) <= _QUICK_CHARACTERS:
                    match = quick.search(text)
                else:
                    match = pattern.search(text, timeout=LIMIT_S)
            except TimeoutError:
                del self._rules[rule]
                self.disabled[rule.name] = f"one line took more than {LIMIT_S} s; anchor it, or repeat less"
                continue
            value = None if match is None else _number(match, text)
            if value is not None:
                found[rule.name] = value
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


def _quick(expression: str) -> re.Pattern[str] | None:
    """The same for the standard library, which has no limit of time but needs a tenth of it: for an expression that repeats one
    thing only, and so takes at most the square of the line's length. None for all others.
    """
    bare = _BARE.sub("", expression)
    if "|" in bare or "(?" in bare or len(_REPEATS.findall(bare)) > 1 or _OTHER.search(expression):
        return None
    try:
        return re.compile(expression)
    except re.error:
        return None


def _number(match: Match, text: str) -> float | None:
    group = 1 if match.re.groups else 0
    said = match.group(group) or ""
    exponent = _EXPONENT.match(text, match.end(group)) if said else None
    try:
        value = float(said + exponent.group()) if exponent and "e" not in said.lower() else float(said)
    except ValueError:
        return None
    return NAN if math.isnan(value) else value
