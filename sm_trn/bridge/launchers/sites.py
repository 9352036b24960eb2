"""Where a file makes estimators or starts jobs, by its syntax alone: reached or not."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from .language.estimators import ESTIMATORS
from .source import Cell, Unread
from .values import Place

_STARTS = frozenset({"create_training_job"})


@dataclass(frozen=True, slots=True)
class Written:
    """A call that makes an estimator, or starts a job through boto3, the functions and classes that it stands in, and the last
    function of the file that comes to these; '' where there is none."""

    place: Place
    cls: str
    within: tuple[str, ...]
    caller: str = ""


def written(name: str, trees: list[tuple[Cell, ast.Module | Unread]]) -> list[Written]:
    """Every such call of a file, in order."""
    modules = [(cell, tree) for cell, tree in trees if isinstance(tree, ast.Module)]
    names = _names([tree for _, tree in modules])
    functions = [node for _, tree in modules for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [
        dataclasses.replace(found, caller=_caller(found.within[0], functions) if found.within else "")
        for cell, tree in modules
        for found in _calls(name, cell, tree, names)
    ]


def _caller(name: str, functions: list[ast.FunctionDef]) -> str:
    """The last function that names this function or class, or one that does."""
    known, last = {name}, ""
    for node in functions:
        if node.name == name or any(isinstance(inner, ast.Name) and inner.id in known for inner in ast.walk(node)):
            known.add(node.name)
            last = node.name
    return last


def _names(trees: list[ast.Module]) -> dict[str, str]:
    """Local names of estimators' classes, and of classes that are made from them."""
    found: dict[str, str] = {}
    for node in (each for tree in trees for each in ast.walk(tree)):
        if isinstance(node, ast.ImportFrom):
            own = (node.module or "").partition(".")[0] == "sagemaker"
            found |= {
                alias.asname or alias.name: alias.name for alias in node.names if own and alias.name in ESTIMATORS
            }
            if own and any(alias.name == "*" for alias in node.names):
                found |= {each: each for each in ESTIMATORS}
    for node in (each for tree in trees for each in ast.walk(tree)):
        if isinstance(node, ast.ClassDef):
            base = next((_last(each) for each in node.bases if _last(each) in found), None)
            if base is not None:
                found[node.name] = found[base]
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, (ast.Name, ast.Attribute))
            and _is_class(node.value, found)
        ):
            found |= {target.id: _last(node.value) for target in node.targets if isinstance(target, ast.Name)}
    return found


def _is_class(node: ast.expr, names: dict[str, str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _calls(name: str, cell: Cell, tree: ast.Module, names: dict[str, str]) -> Iterator[Written]:
    todo: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    while todo:
        node, within = todo.pop()
        if isinstance(node, ast.Call):
            cls = _made(node.func, names)
            if cls:
                yield Written(Place(name, cell.number, node.lineno, node.col_offset), cls, within)
        inner = (
            (*within, node.name) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else within
        )
        todo.extend((child, inner) for child in reversed(list(ast.iter_child_nodes(node))))


def _made(function: ast.expr, names: dict[str, str]) -> str:
    """The class that a call makes an object of, or the call of boto3; '' for any other call."""
    last = _last(function)
    if isinstance(function, ast.Name):
        return names.get(last, "")
    return (
        last
        if last in _STARTS or (last in ESTIMATORS and isinstance(function, ast.Attribute) and _root(function) != "self")
        else ""
    )


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")
