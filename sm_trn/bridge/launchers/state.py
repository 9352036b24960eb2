"""What a reading knows so far: scopes, the launches found, a budget; and how two ways through a condition are joined.

A condition that cannot be decided is read both ways on the same objects: the state is noted, one way is read, its result is
noted, the state is put back, the other way is read, and the two results are joined object by object. What differs is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from .values import Bound, Cause, Function, Instance, Place, Reason, Scope, Unknown, UserClass, same, unknown

STEPS: Final = 120_000  # expressions and statements of one reading
JOINS: Final = 400_000  # objects that are noted for conditions read both ways
DEPTH: Final = 30  # calls inside calls of the launcher's own functions
_MISSING: Final = object()

Contents: TypeAlias = dict[object, object] | list[object] | set[object]
Noted: TypeAlias = dict[int, tuple[object, Contents]]


class ExhaustedError(Exception):
    """The reading took more steps than it may."""


@dataclass(slots=True)
class Fit:
    """A call of ``fit``: its arguments by name."""

    place: Place
    arguments: dict[str, object]


@dataclass(slots=True)
class Site:
    """An estimator as it was when it was used: its class, its arguments by SDK v2's names, and the call that starts it."""

    place: Place
    cls: str
    arguments: dict[str, object]
    turn: int
    conditions: tuple[tuple[str, bool], ...] = ()
    fit: Fit | None = None
    within: str = ""  # tuner, pipeline step or queue that it was handed to
    request: dict[str, object] | None = None  # of a boto3 call, as it stands
    renamed: tuple[str, ...] = ()


@dataclass(slots=True)
class Sighting:
    """Something of the SDK that is no training job."""

    place: Place
    what: str
    kind: str


@dataclass(slots=True)
class State:
    """One reading of one launcher under given ``decisions`` and ``settings``."""

    file: str
    region: str
    settings: Mapping[str, object]
    decisions: Mapping[Place, bool]
    modules: Mapping[str, str]  # dotted names of sibling modules and their text
    body: Callable[[State, ast.FunctionDef | ast.AsyncFunctionDef], object]  # what a function's statements return
    assign: Callable[[State, ast.expr, object], None]
    sibling: Callable[[State, str], Scope | None]  # a module that lies beside the launcher
    cell: int | None = None
    lines: list[str] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    loaded: dict[str, Scope] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    assumed: dict[tuple[Place, str], None] = field(default_factory=dict)
    lost: list[Cause] = field(default_factory=list)  # why something that would be started is not known
    wanted: dict[Place, str] = field(default_factory=dict)  # undecided conditions, and their text
    stars: list[str] = field(default_factory=list)  # what brings names that nobody here has read
    conditions: list[tuple[str, bool]] = field(default_factory=list)
    pending: list[list[object]] = field(default_factory=list)
    splits: list[list[Cause]] = field(default_factory=list)  # conditions on which a function returns, one list a call
    exits: list[list[tuple[Noted, Cause]]] = field(
        default_factory=list
    )  # what they leave when they return, one list a call
    turns: dict[Place, int] = field(default_factory=dict)
    left_loop: bool = False
    runs: list[dict[str, object]] = field(default_factory=list)  # experiment runs that are open, the innermost last
    steps: int = STEPS
    joins: int = JOINS

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def spend(self) -> None:
        """Take a step from the budget. Raises ExhaustedError when nothing is left."""
        self.steps -= 1
        if self.steps < 0:
            raise ExhaustedError

    def place(self, node: ast.AST) -> Place:
        return Place(
            self.scope.file or self.file, self._cell(), getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        )

    def _cell(self) -> int | None:
        return None if self.scope.file not in {"", self.file} else self.cell

    def cause(self, node: ast.AST, reason: Reason, *, give: str = "", detail: str = "") -> Cause:
        return Cause(reason, self.place(node), expression(node), give, detail)

    def unknown(self, node: ast.AST, reason: Reason, *, give: str = "", detail: str = "") -> Unknown:
        return Unknown((self.cause(node, reason, give=give, detail=detail),))

    def undecided(self, node: ast.AST, test: ast.AST) -> bool | None:
        """What was decided about a condition that cannot be decided, which is noted as wanted; None where nothing was."""
        place = self.place(node)
        self.wanted[place] = expression(test)
        return self.decisions.get(place)

    def note(self) -> Noted:
        """The contents of every object that can change."""
        noted: Noted = {}
        todo: list[object] = [*self.scopes, *self.loaded.values()]
        while todo:
            held = todo.pop()
            if id(held) in noted:
                continue
            contents = _contents(held)
            if contents is None:
                if isinstance(held, Function):
                    todo += (held.scope, held.defaults)
                elif isinstance(held, Bound):
                    todo.append(held.owner)
                elif isinstance(held, tuple):
                    todo.extend(held)
                continue
            noted[id(held)] = (held, contents.copy())
            todo.extend(_inside(held, contents))
        self.joins -= sum(len(contents) + 1 for _, contents in noted.values())
        return noted

    def put_back(self, noted: Noted) -> None:
        for held, contents in noted.values():
            _set(held, contents)

    def join(self, one: Noted, other: Noted, cause: Cause) -> None:
        """Leave what both results say, and unknown for ``cause`` where they differ."""
        for key, (held, contents) in {**one, **other}.items():
            if key in one and key in other:
                joined = _names_joined if isinstance(held, Scope) else _joined
                both = joined(one[key][1], other[key][1], cause)
                if isinstance(held, dict) and isinstance(both, dict) and set(one[key][1]) != set(other[key][1]):
                    both["…"] = Unknown((cause,), rest=True)  # which keys it has is not known
                _set(held, both)
            else:
                _set(held, contents)


def expression(node: ast.AST) -> str:
    """Source of a node, short."""
    try:
        written = ast.unparse(node)
    except (ValueError, RecursionError, AttributeError, TypeError):
        return type(node).__name__
    return written if len(written) <= 100 else written[:99] + "…"


def _contents(held: object) -> Contents | None:
    if isinstance(held, Scope):
        return held.names  # type: ignore[return-value]  # names are keys like any other
    if isinstance(held, Instance):
        return held.arguments  # type: ignore[return-value]  # as above
    return held if isinstance(held, (dict, list, set)) else None


def _inside(held: object, contents: Contents) -> list[object]:
    inside = [*contents.values()] if isinstance(contents, dict) else [*contents]
    if isinstance(held, Scope) and held.parent is not None:
        inside.append(held.parent)
    if isinstance(held, Instance) and held.own is not None:
        inside.append(held.own.scope)
    return [
        item.scope if isinstance(item, UserClass) else item
        for item in inside
        if isinstance(item, (dict, list, set, tuple, Scope, Instance, Function, Bound, UserClass))
    ]


def _set(held: object, contents: Contents) -> None:
    target = _contents(held)
    if isinstance(target, dict) and isinstance(contents, dict):
        if target is not contents:
            kept = dict(contents)
            target.clear()
            target.update(kept)
    elif isinstance(target, list):
        target[:] = list(contents)
    elif isinstance(target, set):
        kept_items = set(contents)
        target.clear()
        target |= kept_items


def _names_joined(one: Contents, other: Contents, cause: Cause) -> Contents:
    """Names of a scope: one that only one way defines is what that way says, for the other way ends where it is used."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return _joined(one, other, cause)
    alone = {**one, **other}
    return {
        key: _either(one.get(key, _MISSING), other.get(key, _MISSING), cause)
        if (key in one and key in other) or not (isinstance(key, str) and key.isidentifier())
        else alone[key]
        for key in alone
    }


def _joined(one: Contents, other: Contents, cause: Cause) -> Contents:
    if isinstance(one, dict) and isinstance(other, dict):
        found: dict[object, object] = {}
        for key in {**one, **other}:
            found[key] = _either(one.get(key, _MISSING), other.get(key, _MISSING), cause)
        return found
    if isinstance(one, list) and isinstance(other, list):
        if len(one) == len(other):
            return [_either(a, b, cause) for a, b in zip(one, other, strict=True)]
        return [Unknown((cause,), rest=True)]
    if isinstance(one, set) and one == other:
        return one
    return {Unknown((cause,), rest=True)}


def _either(one: object, other: object, cause: Cause) -> object:
    if same(one, other):
        return one
    inner = [each for value in (one, other) if isinstance(value, Unknown) for each in value.causes]
    return unknown([cause, *inner])
