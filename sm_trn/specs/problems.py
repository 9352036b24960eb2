"""One fault of a spec, as a value. How it is shown is report's affair."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass


class Severity(enum.Enum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """``where`` is a field path of the spec; ``got``, ``wanted`` and ``fix`` may be empty when ``what`` says it all."""

    id: str
    severity: Severity
    where: str
    what: str
    got: str = ""
    wanted: str = ""
    fix: str = ""
    evidence: str = ""

    def __str__(self) -> str:
        detail = ", ".join(f"{word} {text}" for word, text in (("got", self.got), ("wanted", self.wanted)) if text)
        parts = [f"{self.severity.value}[{self.id}] {self.where}: {self.what}", detail, self.fix and f"fix: {self.fix}"]
        return "; ".join(part for part in parts if part)


class Problems(list[Problem]):
    """A list of problems that shows itself: a count, then a problem a line, or a table in a notebook."""

    def counted(self) -> str:
        """``2 errors, 1 warning``, or ``No problems``."""
        words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
        counts = Counter(problem.severity for problem in self)
        said = [f"{counts[kind]} {word}{'s' * (counts[kind] > 1)}" for kind, word in words.items() if counts[kind]]
        return ", ".join(said) or "No problems"

    def __repr__(self) -> str:
        return "\n".join([self.counted() + (":" if self else "."), *(f"  {problem}" for problem in self)])

    def _repr_html_(self) -> str:
        from .problem_card import problems_card  # noqa: PLC0415 - only a notebook asks

        return problems_card(self)
