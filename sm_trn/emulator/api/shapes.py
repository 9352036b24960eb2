"""The check of a request against botocore's own service model, and its refusal in the words of the service.

Only what the model states is checked here: missing members, types, lengths, ranges, enums and patterns. Rules over two members are in
training/rules.py.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import regex

from ..errors import AwsError, validation

Shape = Any  # botocore.model.Shape: botocore ships no types
Body = dict[str, Any]  # a request that botocore's model has checked, or a part of one
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "timestamp": (int, float, str),
}
_NUMBERS = frozenset({"integer", "long", "float", "double"})
_PATTERN_LIMIT = 4096  # longer texts already break their length; a regular expression need not see them


def service_model(service: str = "sagemaker") -> Any:
    """Return botocore's description of a service. It is read once: SageMaker's takes 14 MB."""
    return _read_model(service)


@functools.cache
def _read_model(service: str) -> Any:
    import botocore.session  # noqa: PLC0415 - heavy, and its settings must stand in the environment first

    return botocore.session.get_session().get_service_model(service)


def check(operation: str, body: Mapping[str, Any], service: str = "sagemaker") -> None:
    """Raise the AwsError that the service would answer with. Members that the model lacks are ignored."""
    problems = list(_problems(service_model(service).operation_model(operation).input_shape, body, ""))
    if problems:
        noun = "error" if len(problems) == 1 else "errors"
        raise validation(f"{len(problems)} validation {noun} detected: {'; '.join(problems)}")


def known(operation: str, body: Mapping[str, Any], service: str = "sagemaker") -> Any:
    """Return what the model knows of a checked request, without unknown members and null."""
    return _known(service_model(service).operation_model(operation).input_shape, body)


def given(**members: Any) -> dict[str, Any]:
    """Return the members of an answer that have a value."""
    return {name: value for name, value in members.items() if value is not None}


def _known(shape: Shape, value: Any) -> Any:
    if shape.type_name == "structure":
        members = {name: each for name, each in value.items() if name in shape.members and each is not None}
        return {name: _known(shape.members[name], each) for name, each in members.items()}
    return [_known(shape.member, each) for each in value] if shape.type_name == "list" else value


def _problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    kinds: Any = _PYTHON_TYPES.get(shape.type_name, (object,))
    if not isinstance(value, kinds) or (type(value) is bool and bool not in kinds):
        raise AwsError(
            "SerializationException", f"{path or 'request'}: got {type(value).__name__}, wanted {shape.type_name}"
        )
    yield from (_problem(value, path, rule) for rule in _broken(shape, value))
    if shape.type_name == "structure":
        for name in shape.required_members:
            if value.get(name) is None:
                yield f"Value null at '{_join(path, name)}' failed to satisfy constraint: Member must not be null"
        for name, member in shape.members.items():
            if value.get(name) is not None:
                yield from _problems(member, value[name], _join(path, name))
    elif shape.type_name == "list":
        for index, item in enumerate(value, 1):
            yield from _problems(shape.member, item, f"{path}.{index}.member")
    elif shape.type_name == "map":
        yield from _map_problems(shape, value, path)


def _map_problems(shape: Shape, value: Mapping[str, Any], path: str) -> Iterator[str]:
    """Keys and texts that break a rule are told once, with all rules, as the service does."""
    for noun, inner, items in (("keys", shape.key, value.keys()), ("value", shape.value, value.values())):
        for item in items:
            if inner.type_name != "string" or not isinstance(item, str):
                yield from _problems(inner, item, f"{path}.value")
            elif _broken(inner, item):
                rules = ", ".join(rule for rule, _ in _constraints(inner))
                yield _problem(value, path, f"Map {noun} must satisfy constraint: [{rules}]")
                return


def _problem(value: Any, path: str, rule: str) -> str:
    text = str(value)
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key}={entry}" for key, entry in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(map(str, value)) + "]"
    return f"Value '{text}' at '{path}' failed to satisfy constraint: {rule}"


def _join(path: str, name: str) -> str:
    lowered = name[0].lower() + name[1:]
    return f"{path}.{lowered}" if path else lowered


def _broken(shape: Shape, value: Any) -> list[str]:
    return [rule for rule, holds in _constraints(shape) if not holds(value)]


def _constraints(shape: Shape) -> Iterator[tuple[str, Callable[[Any], bool]]]:
    """Yield what the model states of a shape, in the words of the service, and whether it holds of a value."""
    kind, stated = shape.type_name, shape.metadata
    noun, size = ("value", float) if kind in _NUMBERS else ("length", len)
    if kind in {*_NUMBERS, "string", "list", "map"}:
        for name, word, holds in (("max", "less", operator.le), ("min", "greater", operator.ge)):
            if name in stated:
                rule = f"Member must have {noun} {word} than or equal to {stated[name]}"
                yield rule, functools.partial(_compared, holds, size, stated[name])
    if kind == "string" and "pattern" in stated:
        rule = f"Member must satisfy regular expression pattern: {stated['pattern']}"
        yield rule, lambda text: len(text) > _PATTERN_LIMIT or _compiled(stated["pattern"]).fullmatch(text) is not None
    if kind == "string" and "enum" in stated:
        yield f"Member must satisfy enum value set: [{', '.join(shape.enum)}]", lambda text: text in shape.enum


def _compared(holds: Callable[[Any, Any], bool], size: Callable[[Any], float], bound: float, value: Any) -> bool:
    return holds(size(value), bound)


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> regex.Pattern[str]:
    """The model's patterns are Java's: Python lacks pairs of surrogates, and a number of ends of the text."""
    import regex  # noqa: PLC0415 - 0.03 s, of which a start of the emulator need not know

    text = pattern.replace(r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010FFFF")
    return regex.compile(regex.sub(r"\$\{\d+,\d+\}$", "$", text), regex.DOTALL)
