"""Calls, attributes and items: Python's own of what is known, the launcher's own functions, and what nobody here follows."""

from __future__ import annotations

import argparse
import ast
import configparser
import datetime
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, MappingView
from types import BuiltinMethodType, MethodType
from typing import Any, Final

from ..values import (
    LONGEST,
    Environment,
    Moment,
    Needs,
    Node,
    OwnCode,
    Raised,
    Reason,
    Ref,
    Symbol,
    Unknown,
    Unresolvable,
    Unresolved,
    contents,
)
from . import library, texts
from .allowed import TextFormat, may_be_looked_at
from .expressions import Expressions, Rest
from .heap import Scope, reachable
from .state import causes_of

_LEAVES_ALONE: Final = frozenset({
    "sagemaker", "boto3", "botocore", "numpy", "pandas", "torch", "transformers", "datasets", "tensorflow", "sklearn", "matplotlib",
    "IPython", "ipywidgets", "wandb", "mlflow", "tqdm", "requests", "seaborn", "plotly", "s3fs", "nltk", "scipy", "rich",
    "accelerate", "huggingface_hub", "evaluate", "smdebug",
})  # fmt: skip
# Modules that change what they are given, or give it back.
_CHANGING: Final = frozenset({
    "heapq", "_heapq", "bisect", "_bisect", "operator", "_operator", "random", "queue", "collections", "contextvars", "multiprocessing",
    "threading", "asyncio", "weakref", "dataclasses", "concurrent",
})  # fmt: skip
_LOGGED: Final = frozenset(
    {"debug", "info", "warning", "error", "exception", "critical", "log"}
)  # what loggers do, whoever made them
_PUBLIC: Final = frozenset({"__name__", "__qualname__", "__doc__", "__len__", "__version__"})


class Calls(Expressions):
    """Calls by what is called."""

    # Of the classes that inherit from this one.
    sibling: Callable[[str], Scope | None]
    node_attribute: Callable[..., Any]
    node_called: Callable[..., Any]
    node_item: Callable[..., Any]
    run: Callable[..., Any]
    handed_over: Callable[[Node, str], None]

    def attribute(self, node: ast.AST, owner: Any, name: str) -> Any:
        """Raises Needs for what lies under Python's objects."""
        if isinstance(owner, Node):
            return self.node_attribute(node, owner, name)
        if isinstance(owner, Ref):
            return library.found(self, node, f"{owner.path}.{name}")
        if isinstance(owner, Moment):
            return owner
        if isinstance(owner, Unknown):
            return self.lacking_of(owner)
        if name in library.CLOCK and issubclass(owner if isinstance(owner, type) else type(owner), datetime.date):
            return Ref(f"datetime.datetime.{name}", self.place(node))
        if isinstance(owner, Environment):
            return functools.partial(library.environment_method, self, node, name)
        if isinstance(owner, Scope):
            return self._of_module(node, owner, name)
        if name == "__class__":
            return type(owner)
        if isinstance(owner, str) and name in {"format", "format_map"}:
            return TextFormat(owner, name)
        if owner is library.SourcePath and name == "cwd":
            return library.found(self, node, "pathlib.Path.cwd")
        if name not in _PUBLIC and not may_be_looked_at(owner, name):
            raise Needs((self.cause(node, Reason.CONSTRUCT, detail=f"{name} of a Python object"),))
        return self.python(getattr, owner, name)

    def lacking_of(self, owner: Unknown) -> Unknown:
        """A part of something that is not known."""
        self.risks += 1
        kind = OwnCode if isinstance(owner, OwnCode) else Unknown
        return kind(owner.causes, owner.origin, owner.among)

    def _of_module(self, node: ast.AST, owner: Scope, name: str) -> Any:
        if name in owner.names:
            return self.settled(name, owner.names[name])
        inner = self.sibling(f"{owner.file.removesuffix('.py').replace('/', '.')}.{name}")
        if inner is not None:
            return inner
        if name in self.given:
            return self.given[name]
        return self.unknown(node, Reason.UNDEFINED, give=name)

    def key(self, value: Any) -> Any:
        """A value as a key of a mapping or an item of a set. Raises Needs where it is not known."""
        value = self.resolved(value)
        if isinstance(value, Unresolvable):
            raise Needs(value.causes)
        if isinstance(value, str) and self.marks.causes(value):
            raise Needs(self.marks.causes(value))
        return value

    def item(self, node: ast.AST, owner: Any, key: Any) -> Any:
        """Raises Needs."""
        if isinstance(owner, Node):
            return self.node_item(node, owner, self.resolved(key))
        key = self.resolved(key)
        if isinstance(owner, Moment):
            return owner
        if isinstance(owner, Environment):
            return library.variable(self, node, [key], {}, required=True)
        if isinstance(owner, Unresolvable):
            self.reach_own(owner)
            return self.lacking_of(owner) if isinstance(owner, Unknown) else self.lacking(*owner.causes)
        if isinstance(owner, str) and self.marks.within(owner):
            raise Needs(self.missing(owner))
        if isinstance(owner, dict):
            key = self.found_key(node, owner, key)
        elif isinstance(key, Unresolvable) or (isinstance(key, str) and self.marks.within(key)):
            raise Needs(self.missing(key))
        return self.python(operator.getitem, owner, key)

    def found_key(self, node: ast.AST, owner: dict[Any, Any], key: Any) -> Any:
        """The key of a mapping that is meant: placeholders are equal to themselves alone. Raises Needs."""
        if isinstance(key, Unresolvable):
            raise Needs(key.causes)
        marked = isinstance(key, str) and self.marks.within(key)
        if marked and not self.marks.causes(key) and key in owner and Symbol.TIME not in self.marks.symbols(key):
            return key
        if marked or (
            key.__hash__ is not None
            and key not in owner
            and any(isinstance(each, str) and self.marks.within(each) for each in owner)
        ):
            raise Needs(self.missing(key, marked=True) or (self.cause(node, Reason.PLACEHOLDER, give="region"),))
        return key

    def items(self, node: ast.AST, value: Any) -> Iterator[Any]:
        """What a loop goes through, one after the other. Raises Needs where that is not known."""
        owner, value = value, self.resolved(value)
        if isinstance(value, Unresolvable):
            self.reach_own(value)
            raise Needs(value.causes or (self.cause(node, Reason.LOOP),))
        if isinstance(owner, Node) and any(isinstance(each, (list, dict, set)) for each in contents(value)):
            raise Needs((self.cause(node, Reason.LOOP, detail="the items are parts of an object of the SDK"),))
        if id(value) in self.lost:
            raise Needs(self.lost[id(value)][1].causes)
        if isinstance(value, str) and self.marks.within(value):
            raise Needs(self.missing(value))
        if (
            isinstance(value, (set, frozenset))
            and any(isinstance(each, (str, bytes)) for each in value)
            and len(value) > 1
        ):
            raise Needs((self.cause(node, Reason.LOOP, detail="the order of a set is another one in each run"),))
        through = self.python(iter, value)
        end = object()
        while (item := self.python(next, through, end)) is not end:
            self.spend()
            yield item

    def call(self, node: ast.AST, function: Any, given: list[Any], names: dict[str, Any]) -> Any:
        """Raises Raised."""
        self.spend()
        if isinstance(function, Node):
            return self.node_called(node, function, given, names)
        if isinstance(function, Moment):
            return function
        if isinstance(function, TextFormat):
            return self._of_text(node, function.text, function.name, given, names)
        if isinstance(function, (Unknown, Ref)):
            return self._unfollowed(node, function, given, names)
        if isinstance(function, Scope):
            raise Raised(TypeError("a module is not callable"))
        own = self.functions.get(id(function))
        if own is not None:
            return self.run(node, own[1], given, names)
        answer = self._answered(node, function, given, names)
        if answer is not NotImplemented:
            return answer
        special = library.SPECIAL.get(_hashed(function))
        if special is not None:
            return self._special(node, special, given, names)
        return self.plain_call(node, function, given, names)

    def _answered(self, node: ast.AST, function: Any, given: list[Any], names: dict[str, Any]) -> Any:
        """A call of an object of Python's that asks the world; NotImplemented for any other."""
        if isinstance(function, functools.partial) and function.func is library.environment_method:
            return function(given, names)
        if isinstance(function, functools.partial):
            return self.call(node, function.func, [*function.args, *given], {**function.keywords, **names})
        bound_owner = getattr(function, "__self__", None)
        if isinstance(bound_owner, library.SourcePath):
            return library.path_method(self, node, bound_owner, function.__name__, given, names)
        if isinstance(bound_owner, configparser.RawConfigParser) and function.__name__ in {
            "read",
            "read_file",
            "write",
        }:
            return library.configured(self, node, bound_owner, given, names)
        if isinstance(bound_owner, argparse.ArgumentParser) and function.__name__ in {"parse_args", "parse_known_args"}:
            return library.parsed(self, node, bound_owner, function.__name__, given, names)
        return NotImplemented

    def _special(self, node: ast.AST, special: Callable[..., Any], given: list[Any], names: dict[str, Any]) -> Any:
        """A function of Python that is answered here. Raises Needs for arguments that it does not take."""
        if any(isinstance(each, Rest) for each in given) or "**" in names:
            raise Needs(causes_of([*given, *names.values()]))
        try:
            return special(self, node, given, names)
        except (IndexError, TypeError, KeyError, AttributeError):
            raise Needs((self.cause(node, Reason.CONSTRUCT),)) from None

    def _unfollowed(self, node: ast.AST, function: Unknown | Ref, given: list[Any], names: dict[str, Any]) -> Any:
        """A call of something that nobody here has read: what it is given may come back changed."""
        if isinstance(function, Ref) and function.path in library.FUNCTIONS:
            return library.FUNCTIONS[function.path](self, node, given, names)
        path = function.path if isinstance(function, Ref) else function.origin
        values = [*given, *names.values()]
        if {path, path.partition(".")[0]} & library.WRITING_CALLS:
            library.may_write(self, values)
        code = [value for value in values if self._holds_code(value)]
        known = path.partition(".")[0] in (_LEAVES_ALONE | sys.stdlib_module_names) - _CHANGING and not code
        method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        cause = self.cause(node, Reason.HANDED, give=_word(node), detail="its code was not read")
        self.reach(function, function.causes)
        for value in values:
            if known or method in _LOGGED:
                self.reach_own(value)
                for each in [] if isinstance(value, Unresolvable) else reachable(value):
                    self.may_run(each, function.causes)
            else:
                self._given_away(value, function, cause)
        for value in values:
            if isinstance(value, Node) and not value.is_path:
                self.handed_over(value, path.rpartition(".")[2] or "another object")
        if method == "fit" and not known:
            self.sight(node, "fit(…)", "start of something that is not known")
        if code:  # what comes back may be that code, or call it
            self.risks += 1
            return Unknown((cause,), among=code)
        if isinstance(function, Ref):
            return self.unknown(node, Reason.CALL, origin=path)
        return self.lacking_of(function)

    def _given_away(self, value: Any, function: Unknown | Ref, cause: Unresolved) -> None:
        """Nothing is known any more of what is handed to code that nobody here has read."""
        self.reach(value, function.causes)
        self.lose_all(value, [cause])
        for each in reachable(value):
            self.may_run(each, [cause])
            if isinstance(each, Scope):
                self.taint(cause)

    def _holds_code(self, value: Any) -> bool:
        """Whether a value is code of the launcher's own, or holds some."""
        if isinstance(value, Unresolvable):
            return False
        return any(
            id(each) in self.functions or isinstance(each, (MethodType, BuiltinMethodType, functools.partial))
            for each in reachable(value)
        )

    def plain_call(self, node: ast.AST, function: Any, given: list[Any], names: dict[str, Any]) -> Any:
        """A call of Python's own, with what is known. Raises Needs where it is not."""
        if any(isinstance(each, Rest) for each in given) or "**" in names:
            raise Needs(causes_of([*given, *names.values()]))
        owner = getattr(function, "__self__", None)
        owner = None if type(owner).__name__ == "module" else owner
        name = getattr(function, "__name__", "")
        if isinstance(owner, str):
            return self._of_text(node, owner, name, given, names)
        if not self._moves(function, owner, name):
            given = [self.resolved(each) for each in given]
            names = {word: self.resolved(each) for word, each in names.items()}
            marked = library.keeps_marks(function)
            looked_at = library.looked_at(owner, name, names)
            lacking = self.missing(
                owner, *given, *looked_at, marked=marked, ordered=_hashed(function) not in library.ORDERLESS
            )
            if lacking:
                return self._lacking(node, function, owner, [*given, *names.values()], lacking)
            library.affordable(self, node, function, given, names)
        elif isinstance(owner, dict):
            given = self._keyed(node, owner, name, given)
        elif unordered := self._in_order(function, name, given):
            return self._lacking(node, function, owner, [*given, *names.values()], unordered)
        try:
            made = self.python(function, *given, **names)
        except Needs as needs:
            return self._lacking(node, function, owner, [*given, *names.values()], needs.causes)
        if isinstance(made, MappingView):  # it shows what the mapping holds later, too
            self.stores[id(made)] = owner
            self.keep.append(made)
        return made

    def _lacking(
        self, node: ast.AST, function: Any, owner: Any, values: Iterable[Any], causes: Iterable[Unresolved]
    ) -> Any:
        """Python cannot do it: what it would have changed is unknown."""
        told = tuple(causes) or (self.cause(node, Reason.CONSTRUCT),)
        values = list(values)
        self.lose(owner, told)
        self.may_run(function, told)
        changes = getattr(function, "__module__", "") in _CHANGING
        for value in values:
            self.reach(value, told)
            for item in [] if isinstance(value, Unresolvable) else reachable(value):
                self.may_run(item, told)
                if changes:
                    self.lose(item, told)
        moments = all(isinstance(value, (Moment, str, int, float)) for value in values) and any(
            isinstance(value, Moment) for value in values
        )
        return Moment(told) if moments else self.lacking(*told)

    def _in_order(self, function: Any, name: str, given: list[Any]) -> tuple[Unresolved, ...]:
        """Why a call that goes through a set in its order is not known; () for any other call."""
        goes_through = _hashed(function) in library.MOVING - library.ORDERLESS or name == "extend"
        sets = [each for each in given if isinstance(each, (set, frozenset))]
        return self.missing(*sets) if goes_through and sets else ()

    def _moves(self, function: Any, owner: Any, name: str) -> bool:
        """Whether a call only moves values, so that it does not matter whether they are known."""
        if any(isinstance(owner, kind) and name in names for kind, names in library.MOVES.items()):
            return True
        if isinstance(function, type):
            return function in library.MOVING or issubclass(function, BaseException)
        if isinstance(owner, type):
            return True
        return _hashed(function) in library.MOVING

    def _keyed(self, node: ast.AST, owner: dict[Any, Any], name: str, given: list[Any]) -> list[Any]:
        """The arguments of a mapping's method, with the key that is meant."""
        if name not in {"get", "pop", "setdefault", "__getitem__", "__contains__"} or not given:
            return given
        return [
            self.found_key(node, owner, self.key(given[0]) if not isinstance(given[0], str) else given[0]),
            *given[1:],
        ]

    def _of_text(self, node: ast.AST, owner: str, name: str, given: list[Any], names: dict[str, Any]) -> Any:
        """A method of a text."""
        cause = self.cause(node, Reason.CONSTRUCT)
        given = [self.resolved(each) for each in given]
        if name == "format":
            return texts.formatted(self, owner, given, names, cause)
        if name == "format_map" and given:
            return texts.formatted(self, owner, [], given[0], cause)
        if name == "join" and len(given) == 1:
            if isinstance(given[0], Moment):
                return given[0]
            pieces = list(self.items(node, given[0]))
            if all(
                isinstance(each, (str, Moment)) or (isinstance(each, Unresolvable) and not isinstance(each, Node))
                for each in pieces
            ):
                pieces = [self.text_of(each, cause) for each in pieces]
            if sum(len(each) for each in pieces if isinstance(each, str)) > LONGEST:
                raise Needs((cause,))
            return self.python(owner.join, pieces)
        if self.marks.within(owner):
            return texts.method(self, owner, name, given, cause)
        lacking = self.missing(*given, *names.values())
        if lacking:
            raise Needs(lacking)
        function = getattr(owner, name)
        library.affordable(self, node, function, [owner, *given], names)
        return self.python(function, *given, **names)


def _hashed(function: Any) -> Any:
    """A function as a key."""
    try:
        hash(function)
    except Exception:  # noqa: BLE001 - the launcher's own __hash__ may raise anything
        return id(function)
    return function


def _word(node: ast.AST) -> str:
    """The name of the first argument that has one."""
    arguments = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
    return next((item.id for item in arguments if isinstance(item, ast.Name)), "")
