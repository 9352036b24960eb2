"""How a wrong field is answered: an unknown one with the field that was meant, a value of another type with what was wanted.

Knows nothing of jobs: a class says itself which words of others it is often given.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import sys
import types
import typing
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

T = TypeVar("T")
SHOWN = 60  # characters of a wrong value


def suggestion(word: str, known: Iterable[str]) -> str:
    """The known name closest to ``word`` as `` (did you mean …?)``, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def suggesting(cls: type[T]) -> type[T]:
    """Make the dataclass ``cls`` refuse unknown fields, and values of another type, with a TypeError that says what was meant.

    ``cls.ELSEWHERE``, when there is one, maps words that people use to how it is written here; ``cls.WANTED`` maps fields to
    an example of their value.
    """
    fields = [field for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]  # always a dataclass
    accepts = [field.name for field in fields]
    positional = [field.name for field in fields if not field.kw_only]
    original, values = cls.__init__, cast("Any", cls)
    elsewhere: Mapping[str, str] = getattr(cls, "ELSEWHERE", {})
    wanted: Mapping[str, str] = getattr(cls, "WANTED", {})

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the class's own
        unknown = [name for name in kwargs if name not in accepts]
        if unknown:
            hints = ", ".join(
                f"{name!r} (write {elsewhere[name]})" if name in elsewhere else f"{name!r}{suggestion(name, accepts)}"
                for name in unknown
            )
            raise TypeError(f"{cls.__name__}: unknown field {hints}; fields are {', '.join(accepts)}")
        tests = _accepted(values)
        for name, value in (*zip(positional, args, strict=False), *kwargs.items()):
            if not tests[name](value):
                raise TypeError(
                    f"{cls.__name__}.{name}: {misfit(value, wanted.get(name) or _word(annotations_of(values)[name]))}"
                )
        original(self, *args, **kwargs)

    cls.__init__ = __init__  # type: ignore[method-assign]  # same call, clearer refusal
    return cls


def fits(cls: Any, name: str, value: object) -> bool:
    """Return True if ``cls`` has a field ``name`` and takes ``value`` for it."""
    return name in _accepted(cls) and _accepted(cls)[name](value)


def misfit(value: object, wanted: str) -> str:
    """A wrong value and its type beside what was wanted, in words."""
    shown = repr(value)
    return f"got {shown if len(shown) <= SHOWN else shown[:SHOWN] + '…'} ({type(value).__name__}), wanted {wanted}"


@functools.cache
def annotations_of(cls: Any) -> Mapping[str, Any]:
    """The types of a dataclass's fields, by name."""
    # Of the fields alone: Python 3.10 takes the marker KW_ONLY, which stands among a class's annotations, for no type.
    written = types.SimpleNamespace(__annotations__={field.name: field.type for field in dataclasses.fields(cls)})
    homes = (vars(sys.modules[each.__module__]) for each in cls.__mro__)  # a field may be a base's, of another module
    return typing.get_type_hints(written, globalns=dict(ChainMap(*homes)))


@functools.cache
def _accepted(cls: Any) -> Mapping[str, Callable[[Any], bool]]:
    return {field.name: _test(annotations_of(cls)[field.name]) for field in dataclasses.fields(cls)}


def _test(hint: Any) -> Callable[[Any], bool]:
    """Return a test for values of a field's declared type, as strict as later errors require."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        tests = [_test(each) for each in inner]
        return lambda value: any(test(value) for test in tests)
    if hint in {int, float}:
        kinds = (int, float) if hint is float else (int,)
        return lambda value: isinstance(value, kinds) and not isinstance(value, bool)
    if origin is tuple:
        item = _test(inner[0])
        return lambda value: isinstance(value, (tuple, list)) and all(map(item, value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, item = (
            _test(inner[0]),
            _test(inner[1]) if str in {inner[1], *typing.get_args(inner[1])} else lambda _: True,
        )
        numbers = int in typing.get_args(inner[1])  # hyperparameters: preflight says what of them does not travel
        return lambda value: (
            isinstance(value, Mapping) and all(key(k) and (numbers or item(v)) for k, v in value.items())
        )
    if getattr(hint, "_is_protocol", False):  # an open set, whose registry knows what a member must have
        return lambda value: not isinstance(value, (type, str, Mapping, int))
    return (lambda value: isinstance(value, hint)) if isinstance(hint, type) else lambda _: True


def _word(hint: Any) -> str:
    """A field's type in words: ``a text or nothing``."""
    words = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", type(None): "nothing"}
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(map(_word, inner))
    if origin is tuple:
        return f"a list, each {_word(inner[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a mapping of texts, each to {_word(inner[1])}"
    return words[hint] if hint in words else str(getattr(hint, "__name__", hint))
