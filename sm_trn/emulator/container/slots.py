"""The machine's job slots, given out first come, first served. A job that waits costs no thread and no processor time."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LONGEST_S: Final = 3600.0  # the clock may be set while a thread sleeps


@dataclass(frozen=True, slots=True, eq=False)
class SlotRequest:
    """Who asks for a place. ``begin`` is called with a place taken, ``give_up`` instead of it once it is ``due`` (epoch seconds)."""

    begin: Callable[[], None]
    give_up: Callable[[], None]
    due: float = float("inf")


class JobSlots:
    """Safe to share between threads. A thread sleeps until the earliest time that is due, where there is one at all."""

    def __init__(self, places: int, clock: Callable[[], float] = time.time) -> None:
        self._free = places
        self._clock = clock
        self._changed = threading.Condition(threading.RLock())
        self._waiting: dict[SlotRequest, None] = {}  # in order of arrival
        self._due: list[tuple[float, int, SlotRequest]] = []
        self._numbers = itertools.count()
        self._watched = False
        self._closed = False

    def acquire(self, request: SlotRequest, waits: Callable[[], None]) -> None:
        """``begin`` at once where there is a place, else ``waits``, and ``begin`` or ``give_up`` later, in another thread."""
        with self._changed:
            if self._free and not self._waiting and not self._closed:
                self._free -= 1
                request.begin()
                return
            waits()
            self._waiting[request] = None
            if request.due < float("inf"):
                heapq.heappush(self._due, (request.due, next(self._numbers), request))
                self._watch()

    def cancel(self, request: SlotRequest) -> bool:
        """Return whether it was still waiting; then neither ``begin`` nor ``give_up`` is ever called."""
        with self._changed:
            return request in self._waiting and self._waiting.pop(request) is None

    def release(self) -> None:
        """Give a place back: the next one begins."""
        with self._changed:
            self._free += 1
            if self._waiting and not self._closed:
                self._free -= 1
                request = next(iter(self._waiting))
                del self._waiting[request]
                request.begin()

    def close(self) -> None:
        """Nobody begins any more."""
        with self._changed:
            self._closed = True

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


class Capacity:
    """The instances that there are of some types. Safe to share between threads."""

    def __init__(self, most: Mapping[str, int]) -> None:
        self._free = dict(most)
        self._lock = threading.Lock()

    def take(self, machines: Mapping[str, int]) -> bool:
        """Take the instances of a job, all or none; return whether there were so many."""
        with self._lock:
            if any(count > self._free.get(kind, count) for kind, count in machines.items()):
                return False
            self._change(machines, -1)
            return True

    def give(self, machines: Mapping[str, int]) -> None:
        """Give the instances of a job back."""
        with self._lock:
            self._change(machines, 1)

    def _change(self, machines: Mapping[str, int], sign: int) -> None:
        for kind, count in machines.items():
            if kind in self._free:
                self._free[kind] += sign * count
