"""Functions of the launcher: how arguments go to parameters, and what a call, a generator or a coroutine is."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Final

from ..values import Unknown
from .heap import Scope

_LIMITS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True, eq=False)
class Function:
    """A function of the launcher, where it was defined, and the defaults of its parameters."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    name: str
    scope: Scope
    defaults: dict[str, Any]
    local: frozenset[str]
    waits: bool  # it is a generator or a coroutine
    cell: int | None = None
    host: Any = None  # the Python function that stands for it
    leaves: bool = False  # it gives names of other scopes values
    outside: frozenset[str] = frozenset()  # names that it asks for and does not assign


def local_names(node: Any) -> frozenset[str]:
    """The names that a function's body gives values, and that are its own for that."""
    found: set[str] = set()
    elsewhere: set[str] = set()
    todo: list[Any] = list(node.body) if isinstance(node.body, list) else [node.body]
    while todo:
        inner = todo.pop()
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
            found.add(inner.id)
        elif isinstance(inner, (ast.Global, ast.Nonlocal)):
            elsewhere.update(inner.names)
        elif isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(inner.name)
            todo += inner.decorator_list
        elif isinstance(inner, ast.ExceptHandler) and inner.name:
            found.add(inner.name)
        elif isinstance(inner, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name.partition(".")[0] for alias in inner.names)
        elif isinstance(inner, (ast.MatchAs, ast.MatchStar)) and inner.name:
            found.add(inner.name)
        elif isinstance(inner, ast.MatchMapping) and inner.rest:
            found.add(inner.rest)
        if isinstance(inner, _COMPREHENSIONS):
            todo += [each for each in ast.walk(inner) if isinstance(each, ast.NamedExpr)]
        elif isinstance(inner, ast.AST) and not isinstance(inner, _LIMITS):
            todo.extend(ast.iter_child_nodes(inner))
    return frozenset(found - elsewhere)


def asked_outside(node: ast.AST, local: frozenset[str]) -> tuple[bool, frozenset[str]]:
    """Whether a function gives names of other scopes values, and the names that it asks for and does not assign."""
    inner = list(ast.walk(node))
    names = {each.id for each in inner if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    return any(isinstance(each, (ast.Global, ast.Nonlocal)) for each in inner), frozenset(names - local)


def waits(node: Any) -> bool:
    """Whether a call of a function does not run its body: of a generator or a coroutine."""
    if isinstance(node, ast.AsyncFunctionDef):
        return True
    todo: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while todo:
        inner = todo.pop()
        if isinstance(inner, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(inner, _LIMITS):
            todo.extend(ast.iter_child_nodes(inner))
    return False


def _by_name(function: Function, found: dict[str, Any], named: list[str], names: dict[str, Any]) -> dict[str, Any]:
    """Put arguments by name into ``found``; what is left for ``**``. Raises TypeError as Python does."""
    extra: dict[str, Any] = {}
    for name, value in names.items():
        if name in found and name in named:
            raise TypeError(f"{function.name}() got multiple values for argument {name!r}")
        if name in named:
            found[name] = value
        elif function.node.args.kwarg is not None:
            extra[name] = value
        else:
            raise TypeError(f"{function.name}() got an unexpected keyword argument {name!r}")
    return extra


def bound(function: Function, given: list[Any], names: dict[str, Any]) -> dict[str, Any]:
    """The parameters with their values. Raises TypeError as Python does; of a call with ``*`` or ``**`` of something that is not
    known, what that may set is unknown.
    """
    wanted = function.node.args
    places = [argument.arg for argument in (*wanted.posonlyargs, *wanted.args)]
    named = [argument.arg for argument in (*wanted.args, *wanted.kwonlyargs)]
    rest = next((index for index, each in enumerate(given) if type(each).__name__ == "Rest"), None)
    unknown: Unknown | None = names.pop("**", None)
    open_places = unknown
    if rest is not None:
        open_places = given[rest]
        given = given[:rest]
    found: dict[str, Any] = dict(zip(places, given, strict=False))
    more = given[len(places) :]
    if more and wanted.vararg is None:
        raise TypeError(f"{function.name}() takes {len(places)} positional arguments but {len(given)} were given")
    extra = _by_name(function, found, named, names)
    for name in (*places, *(argument.arg for argument in wanted.kwonlyargs)):
        if name not in found and open_places is not None and (name in places or unknown is not None):
            found[name] = Unknown(open_places.causes)
        elif name not in found and name in function.defaults:
            found[name] = function.defaults[name]
        elif name not in found:
            raise TypeError(f"{function.name}() missing a required argument: {name!r}")
    if wanted.vararg is not None:
        found[wanted.vararg.arg] = tuple(more) if rest is None else Unknown(open_places.causes)  # type: ignore[union-attr]  # rest set it
    if wanted.kwarg is not None:
        found[wanted.kwarg.arg] = extra if unknown is None else Unknown(unknown.causes)
    return found
