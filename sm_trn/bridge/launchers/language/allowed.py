"""What of Python itself a reading may use: a closed list. A launcher is read, so everything else is only a name to it.

What stands here computes with what it is given, and calls at most that. It opens no file, evaluates no text, and starts nothing. Whatever
else Python has by a name of its own (``open``, ``exec``, ``getattr`` …) is a ``Stand``: the reader answers a call of it, and Python,
to which the launcher may hand it (``map(exec, texts)``), learns nothing from it.
"""

from __future__ import annotations

import argparse
import builtins
import configparser
import datetime
import functools
import importlib
import io
import types
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from ..values import Needs, Place, Reason, Unresolved


class Stand:
    """A function of Python that only the reader answers."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def needed(self, *_: object, **__: object) -> Any:
        """Raises Needs: Python was handed this, and nobody knows what it would give."""
        raise Needs((Unresolved(Reason.CALL, Place("", None, 1), f"{self.name}(…)"),))

    __call__ = __repr__ = needed


# Functions that the reader answers itself, or that nobody follows.
STANDS: Final[Mapping[str, Stand]] = MappingProxyType(
    {
        name: Stand(name)
        for name in (
            "__import__", "breakpoint", "compile", "delattr", "dir", "eval", "exec", "exit", "getattr", "globals", "hasattr", "help", "id",
            "hash", "input", "locals", "memoryview", "open", "print", "quit", "setattr", "vars",
        )
    }
)  # fmt: skip
_BUILTINS: Final = (
    "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "classmethod", "complex", "dict", "divmod",
    "enumerate", "filter", "float", "format", "frozenset", "hex", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max",
    "min", "next", "object", "oct", "ord", "pow", "property", "range", "repr", "reversed", "round", "set", "slice", "sorted",
    "staticmethod", "str", "sum", "super", "tuple", "type", "zip", "NotImplemented", "Ellipsis",
)  # fmt: skip
BUILTINS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        **{name: getattr(builtins, name) for name in _BUILTINS},
        **{
            name: found
            for name, found in vars(builtins).items()
            if isinstance(found, type) and issubclass(found, BaseException)
        },
        **STANDS,
    }
)

MODULES: Final[Mapping[str, Iterable[str]]] = MappingProxyType(
    {
        "argparse": (
            "ArgumentParser", "Namespace", "Action", "ArgumentError", "ArgumentTypeError", "ArgumentDefaultsHelpFormatter", "HelpFormatter",
            "RawTextHelpFormatter", "RawDescriptionHelpFormatter", "BooleanOptionalAction", "SUPPRESS", "REMAINDER", "OPTIONAL",
            "ZERO_OR_MORE", "ONE_OR_MORE",
        ),
        "collections": ("OrderedDict", "defaultdict", "namedtuple"),
        "configparser": (
            "ConfigParser", "RawConfigParser", "BasicInterpolation", "ExtendedInterpolation", "Error", "NoOptionError", "NoSectionError",
        ),
        "copy": ("copy", "deepcopy"),
        "datetime": ("UTC", "date", "datetime", "time", "timedelta", "timezone"),
        "functools": ("partial",),
        "json": ("JSONDecodeError", "dumps", "loads"),
        "math": ("ceil", "exp", "floor", "gcd", "inf", "isclose", "lcm", "log", "log10", "log2", "pi", "pow", "prod", "sqrt"),
        "posixpath": ("basename", "commonpath", "commonprefix", "dirname", "isabs", "join", "normpath", "split", "splitext"),
        "types": ("SimpleNamespace",),
    }
)  # fmt: skip

# Objects of Python's own whose public attributes and methods compute alone; others have none here.
_PLAIN: Final[tuple[type, ...]] = (
    str, bytes, bytearray, int, float, complex, bool, list, tuple, dict, set, frozenset, range, slice, type(None), type(Ellipsis),
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, PurePosixPath, io.StringIO, io.BytesIO,
    argparse.Namespace, argparse.ArgumentParser, argparse.Action, argparse._ArgumentGroup, argparse._SubParsersAction,
    configparser.RawConfigParser, configparser.SectionProxy, types.SimpleNamespace, types.GeneratorType, BaseException,
    functools.partial, property, classmethod, staticmethod,
    type({}.keys()), type({}.values()), type({}.items()),
)  # fmt: skip
# Methods of those that do more: they read files, write to the terminal, or change what others share.
_MORE: Final = frozenset(
    {"convert_arg_line_to_args", "exit", "format", "format_map", "print_help", "print_usage", "register", "write", "read", "read_file",
     "read_dict", "with_traceback"}
)  # fmt: skip
_NAMED: Final = frozenset(
    {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
)  # what named tuples call their own
_ANSWERED: Final = frozenset({"read", "read_file", "write"})  # of a parser of settings and of a text in memory


def of_module(module: str, name: str) -> Any:
    """A function, class or number that stands in the list; None for any other."""
    if name not in MODULES.get(module, ()):
        return None
    if name == "ArgumentParser":
        return QuietParser
    return getattr(importlib.import_module(module), name, None)


class QuietParser(argparse.ArgumentParser):
    """A parser that prints nothing, and reads no arguments from files."""

    def __init__(self, *given: Any, fromfile_prefix_chars: object = None, **names: Any) -> None:
        del fromfile_prefix_chars
        super().__init__(*given, **names)

    def _print_message(self, message: str, file: Any = None) -> None:
        del message, file


_CLASSES: Final = frozenset(
    found for module, names in MODULES.items() for name in names if isinstance(found := of_module(module, name), type)
) | frozenset(found for found in BUILTINS.values() if isinstance(found, type))


def may_be_looked_at(owner: object, name: str) -> bool:
    """Whether a public attribute of an object of Python's own is one that computes alone."""
    if name in _NAMED and isinstance(owner, tuple) | (isinstance(owner, type) and issubclass(owner, tuple)):
        return True
    if name.startswith("_"):
        return False
    if isinstance(owner, type):
        return owner in _CLASSES and name not in _MORE
    if isinstance(owner, (configparser.RawConfigParser, io.StringIO, io.BytesIO)) and name in _ANSWERED:
        return True
    return isinstance(owner, _PLAIN) and name not in _MORE


class TextFormat(Stand):
    """``text.format``: Python's would look at any attribute."""

    __slots__ = ("text",)

    def __init__(self, text: str, name: str) -> None:
        super().__init__(name)
        self.text = text
