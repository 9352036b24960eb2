"""YAML text ↔ trees, and where each value stands. Knows no job.

Scalars are read by the core schema of YAML 1.2, not by the rules of 1.1 that PyYAML follows: there ``no`` is False, ``5e-5``
is text, ``1:30`` is 90 and ``010`` is 8. What is written is quoted for readers of both.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from ..specs.json import Json
from .places import Path, Place, PlacedError, Places

MOST_VALUES = 100_000  # aliases repeat values: a short text can stand for a tree that fills the memory
ONE_LINE = 10**9  # columns: texts are not folded
_BREAKS = re.compile("[\n\r\t\x85\u2028\u2029]")
_MERGE = "tag:yaml.org,2002:merge"
_CORE = (  # https://yaml.org/spec/1.2.2/#103-core-schema
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", "~nN\0"),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
     "-+.0123456789"),
    (_MERGE, r"<<", "<"),
)  # fmt: skip


class _Loader(yaml.SafeLoader):
    """Plain values only: no tag can make an object of another kind."""

    yaml_implicit_resolvers: dict[str, Json] = {}  # noqa: RUF012 - PyYAML's own way to say it


class _Dumper(yaml.SafeDumper):
    """Quotes what YAML 1.1 or 1.2 would take for something else than text."""


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    """Line ends as escapes: PyYAML's folding of the other styles loses some of them."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"' if _BREAKS.search(value) else None)


_Dumper.add_representer(str, _text)
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
for _tag, _pattern, _first in _CORE:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_tag, re.compile(f"^(?:{_pattern})$"), ["" if c == "\0" else c for c in _first])


def parse(text: str) -> tuple[Any, Places]:
    """The tree, and the places of its keys and values. Raises PlacedError or ValueError for what is not plain YAML."""
    try:
        return _parse(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise PlacedError(reason, Place(mark.line + 1, mark.column, 1) if mark else None) from error


def _parse(text: str) -> tuple[Any, Places]:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return {}, Places(text)
        walker = _Walker(Places(text))
        walker.value((), node)
        return loader.construct_document(node), walker.places
    finally:
        loader.dispose()


def dump(tree: dict[str, Json]) -> str:
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=ONE_LINE)


class _Walker:
    def __init__(self, places: Places) -> None:
        self.places = places
        self._seen = 0

    def value(self, path: Path, node: yaml.Node) -> None:
        self._seen += 1
        if self._seen > MOST_VALUES:
            raise ValueError(f"over {MOST_VALUES:,} values; aliases that multiply?")
        if isinstance(node, yaml.MappingNode):
            self._mapping(path, node)
            if path not in self.places.keys:
                self.places.value(path, node.start_mark.index, node.end_mark.index)
            return
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.value((*path, index), item)
        self.places.value(path, node.start_mark.index, node.end_mark.index)

    def _mapping(self, path: Path, node: yaml.MappingNode) -> None:
        own: set[str] = set()
        for key, item in node.value:
            name = str(key.value)
            if key.tag == _MERGE:
                self._merged(path, item)
                continue
            if name in own:
                raise yaml.MarkedYAMLError(problem=f"key {name!r} stands twice", problem_mark=key.start_mark)
            own.add(name)
            self.places.key((*path, name), key.start_mark.index, key.end_mark.index)
            self.value((*path, name), item)

    def _merged(self, path: Path, node: yaml.Node) -> None:
        for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(part, yaml.MappingNode):
                self._mapping(path, part)
