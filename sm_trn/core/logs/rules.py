"""A job's own expressions over its log lines, as the service applies them – but bounded in time and right about exponents."""

from __future__ import annotations

import importlib
import math
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeAlias

import regex

from ..specs.metrics import MetricRule
from .dicts import NAN

# The parser of `re` has no public name; what it returns has been the same since Python 3.3.
_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
Match: TypeAlias = "re.Match[str] | regex.Match[str]"
_Search: TypeAlias = "tuple[str, str, re.Pattern[str] | None, regex.Pattern[str]]"  # name, beginning, quick, careful
LIMIT_S = 0.25  # processor seconds for one expression and one line; an honest one needs microseconds
# Letters, digits and signs that mean themselves; the last one belongs to a repetition that may follow it.
_PLAIN = re.compile(r"[\w '\":=,;/<>@#%&!~`-]+(?![\w '\":=,;/<>@#%&!~`-]|[*?{+])")
_BARE = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)  # escaped characters and classes: what is left is structure
_GROUP = re.compile(r"\([^()]*\)")
_FLAGS = re.compile(r"\(\?[a-zA-OQ-Z-]")  # not of (?P<name>…)
_UNCOMMON = re.compile(r"\(\?(?!:|P<)")  # lookarounds, flags, comments
_OTHER = re.compile(
    r"\\[^dsw.,:;=|/()\[\]{}*+?'\"$ -]|\[[^\]]*(?:\[|--|&&|\|\||~~)|[*+?}]\+"
)  # what the two may read differently
_QUICK_CHARACTERS = 2000  # four million steps, some hundredths of a second
_QUICK_CHOICES = 8  # ways through alternatives and optional parts that may each be tried in vain
_E = frozenset("eE")
_EXPONENT = re.compile(r"[eE][+-]?\d{1,5}(?![\w.])")


class RuleReader:
    """Search every rule in a line, in order; the first group is a float.

    Where a group ends right before an exponent – ``([0-9.]*)`` in ``2.38e-05`` – the service keeps 2.38; here the value
    is 2.38e-05. An expression that is wrong, or needs more than ``LIMIT_S`` for one line, is switched off and named in
    ``disabled``; the others go on.
    """

    def __init__(self, rules: Iterable[MetricRule]) -> None:
        self.disabled: dict[str, str] = {}
        self._rules: list[_Search] = []
        for rule in dict.fromkeys(rules):
            try:
                self._rules.append((rule.name, _beginning(rule.regex), _quick(rule.regex), regex.compile(rule.regex)))
            except (regex.error, OverflowError, RecursionError) as error:  # noqa: PERF203 - at most 40 rules
                self.disabled[rule.name] = f"not a regular expression: {error}"

        self._beginnings = tuple({beginning for _, beginning, _, _ in self._rules})

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
        slow = len(text) > _QUICK_CHARACTERS
        late: list[_Search] = []
        match: Match | None
        for rule in self._rules:
            name, beginning, quick, pattern = rule
            if name in known or beginning not in text:
                continue
            if quick is not None and not slow:
                match = quick.search(text)
            else:
                try:
                    match = pattern.search(text, timeout=LIMIT_S)
                except TimeoutError:
                    late.append(rule)
                    continue
            if match is not None:
                value = _number(match, text)
                if value is not None:
                    found[name] = value
        for rule in late:
            self._rules.remove(rule)
            self.disabled[rule[0]] = f"one line took more than {LIMIT_S} s; anchor it, or repeat less"
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
    """The same for the standard library, which has no limit of time but needs a tenth of it: for an expression that takes at
    most the square of the line's length, times ``_QUICK_CHOICES``. None for all others.
    """
    bare = _BARE.sub("x", expression)
    if _UNCOMMON.search(bare) or _OTHER.search(expression):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a warning of what a later version reads otherwise
            tree = _parser.parse(expression)
            pattern = re.compile(expression)
    except (re.error, Warning, OverflowError, RecursionError):
        return None
    found = _tries(tree, in_vain=False)
    return pattern if found is not None and found[0] <= 1 and found[1] <= _QUICK_CHOICES else None


def _tries(items: Sequence[Any], *, in_vain: bool) -> tuple[int, int] | None:
    """How many repetitions, and how many ways through choices, a search may have to try again because what follows does not
    match; ``in_vain`` says whether something may fail behind all the items. None for what is not understood, and for a
    repetition of anything but one character.

    What nothing can fail behind is matched once: ``\\d+`` at the end of an expression tries nothing again.
    """
    repeated, ways = 0, 1
    for operation, value in reversed(items):
        name = str(operation)
        inner: tuple[int, int] | None
        if name in {"LITERAL", "NOT_LITERAL", "ANY", "IN", "AT"}:
            in_vain = True
            continue
        if name == "SUBPATTERN" and not value[1] and not value[2]:
            inner = _tries(value[3], in_vain=in_vain)
            in_vain = in_vain or value[3].getwidth()[0] > 0 or _asserts(value[3])
        elif name == "BRANCH":
            parts = [_tries(part, in_vain=in_vain) for part in value[1]]
            known = [part for part in parts if part is not None]
            several = len(parts) if in_vain else 1
            inner = (sum(r for r, _ in known), several * math.prod(w for _, w in known)) if parts == known else None
            in_vain = in_vain or any(part.getwidth()[0] > 0 or _asserts(part) for part in value[1])
        elif name in {"MAX_REPEAT", "MIN_REPEAT"}:
            least, most, body = value
            if most == 1:
                inner = _tries(body, in_vain=in_vain)
                inner = inner and (inner[0], inner[1] * (2 if in_vain else 1))
            else:
                one = len(body) == 1 and str(body[0][0]) in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}
                inner = (int(in_vain), 1) if one else None
            in_vain = in_vain or least > 0
        else:
            return None
        if inner is None:
            return None
        repeated, ways = repeated + inner[0], ways * inner[1]
    return repeated, ways


def _asserts(items: Sequence[Any]) -> bool:
    """Whether there is an anchor in it, which may fail and has no width."""
    return "(AT, " in str(items)


def _number(match: Match, text: str) -> float | None:
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
