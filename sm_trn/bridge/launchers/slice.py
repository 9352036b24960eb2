"""The statements of a launcher that its launches depend on: what they read, and what made that, backwards to the imports."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from .language.functions import changes_environment, root_name
from .source import Cell, Unread, parsed
from .values import Place

# Methods that change a list, a set or a mapping.
_CHANGING: Final = (
    {*dir(list)} - {*dir(tuple)} | {*dir(set)} - {*dir(frozenset)} | {*dir(dict)} - {*dir(MappingProxyType)}
) - {"copy"}
_PLAIN: Final = (
    ast.Name, ast.Attribute, ast.Subscript, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Starred, ast.Constant, ast.Slice, ast.expr_context,
)  # fmt: skip
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class _Statement:
    cell: int
    node: ast.stmt
    reads: frozenset[str]
    writes: frozenset[str]
    alike: frozenset[str]  # names that may mean one object after it


def sliced(code: list[Cell], launches: Iterable[Place]) -> list[tuple[int | None, str]]:
    """Each cell's code with everything blanked that the launches at these places do not depend on.

    Lines keep their numbers.
    """
    trees = [parsed(cell) for cell in code]
    nodes = [(index, node) for index, tree in enumerate(trees) if not isinstance(tree, Unread) for node in tree.body]
    own = {node.name for _, node in nodes if isinstance(node, _DEFINITIONS)}
    statements = []
    for index, node in nodes:
        reads, writes = _names(node, own)
        statements.append(_Statement(index, node, frozenset(reads), frozenset(writes), frozenset(_alike(node))))
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
    starts = [index for index, item in enumerate(statements) if here[index] or item.reads & launching]
    before = range(max(starts, default=-1) + 1)  # nothing that a launch depends on is behind the last one
    kept = {*starts, *(index for index in before if _changes_surroundings(statements[index].node))}
    needed: set[str] = set()
    count = -1
    while (
        len(kept) > count
    ):  # an object has several names: what changes one of them may stand behind what reads another
        count = len(kept)
        for index in kept:
            _need(statements[index].reads | statements[index].alike, bodies, needed)
        kept.update(index for index in before if (statements[index].writes | statements[index].alike) & needed)
    return [(cell.number, _only(cell, [statements[index].node for index in sorted(kept) if statements[index].cell == number]))
            for number, cell in enumerate(code)]  # fmt: skip


def _changes_surroundings(node: ast.stmt) -> bool:
    """Whether it changes where Python looks for modules, or variables of the environment: whatever follows may depend on that."""
    return not isinstance(node, _DEFINITIONS) and any(
        changes_environment(inner) or (isinstance(inner, ast.Attribute) and ast.unparse(inner) == "sys.path")
        for inner in ast.walk(node)
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


def _names(node: ast.stmt, own: Collection[str]) -> tuple[set[str], set[str]]:
    reads, writes = set[str](), set[str]()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            (reads if isinstance(inner.ctx, ast.Load) else writes).add(inner.id)
        elif isinstance(inner, _DEFINITIONS):
            writes.add(inner.name)
        elif isinstance(inner, ast.alias):
            writes.add((inner.asname or inner.name).partition(".")[0])
        elif isinstance(inner, (ast.Attribute, ast.Subscript)) and not isinstance(inner.ctx, ast.Load):
            writes.add(root_name(inner))
        elif isinstance(inner, ast.Call):
            writes.update(map(root_name, _changed_by(inner, own)))
        elif (
            isinstance(inner, ast.Expr)
            and isinstance(inner.value, ast.Call)
            and isinstance(inner.value.func, ast.Attribute)
        ):
            writes.add(root_name(inner.value.func))  # a method called for what it does to its object
    return reads, writes - {""}


def _changed_by(call: ast.Call, own: Collection[str]) -> list[ast.expr]:
    """The objects that a call may change, as far as it shows: those that a function of the launcher is given, and a list or mapping
    by a method that changes it."""
    if isinstance(call.func, ast.Attribute):
        return [call.func] if call.func.attr in _CHANGING else []
    known = isinstance(call.func, ast.Name) and call.func.id not in {*own, "setattr", "delattr"}
    handed = [*call.args, *(word.value for word in call.keywords)]
    return [call.func] if known else [call.func, *handed]


def _alike(node: ast.stmt) -> set[str]:
    """The names of an assignment that computes nothing."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return set()
    inner = list(ast.walk(node))
    plain = all(isinstance(each, _PLAIN) for each in ast.walk(node.value))
    return {each.id for each in inner if isinstance(each, ast.Name)} if plain else set()


def _only(cell: Cell, nodes: list[ast.stmt]) -> str:
    lines = cell.code.split("\n")
    kept = {line for node in nodes for line in range(_first(node), (node.end_lineno or node.lineno) + 1)}
    return "\n".join(line if number in kept else "" for number, line in enumerate(lines, start=1))


def _first(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min(node.lineno, *(int(decorator.lineno) for decorator in decorators), node.lineno)
