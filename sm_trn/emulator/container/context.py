"""What running jobs share of the emulator, and what each is told from outside. Values only."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..fault_injection import Mischief
    from ..iam.authenticator import Principals
    from ..options import Options
    from ..s3.object_store import Objects
    from ..telemetry.log_store import LogLines
    from ..telemetry.metric_store import MetricStore
    from ..training.jobs import Jobs
    from .isolation import Isolation
    from .slots import Room


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the jobs of every region need of the emulator. ``root`` is its state folder."""

    objects: Objects
    principals: Principals
    options: Options
    isolation: Isolation
    room: Room
    root: Path
    url: str
    missing: Callable[[], str]
    mischief: Mischief


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What every job of a region needs of the emulator. ``state`` is the region's folder."""

    shared: Shared
    jobs: Jobs
    lines: LogLines
    metrics: MetricStore
    state: Path
    region: str


@dataclass(slots=True)
class Control:
    """What a job is told from outside. ``wake`` is set with every change."""

    wake: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False
    shutdown: bool = False
    interrupt: bool = False
    notice: bool = True

    def wait(self, timeout: float) -> None:
        self.wake.wait(max(0.0, timeout))
        self.wake.clear()
