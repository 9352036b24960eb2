"""What a reading does not follow, and what that may have changed: from there on it is unknown, for a cause that is said.

A name ``…`` in the scope of the file says that anything in it may be different; every launch that is read after it has the hole.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterable
from typing import Final

from . import estimators
from .source import MAGIC
from .state import State
from .values import Cause, Instance, Reason, Ref, Scope, Text, Unknown, causes_in, contents, unknown

_ALONE: Final = "__code__"
# Modules whose functions leave alone what they are given. Python's own do, but for _CHANGES.
_LEAVE: Final = frozenset({
    "sagemaker", "boto3", "botocore", "numpy", "pandas", "torch", "transformers", "datasets", "tensorflow", "sklearn", "matplotlib",
    "IPython", "ipywidgets", "wandb", "mlflow", "yaml", "tqdm", "requests", "seaborn", "plotly", "s3fs", "nltk", "scipy", "rich",
    "accelerate", "huggingface_hub", "stepfunctions", "evaluate", "display", "smdebug",
})  # fmt: skip
_CHANGES: Final = frozenset({
    "next", "vars", "heapq.heappush", "heapq.heapify", "heapq.heappop", "random.shuffle", "bisect.insort", "operator.setitem",
    "operator.delitem", "operator.iadd", "operator.ior", "numpy.random.shuffle", "dict.update", "list.append", "list.extend",
    "dict.setdefault", "dict.pop", "object.__setattr__", "functools.partial", "functools.reduce", "map", "filter", "delattr",
})  # fmt: skip
_ONLY_READ: Final = frozenset({
    "debug", "info", "warning", "warn", "error", "exception", "critical", "log", "write", "print", "dump", "dumps", "log_param",
    "log_params", "log_metrics", "log_parameters", "upload_file", "put_object", "invoke", "invoke_endpoint", "predict", "format",
    "to_csv", "writerow", "rename", "send", "start_execution", "put_item", "text", "echo", "display", "plot", "replace", "map",
})  # fmt: skip


def taint(state: State, cause: Cause) -> None:
    """From here on anything in the file may be different."""
    held = state.scopes[0].names.get("…")
    state.scopes[0].names["…"] = unknown([*causes_in(held), cause], rest=True)


def taints(state: State) -> list[Cause]:
    """Why what is read here may be different."""
    return list(causes_in(state.scopes[0].names.get("…")))


def module_scope(scope: Scope) -> Scope:
    """The scope of the file that a scope belongs to."""
    while scope.parent is not None:
        scope = scope.parent
    return scope


def names(state: State, path: str) -> dict[object, object]:
    """``globals()`` and ``locals()``: the scope itself at a file's top level, and a copy in a function."""
    scope = module_scope(state.scope) if path == "globals" else state.scope
    found: dict[object, object] = scope.names  # type: ignore[assignment]  # names are keys like any other
    return found if scope.parent is None else dict(found)


def code(state: State, node: ast.expr, path: str, given: list[object]) -> object:
    """``exec`` and ``eval``: a text that is known is read like the rest of the file, any other may do anything."""
    cause = state.cause(
        node, Reason.DYNAMIC, detail=f"{path} of a text that is not known here; write what it does as statements"
    )
    tree = _parsed(given[0], path) if len(given) == 1 and isinstance(given[0], str) else None
    if tree is None or (path == "exec" and state.scope.parent is not None):
        taint(state, cause)
        return Unknown((cause,))
    for inner in ast.walk(tree):
        if hasattr(inner, "lineno"):
            _moved(inner, node)
    return state.body(state, _function(tree))


def _parsed(text: str, path: str) -> ast.Module | ast.Expression | None:
    try:
        tree: ast.AST = ast.parse(text.strip(), mode="eval") if path == "eval" else ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if isinstance(tree, (ast.Module, ast.Expression)) else None


def _moved(inner: ast.AST, node: ast.expr) -> None:
    """Give a node of a text the place of the call, which is where a user looks."""
    for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
        setattr(inner, name, getattr(node, name, 0))


def _function(tree: ast.Module | ast.Expression) -> ast.FunctionDef:
    body: list[ast.stmt] = tree.body if isinstance(tree, ast.Module) else [ast.Return(value=tree.body)]
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.FunctionDef(name=_ALONE, args=nothing, body=body, decorator_list=[])


def escape(state: State, node: ast.expr, function: object, given: Iterable[object]) -> None:
    """What is handed to a call that nobody follows may come back changed: mappings, lists, estimators, objects of the launcher."""
    if not _innocent(node, function):
        cause = state.cause(node, Reason.HANDED, give=_word(node), detail="its code was not read")
        for value in given:
            invalidate(state, value, cause)


def _word(node: ast.expr) -> str:
    """The name of the first argument that has one."""
    arguments = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
    return next((item.id for item in arguments if isinstance(item, ast.Name)), "")


def _innocent(node: ast.expr, function: object) -> bool:
    if isinstance(function, Ref):
        first = function.path.partition(".")[0]
        own = first in _LEAVE or first in sys.stdlib_module_names or hasattr(builtins, function.path)
        return own and function.path not in _CHANGES
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Attribute) and called.attr in _ONLY_READ


def invalidate(state: State, value: object, cause: Cause) -> None:
    """Nothing is known any more of what a value holds."""
    todo, seen = [value], set[int]()
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        todo += contents(item) if _open(item) else []
        _emptied(state, item, Unknown((cause,), rest=True))


def _open(item: object) -> bool:
    """Whether what an object holds can be changed through it; sessions and clients are left alone."""
    return not isinstance(item, Instance) or item.own is not None or item.cls in {*estimators.POSITIONAL, "namespace"}


def _emptied(state: State, item: object, lost: Unknown) -> None:
    if isinstance(item, dict):
        given = state.settings.get(lost.causes[0].give)
        item.clear()
        item.update(given if isinstance(given, dict) else {"…": lost})
    elif isinstance(item, list):
        item[:] = [lost]
    elif isinstance(item, Instance) and item.cls in estimators.POSITIONAL:
        item.arguments["…"] = lost
    elif isinstance(item, Instance) and _open(item):
        item.arguments.update({name: Unknown(lost.causes) for name in item.arguments})


def everything(state: State, node: ast.stmt, module: str, own: Scope | None) -> None:
    """``from module import *``: what it brings, and what it may have replaced where it cannot be read."""
    if own is None or "*" in own.names:
        _replaced(state, lambda name: _star(state, node, module, name))
        state.stars.append(f"{module}, imported with *")
        state.scope.names["*"] = Unknown((_star(state, node, module, ""),))
    if own is not None:
        brought = {name: value for name, value in own.names.items() if not name.startswith(("_", "*", "…"))}
        state.scope.names.update(brought)


def _star(state: State, node: ast.stmt, module: str, name: str) -> Cause:
    return Cause(Reason.MODULE, state.place(node), f"from {module} import *", name, module)


def _replaced(state: State, cause: Callable[[str], Cause]) -> None:
    """Values that were there before may be others now; modules, classes and functions keep their names."""
    for name, value in state.scope.names.items():
        plain = isinstance(value, (str, int, float, Text, dict, list, tuple)) or value is None
        if plain and not name.startswith("__"):
            state.scope.names[name] = state.settings.get(name, Unknown((cause(name),)))


def magic(state: State, node: ast.expr, given: list[object]) -> None:
    """A line magic that defines names: ``%run``, ``%store -r``, ``%env``; all others define none."""
    line = given[0] if given and isinstance(given[0], str) else ""
    word, _, rest = line.partition(" ")
    if word == "run":
        _ran(state, node, rest.split())
    if word == "store":
        _stored(state, node, rest.split(), line)
    if word == "pylab":
        taint(state, state.cause(node, Reason.DYNAMIC, detail=f"%{line} brings names that nobody here has read"))
    name, _, value = rest.partition("=" if "=" in rest else " ")
    if word in {"env", "set_env"} and value:
        environment(state)[name.strip()] = value.strip()


def _stored(state: State, node: ast.expr, words: list[str], line: str) -> None:
    """``%store name`` keeps a value, ``%store -r name`` brings it back: from here, or from a notebook that nobody has read."""
    names = [word for word in words if word.isidentifier()]
    held = state.scopes[0].names.setdefault("%store", Instance("set", {}, state.place(node)))
    kept = held.arguments if isinstance(held, Instance) else {}
    if "-r" not in words:
        kept.update((name, state.scope.names[name]) for name in names if name in state.scope.names)
        return
    for name in names:
        lost = state.unknown(node, Reason.SHELL, give=name, detail=f"%{line}")
        state.scope.names[name] = kept.get(name, state.settings.get(name, lost))
    if not names:
        _replaced(state, lambda name: state.cause(node, Reason.SHELL, give=name, detail=f"%{line} may bring {name}"))
        state.stars.append(f"%{line}")


def _ran(state: State, node: ast.expr, words: list[str]) -> None:
    """A file that lies beside the launcher is read; its names are the notebook's from then on."""
    files = [word.strip("'\"") for word in words if not word.startswith("-")]
    name = files[0].removeprefix("./").removesuffix(".py").replace("/", ".") if files else ""
    own = state.sibling(state, name) if "-i" not in words and files and not files[0].endswith(".ipynb") else None
    if own is None or "*" in own.names:
        taint(state, state.cause(node, Reason.DYNAMIC, detail=f"%run {' '.join(words)} runs a file that was not read"))
        return
    state.scope.names.update({word: value for word, value in own.names.items() if not word.startswith("__")})


def environment(state: State) -> dict[str, object]:
    """The variables that the launcher itself has set."""
    held = state.scopes[0].names.setdefault("os.environ", Instance("set", {}, state.place(ast.Pass())))
    return held.arguments if isinstance(held, Instance) else {}


__all__ = [
    "MAGIC",
    "code",
    "environment",
    "escape",
    "everything",
    "invalidate",
    "magic",
    "module_scope",
    "names",
    "taint",
    "taints",
]
