"""A registry keeps resources by kind and name, in order of creation. It must not know what a resource is, nor where it is saved."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

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
    """Every method is atomic. ``write`` and ``erase`` save each change before anybody sees it."""

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
            if (kind, name) in self._kept:
                self._erase(self._kept.pop((kind, name)))

    def _save(self, each: T) -> None:
        self._write(each)
        self._kept[each.kind, each.name] = each
