"""What a public function raises stands in its docstring, by the name of the exception."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import measure

_SHELL = re.compile(
    r"sm_trn\.(cli|\w+\.commands)\."
)  # a command's docstring is its help: what it refuses is a message and an exit code
_SILENT = frozenset({"StopIteration", "NotImplementedError"})  # the second marks what a subclass has


def raised(function: ast.AST) -> Iterator[str]:
    """The names of what a function's own body raises."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            yield ast.unparse(called).rpartition(".")[2]
        yield from raised(node)


def public(tree: ast.AST, above: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Public functions, and public methods of public classes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public(node, f"{above}.{node.name}")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
            yield f"{above}.{node.name}", node


def test_what_is_raised_is_said() -> None:
    silent = [
        name
        for module, path in measure.modules().items()
        if not _SHELL.match(module)
        for name, function in public(measure.tree(path), module)
        if {*raised(function)} - _SILENT and "raise" not in (ast.get_docstring(function) or "").lower()
    ]
    assert [] == silent
