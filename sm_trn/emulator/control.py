"""These are the emulator's own operations, beside AWS's: what runs, interruptions, and faults on purpose."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from .errors import validation
from .options import Endpoint, Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .fault_injection import FaultInjector
    from .regions import Regions

PREFIX: Final = "SmTrnEmulator"  # of the header that names the operation, where AWS's have the service
_NAMES: Final = 500  # more could only come of a client that makes names up


class Control:
    """The operations that only the emulator's owner may ask for, and the count of those that it does not have."""

    def __init__(self, endpoint: Endpoint, isolation: str, regions: Regions, faults: FaultInjector) -> None:
        self._endpoint = endpoint
        self._isolation = isolation
        self._regions = regions
        self._faults = faults
        self._lock = threading.Lock()
        self._refused: Counter[str] = Counter()

    def count_refusal(self, operation: str) -> None:
        with self._lock:
            if operation in self._refused or len(self._refused) < _NAMES:
                self._refused[operation] += 1

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Do what is asked and return the answer. Raises AwsError."""
        if operation == "Status":
            return self._status()
        if operation == "ListFaults":
            return {"Faults": [asdict(fault) for fault in self._faults.all()]}
        if operation == "InterruptTrainingJob":
            self._regions.interrupt(str(body.get("TrainingJobName")), notice=bool(body.get("Notice", True)))
        elif operation == "AddFault":
            try:
                self._faults.add(Fault(**body))
            except (TypeError, ValueError) as error:
                raise validation(f"AddFault: {error}") from error
        elif operation == "ClearFaults":
            self._faults.clear()
        else:
            raise validation(f"{PREFIX}.{operation}: no such control operation")
        return {}

    def _status(self) -> dict[str, Any]:
        endpoint, regions = self._endpoint, self._regions.all()
        with self._lock:
            refused = dict(self._refused.most_common())
        return {
            "url": endpoint.url,
            "pid": endpoint.pid,
            "region": endpoint.region,
            "version": endpoint.version,
            "isolation": self._isolation,
            "jobs": Counter(job.state.status for each in regions for job in each.jobs.all()),
            "endpoints": Counter(resource.status for each in regions for resource in each.resources.all("endpoint")),
            "python": sys.executable,
            "refused": refused,
        }
