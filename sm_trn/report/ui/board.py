"""What all tabs are shown: pieces of HTML by the id of their place, each with the version in which it changed.

The poller writes, tabs read. It knows neither how pieces are made nor how they are sent.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

Pieces = Mapping[str, str]


class Board:
    """Safe to use from any thread. ``changed`` is called without a lock whenever somebody comes, goes or opens a job."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.changed = changed
        self.closed = False
        self._lock = threading.Lock()
        self._version = 0
        self._pieces: dict[tuple[str, str], tuple[int, str]] = {}  # by job, empty for all tabs, and place
        self._wakers: dict[object, Callable[[], None]] = {}
        self._opened: Counter[str] = Counter()

    @property
    def watched(self) -> bool:
        """Whether any tab is open and visible."""
        return bool(self._wakers)

    @property
    def opened(self) -> tuple[str, ...]:
        """Jobs whose own view is open in some tab."""
        with self._lock:
            return tuple(self._opened)

    def publish(self, pieces: Pieces, jobs: Mapping[str, Pieces]) -> None:
        """Everything as it is now. Tabs are woken only if something is new."""
        new = {("", place): html for place, html in pieces.items()}
        new |= {(job, place): html for job, own in jobs.items() for place, html in own.items()}
        with self._lock:
            old, version = self._pieces, self._version + 1
            self._pieces = {
                key: old[key] if key in old and old[key][1] == html else (version, html) for key, html in new.items()
            }
            if all(at < version for at, _ in self._pieces.values()):
                return
            self._version = version
            wakers = tuple(self._wakers.values())
        for wake in wakers:
            wake()

    def since(self, version: int, opened: str = "") -> tuple[int, dict[str, str]]:
        """The newest version, and the pieces that a tab which has seen ``version`` does not know: 0 knows nothing."""
        with self._lock:
            news = {
                place: html for (job, place), (at, html) in self._pieces.items() if job in {"", opened} and at > version
            }
            return self._version, news

    @contextmanager
    def listening(self, wake: Callable[[], None], opened: str = "") -> Iterator[None]:
        """For as long as a tab is there: ``wake`` is called, from another thread, when there is news."""
        key = object()
        with self._lock:
            self._wakers[key] = wake
            self._opened.update([opened] if opened else [])
        self.changed()
        try:
            yield
        finally:
            with self._lock:
                del self._wakers[key]
                self._opened.subtract([opened] if opened else [])
                self._opened = +self._opened
            self.changed()

    def close(self) -> None:
        """Send all tabs away: the server ends."""
        with self._lock:
            self.closed = True
            wakers = tuple(self._wakers.values())
        for wake in wakers:
            wake()
