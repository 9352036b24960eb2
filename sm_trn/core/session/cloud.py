"""One account and region, or the emulator, as the ports to it: what the session's work is done with. It knows no job."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

from ..errors import NotConfigured
from ..ports import Account, Backend, Clock, Hosting, LogSource, Storage, Utilization
from ..pricing.book import Price, PriceBook, snapshot_book
from .pace import SystemClock

if TYPE_CHECKING:
    import boto3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """The ports, and where they lead."""

    backend: Backend
    logs: LogSource
    storage: Storage
    role: str
    bucket: str
    region: str
    emulated: bool
    announcement: str
    boto_session: boto3.Session | None = dataclasses.field(default=None, repr=False)
    clock: Clock = dataclasses.field(default_factory=SystemClock, repr=False)
    prices: PriceBook = dataclasses.field(default_factory=snapshot_book, repr=False)
    account: Account | None = dataclasses.field(default=None, repr=False)
    utilization: Utilization | None = dataclasses.field(default=None, repr=False)
    hosting: Hosting | None = dataclasses.field(default=None, repr=False)

    @property
    def hosts(self) -> Hosting:
        """The port to what answers. Raises NotConfigured for a session that was made without one."""
        if self.hosting is None:
            raise NotConfigured("hosting: got a session without it, wanted one of connect(), or Session(…, hosting=…)")
        return self.hosting

    def price(self, instance: str, *, at: date | str | None = None) -> Price | None:
        """The newest training price of ``instance`` in this region, or that of a day; None when none is known."""
        return self.prices.find(instance, self.region, at=at)

    def price_of(self, machines: Iterable[tuple[str, int]], *, at: date | str | None = None) -> Price | None:
        """The price of one host of ``job.machines``, whatever types they are; None when one of them has none."""
        return self.prices.of(machines, self.region, at=at)
