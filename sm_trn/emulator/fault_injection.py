"""The fault injector decides which request or start meets a fault that was asked for, by each fault's own seeded dice."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .errors import AwsError

if TYPE_CHECKING:
    from .options import Fault

CAPACITY: Final = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
)


class FaultInjector:
    """The faults of one emulator. Safe to share between threads; they end with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[tuple[Fault, random.Random]] = []
        self._left: list[int | None] = []

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append((fault, random.Random(fault.seed)))  # noqa: S311 - dice to be repeated, not to be secret
            self._left.append(fault.times)

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()
            self._left.clear()

    def all(self) -> list[Fault]:
        """Return the faults that can still be met, with the times that are left of each."""
        with self._lock:
            found = zip(self._faults, self._left, strict=True)
            return [replace(fault, times=left) for (fault, _), left in found if left != 0]

    def next_fault(self, operation: str, *kinds: str) -> Fault | None:
        """Return the first fault of these kinds that this operation meets now; it counts as met."""
        with self._lock:
            for at, (fault, dice) in enumerate(self._faults):
                left = self._left[at]
                if fault.kind not in kinds or fault.operation not in {"*", operation} or left == 0:
                    continue
                if dice.random() < fault.probability:
                    self._left[at] = None if left is None else left - 1
                    return fault
        return None

    def before(self, operation: str) -> None:
        """Raise the fault that this request is answered with, if any: nothing of it has been done."""
        kinds = (
            ("throttling", "internal", "quota")
            if operation.startswith(("Create", "Update"))
            else ("throttling", "internal")
        )
        fault = self.next_fault(operation, *kinds)
        if fault is None:
            return
        if fault.kind == "throttling":
            raise AwsError("ThrottlingException", "Rate exceeded")
        if fault.kind == "internal":
            raise AwsError("InternalFailure", "The request processing has failed because of an unknown error.", 500)
        raise AwsError(
            "ResourceLimitExceeded",
            f"The account-level service limit for {operation} is 0 Instances, with current utilization of 0 Instances and "
            "a request delta of 1 Instances. Please use AWS Service Quotas to request an increase for this quota.",
        )

    def start_delay(self, operation: str) -> float:
        """Return seconds that a start takes longer."""
        fault = self.next_fault(operation, "slow-start")
        return fault.delay_s if fault else 0.0

    def insufficient_capacity(self, operation: str) -> bool:
        return self.next_fault(operation, "capacity") is not None

    def breaks_host(self, operation: str) -> bool:
        """Return whether a host is lost once its data is there: an InternalServerError of the job, which RetryStrategy meets."""
        return self.next_fault(operation, "broken-host") is not None

    def loses_answer(self, operation: str) -> bool:
        """Return whether what was done is not told."""
        return self.next_fault(operation, "lost-answer") is not None
