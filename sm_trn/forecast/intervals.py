"""Intervals from what left-out repositories missed: one vote a repository, wider where few speak for a configuration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# Quantiles of left-out repositories' residuals that bound the 80 % interval.
LOW, HIGH = 0.10, 0.90
# How much wider the logarithm of an interval is by the number of other repositories with the same chip and precision.
SUPPORT: Mapping[int, float] = {0: 1.3, 1: 1.15, 2: 1.05}


@dataclass(frozen=True, slots=True)
class Interval:
    """Three quantiles of a quantity: a tenth of outcomes lie below ``p10``, a tenth above ``p90``."""

    p10: float
    p50: float
    p90: float

    def __post_init__(self) -> None:
        if not self.p10 <= self.p50 <= self.p90:
            raise ValueError(f"interval: got {self.p10}, {self.p50}, {self.p90}, wanted them in order")

    def scaled(self, factor: float) -> Interval:
        """The interval in another unit. ``factor`` is positive."""
        return Interval(self.p10 * factor, self.p50 * factor, self.p90 * factor)

    def plus(self, other: Interval) -> Interval:
        """The sum of two quantities that err independently: distances to the median add as squares."""
        below = math.hypot(self.p50 - self.p10, other.p50 - other.p10)
        above = math.hypot(self.p90 - self.p50, other.p90 - other.p50)
        middle = self.p50 + other.p50
        return Interval(middle - below, middle, middle + above)


def exactly(value: float) -> Interval:
    """A quantity that is known."""
    return Interval(value, value, value)


def spread_of(residuals: Mapping[str, tuple[float, ...]], without: str = "") -> tuple[float, float]:
    """The logarithms by which a left-out repository's seconds lie below and above the estimate.

    Each repository has one vote, and in it each of its groups, ``repository | model``, the same part of it.
    """
    groups = {group: errors for group, errors in residuals.items() if repository_of(group) != without}
    shares = Counter(repository_of(group) for group in groups)
    votes = [
        (error, 1 / shares[repository_of(group)] / len(errors)) for group, errors in groups.items() for error in errors
    ]
    return _quantile(votes, LOW), _quantile(votes, HIGH)


def repository_of(group: str) -> str:
    """The repository of a group of rows."""
    return group.partition(" | ")[0]


def around(
    seconds: float, spread: tuple[float, float], *, width: float = 1.0, hosts: tuple[float, float] | None = None
) -> Interval:
    """The interval of seconds around an estimate whose errors have this ``spread``, times ``width``.

    ``hosts`` are the seconds on a fast host and on a slow one: what they add errs independently of the rest.
    """
    fast, slow = hosts or (seconds, seconds)
    low = math.hypot(min(spread[0], -0.02) * width, math.log(fast / seconds))
    high = math.hypot(max(spread[1], 0.02) * width, math.log(slow / seconds))
    return Interval(seconds * math.exp(-low), seconds, seconds * math.exp(high))


def support_width(others: int) -> float:
    """How much wider an interval is when ``others`` repositories share its chip and precision."""
    return SUPPORT.get(others, 1.0)


def _quantile(votes: Iterable[tuple[float, float]], share: float) -> float:
    ordered = sorted(votes)
    whole, seen = sum(weight for _, weight in ordered), 0.0
    for error, weight in ordered:
        seen += weight
        if seen >= share * whole:
            return error
    return ordered[-1][0] if ordered else 0.0
