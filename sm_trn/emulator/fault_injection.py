"""Faults on demand: which request or start meets one."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Final

from .errors import AwsError
from .options import Fault

CAPACITY: Final = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
)


class FaultInjector:
    """The faults of one emulator. Safe to share between threads; they end with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def meets(self, kind: str, operation: str) -> bool:
        """Return whether an operation meets a fault of this kind now; it counts as met."""
        with self._lock:
            for at, fault in enumerate(self._faults):
                if fault.kind == kind and fault.operation in {"*", operation}:
                    if fault.times == 1:
                        del self._faults[at]
                    elif fault.times is not None:
                        self._faults[at] = replace(fault, times=fault.times - 1)
                    return True
        return False

    def before(self, operation: str) -> None:
        """Raise the fault that a request is answered with, if any, before anything of it has been done."""
        if self.meets("throttling", operation):
            raise AwsError("ThrottlingException", "Rate exceeded")
        if self.meets("internal", operation):
            raise AwsError("InternalFailure", "The request processing has failed because of an unknown error.", 500)
        if operation.startswith("Create") and self.meets("quota", operation):
            raise AwsError(
                "ResourceLimitExceeded",
                f"The account-level service limit for {operation} is 0 Instances, with current utilization of 0 Instances and "
                "a request delta of 1 Instances. Please use AWS Service Quotas to request an increase for this quota.",
            )
