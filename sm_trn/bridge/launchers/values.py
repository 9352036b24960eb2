"""What an expression of a launcher is known to be: a value, a text with placeholders in it, or unknown for a cause."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Arguments: TypeAlias = list[object]
Names: TypeAlias = dict[str, object]
LONGEST: Final = 200_000  # characters of a text, items of a list: what is longer is not followed


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something stands: a file, the code cell of a notebook counted from 1, a line of that cell or file, a column from 0.

    >>> print(st.read_launchers("launch.py").launches[0].place)
    launch.py, line 5
    """

    file: str
    cell: int | None
    line: int
    column: int = 0

    def __str__(self) -> str:
        cell = f", cell {self.cell}" if self.cell is not None else ""
        return f"{self.file}{cell}, line {self.line}"


class Reason(enum.Enum):
    """Why a value is not known without running the launcher."""

    CALL = "only running the call tells"
    JUMPSTART = "JumpStart's tables are in S3, and no file of them is here"
    UNDEFINED = "the name is never defined in what was read"
    BRANCH = "it depends on a condition that cannot be decided here"
    LOOP = "it depends on what a loop goes through"
    PLACEHOLDER = "it depends on the account, the region or the time"
    RESULT = "it is known only after a job has run"
    SHELL = "it comes from a command of the shell"
    EMPTY = "the text is empty: it was left to be filled in"
    PIPELINE = "it is a value of a pipeline, known when that runs"
    MODULE = "its module does not lie beside the launcher"
    CONSTRUCT = "this form of expression is not followed"
    IMAGE = "no table here has this image"
    VALUE = "the value has no form that a request can hold"
    REFUSED = "SDK v2 refuses it"
    DYNAMIC = "code that is made or found while the launcher runs may change anything here"
    HANDED = "it was handed to a call that is not followed, which may have changed it"


@dataclass(frozen=True, slots=True)
class Cause:
    """One root cause: everything that depends on it is unknown for the same reason. ``give`` is what ``--set`` names."""

    reason: Reason
    place: Place
    expression: str
    give: str = ""
    detail: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two causes one: JumpStart's look-ups are one, because one model's id stands behind them, and so are a
        pipeline's values, which are known when it runs."""
        if self.reason is Reason.JUMPSTART:
            return (self.reason, self.place.file)
        if self.reason is Reason.PIPELINE:
            return (self.reason, self.give or self.place.file)
        if self.reason is Reason.MODULE:
            return (self.reason, self.detail)
        if self.reason in {Reason.UNDEFINED, Reason.PLACEHOLDER}:
            return (self.reason, self.give or self.expression)
        if self.reason is Reason.SHELL:
            return (self.reason, self.place, self.expression, self.give)
        return (self.reason, self.place, self.expression)


class Symbol(enum.Enum):
    """What the account and the moment add: it stands in texts as a visible word until it is given."""

    ROLE = "role"
    BUCKET = "bucket"
    ACCOUNT = "account"
    REGION = "region"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value for which these causes stand. ``rest`` marks a list or mapping whose further items are not known."""

    causes: tuple[Cause, ...]
    rest: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A text with placeholders or unknown parts in it; without any it would be a ``str``."""

    parts: tuple[str | Symbol | Unknown, ...]

    @property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset(part for part in self.parts if isinstance(part, Symbol))

    @property
    def causes(self) -> tuple[Cause, ...]:
        return tuple(cause for part in self.parts if isinstance(part, Unknown) for cause in part.causes)


@dataclass(frozen=True, slots=True)
class Ref:
    """A module, class or function of somebody else, by its dotted path."""

    path: str

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(slots=True, eq=False)
class Scope:
    """Names of a module or of a running function."""

    names: dict[str, object] = field(default_factory=dict)
    parent: Scope | None = None
    file: str = ""
    elsewhere: dict[str, Scope] = field(default_factory=dict)  # names that global and nonlocal put into another scope


@dataclass(slots=True, eq=False)
class Instance:
    """An object that the launcher made: of the SDK, of boto3, or of a class of its own. ``arguments`` are also its attributes."""

    cls: str
    arguments: dict[str, object]
    place: Place
    own: UserClass | None = None


@dataclass(slots=True, eq=False)
class UserClass:
    """A class of the launcher's own."""

    name: str
    scope: Scope
    base: Ref | None = None  # a class of the SDK that it is made from
    fields: tuple[str, ...] = ()  # of a dataclass, a named tuple, a model: what its objects are made with, in order


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of the launcher's own, the cell that it stands in, and what of a class it is by its decorator: ``property``,
    ``staticmethod``, ``classmethod``.
    """

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    cell: int | None
    defaults: dict[str, object]  # of its arguments, made once
    kind: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A method of a value, not called yet."""

    owner: object
    name: str


def unknown(causes: Iterable[Cause], *, rest: bool = False) -> Unknown:
    """Unknown for these causes, each once."""
    return Unknown(tuple({cause.key: cause for cause in causes}.values()), rest)


def missing_module(value: Ref, place: Place) -> Cause:
    """Why something of a module that nobody here has read is not known."""
    module = value.path.rpartition(".")[0] or value.path
    return Cause(Reason.MODULE, place, value.path, value.last, module)


def text(parts: Iterable[str | Symbol | Unknown]) -> str | Text:
    """The parts as one text: a plain one where nothing in it is a placeholder or unknown."""
    joined: list[str | Symbol | Unknown] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    if not joined:
        return ""
    if len(joined) == 1 and isinstance(joined[0], str):
        return joined[0]
    return Text(tuple(joined))


def parts_of(value: object) -> tuple[str | Symbol | Unknown, ...] | None:
    """The parts of a text; None for what is no text."""
    if isinstance(value, str):
        return (value,)
    return value.parts if isinstance(value, Text) else None


def lacking(values: Iterable[object], place: Place) -> list[Cause]:
    """Why values are not known: their own causes, and the modules that nobody here has read."""
    return [
        cause
        for value in values
        for cause in (
            [missing_module(value, place)] if isinstance(value, Ref) and "." in value.path else causes_in(value)
        )
    ]


def with_causes(value: object, change: Callable[[Cause], Cause]) -> object:
    """The value with its own causes changed."""
    if isinstance(value, Unknown):
        return unknown([change(cause) for cause in value.causes], rest=value.rest)
    if isinstance(value, Text):
        return Text(
            tuple(part if not isinstance(part, Unknown) else unknown(map(change, part.causes)) for part in value.parts)
        )
    return value


def causes_in(value: object) -> Iterator[Cause]:
    """Yield every cause in a value and in what it contains. A value that contains itself is visited once."""
    todo, seen = [value], set[int]()
    while todo:
        item = todo.pop()
        if isinstance(item, (Unknown, Text)):
            yield from item.causes
            continue
        inside = contents(item)
        if inside and id(item) not in seen:
            seen.add(id(item))
            todo.extend(reversed(inside))


def contents(value: object) -> list[object]:
    """What a value contains."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    return list(value.arguments.values()) if isinstance(value, Instance) else []


def known(value: object) -> bool:
    """Whether nothing in the value is unknown or a placeholder, so that Python itself may compute with it."""
    return plain(value) and next(causes_in(value), None) is None


def plain(value: object) -> bool:
    """Whether the value is made of texts, numbers, lists and mappings alone, without placeholders, and does not hold itself."""
    todo, seen = [value], set[int]()
    while todo:
        item = todo.pop()
        if isinstance(item, (list, tuple, set, frozenset, dict)):
            if item and id(item) in seen:
                return False
            seen.add(id(item))
            todo.extend(contents(item))
        elif item is not None and not isinstance(item, (str, int, float, bytes, complex, range)):
            return False
    return True


def same(one: object, two: object, depth: int = 20) -> bool:
    """Whether two values are the same, as far as they are known."""
    if one is two:
        return True
    if type(one) is not type(two) or not depth:
        return False
    if isinstance(one, dict) and isinstance(two, dict):
        return list(one) == list(two) and all(same(one[key], two[key], depth - 1) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        return len(one) == len(two) and all(same(a, b, depth - 1) for a, b in zip(one, two, strict=True))
    if isinstance(one, Instance) and isinstance(two, Instance):
        return one.cls == two.cls and same(one.arguments, two.arguments, depth - 1)
    if isinstance(one, Function) and isinstance(two, Function):
        return one.node is two.node
    if isinstance(one, Unknown) and isinstance(two, Unknown):
        return {cause.key for cause in one.causes} == {cause.key for cause in two.causes}
    try:
        return bool(one == two)
    except (TypeError, ValueError, RecursionError):
        return False
