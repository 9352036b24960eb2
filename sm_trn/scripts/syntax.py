"""What a program writes out: names, literals and calls. Syntax alone: nothing is evaluated."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from ..core.preflight import source


def called(call: ast.Call) -> str:
    """The last part of the name that is called."""
    return last_name(call.func)


def last_name(node: ast.expr) -> str:
    """``Trainer`` of ``transformers.Trainer``; empty for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument; None where the call does not write it out."""
    return next((each.value for each in call.keywords if each.arg == name), None)


@functools.lru_cache(maxsize=source.KEPT)
def constants(program: str) -> Mapping[str, object]:
    """The literals to which names of a program are bound, once each."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(source.tree(program)):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                values.setdefault(last_name(target), []).append(node.value)
    return {name: literal(nodes[0]) for name, nodes in values.items() if len(nodes) == 1 and is_literal(nodes[0])}


def is_literal(node: ast.expr, names: Mapping[str, object] | None = None) -> bool:
    """Whether an expression is made of literals, and of names of literals."""
    try:
        literal(node, names)
    except ValueError:
        return False
    return True


def literal(node: ast.expr, names: Mapping[str, object] | None = None) -> Any:
    """The value of an expression of literals and of names of literals. Raises ValueError for any other."""
    if isinstance(node, ast.Name) and node.id in (names or {}):
        return (names or {})[node.id]
    try:
        return ast.literal_eval(node)
    except (TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from None


def unconditional(tree: ast.AST, *, runs: bool = True) -> Iterator[ast.AST]:
    """The nodes under no condition, in no loop and in no ``try``, but – where it ``runs`` – under that of a program that is run."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        conditional = isinstance(node, (ast.If, ast.IfExp)) and not (runs and "__name__" in ast.unparse(node.test))
        if not conditional and not isinstance(node, (ast.Try, ast.While, ast.For)):
            yield node
            waiting += ast.iter_child_nodes(node)
