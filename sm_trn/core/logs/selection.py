"""Which lines of a log somebody wants to see."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone

import regex

from ..errors import SmTrnError
from .events import LogEvent
from .rules import LIMIT_S

_AGE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s?([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Return the lines of one host and rank that match an expression. An argument of None does not select. Raises SmTrnError."""

    host: str | None = None
    rank: int | None = None
    matching: str | None = None
    _pattern: regex.Pattern[str] | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.matching is None:
            return
        try:
            object.__setattr__(self, "_pattern", regex.compile(self.matching))
        except (regex.error, OverflowError, RecursionError) as error:
            raise SmTrnError(f"matching: got {self.matching!r}, wanted a regular expression ({error})") from error

    def wants(self, event: LogEvent) -> bool:
        """Raises SmTrnError when the expression needs more than ``LIMIT_S`` for this line."""
        if self.host is not None and event.host != self.host:
            return False
        if self.rank is not None and event.rank != self.rank:
            return False
        return self._pattern is None or self._matches(self._pattern, event.text)

    def _matches(self, pattern: regex.Pattern[str], text: str) -> bool:
        try:
            return pattern.search(text, timeout=LIMIT_S) is not None
        except TimeoutError:
            raise SmTrnError(
                f"matching: {self.matching!r} took more than {LIMIT_S} s for a line of {len(text):,} characters; "
                "wanted an expression without nested repetition, such as (a+)+"
            ) from None


def since_s(since: str | datetime, now: float) -> float:
    """Epoch seconds of ``5m``, ``90s``, ``2h``, ``1d`` ago, of a datetime, or of ISO text (UTC without offset). Raises SmTrnError."""
    if isinstance(since, str):
        age = _AGE.fullmatch(since.strip())
        if age:
            return now - float(age[1]) * _SECONDS[age[2]]
        try:
            since = datetime.fromisoformat(since.strip().replace("Z", "+00:00"))
        except ValueError as error:
            raise SmTrnError(f"since: got {since!r}, wanted an age such as 5m or 2h, or an ISO time") from error
    return (since if since.tzinfo else since.replace(tzinfo=timezone.utc)).timestamp()
