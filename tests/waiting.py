"""Waiting with a deadline for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def within(what: Callable[[], object], seconds: float = 20) -> bool:
    """Whether it comes true in that time."""
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
