"""What stands for a module that a launcher imports and that is not installed. It knows nothing of the recorder."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import linecache
import os
import sys
import types
from collections.abc import Callable

# Without these nothing can be recorded; and Python looks for the last two by itself.
_NEVER = ("boto3", "botocore", "s3transfer", "sagemaker", "sagemaker_core", "sm_trn", "sitecustomize", "usercustomize")


class StandInError(TypeError):
    """What is not known has no value."""


class StandIn:
    """Stands for what is not known, ``why`` says why: it can be asked for more, called and shown, and has no value."""

    _name: str
    _why: str

    def __init__(self, name: str, why: str) -> None:
        self.__dict__["_name"] = name
        self.__dict__["_why"] = why

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self._name}.{name}", self._why)

    def __setattr__(self, name: str, value: object) -> None:
        """Forget it: nothing is known of the object."""

    def __getitem__(self, key: object) -> StandIn:
        return StandIn(f"{self._name}[…]", self._why)

    def __setitem__(self, key: object, value: object) -> None:
        """Forget it."""

    def __call__(self, *_: object, **__: object) -> StandIn:
        return StandIn(f"{self._name}(…)", self._why)

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is held."""

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()

    def __repr__(self) -> str:
        return f"<{self._name}: {self._why}>"

    def _no_value(self, *_: object) -> object:
        raise StandInError(f"{self._name} has no value here: {self._why}")

    __hash__ = object.__hash__


for _word in (
    "bool", "len", "iter", "contains", "int", "float", "index", "fspath", "eq", "ne", "lt", "le", "gt", "ge",
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod",
):  # fmt: skip
    setattr(StandIn, f"__{_word}__", StandIn._no_value)


# Nothing is signed with the user's keys here, and the SDKs read these by themselves.
_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")


def keep_in_environment() -> None:
    """Let ``os.environ`` hold what is not known: who reads it gets it back, and no text in its place."""
    kind = type(os.environ)
    held: dict[str, StandIn] = {}
    get, put, delete = kind.__getitem__, kind.__setitem__, kind.__delitem__

    def found(self, key):
        return held[key] if key in held else get(self, key)

    def noted(self, key, value):
        held.pop(key, None)
        if not isinstance(value, StandIn):
            put(self, key, value)
        elif key not in _CREDENTIALS:
            held[key] = value

    def left(self, key):
        if held.pop(key, None) is None:
            delete(self, key)

    setattr(kind, "__getitem__", found)  # noqa: B010 - mypy: methods
    setattr(kind, "__setitem__", noted)  # noqa: B010
    setattr(kind, "__delitem__", left)  # noqa: B010


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.__name__}.{name}", f"{self.__name__.partition('.')[0]} is not installed")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: what the launcher imports and nobody has is a stand-in, unless the import stands in a ``try``.

    ``of_launcher`` says whether a file is the launcher's, ``own_place`` in which folder a module lies that is the launcher's too and
    not installed, and ``tell`` is called with the name of each module and that folder.
    """

    def __init__(
        self,
        of_launcher: Callable[[str], bool],
        own_place: Callable[[str, str], str],
        tell: Callable[[str, str], None],
    ) -> None:
        self._of_launcher = of_launcher
        self._own_place = own_place
        self._tell = tell

    def find_spec(self, name, path=None, target=None):
        """The stand-in's spec, or that of the launcher's own files; None for what the launcher does not import itself."""
        del path, target
        top = name.partition(".")[0]
        if top in _NEVER or top in sys.stdlib_module_names:
            return None
        if top != name and not isinstance(sys.modules.get(top), _Module):
            return None
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "importlib":
            frame = frame.f_back
        if frame is None or not self._of_launcher(frame.f_code.co_filename):
            return None
        place = self._own_place(name, frame.f_code.co_filename) if top == name else ""
        if not place and _is_tried(frame):
            return None
        if top == name:
            self._tell(top, place)
        if place:
            return importlib.machinery.PathFinder.find_spec(name, [place])
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The stand-in."""
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing: there is no code."""


def _is_tried(frame: types.FrameType) -> bool:
    """Whether the line stands in a ``try`` with an ``except``: the launcher says itself what it does without the module."""
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))
    except (SyntaxError, ValueError):
        return False
    tries = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers]
    return any(node.body[0].lineno <= frame.f_lineno <= (node.body[-1].end_lineno or 0) for node in tries)
