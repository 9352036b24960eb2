"""The machine's job slots, given out first come, first served. A job that waits costs no thread and no processor time."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_S: Final = 3600.0  # the clock may be set while a thread sleeps


@dataclass(frozen=True, slots=True, eq=False)
class SlotRequest:
    """Which job asks for a place. ``begin`` is called with a place taken, ``give_up`` instead of it once it is ``due`` (epoch seconds)."""

    name: str
    begin: Callable[[], None]
    give_up: Callable[[], None]
    due: float = float("inf")


class JobSlots:
    """Safe to share between threads. A thread sleeps until the earliest time that is due, where there is one at all."""

    def __init__(self, places: int, clock: Callable[[], float] = time.time) -> None:
        self._places = places
        self._busy: list[str] = []
        self._clock = clock
        self._changed = threading.Condition(threading.RLock())
        self._waiting: dict[SlotRequest, None] = {}  # in order of arrival
        self._due: list[tuple[float, int, SlotRequest]] = []
        self._numbers = itertools.count()
        self._watched = False
        self._closed = False

    def acquire(self, request: SlotRequest, waits: Callable[[str], object]) -> None:
        """``begin`` at once where there is a place, else ``waits`` with the reason; ``begin`` or ``give_up`` follows in another thread."""
        with self._changed:
            if len(self._busy) < self._places and not self._waiting and not self._closed:
                self._begin(request)
                return
            waits(
                f"Waits for a slot on this machine ({len(self._busy)} of {self._places} busy: {', '.join(self._busy)})"
            )
            self._waiting[request] = None
            if request.due < float("inf"):
                heapq.heappush(self._due, (request.due, next(self._numbers), request))
                self._watch()

    def cancel(self, request: SlotRequest) -> bool:
        """Return whether it was still waiting; then neither ``begin`` nor ``give_up`` is ever called."""
        with self._changed:
            return request in self._waiting and self._waiting.pop(request) is None

    def release(self, name: str) -> None:
        """Give the place of a job back: the next one begins."""
        with self._changed:
            self._busy.remove(name)
            if self._waiting and not self._closed:
                request = next(iter(self._waiting))
                del self._waiting[request]
                self._begin(request)

    def close(self) -> None:
        """Nobody begins any more."""
        with self._changed:
            self._closed = True

    def _begin(self, request: SlotRequest) -> None:
        self._busy.append(request.name)
        request.begin()

    def _watch(self) -> None:
        if not self._watched:
            self._watched = True
            threading.Thread(target=self._end_the_overdue, name="deadlines", daemon=True).start()
        self._changed.notify()

    def _end_the_overdue(self) -> None:
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > self._clock():
                    self._changed.wait(min(self._due[0][0] - self._clock(), _LONGEST_S) if self._due else None)
                request = heapq.heappop(self._due)[2]
                late = self.cancel(request)
            if late:
                request.give_up()
