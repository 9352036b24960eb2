"""What the structure of a checkout measures: imports of every kind, circles, chains, folders, signatures, docstrings.

Imports are counted three ways: those that run when a module is loaded, and with them those inside functions and those under
``TYPE_CHECKING``. A circle of any kind is one that a reader has to hold in the head at once.
"""

from __future__ import annotations

import ast
import enum
import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[2]
Edges: TypeAlias = Mapping[str, frozenset[str]]


class Imports(enum.Enum):
    """Which imports count."""

    AT_LOAD = "at load"
    ALL = "lazy and type-only too"


@functools.cache
def modules(package: str = "sm_trn") -> Mapping[str, Path]:
    """Every module of a package by its dotted name."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def tree(path: Path) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def edges(kind: Imports) -> Edges:
    """Which modules of the package each module imports; its own parent packages left out."""
    return {
        name: frozenset(
            each for each in _imported(name, path, kind) if each != name and not name.startswith(f"{each}.")
        )
        for name, path in modules().items()
    }


def _nodes(node: ast.AST, kind: Imports) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if kind is Imports.AT_LOAD:
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
        yield child
        yield from _nodes(child, kind)


def _imported(name: str, path: Path, kind: Imports) -> Iterator[str]:
    known = modules()
    for node in _nodes(tree(path), kind):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = _base(name, path, node)
            for alias in node.names:
                yield from [each for each in (f"{base}.{alias.name}", base) if each in known][:1]


def _base(name: str, path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    above = package[: len(package) - (node.level - 1)]
    return ".".join([*above, node.module] if node.module else above)


def circles(kind: Imports = Imports.ALL) -> list[list[str]]:
    """Sets of modules that each reach one another, largest first."""
    found, reach = [], {name: _reachable(name, edges(kind)) for name in edges(kind)}
    seen: set[str] = set()
    for name, reached in reach.items():
        circle = sorted(other for other in reached if name in reach[other])
        if name in reached and name not in seen:
            found.append(circle)
            seen.update(circle)
    return sorted(found, key=len, reverse=True)


def _reachable(start: str, graph: Edges) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in graph[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def behind(start: str) -> tuple[int, int]:
    """How many modules, and lines of them, a reader of ``start`` can be led to: lazy and type-only imports counted."""
    reached = {start, *_reachable(start, edges(Imports.ALL))}
    return len(reached), sum(len(modules()[name].read_text("utf-8").splitlines()) for name in reached)


def longest_chain(kind: Imports) -> list[str]:
    """The longest line of modules in which each imports the next. Only for a graph without circles."""
    graph = edges(kind)

    @functools.cache
    def below(name: str) -> tuple[str, ...]:
        chains: list[tuple[str, ...]] = [below(other) for other in sorted(graph[name])]
        chains.sort(key=len)
        return (name, *chains[-1]) if chains else (name,)

    chains = sorted((below(name) for name in sorted(graph)), key=len)
    return list(chains[-1])


def widths() -> Counter[str]:
    """Modules side by side in each folder of the package, without ``__init__``."""
    return Counter(
        path.parent.relative_to(ROOT).as_posix() for path in modules().values() if path.name != "__init__.py"
    )


def open_dictionaries() -> Counter[str]:
    """``dict[str, Any]`` and its like in signatures, by module: each is a set of keys that no checker knows."""
    found: Counter[str] = Counter()
    for name, path in modules().items():
        for node in ast.walk(tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                arguments = [*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs]
                for said in (*(each.annotation for each in arguments), node.returns):
                    text = ast.unparse(said) if said is not None else ""
                    found[name] += "Any]" in text and text.startswith(("dict", "Mapping"))
    return +found


def calls_of(function: str) -> int:
    """How often the package calls a function of this name."""
    return sum(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function
        for path in modules().values()
        for node in ast.walk(tree(path))
    )
