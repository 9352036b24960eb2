"""A job's own rhythm: how far its steps lie apart, and how long its pauses are, as its log shows so far."""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass, field

from .signs import Sign

KNOWN = 2  # pauses of a kind after which its length is known
LEARNED = 5  # steps after which the rhythm is known
OF_GAPS, OF_PAUSES = 5.0, 3.0  # times the longest so far
FIRST, NEWEST = (5, 30), 20  # gaps that the first speed and the newest are taken from
_KEPT = 4096


@dataclass(slots=True)
class Rhythm:
    """Hears every line's sign and time. ``longest_s`` is the longest gap between steps, ``paused_s`` the longest with a reason."""

    steps: int = 0
    longest_s: float = 0.0
    paused_s: float = 0.0
    line_s: float | None = None  # when anything was said last
    step_s: float | None = None
    last: Sign = Sign.LINE
    _pause: bool = False  # something with a reason was said since the last step
    _kinds: set[Sign] = field(default_factory=set)  # of that
    _ended: dict[Sign, int] = field(default_factory=dict)  # pauses by kind that a step has ended
    _first: list[float] = field(default_factory=list)
    _newest: deque[float] = field(default_factory=lambda: deque(maxlen=NEWEST))
    _since: int = 0  # gaps since the last compilation

    def hear(self, sign: Sign, at: float) -> None:
        """Take in a line of ``at`` epoch seconds."""
        if self.line_s is not None and self.steps and not self._pause:
            self.longest_s = max(self.longest_s, at - self.line_s)
        self.line_s = at if self.line_s is None else max(at, self.line_s)
        if sign is Sign.LINE:
            return
        self.last = sign
        if sign is not Sign.STEP:
            self._pause = True
            self._kinds.add(sign)
            if sign is Sign.COMPILE:
                self._first, self._since = [], 0
            return
        self._step(at)

    def _step(self, at: float) -> None:
        self.steps += 1
        gap = at - self.step_s if self.step_s is not None else None
        self.step_s = at
        if gap is None:
            self._pause = False
            return
        if self._pause:
            self.paused_s = max(self.paused_s, gap)
            self._pause = False
            for kind in self._kinds:
                self._ended[kind] = self._ended.get(kind, 0) + 1
            self._kinds.clear()
            return
        self.longest_s = max(self.longest_s, gap)
        self._since += 1
        if FIRST[0] < self._since <= FIRST[1]:
            self._first.append(gap)
        self._newest.append(gap)

    @property
    def known(self) -> bool:
        """Whether enough steps were heard."""
        return self.steps >= LEARNED

    @property
    def usual_s(self) -> float:
        """The median gap of the newest steps, 0 before there are two."""
        return statistics.median(self._newest) if self._newest else 0.0

    def limit_s(self, stall_s: float, pause_s: float) -> float:
        """Seconds of silence after which this job stalls: never less than ``stall_s``, nor than its own pauses ask for.

        In a pause with a reason it is ``pause_s`` until two pauses of that kind were heard to end; a compilation may always take
        twice as long: the next graph can be a larger one.
        """
        own = max(OF_GAPS * self.longest_s, OF_PAUSES * self.paused_s)
        new = self._pause and (self.last is Sign.COMPILE or self._ended.get(self.last, 0) < KNOWN)
        return max(stall_s, own, self.last.pauses * pause_s if new else 0)

    @property
    def pace(self) -> float | None:
        """The newest speed as a share of the first; None before both are known.

        The newest gaps count with their mean, for a worker may run in bursts, and without the longest of them, a mere hiccup.
        """
        if len(self._first) < FIRST[1] - FIRST[0] or len(self._newest) < NEWEST:
            return None
        newest = (sum(self._newest) - max(self._newest)) / (NEWEST - 1)
        return statistics.median(self._first) / newest if newest > 0 else None
