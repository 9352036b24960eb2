"""The dictionaries of numbers in a log line: the Trainer's, our scripts', JSON. Nothing in a line is evaluated.

Every step is linear in the line's length, whatever the line holds.
"""

from __future__ import annotations

import json
import json.scanner
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ..formatting.printable import plain

_DEPTH = 8  # dicts nested deeper than this are no metric line
_NUMBER_TEXT = (
    r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?(?:[eE][+-]?\d{1,5})?|\.\d{1,400}(?:[eE][+-]?\d{1,5})?|nan|NaN|inf|Infinity)"
)
_NUMBER = re.compile(_NUMBER_TEXT)
_KEY_TEXT = r"(?!SM_)[A-Za-z_][\w/.\-:@]{0,127}"  # SM_… are the toolkit's settings
_KEY = re.compile(_KEY_TEXT)
_INSIDE = re.compile(
    rf"""(?P<quote>['"])(?P<key>{_KEY_TEXT})(?P=quote)\s{{0,8}}:\s{{0,8}}
        (?: (?P<open>\{{)
          | (?P<mark>['"]?)(?P<value>{_NUMBER_TEXT})(?P=mark)\s{{0,8}}(?=[,}}])
          | (?:np\.float\d\d|numpy\.float\d\d|tensor)\((?P<wrapped>{_NUMBER_TEXT})(?:,[^()]{{0,80}})?\)\s{{0,8}}(?=[,}}])
        )
      | (?P<brace>[{{}}])
      | (?:'[^'\n]{{0,4000}}'|"[^"\n]{{0,4000}}")(?=\s{{0,8}}[,:}}\]])""",
    re.VERBOSE,
)
# What the toolkit says about its own settings is no metric: SM_HPS={"learning_rate":5e-05}
_SETTING = re.compile(r"\bSM_[A-Z0-9_]{1,64}=$")
NAN = math.nan
_CONSTANTS = {"NaN": NAN, "Infinity": math.inf, "-Infinity": -math.inf}
_DECODER = json.JSONDecoder(parse_int=float, parse_constant=_CONSTANTS.__getitem__)
_decode = json.scanner.make_scanner(_DECODER)  # type: ignore[arg-type]  # typeshed names the scanner's own class
_FLOATS = {float}


def numbers(line: str) -> Mapping[str, float]:
    """All ``'key': number`` pairs of all the dicts in a line, NaN and infinities included; empty when there are none."""
    found: dict[str, float] = {}
    for pairs in dicts(line):
        found.update(pairs)
    return found


def dicts(line: str) -> list[dict[str, float]]:
    """The numbers of each outermost dict of a line, in order. Numbers in quotes count; a dict that is cut off does not.

    A nested dict's pairs come along under their own keys, and as ``outer/key`` where the key is taken further out. Every NaN
    is the same object, so equal lines make equal values.
    """
    if "\x1b" in line or "#033" in line:
        line = plain(line)
    at = line.find("{")
    found: list[dict[str, float]] = []
    swapped = line.replace("'", '"')
    while at >= 0:
        try:  # the decoder is written in C, and most lines are JSON but for their quotes
            tree, end = _decode(line if line.startswith('"', at + 1) else swapped, at)
        except (ValueError, RecursionError, StopIteration):
            found.extend(_scanned(line, at))
            break
        if {*map(type, tree.values())} != _FLOATS or not _are_keys(tuple(tree)):
            tree = _flat(tree)
        if tree and not (at and line[at - 1] == "=" and _is_setting(line, at)):
            found.append(tree)
        at = line.find("{", end)
    return found


def _is_setting(line: str, at: int) -> bool:
    return _SETTING.search(line, max(0, at - 70), at) is not None


def _scanned(line: str, at: int) -> Iterator[dict[str, float]]:
    """The same for what is no JSON: nan, None, tuples, numpy's numbers, broken pieces. One pass."""
    tree: dict[str, Any] = {}
    path: list[dict[str, Any]] = []
    deeper = 0
    setting = False
    for token in _INSIDE.finditer(line, at):
        key, brace = token["key"], token["brace"]
        if key is not None and path and not deeper and token["open"] is None:
            path[-1][key] = _float(token["value"] or token["wrapped"])
        elif brace == "{" or token["open"]:
            if not path:
                tree, setting = {}, _is_setting(line, token.start())
                path.append(tree)
            elif deeper or len(path) == _DEPTH:
                deeper += 1
            else:
                path.append(path[-1].setdefault(key or "", {}) if not _taken(path[-1], key or "") else {})
        elif brace == "}" and deeper:
            deeper -= 1
        elif brace == "}" and path:
            path.pop()
            if not path and not setting:
                found = _flat(tree)
                if found:
                    yield found


@lru_cache(maxsize=4096)
def _is_key(key: str) -> bool:
    return _KEY.fullmatch(key) is not None


@lru_cache(maxsize=256)  # a job's lines have few different sets of names
def _are_keys(keys: tuple[str, ...]) -> bool:
    return all(map(_is_key, keys))


def _float(text: str) -> float:
    value = float(text)
    return NAN if math.isnan(value) else value


def _taken(tree: Mapping[str, Any], key: str) -> bool:
    return not isinstance(tree.get(key, {}), dict)


def _flat(tree: Mapping[str, Any], depth: int = 1) -> dict[str, float]:
    found: dict[str, float] = {}
    nested: list[tuple[str, Mapping[str, Any]]] = []
    for key, item in tree.items():
        kind = type(item)
        if kind is dict:
            nested.append((key, item))
        elif kind is list:
            nested.extend((key, part) for part in item if type(part) is dict)
        elif kind is float and _is_key(key):
            found[key] = item
        elif kind is str and _NUMBER.fullmatch(item) and _is_key(key):
            found[key] = _float(item)
    if nested and depth < _DEPTH:
        for outer, inner in nested:
            for key, value in _flat(inner, depth + 1).items():
                found.setdefault(key if key not in found else f"{outer}/{key}", value)
    return found
