"""Counts what is sent to AWS: the footer of the page says how much that is."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import botocore
import botocore.session

WINDOW_S = 600.0


class Calls:
    """HTTP requests of the last ten minutes, retries too."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._times: deque[float] = deque()
        self._lock = threading.Lock()

    def note(self, **_event: Any) -> None:
        """botocore's ``before-send``: None lets the request pass."""
        with self._lock:
            self._times.append(self._now())
            self._forget()

    def recent(self) -> int:
        with self._lock:
            self._forget()
            return len(self._times)

    def _forget(self) -> None:
        while self._times and self._times[0] < self._now() - WINDOW_S:
            self._times.popleft()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Every botocore session that is made inside the block is counted, for as long as it lives."""

        def join(session: botocore.session.Session) -> None:
            session.register("before-send", self.note)

        botocore.register_initializer(join)
        try:
            yield
        finally:
            botocore.unregister_initializer(join)
