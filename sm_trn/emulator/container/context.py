"""What running jobs and models share of the emulator. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..fault_injection import Mischief
    from ..iam.keys import Principals
    from ..options import Options
    from ..s3.object_store import Objects
    from .isolation import Isolation
    from .slots import Room


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the jobs and models of every region need of the emulator. ``root`` is its state folder."""

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
class RunContext:
    """What every container of a region needs of the emulator. ``state`` is the region's folder."""

    shared: Shared
    state: Path
    region: str
