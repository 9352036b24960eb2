"""What a watch keeps of a log's numbers: the newest, and losses of the whole run. Its memory does not grow with the run."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from ..specs import MetricPoint

NEWEST = 2000  # numbers: five minutes of a job that logs several of them every second
LOSSES = 256  # of the whole run; twice as many are thinned to every other one


@dataclass(slots=True)
class Newest:
    """The numbers of one job's log, as they come. ``losses`` are taken evenly from the whole run, the newest last."""

    total_steps: int | None = None
    _points: deque[MetricPoint] = field(default_factory=lambda: deque(maxlen=NEWEST))
    _losses: list[float] = field(default_factory=list)
    _last: float = math.nan
    _apart: int = 1
    _seen: int = 0

    def add(self, point: MetricPoint) -> None:
        self._points.append(point)
        if not math.isfinite(point.value):
            return
        if point.name == "total_steps" and self.total_steps is None:
            self.total_steps = int(point.value)
        if point.name == "loss":
            self._keep(point.value)

    @property
    def points(self) -> tuple[MetricPoint, ...]:
        return tuple(self._points)

    @property
    def losses(self) -> tuple[float, ...]:
        late = self._seen and (self._seen - 1) % self._apart
        return (*self._losses, self._last) if late else tuple(self._losses)

    def _keep(self, loss: float) -> None:
        if self._seen % self._apart == 0:
            self._losses.append(loss)
        self._seen += 1
        self._last = loss
        if len(self._losses) == 2 * LOSSES:
            self._losses = self._losses[::2]
            self._apart *= 2
