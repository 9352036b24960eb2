"""Patterns of ``match``: whether a value is of one, and the names that it binds."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from ..values import Needs, Unresolvable


def matches(state: Any, pattern: ast.pattern, value: Any, found: dict[str, Any]) -> bool | None:
    """Whether the value is of the pattern; None where that cannot be decided. The names that it binds are put into ``found``."""
    if isinstance(pattern, ast.MatchAs):
        decided = matches(state, pattern.pattern, value, found) if pattern.pattern is not None else True
        if pattern.name:
            found[pattern.name] = value
        return decided
    if isinstance(pattern, ast.MatchOr):
        return _one_of(state, pattern, value, found)
    value = state.resolved(value)
    if isinstance(value, Unresolvable) or id(value) in state.lost:
        causes = value.causes if isinstance(value, Unresolvable) else state.lost[id(value)][1].causes
        for inner in ast.walk(pattern):
            name = getattr(inner, "name", None) or getattr(inner, "rest", None)
            if isinstance(name, str):
                found[name] = state.lacking(*causes)
        return None
    if isinstance(pattern, ast.MatchValue):
        return state.truth(state.compared(pattern.value, ast.Eq(), value, state.evaluate(pattern.value)))  # type: ignore[no-any-return]  # the state's
    if isinstance(pattern, ast.MatchSingleton):
        return value is pattern.value
    if isinstance(pattern, ast.MatchSequence):
        return _sequence(state, pattern, value, found)
    if isinstance(pattern, ast.MatchMapping):
        return _mapping(state, pattern, value, found)
    return _of_class(state, pattern, value, found)  # type: ignore[arg-type]  # the last of the kinds


def _one_of(state: Any, pattern: ast.MatchOr, value: Any, found: dict[str, Any]) -> bool | None:
    open_before = False
    for each in pattern.patterns:
        names: dict[str, Any] = {}
        decided = matches(state, each, value, names)
        if decided is None:
            open_before = True
        if decided and not open_before:
            found.update(names)
            return True
        found.update({name: state.lacking() for name in names} if decided is None else {})
    return None if open_before else False


def _all(decisions: list[bool | None]) -> bool | None:
    if False in decisions:
        return False
    return None if None in decisions else True


def _sequence(state: Any, pattern: ast.MatchSequence, value: Any, found: dict[str, Any]) -> bool | None:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
        return False
    star = next((index for index, each in enumerate(pattern.patterns) if isinstance(each, ast.MatchStar)), None)
    wanted = len(pattern.patterns)
    if len(value) != wanted if star is None else len(value) < wanted - 1:
        return False
    items = list(value)
    if star is None:
        return _all([matches(state, each, item, found) for each, item in zip(pattern.patterns, items, strict=True)])
    behind = wanted - star - 1
    held = pattern.patterns[star]
    if isinstance(held, ast.MatchStar) and held.name:
        found[held.name] = items[star : len(items) - behind]
    before = zip(pattern.patterns[:star], items[:star], strict=True)
    after = zip(pattern.patterns[star + 1 :], items[len(items) - behind :], strict=True)
    return _all([matches(state, each, item, found) for each, item in (*before, *after)])


def _mapping(state: Any, pattern: ast.MatchMapping, value: Any, found: dict[str, Any]) -> bool | None:
    if not isinstance(value, Mapping):
        return False
    keys = [state.key(state.evaluate(key)) for key in pattern.keys]
    decisions: list[bool | None] = []
    for key, each in zip(keys, pattern.patterns, strict=True):
        if any(isinstance(other, str) and state.marks.within(other) for other in value):
            raise Needs(state.missing(*value))
        decisions.append(matches(state, each, value[key], found) if key in value else False)
    if pattern.rest:
        found[pattern.rest] = {key: item for key, item in value.items() if key not in keys}
    return _all(decisions)


def _of_class(state: Any, pattern: ast.MatchClass, value: Any, found: dict[str, Any]) -> bool | None:
    kind = state.evaluate(pattern.cls)
    if isinstance(kind, Unresolvable) or not isinstance(kind, type):
        raise Needs(kind.causes if isinstance(kind, Unresolvable) else ())
    if not state.python(isinstance, value, kind):
        return False
    alone = kind in {bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple}
    names = () if alone else state.python(getattr, kind, "__match_args__", ())
    decisions: list[bool | None] = []
    if alone and pattern.patterns:
        decisions.append(matches(state, pattern.patterns[0], value, found))
    else:
        for name, each in zip(names, pattern.patterns, strict=False):
            decisions.append(matches(state, each, state.attribute(pattern, value, name), found))
    for name, each in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        if not state.python(hasattr, value, name):
            return False
        decisions.append(matches(state, each, state.attribute(pattern, value, name), found))
    return _all(decisions)
