"""What a plan must keep: a goal, a deadline, a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ...core.specs.value import suggesting
from ..jobs.value import span
from .value import Choice, Excluded


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """``goal`` is ``cheapest`` or ``fastest``. ``at`` is ``upper``: limits hold at the upper end of the 80 % interval; or ``likely``.

    >>> st.Limits(deadline_s=3 * 3600, max_usd=50).goal
    'cheapest'
    """

    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType({
        "deadline": "deadline_s=3 * 3600", "budget": "max_usd=…", "usd": "max_usd=…", "hours": "deadline_s=3 * 3600",
    })  # fmt: skip

    goal: str = "cheapest"
    deadline_s: float | None = None
    max_usd: float | None = None
    at: str = "upper"

    def __post_init__(self) -> None:
        if self.goal not in {"cheapest", "fastest"}:
            raise ValueError(f"goal: got {self.goal!r}, wanted cheapest or fastest")
        if self.at not in {"upper", "likely"}:
            raise ValueError(f"at: got {self.at!r}, wanted upper or likely")
        for name in ("deadline_s", "max_usd"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name}: got {value!r}, wanted more than 0")

    def against(self, choice: Choice) -> Choice | Excluded:
        """The choice, or why it breaks a limit."""
        time = choice.wall_s.p90 if self.at == "upper" else choice.wall_s.p50
        cost = choice.usd.p90 if self.at == "upper" else choice.usd.p50
        end = " at the upper end" if self.at == "upper" else ""
        if self.deadline_s is not None and time > self.deadline_s:
            return Excluded(
                choice.name,
                f"${choice.usd.p50:,.1f}, but {span(time)}{end}: after the deadline",
                "after the deadline",
                choice,
            )
        if self.max_usd is not None and cost > self.max_usd:
            return Excluded(
                choice.name,
                f"{span(choice.wall_s.p50)}, but ${cost:,.1f}{end}: over the budget",
                "over the budget",
                choice,
            )
        return choice
