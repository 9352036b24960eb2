"""Functions of the launcher: how arguments go to parameters, and what a call, a generator or a coroutine is."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any, Final

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
    leaves: bool = False  # it sets variables of the environment
    sets: frozenset[str] = frozenset()  # names of other scopes
    writes: bool = False  # it may write files
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


READS: Final = frozenset({"get", "copy", "items", "keys", "values"})  # methods of os.environ that change nothing


def changes_environment(node: ast.AST) -> bool:
    """Whether a node sets variables of the environment, as far as it says so itself."""
    if isinstance(node, ast.Call):
        return last_name(node.func) == "load_dotenv" or (
            isinstance(node.func, ast.Attribute)
            and last_name(node.func.value) == "environ"
            and node.func.attr not in READS
        )
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return last_name(node.value) == "environ"
    return isinstance(node, ast.Attribute) and node.attr == "environ" and not isinstance(node.ctx, ast.Load)


def writes_a_file(node: ast.AST) -> bool:
    """Whether a node opens a file that it may write."""
    if not isinstance(node, ast.Call):
        return False
    modes = [each.value for each in node.keywords if each.arg == "mode"] or node.args[1:2]
    reads = all(isinstance(each, ast.Constant) and str(each.value).startswith("r") for each in modes)
    return last_name(node.func) in {"write_text", "write_bytes"} or (last_name(node.func) == "open" and not reads)


def last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def root_name(node: ast.AST) -> str:
    """The name whose object, or a part of it, a node is; '' where it is of none."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", "")


def asked_outside(node: ast.AST, local: frozenset[str]) -> frozenset[str]:
    """The names that a function asks for from outside."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    return frozenset(names - local)


def set_outside(node: ast.AST) -> frozenset[str]:
    """The names of other scopes that a function, or one inside it, sets."""
    declared = (each.names for each in ast.walk(node) if isinstance(each, (ast.Global, ast.Nonlocal)))
    return frozenset(itertools.chain.from_iterable(declared))


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


def bound(function: Function, given: list[Any], names: dict[str, Any]) -> dict[str, Any]:
    """The parameters with their values. Raises TypeError as Python does."""
    wanted = function.node.args
    kinds = (
        (wanted.posonlyargs, Parameter.POSITIONAL_ONLY),
        (wanted.args, Parameter.POSITIONAL_OR_KEYWORD),
        ([wanted.vararg] if wanted.vararg is not None else [], Parameter.VAR_POSITIONAL),
        (wanted.kwonlyargs, Parameter.KEYWORD_ONLY),
        ([wanted.kwarg] if wanted.kwarg is not None else [], Parameter.VAR_KEYWORD),
    )
    defaults = function.defaults
    parameters = [
        Parameter(each.arg, kind, default=defaults.get(each.arg, Parameter.empty))
        for group, kind in kinds
        for each in group
    ]
    found = Signature(parameters).bind(*given, **names)
    found.apply_defaults()
    return found.arguments
