"""The values that a JSON text can hold: requests, answers, hyperparameters, job files. Nothing is known of their meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, Union

Json: TypeAlias = Union[bool, int, float, str, "Sequence[Json]", "Mapping[str, Json]", None]
Object: TypeAlias = Mapping[str, Json]
NOTHING: Mapping[str, Any] = MappingProxyType({})


def frozen(value: Json) -> Json:
    """A read-only copy. Raises TypeError for what a job file cannot hold, which is everything but texts, numbers, lists and mappings."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"got the key {key!r}, wanted a text")
        return MappingProxyType({key: frozen(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if not isinstance(value, (str, bool, int, float)):
        raise TypeError(f"got {value!r} ({type(value).__name__}), wanted a text, a number, a list or a mapping")
    return value


def thawed(value: Json) -> Any:
    """A copy of dicts and lists, as json and botocore take it."""
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, (list, tuple)) else value


def value_at(tree: Json, path: str) -> Json:
    """The value at a path such as ``StoppingCondition.MaxPendingTimeInSeconds``; None where the tree has none."""
    for step in path.split("."):
        tree = tree.get(step) if isinstance(tree, Mapping) else None
    return tree


def leaves(tree: Object, above: str = "") -> Iterator[tuple[str, Json]]:
    """Each value that is not a mapping, and each empty mapping, with its path."""
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{above}{key}.")
        else:
            yield above + key, value


def merged(tree: Object, more: Object) -> dict[str, Any]:
    """``tree`` with the values of ``more``: mappings are merged, everything else is replaced."""
    result = dict(tree)
    for key, value in more.items():
        before = result.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[key] = merged(before, value)
        else:
            result[key] = thawed(value)
    return result
