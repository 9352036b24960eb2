"""Arguments of a launch site that its file states as literals or module constants; every other one is unknown, with its line.

This reads and never evaluates: a name counts only if it is bound once in the whole file, at its top level, to a literal, and
nothing changes that.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .sites import ESTIMATORS, Site, Source

# Calls that give an estimator other hyperparameters after it was made.
_CHANGES: Final = {"set_hyperparameters": "hyperparameters"}


@dataclass(frozen=True, slots=True)
class Unknown:
    """An argument whose value only a run of the launcher can tell: its name, its line, and its expression."""

    argument: str
    line: int
    code: str

    def __str__(self) -> str:
        return f"{self.argument}: unknown, line {self.line} ({self.code})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a launch site: ``known`` by name, and what is unknown."""

    known: Mapping[str, Any]
    unknown: tuple[Unknown, ...]


def read_arguments(site: Site, source: Source) -> Arguments:
    """Read the keyword arguments of a launch site."""
    constants = _constants(source)
    known, unknown = dict[str, Any](), list[Unknown]()
    changed = _changed_attributes(source)
    derived = site.cls not in ESTIMATORS and "_" not in site.cls and "." not in site.cls
    for argument in site.node.args:
        name = "*" if isinstance(argument, ast.Starred) else "positional argument"
        unknown.append(_unknown(name, argument))
    for keyword in site.node.keywords:
        if keyword.arg is None:
            unknown.append(_unknown("**", keyword.value))
            continue
        value = _value(keyword.value, constants)
        if value is _NOTHING or derived:
            unknown.append(_unknown(keyword.arg, keyword.value))
        elif keyword.arg in changed:
            line = changed[keyword.arg]
            unknown.append(Unknown(keyword.arg, line, "it is changed there"))
        else:
            known[keyword.arg] = value
    if any(each.argument == "**" for each in unknown) or derived:
        return Arguments(known={}, unknown=(*(_unknown(k.arg, k.value) for k in site.node.keywords if k.arg), *unknown))
    return Arguments(known=known, unknown=tuple(unknown))


_NOTHING: Final = object()  # the value of what is not a literal


def _unknown(name: str, node: ast.expr) -> Unknown:
    return Unknown(name, node.lineno, " ".join(ast.unparse(node).split())[:80])


def _value(node: ast.expr, constants: Mapping[str, object]) -> Any:
    """Return the value of a literal or a constant; _NOTHING for anything else."""
    value: Any = _NOTHING
    match node:
        case ast.Constant(value=literal):
            value = literal
        case ast.Name(id=name):
            value = constants.get(name, _NOTHING)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            value = -number
        case ast.List(elts=items) | ast.Tuple(elts=items):
            values = [_value(item, constants) for item in items]
            value = _NOTHING if _NOTHING in values else values
        case ast.Dict(keys=keys, values=items):
            names = [_NOTHING if key is None else _value(key, constants) for key in keys]
            values = [_value(item, constants) for item in items]
            plain = not any(part is _NOTHING or isinstance(part, list | dict) for part in names)
            value = dict(zip(names, values, strict=True)) if plain and _NOTHING not in values else _NOTHING
    return value


def _constants(source: Source) -> dict[str, object]:
    """Return the names that are bound once, at the top level, to a literal: of lists and dicts those that are read once, too."""
    trees = [tree for _, tree in source.trees]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    if source.unread or any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in nodes):
        return {}
    bound = Counter(name for node in nodes for name in _bound_names(node))
    loaded = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    constants: dict[str, object] = {}
    for statement in (statement for tree in trees for statement in tree.body):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, node = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, node = statement.target, statement.value
        else:
            continue
        if not isinstance(target, ast.Name) or bound[target.id] != 1:
            continue
        value = _value(node, constants)
        if value is not _NOTHING and (not isinstance(value, list | dict) or loaded[target.id] == 1):
            constants[target.id] = value
    return constants


def _bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds in any scope, or may bind."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names * 2  # it may be bound anywhere
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name


def _changed_attributes(source: Source) -> dict[str, int]:
    """Return the attributes that the file sets on any object, or changes by a method, with the line."""
    changed = {}
    for node in (node for _, tree in source.trees for node in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            changed[node.attr] = node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner = node.func.value
            if node.func.attr in _CHANGES:
                changed[_CHANGES[node.func.attr]] = node.lineno
            elif isinstance(inner, ast.Attribute) and node.func.attr in {
                "update",
                "append",
                "extend",
                "setdefault",
                "pop",
            }:
                changed[inner.attr] = node.lineno
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if isinstance(node.value, ast.Attribute):
                changed[node.value.attr] = node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
            text = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else ""
            changed[str(text)] = node.lineno
    return changed
