"""The check of a request against botocore's own service model, and its refusal in the words of the service.

It walks a shape and lists every pattern, enum, length, range and missing member that does not hold. It must not hold
a rule that the model does not state; rules over two members are in training/rules.py.
"""

from __future__ import annotations

import functools
import operator
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from ..errors import AwsError, validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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
_PATTERN_LIMIT = 4096  # longer texts already break their length; a regular expression need not see them


def service_model(service: str = "sagemaker") -> Any:
    """Return botocore's description of a service. It is read once: SageMaker's takes 14 MB."""
    return _read_model(service)


@functools.cache
def _read_model(service: str) -> Any:
    import botocore.session  # noqa: PLC0415 - heavy, and its settings must stand in the environment first

    return botocore.session.get_session().get_service_model(service)


def check(operation: str, body: Mapping[str, Any], service: str = "sagemaker") -> None:
    """Raise the AwsError that the service would answer with, or return. Members the model lacks are ignored."""
    shape = service_model(service).operation_model(operation).input_shape
    problems = list(_problems(shape, body, ""))
    if problems:
        noun = "error" if len(problems) == 1 else "errors"
        raise validation(f"{len(problems)} validation {noun} detected: {'; '.join(problems)}")


def known(operation: str, body: Mapping[str, Any], service: str = "sagemaker") -> Any:
    """Return what the model knows of a checked request: an unknown member is ignored, not echoed, and null is not given."""
    return _known(service_model(service).operation_model(operation).input_shape, body)


def operation_at(service: str, method: str, path: str) -> str:
    """Return the name of AWS Batch's operation that has the path; empty for another service, and for a path of none."""
    if service != "batch":
        return ""
    model = service_model(service)
    routes = {name: model.operation_model(name).http for name in model.operation_names}
    return next(
        (name for name, route in routes.items() if (route["method"], route["requestUri"]) == (method, path)), ""
    )


def given(**members: Any) -> dict[str, Any]:
    """Return the members of an answer that have a value."""
    return {name: value for name, value in members.items() if value is not None}


def _known(shape: Shape, value: Any) -> Any:
    if shape.type_name == "structure":
        members = shape.members
        return {
            name: _known(members[name], each) for name, each in value.items() if name in members and each is not None
        }
    return [_known(shape.member, each) for each in value] if shape.type_name == "list" else value


def _problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    kinds = _PYTHON_TYPES.get(shape.type_name)
    if kinds is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        raise AwsError(
            "SerializationException", f"{path or 'request'}: got {type(value).__name__}, wanted {shape.type_name}"
        )
    said = _said(value)
    yield from (f"Value {said} at '{path}' failed to satisfy constraint: {rule}" for rule in _broken(shape, value))
    if shape.type_name == "structure":
        yield from _members(shape, value, path)
    elif shape.type_name == "list":
        for index, item in enumerate(value, 1):
            yield from _problems(shape.member, item, f"{path}.{index}.member")
    elif shape.type_name == "map":
        for item, noun in [*((key, "keys") for key in value), *((entry, "values") for entry in value.values())]:
            inner = shape.key if noun == "keys" else shape.value
            if inner.type_name == "string" and isinstance(item, str) and _broken(inner, item):
                rules = ", ".join(rule for rule, _ in _constraints(inner))
                word = "Map keys" if noun == "keys" else "Map value"
                rule = f"{word} must satisfy constraint: [{rules}]"
                yield f"Value {said} at '{path}' failed to satisfy constraint: {rule}"
                break
            if noun == "values":
                yield from (
                    _problems(inner, item, f"{path}.value")
                    if inner.type_name != "string"
                    else _typed(inner, item, path)
                )


def _typed(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, str):
        raise AwsError("SerializationException", f"{path}: got {type(value).__name__}, wanted {shape.type_name}")
    return iter(())


def _members(shape: Shape, value: Mapping[str, Any], path: str) -> Iterator[str]:
    for name in shape.required_members:
        if value.get(name) is None:
            yield f"Value null at '{_join(path, name)}' failed to satisfy constraint: Member must not be null"
    for name, member in shape.members.items():
        if value.get(name) is not None:
            yield from _problems(member, value[name], _join(path, name))


def _join(path: str, name: str) -> str:
    lowered = name[0].lower() + name[1:]
    return f"{path}.{lowered}" if path else lowered


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "'{" + ", ".join(f"{key}={entry}" for key, entry in value.items()) + "}'"
    if isinstance(value, list):
        return "'[" + ", ".join(str(entry) for entry in value) + "]'"
    return f"'{value}'"


def _broken(shape: Shape, value: Any) -> list[str]:
    return [rule for rule, holds in _constraints(shape) if not holds(value)]


def _constraints(shape: Shape) -> Iterator[tuple[str, Callable[[Any], bool]]]:
    """What the model states of a shape, in the words of the service, and whether it holds of a value."""
    kind, stated = shape.type_name, shape.metadata
    numeric = kind in {"integer", "long", "float", "double"}
    noun, size = ("value", float) if numeric else ("length", len)
    if numeric or kind in {"string", "list", "map"}:
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
def _compiled(pattern: str) -> re.Pattern[str]:
    """The model's patterns are Java's; Python lacks their property classes, pairs of surrogates, and a number of ends of the text."""
    text = pattern.replace(r"\p{Alnum}", "a-zA-Z0-9").replace(r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010FFFF")
    text = re.sub(r"\$\{\d+,\d+\}$", "$", text)
    for name in set(re.findall(r"\\p\{(\w)\}", text)):
        text = text.replace(rf"\p{{{name}}}", _class_of(name))
    return re.compile(text, re.DOTALL)


@functools.cache
def _class_of(category: str) -> str:
    """The characters of a Unicode category in the basic plane, as ranges for a character class."""
    ranges: list[list[int]] = []
    for code in range(0x10000):
        if unicodedata.category(chr(code))[0] == category:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\u{low:04x}-\\u{high:04x}" for low, high in ranges)
