"""A run's losses, as they come: whether they are numbers, and whether the run loses what it had learned."""

from __future__ import annotations

import math
import statistics
from collections import deque
from dataclasses import dataclass, field

WINDOW = 20  # losses of one running median: a single odd batch does not move it
LASTS = 40  # losses that a rise lasts before it counts: a restarted schedule and new data recover within fewer
LOST = 0.8  # the share of what the run had learned that is gone
NOISES = 6.0  # times the usual change between two losses: a rise below that is no rise
RECOVERED = 0.25  # the share of a rise that is gone again: the run learns on
# Losses or norms that a loss scaler's search may leave without a finite number: 2**20 is beyond its first scale.
SCALED = 20
ZEROS = 3  # losses of exactly 0 in a row, where the run was far from it
FAR = 0.05  # a loss below this may be rounded to 0
FLOORS = 5  # skipped steps at a loss scale of 1 or less: smaller scales lose the gradients themselves

Name = tuple[str, "int | None"]  # host and rank of a worker


@dataclass(slots=True)
class Row:
    """Losses of one worker in a row that are no losses. ``need`` of them count, where the kind asks for more than the guard does;
    ``proved`` is False for what can be right: a hinge loss is exactly 0."""

    count: int = 0
    since_s: float = math.nan
    told: str = ""
    need: int = 1
    proved: bool = True

    def more(self, at: float, told: str, *, need: int = 1, proved: bool = True) -> None:
        """Count one more."""
        if not self.count:
            self.since_s = at
        self.count, self.told, self.need, self.proved = self.count + 1, told, need, proved


@dataclass(slots=True)
class Losses:
    """Hears every loss with the norm of its gradients. ``newest`` is the last finite one. Memory does not grow."""

    newest: float | None = None
    heard: int = 0
    _lost: dict[Name, Row] = field(default_factory=dict)
    _norms: dict[Name, Row] = field(default_factory=dict)
    _floor: Row = field(default_factory=Row)
    _grace: int = 0  # losses that a scaler's search excuses
    _leader: Name | None = None  # the worker whose losses are compared: those of all would hide a trend
    _first: list[float] = field(default_factory=list)
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    _changes: deque[float] = field(default_factory=lambda: deque(maxlen=5 * WINDOW))
    _best: float = math.inf
    _noise: float = 0.0  # the usual change between two losses, when the best was reached
    _peak: float = -math.inf  # the highest running median since
    _rise: Row = field(default_factory=Row)

    def scaled(self, scale: float, at: float) -> None:
        """A loss scaler skipped a step, and tries ``scale`` next."""
        self._grace = SCALED
        if scale <= 1:
            self._floor.more(at, f"the loss scale is {scale:g}, its floor, and steps are still skipped")
        elif math.isfinite(scale):
            self._floor = Row()

    def hear(self, loss: float, norm: float | None, at: float, who: Name = ("", None)) -> None:
        """Take in a loss of ``at`` epoch seconds; ``norm`` is that of the gradients where the line tells it."""
        self.heard += 1
        lost, norms = self._lost.setdefault(who, Row()), self._norms.setdefault(who, Row())
        bad_norm = norm is not None and not math.isfinite(norm)
        if not math.isfinite(loss):
            if self._grace:
                self._grace -= 1
                return
            lost.more(at, f"the loss is {loss}")
        elif loss == 0 and bad_norm:
            lost.more(at, f"the loss is printed as 0 and the norm of the gradients is {norm}")
        elif loss == 0 and norm is None and (not lost.proved or (self.newest or 0.0) > FAR):
            lost.more(at, "the loss fell to exactly 0", need=ZEROS, proved=False)
        else:
            self._finite(loss, at, who)
            self._lost[who] = Row()
        if bad_norm:
            norms.more(at, f"the norm of the gradients is {norm}")
        elif norm is not None:
            self._norms[who] = Row()

    def _finite(self, loss: float, at: float, who: Name) -> None:
        self.newest = loss
        self._leader = self._leader or who
        if who != self._leader:
            return
        if self._recent:
            self._changes.append(abs(loss - self._recent[-1]))
        self._recent.append(loss)
        if len(self._first) < WINDOW:
            self._first.append(loss)
            return
        now = statistics.median(self._recent)
        if now < self._best:
            self._best, self._noise = now, statistics.median(self._changes)
            self._peak, self._rise = now, Row()
            return
        self._peak = max(self._peak, now)
        start = statistics.median(self._first)
        gone = max(LOST * (start - self._best), NOISES * self._noise)
        if now - self._best < gone or start - self._best <= self._noise:
            self._rise = Row()
        else:
            self._rise.more(at, f"the loss is {now:.3g}, its best was {self._best:.3g}, its first {start:.3g}")

    def not_finite(self, need: int) -> Row | None:
        """The losses that are no numbers, if ``need`` of them came in a row."""
        for row in self._lost.values():
            if row.count >= max(need, row.need):
                return row
        for row in self._norms.values():
            if row.count > SCALED:
                return row
        return self._floor if self._floor.count >= FLOORS else None

    def diverged(self) -> Row | None:
        """The rise that took away what the run had learned, lasted, and does not recover."""
        if self._rise.count < LASTS:
            return None
        now = statistics.median(self._recent)
        return None if now < self._peak - RECOVERED * (self._peak - self._best) else self._rise
