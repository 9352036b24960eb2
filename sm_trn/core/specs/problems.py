"""One fault of a spec, as a value: the rule that found it, where it is, and what to change. How it is shown is report's affair."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ..formatting.cards import HasCard


class Severity(enum.Enum):
    """How much a problem weighs: an error stops a launch, a warning asks for a look, a note only informs.

    >>> [(severity.glyph, severity.word) for severity in st.Severity]
    [('✗', 'error'), ('▲', 'warning'), ('•', 'note')]
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def word(self) -> str:
        """The word that people read: ``note`` for INFO."""
        return "note" if self is Severity.INFO else self.value

    @property
    def glyph(self) -> str:
        """The mark that stands before the word."""
        return {Severity.ERROR: "✗", Severity.WARNING: "▲", Severity.INFO: "•"}[self]

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return list(Severity).index(self)


class Field(str):
    """A field of the spec, as a path: ``compute.count``. It is its own text."""

    __slots__ = ()


class Line(str):
    """A line of a file of the source: its text is ``train.py:12``."""

    __slots__ = ("file", "number")
    file: str
    number: int

    def __new__(cls, file: str, number: int) -> Line:
        """Make the place; ``number`` counts from 1."""
        made = super().__new__(cls, f"{file}:{number}")
        made.file, made.number = file, number
        return made


class Advice(str):
    """A fix in words."""

    __slots__ = ()


class Change(str):
    """A fix as fields and their values; its text is Python: ``distribution=TorchDistributed()``.

    ``note`` follows the text, in words. Formats other than Python are written from ``fields``.
    """

    __slots__ = ("fields", "note")
    fields: dict[str, Any]
    note: str

    def __new__(cls, note: str = "", /, **fields: Any) -> Change:
        """Make the change of ``fields``."""
        text = ", ".join(f"{name}={python(value)}" for name, value in fields.items())
        made = super().__new__(cls, f"{text}, {note}" if note else text)
        made.fields, made.note = fields, note
        return made


class AnyOf(str):
    """Changes or advice of which one is enough; the text joins them with ``or``.

    A choice that is neither a ``Change`` nor an ``Advice`` is advice in words.
    """

    __slots__ = ("choices",)
    choices: tuple[Change | Advice, ...]

    def __new__(cls, *choices: Change | Advice | str) -> AnyOf:
        """Make the fix of ``choices``, the best first."""
        made = super().__new__(cls, ", or ".join(choices))
        made.choices = tuple(each if isinstance(each, (Change, Advice)) else Advice(each) for each in choices)
        return made


class Named(str):
    """A strategy by the name of its class, with nothing set: for a fix that must not import it."""

    __slots__ = ()


def python(value: object) -> str:
    """A value as one writes it: a spec without the fields that are at their defaults."""
    if isinstance(value, Named):
        return f"{value}()"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return f"{value:_}" if type(value) is int and value >= 10_000 else repr(value)
    words = []
    for field in dataclasses.fields(value):
        given = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        if field.init and given != default:
            words.append(f"{field.name}={python(given)}" if field.kw_only else python(given))
    return f"{type(value).__name__}({', '.join(words)})"


@dataclass(frozen=True, slots=True)
class Rule:
    """A check and its reason; ``evidence`` cites the source.

    ``severities`` are all that its problems can have; the first is theirs unless they say another.
    """

    id: str
    severities: tuple[Severity, ...]
    summary: str
    why: str
    evidence: str = ""

    @property
    def family(self) -> str:
        """``SPOT`` of ``SPOT001``."""
        return self.id.rstrip("0123456789")

    def problem(  # noqa: PLR0913 - a problem's own parts
        self,
        where: Field | Line,
        what: str,
        *,
        got: str = "",
        wanted: str = "",
        consequence: str = "",
        fix: Change | Advice | AnyOf | None = None,
        severity: Severity | None = None,
        evidence: str = "",
    ) -> Problem:
        """A problem that this rule found at ``where``. Raises ValueError for a severity that the rule does not name."""
        if severity is not None and severity not in self.severities:
            raise ValueError(f"{self.id}: got {severity}, wanted one of {', '.join(map(str, self.severities))}")
        return Problem(
            id=self.id,
            severity=severity or self.severities[0],
            where=where,
            what=what,
            got=got,
            wanted=wanted,
            consequence=consequence,
            fix=fix if fix is not None else Advice(),
            evidence=evidence or self.evidence,
        )


@functools.cache
def rules_of(package: str) -> Mapping[str, Rule]:
    """The rules of a package by id, as its ``rules.json`` words them."""
    rows = json.loads(files(package).joinpath("rules.json").read_text("utf-8"))
    return {
        name: Rule(
            id=name,
            severities=tuple(Severity[word] for word in row["severities"]),
            summary=row["summary"],
            why=row["why"],
            evidence=row.get("evidence", ""),
        )
        for name, row in rows.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault. ``id`` is its rule's, by which it is waived; ``where`` is a ``Field`` or a ``Line``.

    ``fix`` is a ``Change``, an ``Advice``, or ``AnyOf`` them.

    All of them are texts; ``got``, ``wanted``, ``consequence`` and ``fix`` may be empty when ``what`` says it all.

    >>> print(st.specs.Problem(id="X001", severity=st.Severity.WARNING, where="name", what="too short", got="'a'"))
    warning[X001] name: too short; got 'a'
    """

    id: str
    severity: Severity
    where: str
    what: str
    got: str = ""
    wanted: str = ""
    consequence: str = ""
    fix: str = ""
    evidence: str = ""

    def __str__(self) -> str:
        detail = ", ".join(f"{word} {text}" for word, text in (("got", self.got), ("wanted", self.wanted)) if text)
        head = f"{self.severity.value}[{self.id}] {self.where}: {self.what}"
        parts = [head, self.consequence, detail, self.fix and f"fix: {self.fix}"]
        return "; ".join(part for part in parts if part)


class Problems(HasCard, list[Problem]):
    """A list of problems that shows itself: a count, then a problem a line.

    >>> st.specs.Problems([st.specs.Problem(id="X001", severity=st.Severity.ERROR, where="name", what="too short")]).counted()
    '1 error'
    """

    def counted(self) -> str:
        """``2 errors, 1 warning``, or ``No problems``."""
        counts = Counter(problem.severity for problem in self)
        words = [f"{counts[kind]} {kind.word}{'s' * (counts[kind] > 1)}" for kind in Severity if counts[kind]]
        return ", ".join(words) or "No problems"

    def __repr__(self) -> str:
        return "\n".join([self.counted() + (":" if self else "."), *(f"  {problem}" for problem in self)])
