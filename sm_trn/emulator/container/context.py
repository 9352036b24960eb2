"""These values hold what running jobs and hosted models share of the emulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..fault_injection import FaultInjector
    from ..iam.keys import Principals
    from ..objects import Objects
    from ..options import Options
    from .isolation import Isolation
    from .slots import JobSlots


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """This is what the jobs and models of every region need of the emulator. ``root`` is its state folder."""

    objects: Objects
    principals: Principals
    options: Options
    isolation: Isolation
    slots: JobSlots
    root: Path
    url: str
    toolkit_error: Callable[[], str]
    faults: FaultInjector


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """This is what every container of a region needs of the emulator. ``state`` is the region's folder."""

    shared: Shared
    state: Path
    region: str
