"""What the doctor found: one line for each thing that a launch needs, and the command that mends it."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass


class State(enum.Enum):
    """How one thing stands. ``UNKNOWN``: nobody could be asked, or AWS does not tell.

    >>> [state.glyph for state in State]
    ['✓', '✗', '▲', '•', '?']
    """

    READY = "ready"
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    UNKNOWN = "unknown"

    @property
    def glyph(self) -> str:
        """The mark before the line."""
        return dict(zip(State, "✓✗▲•?", strict=True))[self]


@dataclass(frozen=True, slots=True)
class Finding:
    """``about`` names the thing (``role``), ``says`` how it stands, ``fix`` is a command or advice, empty where none is needed.

    >>> print(Finding("quota", State.ERROR, "0, wanted 1", "aws service-quotas …"))
    ✗ quota         0, wanted 1
                    fix  aws service-quotas …
    """

    about: str
    state: State
    says: str
    fix: str = ""

    def __str__(self) -> str:
        fix = f"\n{'':16}fix  {self.fix}" if self.fix else ""
        return f"{self.state.glyph} {self.about:<12}  {self.says}{fix}"


class Findings(list[Finding]):
    """All findings, in the order in which a launch needs them. It shows itself."""

    @property
    def ready(self) -> bool:
        """Whether nothing stands in the way of a launch, as far as it can be known."""
        return all(each.state is not State.ERROR for each in self)

    def counted(self) -> str:
        """``2 errors, 1 warning``, or ``No errors``."""
        counts = Counter(each.state for each in self)
        said = [
            f"{counts[state]} {state.value}{'s' * (counts[state] > 1)}"
            for state in (State.ERROR, State.WARNING)
            if counts[state]
        ]
        return ", ".join(said) or "No errors"

    def __repr__(self) -> str:
        return "\n".join(map(str, self))
