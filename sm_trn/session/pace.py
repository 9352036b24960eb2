"""When to look again: a pure schedule, and the clock that it runs on."""

from __future__ import annotations

import time

from ..specs import JobSnapshot

EMULATED_PAUSE_S = 0.5
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 30.0


class SystemClock:
    """Wall time."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def next_delay(snapshot: JobSnapshot, attempt: int) -> float:
    """Seconds until a job is worth another look: short while it is young, never more than half a minute."""
    if snapshot.emulated:
        return EMULATED_PAUSE_S
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S + attempt)
