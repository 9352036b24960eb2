"""What answering requests costs: an endpoint's hourly price over the requests that it gets. No measured rate, no cost."""

from __future__ import annotations

from dataclasses import dataclass

from ..formatting.cards import HasCard
from ..formatting.missing import Missing
from ..specs.units import Usd
from .book import Price
from .cost import usd_per_thousand

STATED_RATES = (0.1, 1.0, 10.0, 100.0)  # requests per second


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCost(HasCard):
    """What 1,000 requests cost on ``count`` instances, at the rate that an endpoint gets, in requests per second.

    ``price`` is a hosting price, None when none is known. An ``emulated`` endpoint has no cost, and its rate is this machine's.
    """

    instance: str
    count: int
    price: Price | None
    requests_per_s: float
    emulated: bool

    @property
    def usd_per_thousand(self) -> Usd | None:
        """At the rate that was measured; None when there is no price, or when the rate is an emulated one."""
        return None if self.emulated else self.at(self.requests_per_s)

    def at(self, requests_per_s: float) -> Usd | None:
        """At a rate that you state, whatever was measured; None when there is no price."""
        return usd_per_thousand(self.price.usd_per_hour, self.count, requests_per_s) if self.price is not None else None

    def __str__(self) -> str:
        return "\n".join([self.heading(), self.priced(), *(f"  {rate:>6}  {usd}" for rate, usd in self.table())])

    def heading(self) -> str:
        """What was seen, in a sentence; says first when it was emulated."""
        return f"EMULATED: {self.sentence()}" if self.emulated else self.sentence()

    def sentence(self) -> str:
        """What was seen."""
        rate = f"{self.requests_per_s:,.3g} requests/s"
        if self.emulated:
            return f"{rate} emu are this machine's and have no cost."
        usd = self.usd_per_thousand
        return f"{rate}." if usd is None else f"{_shown(usd)} for 1,000 requests at {rate}."

    def priced(self) -> str:
        """What the table stands on: machine, price, its date."""
        machine = f"{self.instance}{f' × {self.count}' if self.count > 1 else ''}"
        if self.price is None:
            return f"No hosting price for {machine} is known."
        return f"{machine} at {self.price} for hosting. 1,000 requests cost, at the rate that you state:"

    def table(self) -> list[tuple[str, str]]:
        """Stated rates, and what 1,000 requests cost at each; nothing without a price."""
        if self.price is None:
            return []
        return [(f"{rate:g}/s", _shown(self.at(rate))) for rate in STATED_RATES]


def _shown(usd: Usd | None) -> str:
    return str(Missing.NO_PRICE) if usd is None else f"${usd:,.4f}"
