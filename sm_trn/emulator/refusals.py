"""What clients asked for and the emulator does not have is counted here by name, so that whoever runs a suite sees what it lacks.

It must not know HTTP, nor why something is not there.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# The codes of an operation that is not there, of our own and of S3's.
CODES: Final = frozenset({"UnknownOperationException", "NotImplemented", "InvalidAction"})
_NAMES: Final = 500  # more could only come of a client that makes names up


class Refusals:
    """The operations that this process refused because it has none of that name. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, operation: str) -> None:
        with self._lock:
            if operation in self._counts or len(self._counts) < _NAMES:
                self._counts[operation] += 1

    def counts(self) -> Mapping[str, int]:
        """Return how often each was asked for, the most frequent first."""
        with self._lock:
            return dict(self._counts.most_common())
