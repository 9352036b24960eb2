"""What SDK v3 does not have, in a launcher whose launches are written for it: imports that go, and names that stop it.

SDK v3 is a package without names of its own over ``sagemaker.core``, ``sagemaker.train``, ``sagemaker.serve``, ``sagemaker.mlops`` and
``sagemaker.ai_registry`` (sagemaker-core 2.27.0, sagemaker-train 1.27.0).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from .source import Cell, Unread, cells, parsed
from .values import Place

_KEPT: Final = frozenset({"core", "train", "serve", "mlops", "ai_registry"})
_INSTEAD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Session": "sagemaker.core.helper.session_helper.Session",
        "session": "sagemaker.core.helper.session_helper",
        "get_execution_role": "sagemaker.core.helper.session_helper.get_execution_role",
        "TrainingInput": "sagemaker.train.configs.InputData",
        "inputs": "sagemaker.train.configs.InputData",
        "image_uris": "sagemaker.core.image_uris",
        "tuner": "sagemaker.train.tuner",
        "processing": "sagemaker.core.processing",
        "debugger": "sagemaker.core.debugger",
        "utils": "sagemaker.core.utils",
        "model": "sagemaker.serve",
        "predictor": "sagemaker.serve",
        "workflow": "sagemaker.mlops",
    }
)
_TRAINS: Final = "sagemaker.train.ModelTrainer"


@dataclass(frozen=True, slots=True)
class Leftover:
    """A name that SDK v2 alone has, where it is used, and what SDK v3 has instead."""

    place: Place
    name: str
    instead: str


def leftovers(text: str, name: str) -> list[Leftover]:
    """Every import and use of what SDK v2 alone has in a program's text, in order."""
    trees = list(_trees(text, name))
    modules = {alias.asname or "sagemaker" for _, tree in trees for alias in _imports(tree) if _is_module(alias)}
    return [
        Leftover(Place(name, cell.number, line), word, _instead(word))
        for cell, tree in trees
        for line, word in sorted(_named(tree, modules))
    ]


def unused(text: str, name: str) -> list[tuple[int | None, int, int]]:
    """The import statements whose names, all of SDK v2 alone, nothing uses any more: cell, first and last line."""
    trees = list(_trees(text, name))
    used = {node.id for _, tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found = []
    for cell, tree in trees:
        lines = cell.raw.split("\n")
        for node in tree.body:
            if (
                not isinstance(node, ast.ImportFrom)
                or not _of_v2(node)
                or {a.asname or a.name for a in node.names} & used
            ):
                continue
            last = node.end_lineno or node.lineno
            after = lines[last - 1].encode()[node.end_col_offset or 0 :].strip()
            if node.col_offset == 0 and all(
                node is each or each.lineno > last for each in tree.body if each.lineno >= node.lineno
            ):
                found += [(cell.number, node.lineno, last)] if not after or after.startswith(b"#") else []
    return found


def _trees(text: str, name: str) -> Iterator[tuple[Cell, ast.Module]]:
    for cell in cells(name, text.replace("\r\n", "\n")):
        tree = parsed(cell)
        if not isinstance(tree, Unread):
            yield cell, tree


def _imports(tree: ast.Module) -> Iterator[ast.alias]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from node.names


def _is_module(alias: ast.alias) -> bool:
    return alias.name == "sagemaker" or (alias.name.startswith("sagemaker.") and alias.asname is None)


def _named(tree: ast.Module, modules: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            words = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from ((node.lineno, word) for word in words if _of_old(word))
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if _of_old(alias.name))
        elif isinstance(node, ast.Attribute) and _of_module(node, modules):
            yield node.lineno, f"sagemaker.{node.attr}"


def _of_module(node: ast.Attribute, modules: set[str]) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in modules and node.attr not in _KEPT


def _of_v2(node: ast.ImportFrom) -> bool:
    return node.level == 0 and all(_of_old(f"{node.module}.{alias.name}") for alias in node.names)


def _of_old(path: str) -> bool:
    first, _, rest = path.partition(".")
    return first == "sagemaker" and bool(rest) and rest.partition(".")[0] not in _KEPT


def _instead(path: str) -> str:
    words = path.split(".")
    return next((_INSTEAD[word] for word in (words[-1], words[1]) if word in _INSTEAD), _TRAINS)
