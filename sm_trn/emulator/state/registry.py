"""A registry keeps resources by kind and name, in order of creation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

from .disk import no_room
from .store import Store

T = TypeVar("T", bound=Any)  # a dataclass with a kind, a name, an ARN, tags and ``created`` in epoch seconds


class Registry(Generic[T]):
    """Every method is atomic, and saves each change before anybody sees it.

    On a full disk nothing new is taken, but what is there changes and goes all the same: that is what makes room. Such a
    change is saved with the next one that finds room.
    """

    def __init__(
        self, store: Store, known: Iterable[T], dump: Callable[[T], str], clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._kept = {(each.kind, each.name): each for each in known}
        self._dump = dump
        self.now = clock
        self._lock = threading.RLock()
        self._owed: dict[tuple[str, str], Callable[[], None]] = {}  # changes for which the disk had no room

    def find(self, kind: str, name: str) -> T | None:
        with self._lock:
            return self._kept.get((kind, name))

    def by_arn(self, arn: str) -> T | None:
        with self._lock:
            return next((each for each in self._kept.values() if each.arn == arn), None)

    def of_kind(self, kind: str) -> list[T]:
        with self._lock:
            kept = [each for each in self._kept.values() if each.kind == kind]
        return sorted(kept, key=lambda each: (each.created, each.name))

    def retag(self, resource: T, tags: Mapping[str, str]) -> None:
        """Replace the tags of a resource."""
        with self._lock:
            self._save(replace(self._kept.get((resource.kind, resource.name), resource), tags=dict(tags)))

    def remove(self, kind: str, name: str) -> None:
        with self._lock:
            if self._kept.pop((kind, name), None) is not None:
                self._settle(partial(self._store.drop, kind, name), (kind, name))

    def _save(self, each: T) -> None:
        key = (each.kind, each.name)
        write = partial(self._store.save, *key, self._dump(each))
        if key not in self._kept:
            write()
        else:
            self._settle(write, key)
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
