"""Finds the losses of a run that are no numbers, as they come."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

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
            self.newest = loss
            self._lost[who] = Row()
        if bad_norm:
            norms.more(at, f"the norm of the gradients is {norm}")
        elif norm is not None:
            self._norms[who] = Row()

    def not_finite(self, need: int) -> Row | None:
        """The losses that are no numbers, if ``need`` of them came in a row."""
        for row in self._lost.values():
            if row.count >= max(need, row.need):
                return row
        for row in self._norms.values():
            if row.count > SCALED:
                return row
        return self._floor if self._floor.count >= FLOORS else None
