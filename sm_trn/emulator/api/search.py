"""Search: rows filtered by an expression of the service's, sorted, and cut into pages.

What a filter may name is a path into the row's document, a tag or a metric.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..errors import validation
from .paging import page

if TYPE_CHECKING:
    from .shapes import Body

_DEPTH: Final = 20  # of SubExpressions: the model gives none, and a request must not exhaust the stack
_PARAMETER: Final = ("NumberValue", "StringValue")  # the two forms of a trial component's parameter


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that may be found: its describe answer, its tags, and its metrics' last values."""

    name: str
    document: Mapping[str, object]
    tags: Mapping[str, str]
    metrics: Mapping[str, float] = field(default_factory=dict)


def search(rows: Sequence[Row], body: Body, properties: Collection[str]) -> tuple[list[Row], dict[str, str]]:
    """Return the page of those that the expression holds for, the newest first unless asked otherwise.

    ``properties`` are the members that the model gives a row, whether a row here has them or not.

    Raises AwsError for an expression or a token that is none.
    """
    holds = _expression(body.get("SearchExpression", {}), properties, 0)
    by, backwards = body.get("SortBy", "CreationTime"), body.get("SortOrder") != "Ascending"
    found = sorted((row for row in rows if holds(row)), key=lambda row: _order(_values(row, by)), reverse=backwards)
    return page(found, body.get("NextToken"), body.get("MaxResults"))


def _expression(said: Body, properties: Collection[str], depth: int) -> Callable[[Row], bool]:
    if said.get("NestedFilters"):
        raise validation("SearchExpression: the emulator knows Filters and SubExpressions, no NestedFilters")
    if depth > _DEPTH:
        raise validation(f"SearchExpression: got more than {_DEPTH} SubExpressions in each other")
    tests = [_filter(each, properties) for each in said.get("Filters", ())]
    tests += [_expression(each, properties, depth + 1) for each in said.get("SubExpressions", ())]
    join = any if said.get("Operator") == "Or" and tests else all
    return lambda row: join(test(row) for test in tests)


def _filter(entry: Body, properties: Collection[str]) -> Callable[[Row], bool]:
    name, operator, wanted = entry["Name"], entry.get("Operator", "Equals"), entry.get("Value", "")
    if name.partition(".")[0] not in {*properties, "Metrics"}:
        raise validation(f"Unknown property name: {name}")  # the service's words, as moto has them
    tests: Mapping[str, Callable[[list[object]], bool]] = {
        "Equals": lambda got: wanted in map(str, got),
        "NotEquals": lambda got: wanted not in map(str, got),
        "Contains": lambda got: any(wanted.lower() in str(each).lower() for each in got),
        "Exists": bool,
        "NotExists": lambda got: not got,
        "In": lambda got: not {*map(str, got)}.isdisjoint(wanted.split(",")),
        "GreaterThan": lambda got: any(_number(each) > _bound(wanted) for each in got),
        "GreaterThanOrEqualTo": lambda got: any(_number(each) >= _bound(wanted) for each in got),
        "LessThan": lambda got: any(_number(each) < _bound(wanted) for each in got),
        "LessThanOrEqualTo": lambda got: any(_number(each) <= _bound(wanted) for each in got),
    }
    return lambda row: tests[operator](_values(row, name))


def _values(row: Row, name: str) -> list[object]:
    """What stands under a name: none where nothing does, several where a list stands on the way."""
    first, _, rest = name.partition(".")
    if first == "Tags":
        return [row.tags[rest]] if rest in row.tags else []
    if first == "Metrics" and rest in row.metrics:
        return [row.metrics[rest]]
    return list(_below(row.document, name.split(".")))


def _below(value: object, path: Sequence[str]) -> Iterator[object]:
    if isinstance(value, list):
        for each in value:
            yield from _below(each, path)
    elif not path:
        yield from value.values() if isinstance(value, Mapping) and {*value} <= {*_PARAMETER} else [value]
    elif isinstance(value, Mapping) and value.get(path[0]) is not None:
        yield from _below(value[path[0]], path[1:])


def _order(values: list[object]) -> tuple[str, float, str]:
    """Values of one type in their order, types beside each other, and what has no value in front."""
    if not values:
        return "", 0.0, ""
    value = values[0]
    return (type(value).__name__, float(value), "") if isinstance(value, (int, float)) else ("str", 0.0, str(value))


def _number(value: object) -> float:
    """What is no number is neither less nor greater than any: not a number, in IEEE's words."""
    try:
        return float(value)  # type: ignore[arg-type]  # what float refuses is caught
    except (TypeError, ValueError):
        return math.nan


def _bound(text: str) -> float:
    number = _number(text)
    if math.isnan(number):
        raise validation(f"SearchExpression: {text!r} is not a number")
    return number
