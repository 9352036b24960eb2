"""The statements of a launcher that its launches depend on: what they read, and what made that, backwards to the imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from .source import Cell, Unread, parsed
from .values import Place

_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class _Statement:
    cell: int
    node: ast.stmt
    reads: frozenset[str]
    writes: frozenset[str]


def sliced(code: list[Cell], launches: Iterable[Place]) -> list[tuple[int | None, str]]:
    """Each cell's code with everything blanked that the launches at these places do not depend on.

    Lines keep their numbers.
    """
    statements = [item for index, cell in enumerate(code) for item in _statements(index, cell)]
    bodies = {item.node.name: item.reads for item in statements if isinstance(item.node, _DEFINITIONS)}
    wanted = {(place.cell, place.line) for place in launches}
    here = [
        any(
            (code[item.cell].number, line) in wanted
            for line in range(item.node.lineno, (item.node.end_lineno or item.node.lineno) + 1)
        )
        for item in statements
    ]
    launching = _callers([item for item, wanted_here in zip(statements, here, strict=True) if wanted_here], statements)
    kept: set[int] = set()
    needed: set[str] = set()
    for index in reversed(range(len(statements))):
        item = statements[index]
        if here[index] or item.reads & launching or item.writes & needed or _finds_modules(item.node):
            kept.add(index)
            _need(item.reads, bodies, needed)
    return [(cell.number, _only(cell, [statements[index].node for index in sorted(kept) if statements[index].cell == number]))
            for number, cell in enumerate(code)]  # fmt: skip


def _finds_modules(node: ast.stmt) -> bool:
    """Whether it changes where Python looks for modules: what is imported after it depends on it."""
    return not isinstance(node, _DEFINITIONS) and any(
        isinstance(inner, ast.Attribute) and ast.unparse(inner) == "sys.path" for inner in ast.walk(node)
    )


def _callers(launches: Iterable[_Statement], statements: Iterable[_Statement]) -> set[str]:
    """The functions that launch: those a launch stands in, and those that name one of them."""
    users: dict[str, list[str]] = {}
    for item in statements:
        if isinstance(item.node, _DEFINITIONS):
            for name in item.reads:
                users.setdefault(name, []).append(item.node.name)
    found = set[str]()
    todo = [item.node.name for item in launches if isinstance(item.node, _DEFINITIONS)]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(users.get(name, ()))
    return found


def _need(names: Iterable[str], bodies: Mapping[str, frozenset[str]], needed: set[str]) -> None:
    """Add names to those that are needed; where a function is, also what its body reads: it may be made after the function."""
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            todo.extend(bodies.get(name, ()))


def _statements(index: int, cell: Cell) -> Iterator[_Statement]:
    tree = parsed(cell)
    if isinstance(tree, Unread):
        return
    for node in tree.body:
        reads, writes = _names(node)
        yield _Statement(index, node, frozenset(reads), frozenset(writes))


def _names(node: ast.stmt) -> tuple[set[str], set[str]]:
    reads, writes = set[str](), set[str]()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            (reads if isinstance(inner.ctx, ast.Load) else writes).add(inner.id)
        elif isinstance(inner, _DEFINITIONS):
            writes.add(inner.name)
        elif isinstance(inner, ast.alias):
            writes.add((inner.asname or inner.name).partition(".")[0])
        elif isinstance(inner, (ast.Attribute, ast.Subscript)) and isinstance(inner.ctx, ast.Store):
            writes |= _root(inner)
        elif (
            isinstance(inner, ast.Expr)
            and isinstance(inner.value, ast.Call)
            and isinstance(inner.value.func, ast.Attribute)
        ):
            writes |= _root(inner.value.func)  # a method called for what it does to its object
    return reads, writes


def _root(node: ast.expr) -> set[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _only(cell: Cell, nodes: list[ast.stmt]) -> str:
    lines = cell.code.split("\n")
    kept = {line for node in nodes for line in range(_first(node), (node.end_lineno or node.lineno) + 1)}
    return "\n".join(line if number in kept else "" for number, line in enumerate(lines, start=1))


def _first(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min(node.lineno, *(int(decorator.lineno) for decorator in decorators), node.lineno)
