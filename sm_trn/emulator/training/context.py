"""These values hold what the running jobs of a region share beyond every container, and what each job is told from outside."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..container.context import RunContext

if TYPE_CHECKING:
    from ..telemetry.log_store import LogLines
    from ..telemetry.metric_store import MetricStore
    from .jobs import Jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingContext(RunContext):
    """The context of a region, and the registries that its training jobs report to."""

    jobs: Jobs
    lines: LogLines
    metrics: MetricStore


@dataclass(slots=True)
class Control:
    """This is what a job is told from outside. ``wake`` is set with every change."""

    wake: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False
    shutdown: bool = False
    interrupt: bool = False
    notice: bool = True

    def wait(self, timeout: float) -> None:
        self.wake.wait(max(0.0, timeout))
        self.wake.clear()
