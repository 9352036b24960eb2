"""A counter's speed: now, and the best that it kept up for a while."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import sqrt
from statistics import mean, stdev

WINDOW_S = 30.0  # shorter windows measure how lines are buffered
KEPT = 15  # windows of one speed
ODD = 3  # of so many slowest nothing is made, nor of as many fastest: lines that came late
SLOWER = 0.75  # the share of the best speed below which slowness begins


@dataclass(slots=True)
class Pace:
    """Hears how far a counter has come. ``best`` is the highest speed of ``KEPT`` windows, in counts a second."""

    best: float = 0.0
    now: float = 0.0
    error: float = 0.0  # twice the standard error of ``now``, as a share of it: what one window differs from another
    least_best: float = 0.0  # the best speed, less its own error
    windows: int = 0
    slow_s: float | None = None  # since when the speed has been clearly lower than the best
    _begin: tuple[float, float] | None = None
    _windows: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=KEPT))

    def hear(self, value: float, at: float) -> None:
        """The counter stood at ``value`` at ``at`` epoch seconds."""
        if self._begin is None or value < self._begin[1] or at < self._begin[0]:
            self._begin = (at, value)
            return
        seconds = at - self._begin[0]
        if seconds < WINDOW_S:
            return
        self._windows.append((seconds, value - self._begin[1]))
        self._begin = (at, value)
        self.windows += 1
        if len(self._windows) == KEPT:
            self._measure(at)

    def _measure(self, at: float) -> None:
        steady = sorted(self._windows, key=lambda window: window[1] / window[0])[ODD:-ODD]
        self.now = sum(count for _, count in steady) / sum(seconds for seconds, _ in steady)
        self.best = max(self.best, self.now)
        speeds = [count / seconds for seconds, count in self._windows]
        self.error = 2 * stdev(speeds) / sqrt(len(steady)) / mean(speeds) if any(speeds) else 0.0
        self.least_best = max(self.least_best, self.now * (1 - self.error))
        if self.now >= SLOWER * self.best:
            self.slow_s = None
        elif self.slow_s is None:
            self.slow_s = at

    def pause(self) -> None:
        """What comes next was not training alone: no speed is measured across it."""
        self._begin = None

    def below(self, limit: float) -> bool:
        """Whether the newest speed is surely a smaller share of the best: by more than windows differ from one another."""
        return self.now * (1 + self.error) < limit * self.least_best

    @property
    def share(self) -> float | None:
        """The newest speed as a share of the best; None before it is known."""
        return self.now / self.best if self.best > 0 else None
