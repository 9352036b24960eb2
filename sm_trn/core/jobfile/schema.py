"""Specs ↔ plain trees of dicts, lists and scalars, through cattrs. Strict: no unknown key, no conversion between types.

Unions carry ``kind``: a distribution's is its name in the registry of strategies, a framework's is its family.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import sys
from collections.abc import Callable, Mapping
from types import GenericAlias, MappingProxyType, UnionType
from typing import Any, TypeVar, get_args, get_origin

from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, make_mapping_structure_fn

from ..errors import SmTrnError
from ..specs.data import Channel, Dataset, FileSystem
from ..specs.framework import Framework
from ..specs.job import Distribution, HyperValue, JobSpec
from ..specs.json import Json, thawed
from ..strategies import STRATEGIES
from .faults import MismatchError, UnknownKeyError, shown

Structure = Callable[[Any, Any], Any]
FRAMEWORKS: Mapping[str, type[Any]] = MappingProxyType({cls.family: cls for cls in get_args(Framework)})


T = TypeVar("T")


def structure(tree: Any, cls: type[T]) -> T:
    """The value that a tree describes, such as a JobSpec. Raises cattrs' validation errors, which ``faults.faults_of`` reads."""
    value: T = _converter().structure(tree, cls)
    return value


def unstructure(job: JobSpec) -> dict[str, Json]:
    """The tree of a spec, without what is left at its default."""
    tree: dict[str, Json] = _converter().unstructure(job, JobSpec)
    return tree


def part(value: Any) -> Any:
    """The tree of one part of a spec: a strategy, a framework, a Compute."""
    if isinstance(value, tuple(FRAMEWORKS.values())):
        return _framework_tree(_converter(), value)
    if isinstance(value, tuple(STRATEGIES.values())):
        return _strategy_tree(_converter(), value)
    return _converter().unstructure(value)


@functools.cache
def _converter() -> Converter:
    converter = Converter(detailed_validation=True, forbid_extra_keys=True, omit_if_default=True)
    for scalar, wanted in ((str, "text"), (int, "a whole number"), (float, "a number"), (bool, "true or false")):
        converter.register_structure_hook(scalar, functools.partial(_scalar, scalar, wanted))
    converter.register_structure_hook(HyperValue, _hyper_value)
    converter.register_structure_hook_factory(_is_mapping, lambda kind: _table(converter, kind))
    converter.register_structure_hook_factory(_is_tuple, lambda kind: _list(converter, kind))
    converter.register_structure_hook_factory(_is_enum, lambda kind: functools.partial(_member, kind))
    converter.register_structure_hook_factory(dataclasses.is_dataclass, lambda cls: _dataclass(converter, cls))
    converter.register_unstructure_hook_factory(
        dataclasses.is_dataclass, lambda cls: _unstructure_fields(converter, cls)
    )
    converter.register_structure_hook(
        str | Channel | FileSystem | Dataset, functools.partial(_text_or_channel, converter)
    )
    converter.register_structure_hook_factory(
        _has_kinds, lambda union: functools.partial(_kind, converter, {each.kind: each for each in get_args(union)})
    )
    converter.register_unstructure_hook_func(_has_kinds, functools.partial(_kind_tree, converter))
    converter.register_structure_hook(Framework, functools.partial(_kind, converter, FRAMEWORKS))
    converter.register_structure_hook_func(_is_distribution, functools.partial(_kind, converter, STRATEGIES))
    converter.register_unstructure_hook_func(_is_distribution, functools.partial(_strategy_tree, converter))
    converter.register_unstructure_hook_func(lambda kind: kind == Mapping[str, Any], thawed)
    converter.register_unstructure_hook(Framework, functools.partial(_framework_tree, converter))
    return converter


def _scalar(scalar: type, wanted: str, value: Any, _: Any) -> Any:
    if type(value) is scalar or (scalar is float and type(value) is int):
        return value
    fix = "write it in quotes" if scalar is str and isinstance(value, (int, float)) else ""
    raise MismatchError(got=value, wanted=wanted, fix=fix)


def _hyper_value(value: Any, _: Any) -> Any:
    if isinstance(value, (str, int, float)):
        return value
    raise MismatchError(got=value, wanted="text, a number, or true or false", fix="write it as text, in quotes")


def _is_mapping(kind: Any) -> bool:
    return get_origin(kind) is Mapping


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _has_kinds(union: Any) -> bool:
    """Return True if it is a union of classes that each have a ``kind`` of their own."""
    members = get_args(union) if isinstance(union, UnionType) else ()
    return bool(members) and all(hasattr(each, "kind") for each in members)


def _is_distribution(kind: Any) -> bool:
    return kind is Distribution


def _table(converter: Converter, kind: Any) -> Structure:
    inner: Structure = make_mapping_structure_fn(kind, converter, structure_to=dict, detailed_validation=True)

    def structured(value: Any, target: Any) -> Any:
        if not isinstance(value, Mapping):
            raise MismatchError(got=value, wanted="a table")
        return inner(value, target)

    return structured


def _list(converter: Converter, kind: Any) -> Structure:
    as_list: Any = GenericAlias(list, get_args(kind)[:1])

    def structured(value: Any, _: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise MismatchError(got=value, wanted="a list")
        return tuple(converter.structure(list(value), as_list))

    return structured


def _member(kind: type[enum.Enum], value: Any, _: Any) -> Any:
    members = {member.value: member for member in kind}
    if value not in members:
        raise MismatchError(got=value, wanted=" or ".join(f'"{name}"' for name in members))
    return members[value]


def _dataclass(converter: Converter, cls: Any) -> Structure:
    inner: Structure = make_dict_structure_fn(
        _readable(cls), converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True
    )

    def structured(value: Any, target: Any) -> Any:
        if not isinstance(value, Mapping):
            names = [field.name for field in dataclasses.fields(cls) if field.init]
            raise MismatchError(got=value, wanted=f"a table with {', '.join(names)}")
        return inner(value, target)

    return structured


def _text_or_channel(converter: Converter, value: Any, _: Any) -> Any:
    if isinstance(value, Mapping):
        kinds = {"file_system_id": FileSystem, "dataset_arn": Dataset}
        return converter.structure(value, next((cls for key, cls in kinds.items() if key in value), Channel))
    if isinstance(value, str):
        return value
    raise MismatchError(got=value, wanted="an S3 URI, a folder, or a table with uri, file_system_id or dataset_arn")


def _kind(converter: Converter, registry: Mapping[str, type[Any]], value: Any, _: Any) -> Any:
    names = tuple(registry)
    quoted = " or ".join(f'"{name}"' for name in names)
    if not isinstance(value, Mapping):
        near = difflib.get_close_matches(str(value), names, n=1, cutoff=0.0)[0]
        raise MismatchError(got=value, wanted=f'a table such as {{kind = "{near}"}}, whose kind is {quoted}')
    if "kind" not in value:
        raise MismatchError(got=value, wanted=f"kind = {quoted}")
    kind = value["kind"]
    if not isinstance(kind, str) or kind not in registry:
        raise UnknownKeyError(kind, names, below=("kind",), kind=True)
    return converter.structure({key: item for key, item in value.items() if key != "kind"}, registry[kind])


def _strategy_tree(converter: Converter, value: Any) -> dict[str, Json]:
    if STRATEGIES.get(value.name) is not type(value):
        raise SmTrnError(
            f"distribution: got a {type(value).__name__} ({value.name!r}), wanted one of the registry; register it in STRATEGIES"
        )
    return {"kind": value.name, **_fields(converter, value)}


def _kind_tree(converter: Converter, value: Any) -> dict[str, Json]:
    return {"kind": value.kind, **_fields(converter, value)}


def _framework_tree(converter: Converter, value: Any) -> dict[str, Json]:
    return {"kind": value.family, **_fields(converter, value)}


def _fields(converter: Converter, value: Any) -> dict[str, Json]:
    return _unstructure_fields(converter, type(value))(value)


def _unstructure_fields(converter: Converter, cls: Any) -> Callable[[Any], dict[str, Json]]:
    return make_dict_unstructure_fn(_readable(cls), converter, _cattrs_omit_if_default=True)


def _readable(cls: Any) -> Any:
    """``cls`` without the annotation of its keyword-only marker, which typing.get_type_hints cannot evaluate on Python 3.10."""
    if sys.version_info < (3, 11):
        cls.__annotations__.pop("_", None)
    return cls


__all__ = ["FRAMEWORKS", "part", "shown", "structure", "unstructure"]
