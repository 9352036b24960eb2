"""Every probe, battery by battery, in the order in which they are sent. A new one is a value and a line of its module's list."""

from __future__ import annotations

from typing import Final

from ..probe import Probe
from . import hosting, life, limits, listing, storage, telemetry, validation

PROBES: Final[tuple[Probe, ...]] = (
    *validation.PROBES,
    *listing.PROBES,
    *life.PROBES,
    *telemetry.PROBES,
    *limits.PROBES,
    *storage.PROBES,
)
HOSTED: Final[tuple[Probe, ...]] = hosting.PROBES  # only if asked for
