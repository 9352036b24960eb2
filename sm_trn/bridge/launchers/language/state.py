"""One reading of one launcher: where it stands, what it has found, and how many steps are left."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from ...sdk import Sdk
from ..values import (
    LONGEST,
    Asked,
    Environment,
    ExhaustedError,
    Folder,
    Given,
    Marks,
    Moment,
    Needs,
    Node,
    Place,
    Raised,
    Reason,
    Seen,
    Symbol,
    Unknown,
    Unresolvable,
    Unresolved,
    contents,
    merged,
    renamed,
)
from .heap import Heap, Scope

STEPS: Final = 150_000  # expressions, statements and items looked at in one reading
UNORDERED: Final = "the order of a set is another one in each run"
T = TypeVar("T")
Condition: TypeAlias = tuple[Place, int]  # of a place, and how often it was asked before, and now


_ABOVE: Final = 5  # folders above the launcher's that have a placeholder of their own
_ADDRESS: Final = " at 0x"  # what an object without words of its own is shown as: another one in each run


@dataclass(slots=True)
class Site:
    """A start of an estimator, or an estimator that nothing starts: its object, and what ``fit`` is given."""

    place: Place
    cls: str
    node: Node
    turn: int
    events: tuple[dict[str, Any], ...] = ()
    started: Place | None = None
    within: str = ""  # the tuner, pipeline step or queue that it was handed to
    lost: list[Unresolved] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    contexts: tuple[Node, ...] = ()
    environment: dict[str, Any] = field(default_factory=dict)  # variables at the start
    raw: bool = False  # a call of boto3
    wait: bool = True
    queue: dict[str, Any] = field(default_factory=dict)  # what SubmitServiceJob is told beside the job
    search: Site | None = None  # the tuner that starts it, and what its ``fit`` is given


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is given with a launcher: the user's values, a region, the texts of its modules, its folders, the SDK."""

    file: str
    region: str
    given: Given
    modules: Mapping[str, str]
    folders: tuple[Path, ...]
    sdk: Sdk
    call: str = ""

    @property
    def started_at_home(self) -> bool:
        """Whether the folder in which the launcher is started is its own, as a notebook's is."""
        return len(self.folders) == 1 or (bool(self.folders) and self.file.endswith(".ipynb"))


class State(Heap):
    """What a reading knows; the language is in the classes that inherit from it."""

    def __init__(self, settings: Settings, decisions: Mapping[Condition, bool], marks: Marks) -> None:
        super().__init__()
        self.settings, self.decisions, self.marks = settings, decisions, marks
        self.given = settings.given
        self.main = Scope("module", file=settings.file)
        self.main.names["__name__"] = "__main__"
        self.scopes: list[Scope] = [self.main]
        self.modules: dict[str, Scope] = {}
        self.sites: list[Site] = []
        self.sightings: list[Seen] = []
        self.assumed: dict[tuple[Place, str], None] = {}
        self.wanted: dict[Condition, str] = {}  # conditions that cannot be decided, and their text
        self.asked: Counter[Place] = Counter()
        self.unread: list[tuple[Place, str]] = []  # what is not followed at all, and why
        self.called: set[Place] = set()
        self.skipped: dict[Place, tuple[Unresolved, ...]] = {}  # calls in what is not followed, and why
        self.tainted: list[Unresolved] = []  # why anything may be different from here on
        self.environment = Environment(Unresolved(Reason.CALL, Place(settings.file, None, 1), "os.environ"))
        self.contexts: list[Node] = []
        self.steps, self.risks, self.guards, self.turn = STEPS, 0, 0, 0
        self.effects: list[Node] = []  # calls of boto3 that change what comes after them
        self.starts: list[tuple[dict[str, Any], ...]] = []  # what led to each start so far, and the start
        self.used: set[Symbol | Unresolved] = set()  # placeholders that values for the SDK hold
        self.places: set[Unresolved] = set()  # texts that only the user knows, which have to be places in S3
        self.moves = False  # it may change the folder in which it works
        self.repaths = False  # it may change where modules are looked for
        self.rewords = False  # it may change the command line
        self.written_files: set[str] = set()
        self.keep: list[object] = []  # objects whose identity stands for them in texts for the SDK
        self.folder = "/" + "/".join(marks.mark(Folder(above)) for above in reversed(range(_ABOVE)))

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def spend(self, steps: int = 1) -> None:
        """Take steps from the budget. Raises ExhaustedError when nothing is left."""
        self.steps -= steps
        if self.steps < 0:
            raise ExhaustedError

    def place(self, node: ast.AST) -> Place:
        return Place(self.scope.file, self.scope.cell, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))

    def cause(self, node: ast.AST, reason: Reason, *, give: str = "", detail: str = "") -> Unresolved:
        return Unresolved(reason, self.place(node), expression(node), give, detail)

    def sight(self, node: ast.AST, what: str, kind: str) -> None:
        """Note something of the SDK that is no training job."""
        self.sightings.append(Seen(self.place(node), what, kind))

    def relative(self, text: str) -> str:
        """A text in which the launcher's own folder is a dot."""
        marks = self.folder.split("/")[1:]
        for up in range(_ABOVE):
            above = "/" + "/".join(marks[: _ABOVE - up])
            if text.startswith(above):
                return ("/".join([".."] * up) or ".") + text[len(above) :]
        return text

    def without_folder(self, path: str) -> str | None:
        """A path as it is seen from the launcher's folder; None where it holds another placeholder."""
        path = self.relative(path)
        return None if self.marks.within(path) else path

    def unknown(self, node: ast.AST, reason: Reason, *, give: str = "", detail: str = "", origin: str = "") -> Unknown:
        """A value that nobody knows; getting it may have raised."""
        self.risks += 1
        return Unknown((self.cause(node, reason, give=give, detail=detail),), origin)

    def asked_of_user(self, node: ast.AST, *, give: str, detail: str) -> Asked:
        """A text that only the user knows; getting it may have raised."""
        self.risks += 1
        return Asked((self.cause(node, Reason.CALL, give=give, detail=detail),))

    def lacking(self, *causes: Unresolved) -> Unknown:
        self.risks += 1
        return Unknown(causes)

    def taint(self, *causes: Unresolved) -> None:
        """From here on anything may be different."""
        self.risks += 1
        self.tainted = list(merged([*self.tainted, *causes]))

    def assume(self, node: ast.AST, what: str) -> None:
        self.assumed[self.place(node), what] = None

    def undecided(self, node: ast.AST, text: str) -> bool | None:
        """What was decided about a condition that cannot be decided, which is noted; None where nothing was."""
        place = self.place(node)
        self.asked[place] += 1
        condition = (place, self.asked[place])
        self.wanted[condition] = text
        return self.decisions.get(condition)

    @contextmanager
    def guarded(self) -> Any:
        """A block in which what is raised may be caught."""
        self.guards += 1
        try:
            yield
        finally:
            self.guards -= 1

    def python(self, function: Callable[..., T], *given: Any, **names: Any) -> T:
        """Let Python do it. Raises Raised for what the launcher would raise there, and Needs for what is not known."""
        try:
            result = function(*given, **names)
        except MemoryError:
            raise ExhaustedError from None
        except RecursionError:
            raise
        except Exception as error:  # noqa: BLE001 - the launcher's own code may raise anything
            raise Raised(error) from None
        except (SystemExit, KeyboardInterrupt) as error:
            raise Raised(error) from None
        if isinstance(result, str) and _ADDRESS in result:
            raise Needs(
                (Unresolved(Reason.CALL, Place(self.settings.file, self.main.cell, 1), "an address in memory"),)
            )
        return result

    def missing(self, *values: object, marked: bool = False, ordered: bool = True) -> tuple[Unresolved, ...]:
        """Why something in the values is not known: () where Python may compute with them; with ``marked`` placeholders are no
        reason, without ``ordered`` the order of a set is none. Raises Needs for what is too large."""
        causes: list[Unresolved] = []
        weights: dict[int, int] = {}
        if sum(self._weight(value, weights, causes, 0) for value in values) > LONGEST:
            raise Needs(
                (
                    Unresolved(
                        Reason.CONSTRUCT,
                        Place(self.settings.file, self.main.cell, 1),
                        "…",
                        detail="a value that is too large",
                    ),
                )
            )
        return merged(
            cause
            for cause in causes
            if not (marked and cause.reason is Reason.PLACEHOLDER) and (ordered or cause.detail != UNORDERED)
        )

    def too_large(self, value: object) -> tuple[Unresolved, ...]:
        """Why a value is not written out: what is held twice is written twice. Empty where it is small enough."""
        try:
            self.missing(value)
        except Needs as needs:
            return needs.causes
        return ()

    def _weight(self, value: object, weights: dict[int, int], causes: list[Unresolved], depth: int) -> int:
        """How large a value is when it is written out; what is held twice counts twice."""
        if isinstance(value, Unresolvable):
            causes.extend(value.causes)
            return 1
        if isinstance(value, str):
            if self.marks.within(value):
                causes.extend(self.marks.causes(value) or [self.placeholder(value)])
            return 1 + len(value)
        if isinstance(value, (bytes, range)):
            return 1 + len(value)
        if id(value) in self.lost:
            causes.extend(self.lost[id(value)][1].causes)
            return 1
        if id(value) in weights:
            return weights[id(value)]
        inside = list(contents(value))
        if not inside:
            return 1
        self.spend(len(inside))
        if (
            isinstance(value, (set, frozenset))
            and len(value) > 1
            and not all(isinstance(each, (int, float)) for each in value)
        ):
            causes.append(
                Unresolved(Reason.LOOP, Place(self.settings.file, self.main.cell, 1), "a set", detail=UNORDERED)
            )
        weights[id(value)] = 1  # what holds itself is written once
        if depth > 200:
            raise ExhaustedError
        weights[id(value)] = min(
            LONGEST + 1, 1 + sum(self._weight(item, weights, causes, depth + 1) for item in inside)
        )
        return weights[id(value)]

    def placeholder(self, text: str) -> Unresolved:
        """Why an operation on a text with placeholders is not known."""
        symbols = sorted(symbol.value for symbol in self.marks.symbols(text) if isinstance(symbol, Symbol))
        return Unresolved(
            Reason.PLACEHOLDER,
            Place(self.settings.file, self.main.cell, 1),
            " and ".join(symbols),
            symbols[0] if symbols else "",
        )

    def settled(self, name: str, value: object) -> object:
        """A value that is going to be called ``name``: what the user gives under it where the code cannot tell, else named by it."""
        unknown = isinstance(value, (Unknown, Unresolvable)) and not isinstance(value, Node)
        text = isinstance(value, str) and self.marks.within(value) and bool(self.marks.causes(value))
        if not unknown and not text and id(value) not in self.lost:
            return value
        if name in self.given:
            return self.given[name]
        if isinstance(value, str):
            return self.marks.changed(value, lambda cause: _named(cause, name))
        return renamed(value, lambda cause: _named(cause, name)) if isinstance(value, Unknown) else value

    def symbol(self, symbol: Symbol) -> object:
        """A placeholder, or the user's own value of it."""
        return self.given.get(symbol.value) or self.marks.mark(symbol)

    def text_of(self, value: object, cause: Unresolved) -> str:
        """A value as it stands in a text."""
        if isinstance(value, str):
            return value
        if isinstance(value, Moment):
            return self.marks.mark(Symbol.TIME)
        if isinstance(value, Unresolvable):
            return self.marks.mark(value if not isinstance(value, Node) else Unknown((cause,)))
        lacking = self.missing(value, marked=True)
        return self.marks.mark(Unknown(lacking)) if lacking else self.python(str, value)


def _named(cause: Unresolved, name: str) -> Unresolved:
    if cause.give or cause.reason is Reason.PIPELINE or not name:
        return cause
    return Unresolved(cause.reason, cause.place, cause.expression, name, cause.detail)


def expression(node: ast.AST) -> str:
    """Source of a node, short."""
    try:
        written = ast.unparse(node)
    except (ValueError, RecursionError, AttributeError, TypeError):
        return type(node).__name__
    return written if len(written) <= 100 else written[:99] + "…"


def causes_of(values: Iterable[object]) -> list[Unresolved]:
    """The causes of the values themselves."""
    return [cause for value in values if isinstance(value, Unresolvable) for cause in value.causes]
