"""What all tabs are shown: the newest rows, each with the version in which it changed. The poller writes, tabs read.

Knows neither how rows are made nor how they are sent.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What a tab that has seen ``since`` does not know yet. ``whole``: it is everything, and what it lacks is gone."""

    version: int
    whole: bool
    head: Json
    rows: tuple[Json, ...]
    gone: tuple[str, ...]
    detail: Json | None


class Board:
    """Safe to use from any thread. ``changed`` is called without a lock whenever somebody comes, goes or opens a job."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.changed = changed
        self._lock = threading.Lock()
        self._version = 0
        self._head: Json = {}
        self._rows: dict[str, tuple[int, Json]] = {}
        self._gone: dict[str, int] = {}
        self._details: dict[str, tuple[int, Json]] = {}
        self._wakers: dict[int, Callable[[], None]] = {}
        self._opened: Counter[str] = Counter()
        self._next = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def watched(self) -> bool:
        """Whether any tab is open and visible."""
        return bool(self._wakers)

    @property
    def opened(self) -> tuple[str, ...]:
        """Jobs whose own view is open in some tab."""
        with self._lock:
            return tuple(self._opened)

    def publish(self, rows: Mapping[str, Json], head: Json, details: Mapping[str, Json]) -> None:
        """Everything as it is now. Tabs are woken only if something is new."""
        with self._lock:
            before, self._version = self._version, self._version + 1
            news = False
            for name, row in rows.items():
                old = self._rows.get(name)
                if old is None or old[1] != row:
                    self._rows[name] = (self._version, row)
                    self._gone.pop(name, None)
                    news = True
            for name in self._rows.keys() - rows.keys():
                del self._rows[name]
                self._gone[name] = self._version
                news = True
            self._details = {
                name: old if (old := self._details.get(name)) and old[1] == detail else (self._version, detail)
                for name, detail in details.items()
            }
            news = news or any(at == self._version for at, _ in self._details.values())
            if head != self._head:
                self._head, news = head, True
            if not news:
                self._version = before
            wakers = tuple(self._wakers.values()) if news else ()
        for wake in wakers:
            wake()

    def since(self, version: int, opened: str = "") -> Update | None:
        """The news after ``version``, 0 for a tab that knows nothing; None without news."""
        with self._lock:
            if version == self._version:
                return None
            at, detail = self._details.get(opened, (0, None))
            return Update(
                version=self._version,
                whole=version == 0,
                head=self._head,
                rows=tuple(row for changed, row in self._rows.values() if changed > version),
                gone=() if version == 0 else tuple(name for name, gone in self._gone.items() if gone > version),
                detail=detail if at > version else None,
            )

    def row(self, name: str) -> Json | None:
        """The newest row of a job; None for one that is not shown."""
        with self._lock:
            found = self._rows.get(name)
            return found[1] if found is not None else None

    @contextmanager
    def listening(self, wake: Callable[[], None], opened: str = "") -> Iterator[None]:
        """For as long as a tab is there: ``wake`` is called, from another thread, when there is news."""
        with self._lock:
            self._next += 1
            key = self._next
            self._wakers[key] = wake
            if opened:
                self._opened[opened] += 1
        self.changed()
        try:
            yield
        finally:
            with self._lock:
                del self._wakers[key]
                if opened:
                    self._opened[opened] -= 1
                    self._opened = +self._opened
                if len(self._gone) > len(self._rows) and not self._wakers:
                    self._gone.clear()  # a new tab is told everything
            self.changed()

    def close(self) -> None:
        """Send all tabs away: the server ends."""
        with self._lock:
            self._closed = True
            wakers = tuple(self._wakers.values())
        for wake in wakers:
            wake()
