"""Fields of dataclasses that parsers are made of: those that a script writes out, and those of transformers and trl by version.

The table of the libraries is made by ``.github/library_fields.py`` from their releases.
"""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any

_PLAIN = frozenset({"int", "float", "str", "bool"})
_LISTS = frozenset({"List", "list", "Sequence"})
_NOTHING = frozenset({"None", "NoneType"})
Enums = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldKind:
    """What a parser takes for a field. ``type`` is int, float, bool, str, or empty where any text is taken."""

    type: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False
    many: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """A class: its bases by name and its own fields. ``open``: it takes names beyond them, as ``**kwargs``."""

    bases: tuple[str, ...] = ()
    own: Mapping[str, FieldKind] = field(default_factory=lambda: MappingProxyType({}))
    open: bool = False


def field_of(annotation: ast.expr, default: ast.expr | None, enums: Enums) -> FieldKind | None:
    """The kind of a field from its annotation and its default; None for one that no caller gives (``init=False``)."""
    kind = _kind(annotation, enums)
    required, choices = default is None, kind.choices
    if isinstance(default, ast.Call) and ast.unparse(default.func).rsplit(".", 1)[-1] == "field":
        words = {word.arg: word.value for word in default.keywords}
        if ast.unparse(words.get("init", ast.Constant(True))) == "False":
            return None
        required = not {"default", "default_factory"} & words.keys()
        metadata = words.get("metadata")
        pairs = zip(metadata.keys, metadata.values, strict=True) if isinstance(metadata, ast.Dict) else ()
        stated = {key.value: value for key, value in pairs if isinstance(key, ast.Constant)}
        choices = _texts(stated["choices"]) if "choices" in stated else choices
    return FieldKind(type=kind.type, choices=choices, required=required, many=kind.many)


def _kind(annotation: ast.expr, enums: Enums) -> FieldKind:
    if isinstance(annotation, ast.Constant):
        return _kind(_quoted(annotation), enums) if isinstance(annotation.value, str) else FieldKind()
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _any_of([annotation.left, annotation.right], enums)
    if isinstance(annotation, (ast.Name, ast.Attribute)):
        name = ast.unparse(annotation).rsplit(".", 1)[-1]
        return FieldKind(type=name if name in _PLAIN else "", choices=enums.get(name, ()))
    return _subscripted(annotation, enums) if isinstance(annotation, ast.Subscript) else FieldKind()


def _quoted(annotation: ast.Constant) -> ast.expr:
    """An annotation that stands in quotes."""
    try:
        return ast.parse(str(annotation.value), mode="eval").body
    except SyntaxError:
        return ast.Constant(None)


def _subscripted(annotation: ast.Subscript, enums: Enums) -> FieldKind:
    outer, inner = ast.unparse(annotation.value).rsplit(".", 1)[-1], annotation.slice
    parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    if outer == "Literal":
        return FieldKind(choices=_texts(inner))
    if outer in _LISTS:
        return FieldKind(type=_kind(parts[0], enums).type, many=True)
    if outer in {"Optional", "Union", "Annotated"}:
        return _any_of(parts[:1] if outer == "Annotated" else parts, enums)
    return FieldKind()


def _any_of(parts: Iterable[ast.expr], enums: Enums) -> FieldKind:
    """The one type beside None; an enumeration stands before the text that may name its member; of others any is taken."""
    kinds = [_kind(part, enums) for part in parts if ast.unparse(part) not in _NOTHING]
    chosen = [kind for kind in kinds if kind.choices]
    if len(chosen) == 1:
        return chosen[0]
    return kinds[0] if len(kinds) == 1 else FieldKind()


def _texts(node: ast.expr) -> tuple[str, ...]:
    try:
        read = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ()
    return tuple(str(each) for each in read) if isinstance(read, (list, tuple, set)) else (str(read),)


def classes_of(program: ast.Module, known: Enums = MappingProxyType({})) -> dict[str, Fields]:
    """The classes of a program, by name; ``known`` are enumerations of other programs."""
    nodes = [node for node in ast.walk(program) if isinstance(node, ast.ClassDef)]
    enums = enumerations(nodes, known)
    return {node.name: _fields(node, enums) for node in nodes if node.name not in enums}


def enumerations(nodes: Iterable[ast.ClassDef], known: Enums = MappingProxyType({})) -> dict[str, tuple[str, ...]]:
    """The values of each class that is an enumeration."""
    found = dict(known)
    for node in nodes:
        if any("Enum" in ast.unparse(base) for base in node.bases):
            values = [each.value for each in node.body if isinstance(each, ast.Assign)]
            found[node.name] = tuple(str(each.value) for each in values if isinstance(each, ast.Constant))
    return found


def _fields(node: ast.ClassDef, enums: Enums) -> Fields:
    bases = tuple(ast.unparse(base).rsplit(".", 1)[-1] for base in node.bases if ast.unparse(base) != "object")
    own = {}
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            kind = field_of(each.annotation, each.value, enums)
            if kind is not None and "ClassVar" not in ast.unparse(each.annotation):
                own[each.target.id] = kind
    return Fields(bases, own)


@functools.cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(files(__package__).joinpath("library_fields.json").read_text("utf-8"))
    return table


def release(library: str, version: str) -> str | None:
    """The release in the table whose fields those of ``version`` are: that one, or another of the same minor version."""
    minor = version.split(".")[:2]
    releases = [each for each in _table()[library]["releases"] if each.split(".")[:2] == minor]
    return version if version in releases else next(iter(releases), None)


@functools.lru_cache(maxsize=64)
def library_class(library: str, name: str, at: str) -> Fields | None:
    """A class of a library at a release of the table; None where it has none."""
    found = Fields()
    releases: list[str] = _table()[library]["releases"]
    for change in _table()[library]["classes"].get(name, ()):
        if releases.index(change["at"]) > releases.index(at):
            break
        own = {key: value for key, value in found.own.items() if key not in change.get("gone", ())}
        own |= {key: _read(value) for key, value in change.get("set", {}).items()}
        found = Fields(tuple(change.get("bases", found.bases)), own, change.get("open", found.open))
    return found if found.own or found.bases else None


def hyphens(at: str) -> bool:
    """Whether the HfArgumentParser of a release of transformers takes ``--output-dir`` too."""
    releases: list[str] = _table()["transformers"]["releases"]
    return releases.index(at) >= releases.index(_table()["transformers"]["hyphens"])


def _read(row: Mapping[str, Any]) -> FieldKind:
    return FieldKind(**{**row, "choices": tuple(row.get("choices", ()))})
