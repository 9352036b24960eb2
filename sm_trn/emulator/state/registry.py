"""A registry keeps resources by kind and name, in order of creation."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from .disk import no_room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Registered(Protocol):
    """This is what every resource has; ``created`` is in epoch seconds."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def arn(self) -> str: ...
    @property
    def created(self) -> float: ...


T = TypeVar("T", bound=Registered)


class Registry(Generic[T]):
    """Every method is atomic. ``write`` and ``erase`` save each change before anybody sees it.

    On a full disk nothing new is taken, but what is there changes and goes all the same: that is what makes room. Such a
    change is saved with the next one that finds room.
    """

    def __init__(
        self,
        found: Iterable[T],
        write: Callable[[T], None],
        erase: Callable[[T], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._kept = {(each.kind, each.name): each for each in found}
        self._write = write
        self._erase = erase
        self._clock = clock
        self._lock = threading.RLock()
        self._owed: dict[tuple[str, str], Callable[[], None]] = {}  # changes for which the disk had no room

    def now(self) -> float:
        return self._clock()

    def find(self, kind: str, name: str) -> T | None:
        with self._lock:
            return self._kept.get((kind, name))

    def by_arn(self, arn: str) -> T | None:
        with self._lock:
            return next((each for each in self._kept.values() if each.arn == arn), None)

    def of_kind(self, kind: str) -> list[T]:
        with self._lock:
            found = [each for each in self._kept.values() if each.kind == kind]
        return sorted(found, key=lambda each: (each.created, each.name))

    def remove(self, kind: str, name: str) -> None:
        with self._lock:
            gone = self._kept.pop((kind, name), None)
            if gone is not None:
                self._settle(partial(self._erase, gone), (kind, name))

    def _save(self, each: T) -> None:
        key = (each.kind, each.name)
        if key not in self._kept:
            self._write(each)
        else:
            self._settle(partial(self._write, each), key)
        self._kept[key] = each

    def _settle(self, change: Callable[[], None], key: tuple[str, str]) -> None:
        """Save a change, and those before it for which there was no room."""
        self._owed.pop(key, None)
        self._owed[key] = change
        try:
            for other, owed in list(self._owed.items()):
                owed()
                del self._owed[other]
        except OSError as error:
            if not no_room(error):
                raise
