"""What can change, and two ways through a condition: read one, put everything back, read the other, and keep what both say.

Whatever changes an object says so first (``touch``). While a way is being read, that notes what the object held, so that it can be put
back. Afterwards each object that either way has touched is joined: what differs is unknown.
"""

from __future__ import annotations

import collections
import operator
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import GeneratorType
from typing import Any, TypeAlias

from ..values import Cause, Environment, Needs, Node, Unknown, Unresolvable, contents
from .allowed import BUILTINS

Held: TypeAlias = dict[Any, Any] | list[Any] | set[Any] | None


@dataclass(slots=True, eq=False)
class Scope:
    """Names of a module, a class that is being made, or a running function; ``local`` are those that a function assigns."""

    kind: str  # module, class, function
    names: Any = field(default_factory=dict)
    parent: Scope | None = None
    file: str = ""
    cell: int | None = None
    local: frozenset[str] = frozenset()

    @property
    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Heap:
    """Everything that can change, with what has been noted of it."""

    def __init__(self) -> None:
        self.notes: list[dict[int, tuple[object, Held]]] = []
        self.lost: dict[int, tuple[object, Unknown]] = {}
        self.stores: dict[int, object] = {}  # mappings that are an object's attributes, and whose

    def touch(self, item: object) -> None:
        """Note what an object holds before it changes."""
        item = self.stores.get(id(item), item)
        if not self.notes:
            return
        if isinstance(item, GeneratorType):  # it ends with the last one who holds it, and no note is to hold it
            self.notes[-1][id(item)] = (weakref.ref(item), None)
        elif id(item) not in self.notes[-1]:
            self.notes[-1][id(item)] = (item, held(item))

    def lose(self, item: object, causes: Iterable[Cause]) -> None:
        """Nothing is known any more of what an object holds."""
        item = self.stores.get(id(item), item)
        item = item() if isinstance(item, weakref.ref) else item
        if isinstance(item, Node):
            self.touch(item)
            item.tainted.extend(causes)
        elif changeable(item) or isinstance(item, Environment):
            known = self.lost.get(id(item))
            before = known[1].causes if known else ()
            gone = (item, Unknown((*before, *causes), among=(item,)))
            self.lost[id(item)] = gone
            self.lost |= {key: gone for key, owner in self.stores.items() if owner is item}

    def lose_all(self, value: object, causes: Iterable[Cause]) -> None:
        """Nothing is known any more of an object and of everything that it holds."""
        told = tuple(causes)
        for item in reachable(value):
            self.lose(item, told)

    def way(
        self, read: Callable[[], object]
    ) -> tuple[object, dict[int, tuple[object, Held]], dict[int, tuple[object, Held]]]:
        """Read one way: what it gives, what it touched as that was before, and as it is after. Everything is put back."""
        self.notes.append({})
        try:
            result = read()
        except BaseException:
            self.put_back(self.notes.pop())
            raise
        before = self.notes.pop()
        after = {key: (item, held(item)) for key, (item, _) in before.items()}
        self.put_back(before)
        return result, before, after

    def put_back(self, noted: dict[int, tuple[object, Held]]) -> None:
        for item, contents_then in noted.values():
            put(item, contents_then)

    def take(self, noted: dict[int, tuple[object, Held]]) -> None:
        """Let every object hold what is noted of it."""
        for item, contents_then in noted.values():
            self.touch(item)
            put(item, contents_then)

    def join(self, first: dict[int, tuple[object, Held]], second: dict[int, tuple[object, Held]], cause: Cause) -> None:
        """Keep what both ways leave of each object; where they differ it is unknown for ``cause``."""
        for key, (item, _) in {**first, **second}.items():
            now = held(item)
            one, other = (each[key][1] if key in each else now for each in (first, second))
            self.touch(item)
            if one is None or other is None:
                self.lose(item, (cause,))
            else:
                self._joined(item, one, other, cause)

    def _joined(self, item: object, one: Any, other: Any, cause: Cause) -> None:
        if isinstance(item, (Scope, Environment)):
            put(item, _names(item, one, other, cause))
        elif isinstance(one, dict) and list(one) == list(other):
            put(item, {key: either(one[key], other[key], cause) for key in one})
        elif isinstance(one, list) and len(one) == len(other) and not isinstance(item, Node):
            put(item, [either(a, b, cause) for a, b in zip(one, other, strict=True)])
        elif (isinstance(item, Node) and len(one) == len(other) and all(map(operator.is_, one, other))) or (
            isinstance(one, set) and same(one, other)
        ):
            put(item, one)
        else:
            self.lose(item, (cause,))


def _names(scope: Scope | Environment, one: dict[str, Any], other: dict[str, Any], cause: Cause) -> dict[str, Any]:
    """A name that only one way defines is what that way says: the other way ends where it is used."""
    found = {}
    for name in {**one, **other}:
        if name in one and name in other:
            found[name] = either(one[name], other[name], cause)
        elif scope.kind == "class" or name in BUILTINS:
            found[name] = Unknown((cause,))
        else:
            found[name] = one.get(name, other.get(name))
    return found


def either(one: object, other: object, cause: Cause) -> object:
    """The value where both ways give the same, else unknown."""
    if same(one, other):
        return one
    inner = [each for value in (one, other) if isinstance(value, Unknown) for each in value.causes]
    return Unknown((cause, *inner), among=(one, other))


def same(one: object, other: object) -> bool:
    """Whether two values are one object, or equal values that cannot change."""
    if one is other:
        return True
    if type(one) is not type(other) or isinstance(one, Unresolvable):
        return False
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, (str, bytes, int, float, complex, range)):
        return repr(one) == repr(other)
    try:
        return isinstance(one, (set, frozenset)) and one == other
    except Needs:
        return False


def changes_anything(value: object) -> bool:
    """Whether something may happen through a value: it can change, holds what can, or is code of the launcher."""
    return not isinstance(value, (str, bytes, int, float, complex, range, type(None), Unresolvable)) or isinstance(
        value, Node
    )


def changeable(item: object) -> bool:
    """Whether an object can hold something else later."""
    return (
        not isinstance(
            item, (str, bytes, int, float, complex, tuple, frozenset, range, Unresolvable, type(None), slice)
        )
        and not isinstance(item, type)
        and not callable_alone(item)
    )


def callable_alone(item: object) -> bool:
    """Whether an object is a function of Python or of the launcher, which nothing changes."""
    return type(item).__name__ in {
        "function",
        "builtin_function_or_method",
        "method",
        "method_descriptor",
        "module",
        "method-wrapper",
    }


def held(item: object) -> Held:
    """A copy of what an object holds; None where that cannot be said."""
    if isinstance(item, Scope):
        return dict(item.names)
    if isinstance(item, Environment):
        return dict(item.known)
    if isinstance(item, Node):
        return list(item.events)
    if type(item).__name__ in {"SimpleNamespace", "Namespace"}:
        return dict(vars(item))
    if isinstance(item, dict):
        return dict(item)
    if isinstance(item, (list, collections.deque)):
        return list(item)
    return set(item) if isinstance(item, set) else None


def put(item: Any, contents_then: Held) -> None:
    """Let an object hold this."""
    if contents_then is None:
        return
    if isinstance(item, Scope):
        _put_mapping(item.names, contents_then)
    elif isinstance(item, Environment):
        _put_mapping(item.known, contents_then)
    elif isinstance(item, Node):
        item.events[:] = contents_then
    elif isinstance(item, dict):
        _put_mapping(item, contents_then)
    elif isinstance(item, (list, set, collections.deque)):
        item.clear()
        item.extend(contents_then) if not isinstance(item, set) else item.update(contents_then)
    else:
        _put_mapping(vars(item), contents_then)


def _put_mapping(target: Any, contents_then: Any) -> None:
    dict.clear(target)
    dict.update(target, contents_then)


def reachable(value: object) -> list[object]:
    """An object and everything that it holds, each once."""
    found: dict[int, object] = {}
    todo = [value]
    while todo:
        item = todo.pop()
        if id(item) not in found:
            found[id(item)] = item
            todo.extend(contents(item))
    return list(found.values())
