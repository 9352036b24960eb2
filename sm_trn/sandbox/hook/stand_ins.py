"""Stand-ins for modules that a program imports and that are not installed."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import linecache
import sys
import types
from collections.abc import Callable

# Without these nothing can be recorded; and Python looks for the last two by itself.
_NEVER = ("boto3", "botocore", "s3transfer", "sagemaker", "sagemaker_core", "sm_trn", "sitecustomize", "usercustomize")


class StandInError(TypeError):
    """A stand-in has no value."""


class StandIn:
    """An unknown object and the reason ``why``: it has attributes, can be called and shown, and has no value."""

    _name: str
    _why: str

    def __init__(self, name: str, why: str) -> None:
        self.__dict__.update(_name=name, _why=why)

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self._name}.{name}", self._why)

    def __call__(self, *_: object, **__: object) -> StandIn:
        return StandIn(f"{self._name}(…)", self._why)

    def __getitem__(self, key: object) -> StandIn:
        return StandIn(f"{self._name}[…]", self._why)

    def __enter__(self) -> StandIn:
        return self

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()

    def __repr__(self) -> str:
        return f"<{self._name}: {self._why}>"

    def _ignore(self, *_: object) -> None:
        """Nothing is known of the object, so nothing is changed."""

    def _no_value(self, *_: object) -> object:
        raise StandInError(f"{self._name} has no value here: {self._why}")

    __hash__ = object.__hash__


_UNKNOWN = (
    "bool", "len", "iter", "contains", "int", "float", "index", "fspath", "eq", "ne", "lt", "le", "gt", "ge",
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod",
)  # fmt: skip
for _word in _UNKNOWN:
    setattr(StandIn, f"__{_word}__", StandIn._no_value)
for _word in ("setattr", "setitem", "exit"):
    setattr(StandIn, f"__{_word}__", StandIn._ignore)


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.__name__}.{name}", f"{self.__name__.partition('.')[0]} is not installed")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: what the program imports and nobody has is a stand-in, unless the import stands in a ``try``.

    ``of_program`` returns True for a file of the program; ``tell`` is called with the name of each module.
    """

    def __init__(self, of_program: Callable[[str], bool], tell: Callable[[str], None]) -> None:
        self._of_program = of_program
        self._tell = tell

    def find_spec(self, name, *_):
        """Return the spec of a stand-in; None for what the program does not import itself."""
        top = name.partition(".")[0]
        if top in _NEVER or top in sys.stdlib_module_names:
            return None
        if top != name and not isinstance(sys.modules.get(top), _Module):
            return None
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "importlib":
            frame = frame.f_back
        if frame is None or not self._of_program(frame.f_code.co_filename) or _is_tried(frame):
            return None
        if top == name:
            self._tell(top)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The stand-in."""
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing: there is no code."""


def _is_tried(frame: types.FrameType) -> bool:
    """Return True for a line in a ``try`` with an ``except``: the program says itself what it does without the module."""
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))
    except (SyntaxError, ValueError):
        return False
    tries = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers]
    return any(node.body[0].lineno <= frame.f_lineno <= (node.body[-1].end_lineno or 0) for node in tries)
