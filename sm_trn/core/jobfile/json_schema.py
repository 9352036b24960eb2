"""The JSON Schemas of job files and sweep files, made of the specs: editors complete keys and mark mistakes. No loader reads them."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..specs.framework import Framework
from ..specs.job import Distribution, JobSpec
from ..specs.json import Json
from ..specs.value import annotations_of
from ..strategies import STRATEGIES
from .files import SCHEMA_KEY, SEVERAL
from .schema import FRAMEWORKS
from .sweep_file import SweepFile

DRAFT = "http://json-schema.org/draft-07/schema#"  # what editors' servers of TOML, YAML and JSON all know
SCALARS: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
Tree = dict[str, Json]


def json_schema() -> Tree:
    """The schema, in draft 7: of one job, or of a list of them under ``job``.

    A file that the loader refuses for an unknown or missing key, an unknown kind, or a value of another type is refused by the
    schema too. The loader refuses more: values out of their range, and whole numbers written as ``1.0``.
    """
    maker = _Maker()
    job = maker.of(JobSpec)
    several: Tree = {
        "type": "object",
        "properties": {SCHEMA_KEY: {"type": "string"}, SEVERAL: {"type": "array", "minItems": 1, "items": job}},
        "required": [SEVERAL],
        "additionalProperties": False,
    }
    return {
        "$schema": DRAFT,
        "title": "Job file of sm_trn",
        "anyOf": [job, several],
        "definitions": dict(sorted(maker.definitions.items())),
    }


def sweep_schema() -> Tree:
    """The schema of a sweep file, in draft 7. The loader refuses more, as with job files."""
    maker = _Maker()
    return {
        "$schema": DRAFT,
        "title": "Sweep file of sm_trn",
        "anyOf": [maker.of(SweepFile)],
        "definitions": dict(sorted(maker.definitions.items())),
    }


class _Maker:
    """Makes the schema of each type once; classes become definitions."""

    def __init__(self) -> None:
        self.definitions: Tree = {}

    def of(self, hint: Any) -> Tree:
        """The schema of a type."""
        if hint is Distribution:
            return self._kinds("distribution", STRATEGIES)
        if hint == Framework:
            return self._kinds("framework", FRAMEWORKS)
        if hint is Any or hint in SCALARS:
            return {} if hint is Any else {"type": SCALARS[hint]}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return {"enum": [member.value for member in hint]}
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self._reference(hint.__name__, hint)
        return self._compound(hint)

    def _compound(self, hint: Any) -> Tree:
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if inner and all(hasattr(each, "kind") for each in inner):
            return self._kinds("range", {each.kind: each for each in inner})
        if origin in {typing.Union, types.UnionType}:
            return _any_of([self.of(each) for each in inner])
        if origin is tuple:
            return {"type": "array", "items": self.of(inner[0])}
        if origin is Mapping:
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        raise TypeError(f"{hint!r} has no form in a job file")

    def _kinds(self, name: str, registry: Mapping[str, type[Any]]) -> Tree:
        """One of a registry's classes, told by ``kind``."""
        return {"oneOf": [self._reference(f"{name} {kind}", cls, kind) for kind, cls in registry.items()]}

    def _reference(self, name: str, cls: Any, kind: str | None = None) -> Tree:
        if name not in self.definitions:
            self.definitions[name] = {}  # a class that holds its own kind finds its name here
            self.definitions[name] = self._object(cls, kind)
        return {"$ref": f"#/definitions/{name}"}

    def _object(self, cls: Any, kind: str | None) -> Tree:
        hints = annotations_of(cls)
        fields = [field for field in dataclasses.fields(cls) if field.init]
        properties: Tree = {} if kind is None else {"kind": {"const": kind}}
        if cls in {JobSpec, SweepFile}:
            properties[SCHEMA_KEY] = {"type": "string"}
        properties |= {field.name: self._described(cls, field, hints[field.name]) for field in fields}
        required: list[Json] = [] if kind is None else ["kind"]
        required += [field.name for field in fields if _needed(field)]
        schema: Tree = {"type": "object", "description": summary(cls), "properties": properties}
        return {**schema, "required": required, "additionalProperties": False}

    def _described(self, cls: Any, field: dataclasses.Field[Any], hint: Any) -> Tree:
        schema = self.of(hint)
        meaning = about(cls, field.name) or _of_class(hint)
        default = field.default
        if meaning:
            schema = (
                {"allOf": [schema], "description": meaning} if "$ref" in schema else {**schema, "description": meaning}
            )
        return {**schema, "default": default} if isinstance(default, (str, int, float)) else schema


def _needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _any_of(schemas: list[Tree]) -> Tree:
    """One of several schemas; of scalars alone a list of their types."""
    scalars = [each["type"] for each in schemas if set(each) == {"type"} and isinstance(each["type"], str)]
    if len(scalars) == len(schemas):
        return {"type": scalars} if len(scalars) > 1 else schemas[0]
    return {"anyOf": schemas}


def _of_class(hint: Any) -> str:
    """Return the summary of a field's class, where it holds one class or nothing."""
    classes = [each for each in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(each)]
    return summary(classes[0]) if len(classes) == 1 else ""


def summary(cls: Any) -> str:
    """The first paragraph of a class's docstring, as plain text."""
    return _plain((cls.__doc__ or "").strip().split("\n\n")[0])


def about(cls: Any, name: str) -> str:
    """Return the meaning of a key: its row of keys.json, or the sentences of the class's docstring that name it."""
    row = _rows().get(f"{cls.__name__}.{name}")
    if row is not None:
        return row
    text = _plain((cls.__doc__ or "").split(">>>")[0], keep="``")
    sentences = re.split(r"(?<=[.:]) (?=[A-Z`])", text)
    return " ".join(sentence for sentence in sentences if f"``{name}``" in sentence).replace("``", "")


@functools.cache
def _rows() -> Mapping[str, str]:
    rows: dict[str, str] = json.loads(Path(__file__).with_name("keys.json").read_text("utf-8"))
    return rows


def _plain(text: str, keep: str = "") -> str:
    return " ".join((text if keep else text.replace("``", "")).split())
