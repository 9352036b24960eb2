"""What a text may change where nobody follows it: all of it is looked at before it is read."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

from .functions import last_name, root_name

_NAMES: Final = frozenset(
    {
        "modules",
        "_getframe",
        "currentframe",
        "f_back",
        "f_globals",
        "f_locals",
        "tb_frame",
        "__globals__",
        "__main__",
        "reload",
    }
)


def reaches_names(tree: ast.AST) -> Iterator[ast.AST]:
    """Where a text asks for a module's names by another way than as names: of sys.modules, a frame, a function, ``__main__``, or of a
    module that is loaded again."""
    inner = list(ast.walk(tree))
    called = {id(node.func) for node in inner if isinstance(node, ast.Call)}
    for node in inner:
        asked: set[object] = set()
        if isinstance(node, ast.Attribute):
            asked = {node.attr}
            if (node.attr == "modules" and id(node) in called) or (
                node.attr == "reload" and last_name(node.value) != "importlib"
            ):
                continue  # of a neural network; of an object that is not a module
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            asked = {getattr(node, "module", None), *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Call):
            asked = {each.value for each in node.args if isinstance(each, ast.Constant)}
        if not _NAMES.isdisjoint(asked):
            yield node


def replaced(tree: ast.AST, modules: Collection[str]) -> Iterator[ast.AST]:
    """Where a text gives something of these modules another value."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known = [alias for alias in node.names if alias.name.partition(".")[0] in modules]
            names.update(alias.asname or alias.name.partition(".")[0] for alias in known)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in modules:
            names.update(alias.asname or alias.name for alias in node.names)
    for node in ast.walk(tree):
        changed: ast.expr | None = None
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            changed = node
        if isinstance(node, ast.Call) and last_name(node.func) in {"setattr", "delattr"} and node.args:
            changed = node.args[0]
        if changed is not None and root_name(changed) in names:
            yield node


def changes_arguments(tree: ast.AST) -> bool:
    """Whether a text may give ``sys.argv`` other words: it does more with it than to look at an item, or to count."""
    looks: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            looks.add(id(node.value))
        elif isinstance(node, ast.Call) and last_name(node.func) in {"len", "print", "join"}:
            looks.update(map(id, node.args))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "argv" and id(node) not in looks:
            return True
        if isinstance(node, ast.ImportFrom) and any(alias.name == "argv" for alias in node.names):
            return True
    return False
