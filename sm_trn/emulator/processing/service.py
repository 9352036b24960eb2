"""Processing jobs of one region."""

from __future__ import annotations

from collections.abc import Mapping

from ..service import Handler, RegionParts, Service
from .api import ProcessingApi
from .runner import ProcessingRunner


class ProcessingService(Service):
    """It runs their containers."""

    def __init__(self, parts: RegionParts) -> None:
        self._runner = ProcessingRunner(parts.resources, parts.lines, parts.context)
        self.operations = operations(ProcessingApi(parts.resources, parts.shared.objects, self._runner))

    def restore(self) -> None:
        self._runner.restore()

    def shutdown(self) -> None:
        self._runner.shutdown()


def operations(processing: ProcessingApi) -> Mapping[str, Handler]:
    """The operations on processing jobs."""
    return {
        "CreateProcessingJob": processing.create,
        "DescribeProcessingJob": processing.describe,
        "ListProcessingJobs": processing.listed,
        "StopProcessingJob": processing.stop,
        "DeleteProcessingJob": processing.delete,
    }
