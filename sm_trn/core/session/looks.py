"""Looks at something of the service until it has ended: what a job in a queue and a tuning job share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from ..errors import CloudError
from ..ports import Trouble
from .cloud import Cloud
from .pace import EMULATED_PAUSE_S, FIRST_PAUSE_S, LONGEST_PAUSE_S


class Ending(Protocol):
    """What has an end."""

    @property
    def terminal(self) -> bool: ...


T = TypeVar("T", bound=Ending)


def looks(cloud: Cloud, snapshot: Callable[[], T]) -> Iterator[T]:
    """Snapshots until one is the last, one for each look. A throttle or a lost connection does not end it.

    Raises CloudError for what does not pass by itself.
    """
    attempt = 0
    while True:
        try:
            now = snapshot()
        except CloudError as error:
            if cloud.backend.trouble(error) not in {Trouble.TRANSIENT, Trouble.EXPIRED}:
                raise
            cloud.backend.renew()
        else:
            yield now
            if now.terminal:
                return
        attempt += 1
        cloud.clock.sleep(EMULATED_PAUSE_S if cloud.emulated else min(LONGEST_PAUSE_S, FIRST_PAUSE_S + attempt))
