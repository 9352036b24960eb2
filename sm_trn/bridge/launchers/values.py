"""What an expression of a launcher is: a value of Python itself, or one that says why it is not known.

Known values are Python's own. The others are of the classes here: each operation on them raises ``Needs``, so that nothing can be
computed from what is not known.
"""

from __future__ import annotations

import enum
import re
from argparse import Namespace
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final, NoReturn

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
    VALUE = "the value has no form that a request can hold"
    REFUSED = "SDK v2 refuses it"
    LIBRARY = "SDK v2 is not installed here, and it alone says what it sends"
    DYNAMIC = "code that is made or found while the launcher runs may change anything here"
    HANDED = "it was handed to a call that is not followed, which may have changed it"
    UNREACHED = "the launcher does not come here by itself"


@dataclass(frozen=True, slots=True)
class Unresolved:
    """One root cause for which a job is not complete: everything that depends on it is unknown for the same reason. ``give`` is the
    name that ``--set`` takes, '' where no value would help; ``call`` what ``--run --call`` takes to come there.

    >>> hole = st.read_launchers("launch.py").launches[1].holes[0]
    >>> hole.give
    'epochs'
    """

    reason: Reason
    place: Place
    expression: str
    give: str = ""
    detail: str = ""
    call: str = ""

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.place}: {self.expression}: {self.reason.value}{detail}"

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two causes one: JumpStart's look-ups are one, because one model's id stands behind them, and so are a
        pipeline's values, which are known when it runs."""
        if self.reason in {Reason.JUMPSTART, Reason.LIBRARY}:
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


@dataclass(frozen=True, slots=True)
class Seen:
    """Something of the SDK that was recognised and is not converted."""

    place: Place
    what: str
    kind: str


class Symbol(enum.Enum):
    """What the account and the moment add: it stands in texts as a visible word until it is given."""

    ROLE = "role"
    BUCKET = "bucket"
    ACCOUNT = "account"
    REGION = "region"
    TIME = "time"


class Given(dict[str, object]):
    """Values that the user gives, by name, and how each was written: arguments of a command line and variables are texts.

    >>> Given({"rate": 0.0001}, {"rate": "1e-4"}).text("rate"), Given({"epochs": 3}).text("epochs")
    ('1e-4', '3')
    """

    def __init__(
        self, values: Mapping[str, object] = MappingProxyType({}), texts: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(values)
        self.texts = {**getattr(values, "texts", {}), **texts}

    def text(self, name: str) -> str:
        """The text that stands for a value; of a text itself, that."""
        value = self[name]
        return value if isinstance(value, str) else self.texts.get(name, str(value))


class Needs(BaseException):
    """An operation needs a value that is not known. No ``except`` of a launcher catches it."""

    def __init__(self, causes: Iterable[Unresolved]) -> None:
        super().__init__()
        self.causes = tuple(causes)


class Raised(BaseException):
    """An exception that the launcher itself raises."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class ExhaustedError(BaseException):
    """The reading took more steps than it may."""


class Unresolvable:
    """A value that Python cannot compute with: each operation on it raises ``Needs``."""

    __slots__ = ("causes",)
    causes: tuple[Unresolved, ...]

    def needed(self, *_: object, **__: object) -> NoReturn:
        """Raises Needs."""
        raise Needs(self.causes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Needs(self.causes)

    def __copy__(self) -> Unresolvable:
        return self

    def __deepcopy__(self, memo: object) -> Unresolvable:
        return self

    __bool__ = __len__ = __iter__ = __next__ = __contains__ = __hash__ = needed
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = needed
    __str__ = __repr__ = __format__ = __bytes__ = __index__ = __int__ = __float__ = needed
    __getitem__ = __setitem__ = __delitem__ = __call__ = __enter__ = __exit__ = __await__ = needed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = needed
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = needed
    __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = needed
    __matmul__ = __rmatmul__ = __neg__ = __pos__ = __invert__ = __abs__ = __round__ = __fspath__ = needed


class Unknown(Unresolvable):
    """A value for which these causes stand. ``origin`` is the module of somebody else's that it comes from, ``among`` are the known
    objects that it may be, or be a part of: who changes it may change one of them.
    """

    __slots__ = ("among", "origin")

    def __init__(self, causes: Iterable[Unresolved], origin: str = "", among: Iterable[object] | None = None) -> None:
        self.causes = tuple({cause.key: cause for cause in causes}.values())
        self.origin = origin
        self.among = None if among is None else tuple(among)


class Asked(Unknown):
    """A text that only the user knows, such as an argument of the command line: in a job a visible word stands for it."""

    __slots__ = ()


def word_for(cause: Unresolved) -> str:
    """The visible word for a text that only the user knows.

    >>> word_for(Unresolved(Reason.CALL, Place("launch.py", None, 1), "os.environ['HF_TOKEN']", "HF_TOKEN"))
    'YOUR-HF-TOKEN'
    """
    return f"YOUR-{re.sub('[^A-Z0-9]+', '-', cause.give.upper()).strip('-')}"


class OwnCode(Unknown):
    """A class of the launcher's own, or what comes of one. Its methods are ``among`` it, and may run wherever it is mentioned."""

    __slots__ = ()


class Moment(Unknown):
    """A time, or what is made of one alone: in a text it is a placeholder."""

    __slots__ = ()


class Ref(Unresolvable):
    """A module, class or function of somebody else, by its dotted path."""

    __slots__ = ("path",)

    def __init__(self, path: str, place: Place) -> None:
        self.path = path
        module = path.rpartition(".")[0] or path
        self.causes = (Unresolved(Reason.MODULE, place, path, path.rpartition(".")[2], module),)

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]


class Node(Unresolvable):
    """Something of the SDK or of boto3: a path, or what a call, an attribute or an item gives. The SDK itself says what it is.

    ``events`` are its making and its changes, each with the number of its turn; ``tainted`` says why it may be another.
    """

    __slots__ = ("events", "name", "number", "owner", "path", "place", "started", "tainted")

    def __init__(self, path: str, place: Place, *, number: int = -1, owner: Node | None = None, name: str = "") -> None:
        self.path, self.place, self.number, self.owner, self.name = path, place, number, owner, name
        self.events: list[dict[str, Any]] = []
        self.tainted: list[Unresolved] = []
        self.started = False
        self.causes = (Unresolved(Reason.VALUE, place, path),)

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def owners(self) -> list[Node]:
        """The objects that it is a part of, the nearest first; none for what a call has given."""
        if self.owner is None or not self.events or self.events[0]["kind"] not in {"attribute", "item"}:
            return []
        return [self.owner, *self.owner.owners]

    @property
    def is_path(self) -> bool:
        """Whether it is a class, function or module itself, and nothing that a call has given."""
        return self.number < 0


class Environment(Unresolvable):
    """The variables of the environment: those that the launcher has set, and others that nobody knows."""

    __slots__ = ("known",)
    kind = "class"  # a variable that one way sets is not known after both

    def __init__(self, cause: Unresolved) -> None:
        self.causes = (cause,)
        self.known: dict[str, object] = {}


@dataclass(frozen=True, slots=True)
class Folder:
    """The launcher's own folder, or one so many above it: a placeholder in paths."""

    above: int


class Marks:
    """Placeholders and unknown parts in texts: each is a word that nobody writes, so that Python's own operations keep it."""

    def __init__(self, text: str = "") -> None:
        self._word = "xq7zv"
        while self._word in text:
            self._word += "q"
        self._held: list[Symbol | Folder | Unresolvable] = []
        self._numbers: dict[object, int] = {}
        self._pattern = re.compile(rf"{self._word}(\d+)z")

    def mark(self, part: Symbol | Folder | Unresolvable) -> str:
        """The word for a part; parts that are unknown for the same causes have the same."""
        key = (type(part) is Asked, part.causes) if isinstance(part, Unresolvable) else part
        if key not in self._numbers:
            self._numbers[key] = len(self._held)
            self._held.append(part)
        return f"{self._word}{self._numbers[key]}z"

    def within(self, text: str) -> bool:
        """Whether a text holds a word of these."""
        return self._word in text

    def parts(self, text: str) -> list[str | Symbol | Folder | Unresolvable]:
        """The text cut into plain texts and what the words stand for."""
        pieces = self._pattern.split(text)
        found: list[str | Symbol | Folder | Unresolvable] = []
        for index, piece in enumerate(pieces):
            if index % 2:
                found.append(self._held[int(piece)])
            elif piece:
                found.append(piece)
        return found

    def symbols(self, text: str) -> set[Symbol | Folder]:
        return {part for part in self.parts(text) if isinstance(part, (Symbol, Folder))}

    def causes(self, text: str) -> list[Unresolved]:
        return [cause for part in self.parts(text) if isinstance(part, Unresolvable) for cause in part.causes]

    def changed(self, text: str, change: Callable[[Unresolved], Unresolved]) -> str:
        """The text with the causes of its unknown parts changed."""
        return "".join(
            part
            if isinstance(part, str)
            else self.mark(part if isinstance(part, (Symbol, Folder)) else renamed(part, change))
            for part in self.parts(text)
        )

    def filled(self, text: str, words: Callable[[Symbol | Asked], str]) -> str:
        """The text with a visible word for each placeholder; folders stay. Raises Needs for a part that is not known."""

        def word(found: re.Match[str]) -> str:
            held = self._held[int(found[1])]
            if isinstance(held, (Symbol, Asked)):
                return words(held)
            if isinstance(held, Folder):
                return found[0]
            raise Needs(held.causes)

        return self._pattern.sub(word, text)


def renamed(value: Unresolvable, change: Callable[[Unresolved], Unresolved]) -> Unresolvable:
    """The same value that is not known, with its causes changed."""
    if isinstance(value, Unknown):
        return type(value)(map(change, value.causes), value.origin, value.among)
    return value


def merged(causes: Iterable[Unresolved]) -> tuple[Unresolved, ...]:
    """Each root cause once."""
    return tuple({cause.key: cause for cause in causes}.values())


def contents(value: object) -> Iterator[object]:
    """What a list, a mapping or an object holds, and the objects that a value that is not known may be."""
    if isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, (list, tuple, set, frozenset, KeysView, ValuesView, ItemsView)):
        yield from value
    elif isinstance(value, (SimpleNamespace, Namespace)):
        yield from vars(value).values()
    elif isinstance(value, Unknown):
        yield from value.among or ()
