"""What ``pathlib`` and ``os.path`` give, and where the launcher itself lies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from .. import methods
from ..state import State
from ..values import (
    Arguments,
    Instance,
    Names,
    Reason,
)

_ABOVE: Final = 8  # folders above a path


def part_of_path(state: State, node: ast.AST, owner: Instance, name: str) -> object:
    path = owner.arguments["path"]
    if not isinstance(path, str):
        return state.unknown(node, Reason.CONSTRUCT)
    if name == "parent":
        return Instance(
            "path", {**owner.arguments, "path": _parent(path, absolute="absolute" in owner.arguments)}, owner.place
        )
    if name == "parents":
        above: list[object] = [part_of_path(state, node, owner, "parent")]
        while len(above) < _ABOVE and isinstance(above[-1], Instance):
            above.append(part_of_path(state, node, above[-1], "parent"))
        return above
    return str(getattr(PurePosixPath(path), name))


def _parent(path: str, *, absolute: bool) -> str:
    """The folder that holds a path; above the launcher's own folder there are others where the path was made absolute."""
    if absolute and path in {"", "."}:
        return ".."
    return f"{path}/.." if absolute and PurePosixPath(path).name == ".." else str(PurePosixPath(path).parent)


def _from_here(node: ast.AST) -> bool:
    """Whether a path is made of the launcher's own place, which is absolute where the launcher is run."""
    return any(isinstance(inner, ast.Name) and inner.id == "__file__" for inner in ast.walk(node))


def method_of_path(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments) -> object:
    if name in {"resolve", "absolute"}:
        return Instance("path", {**owner.arguments, "absolute": True}, owner.place)
    if name == "expanduser":
        return owner
    if name in {"as_posix", "__str__"}:
        return owner.arguments["path"]
    if name == "joinpath":
        return Instance("path", {**owner.arguments, **_path(state, node, [owner, *given])}, owner.place)
    if name in {"mkdir", "touch", "unlink", "write_text"}:
        return None
    return state.unknown(node, Reason.CALL)


def _path_joined(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    return methods.joined_path(
        [item.arguments["path"] if isinstance(item, Instance) and item.cls == "path" else item for item in given],
        state.cause(node, Reason.CALL),
    )


def made_path(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    own: dict[str, object] = {"absolute": True} if _from_here(node) else {}
    return Instance("path", {**own, **_path(state, node, given)}, state.place(node))


def _path(state: State, node: ast.expr, given: Arguments) -> dict[str, object]:
    return {"path": methods.pure_path(_path_joined(state, node, given, {})) if given else "."}


def _folder_of(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    """``os.path.dirname``; of the launcher's own place it is the launcher's folder, and folders above that."""
    path = given[0] if len(given) == 1 else None
    if isinstance(path, str) and _from_here(node):
        return _parent(path, absolute=True)
    return methods.computed("os.path.dirname", given, names, state.cause(node, Reason.CALL))


def _same_path(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del names
    return given[0] if given else state.unknown(node, Reason.CALL)


def _here(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del state, node, given, names
    return "."


FUNCTIONS: Final[Mapping[str, Callable[[State, ast.expr, Arguments, Names], object]]] = MappingProxyType(
    {
        "os.path.join": _path_joined,
        "posixpath.join": _path_joined,
        "pathlib.Path": made_path,
        "pathlib.PurePath": made_path,
        "pathlib.PurePosixPath": made_path,
        "os.path.dirname": _folder_of,
        "os.path.abspath": _same_path,
        "os.path.realpath": _same_path,
        "os.path.expanduser": _same_path,
        "os.getcwd": _here,
    }
)
