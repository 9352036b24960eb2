"""What all tabs are shown: pieces of HTML by the id of their place.

The poller writes, tabs read. It knows neither how pieces are made nor how they are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


class Board:
    """Written by the poller's thread and read by the server's: every attribute is replaced as a whole, never changed in place.

    ``changed`` is called whenever a tab comes or goes.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.closed = False
        self.pieces: Mapping[str, str] = {}
        self._changed = changed
        self._tabs: tuple[Callable[[], None], ...] = ()  # what wakes each

    @property
    def watched(self) -> bool:
        """Return True while any tab is open and visible."""
        return bool(self._tabs)

    def publish(self, pieces: Mapping[str, str]) -> None:
        """Replace all pieces, and wake the tabs."""
        self.pieces = pieces
        self._wake()

    @contextmanager
    def listening(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call ``wake``, from another thread, when there may be news, for as long as a tab is there."""
        self._tabs = (*self._tabs, wake)
        self._changed()
        try:
            yield
        finally:
            self._tabs = tuple(each for each in self._tabs if each is not wake)
            self._changed()

    def close(self) -> None:
        """Send all tabs away: the server ends."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        for wake in self._tabs:
            wake()
