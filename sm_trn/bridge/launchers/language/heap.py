"""What can change: names of scopes, lists, mappings and objects, and what is not known any more of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..values import Environment, Node, Unknown, Unresolvable, Unresolved, contents
from .allowed import Stand


@dataclass(slots=True, eq=False)
class Scope:
    """Names of a module, a class that is being made, or a running function; ``local`` are those that a function assigns, and
    ``open`` those that code which nobody follows may set at any time, and why."""

    kind: str  # module, class, function
    names: Any = field(default_factory=dict)
    parent: Scope | None = None
    file: str = ""
    cell: int | None = None
    local: frozenset[str] = frozenset()
    open: dict[str, tuple[Unresolved, ...]] = field(default_factory=dict)

    def set(self, name: str, value: object) -> None:
        self.names[name] = Unknown(self.open[name], among=[value]) if name in self.open else value

    @property
    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Heap:
    """Everything that can change, with what has been lost of it."""

    def __init__(self) -> None:
        self.lost: dict[int, tuple[object, Unknown]] = {}
        self.stores: dict[int, object] = {}  # mappings that are an object's attributes, views of mappings, and whose

    def lose(self, item: object, causes: Iterable[Unresolved]) -> None:
        """Nothing is known any more of what an object holds."""
        item = self.stores.get(id(item), item)
        if isinstance(item, Node):
            item.tainted.extend(
                replace(cause, give="") for cause in causes
            )  # no text that is given would be that object
        elif changeable(item) or isinstance(item, Environment):
            known = self.lost.get(id(item))
            before = known[1].causes if known else ()
            gone = (item, Unknown((*before, *causes), among=(item,)))
            self.lost[id(item)] = gone
            self.lost |= {key: gone for key, owner in self.stores.items() if owner is item}

    def lose_all(self, value: object, causes: Iterable[Unresolved]) -> None:
        """Nothing is known any more of an object and of everything that it holds."""
        told = tuple(causes)
        for item in reachable(value):
            self.lose(item, told)


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
        and not isinstance(item, (type, Stand))
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
