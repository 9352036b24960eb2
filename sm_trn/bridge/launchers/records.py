"""Objects of dataclasses, named tuples and models of the launcher's own: their fields, defaults and copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from .values import Instance, UserClass

Given: TypeAlias = list[object]
Names: TypeAlias = Mapping[str, object]
Call: TypeAlias = Callable[[object], object]  # of a function without arguments
AS_MAPPING: Final = frozenset({"_asdict", "model_dump", "dict"})  # methods of named tuples and of models


def defaults(cls: UserClass) -> dict[str, object]:
    """What an object of the class starts with: lists and mappings of its own, as default_factory makes them."""
    names = cls.scope.names
    return {name: _own(names[name]) for name in cls.fields if name in names}


def fields_of(value: object) -> object:
    """``dataclasses.asdict(value)``: also of what it holds."""
    if isinstance(value, Instance) and value.own is not None and value.own.fields:
        return {name: fields_of(value.arguments.get(name)) for name in value.own.fields}
    if isinstance(value, dict):
        return {key: fields_of(item) for key, item in value.items()}
    return [fields_of(item) for item in value] if isinstance(value, list) else value


def _own(value: object) -> object:
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    return [_own(item) for item in value] if isinstance(value, list) else value


def _field(given: Given, names: Names, call: Call) -> object:
    del given
    return call(names["default_factory"]) if "default_factory" in names else names.get("default")


def _asdict(given: Given, names: Names, call: Call) -> object:
    del names, call
    return fields_of(given[0]) if given else None


def _replaced(given: Given, names: Names, call: Call) -> object:
    del call
    old = given[0] if given else None
    return Instance(old.cls, {**old.arguments, **names}, old.place, old.own) if isinstance(old, Instance) else old


FUNCTIONS: Final[Mapping[str, Callable[[Given, Names, Call], object]]] = MappingProxyType(
    {
        "dataclasses.field": _field,
        "pydantic.Field": _field,
        "dataclasses.asdict": _asdict,
        "dataclasses.replace": _replaced,
    }
)
