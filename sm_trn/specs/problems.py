"""One fault of a spec, as a value. How it is shown is report's affair."""

from __future__ import annotations

import enum
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
