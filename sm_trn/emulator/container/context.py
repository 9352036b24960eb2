"""What jobs, endpoints and the answers about them share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..fault_injection import FaultInjector
from ..iam.keys import Principals
from ..objects import Objects
from ..options import Options
from ..state.resources import Resources
from ..telemetry.log_store import LogLines
from ..telemetry.metrics import MetricStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """``root`` is the state folder. ``namespace``: jobs run in user namespaces, else in plain folders."""

    root: Path
    region: str
    url: str
    options: Options
    namespace: bool
    objects: Objects
    principals: Principals
    faults: FaultInjector
    resources: Resources
    lines: LogLines
    metrics: MetricStore
