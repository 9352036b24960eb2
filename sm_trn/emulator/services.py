"""The rooms beside training, one line each: what they answer is in the table of their ``service`` module."""

from __future__ import annotations

from typing import Final

from .experiments.service import ExperimentsService
from .hosting.service import HostingService
from .processing.service import ProcessingService
from .queueing.service import QueueService
from .service import OpenService
from .tuning.service import TuningService

# In this order they are restored; they are shut down in the other one.
SERVICES: Final[tuple[OpenService, ...]] = (
    ExperimentsService,
    ProcessingService,
    TuningService,
    HostingService,
    QueueService,
)
