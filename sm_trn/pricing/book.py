"""Prices as dated, sourced facts. A price is (value, instance, region, component, date, source), never a constant."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files
from types import MappingProxyType

from ..errors import SmTrnError
from ..specs.units import Usd

SCHEMA = 1
_DAY = re.compile(r"\d{4}-\d{2}(-\d{2})?")


def price_day(at: date | str) -> str:
    """The last day that ``at`` means, to be held against ``as_of``: a month is all of its days. Raises ValueError for a text
    that is no date."""
    if isinstance(at, date):
        return at.isoformat()
    try:
        date.fromisoformat(at if len(at) > 7 else f"{at}-01")
        known = _DAY.fullmatch(at) is not None
    except ValueError:
        known = False
    if not known:
        raise ValueError(f"at: got {at!r}, wanted an ISO date, such as 2022-12-31, or a month, such as 2022-12")
    return at if len(at) > 7 else f"{at}-31"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD per instance and hour. ``as_of`` is an ISO date, or a month when the source gives no day.

    ``inferred`` marks a value that was not published for training in this region: ``source`` says what it stands on.
    """

    instance: str
    region: str
    usd_per_hour: Usd
    as_of: str
    component: str
    source: str
    inferred: bool = False

    def __str__(self) -> str:
        mark = ", inferred" if self.inferred else ""
        shown = self.usd_per_hour.quantize(Decimal("0.01"), ROUND_HALF_UP)
        return f"${shown:,}/h ({self.as_of}, {self.region}{mark})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBook:
    """All known prices. ``find`` answers one question: what did this cost here, then?"""

    prices: tuple[Price, ...]

    def find(self, instance: str, region: str, *, at: date | str | None = None) -> Price | None:
        """The newest price on or before ``at`` (newest of all when None); None when none is known.

        Hosting rates are never used for training. A price of another region is never used. Raises ValueError for a text that is no
        date.
        """
        day = None if at is None else price_day(at)
        known = [
            price
            for price in self.prices
            if price.instance == instance
            and price.region == region
            and price.component != "Hosting"
            and (day is None or price.as_of <= day)
        ]
        return max(known, key=lambda price: (price.as_of, not price.inferred), default=None)

    def of(self, machines: Iterable[tuple[str, int]], region: str, *, at: date | str | None = None) -> Price | None:
        """The price of one host of a job's ``machines``: of several types, what they cost together over their number, as of the
        oldest of their prices. None when one of them has none.
        """
        counts: dict[str, int] = {}
        for instance, count in machines:
            counts[instance] = counts.get(instance, 0) + count
        found = [self.find(instance, region, at=at) for instance in counts]
        known = [price for price in found if price is not None]
        if len(known) < len(found) or not known:
            return None
        if len(known) == 1:
            return known[0]
        together = sum((price.usd_per_hour * counts[price.instance] for price in known), Decimal(0))
        return Price(
            instance="+".join(sorted(counts)),  # as a snapshot names them
            region=region,
            usd_per_hour=together / sum(counts.values()),
            as_of=min(price.as_of for price in known),
            component=known[0].component,
            source=" + ".join(dict.fromkeys(price.source for price in known)),
            inferred=any(price.inferred for price in known),
        )

    def hosting(self, instance: str, region: str) -> Price | None:
        """The newest hosting price; None when none is known. A training price, or another region's, never stands in."""
        known = (p for p in self.prices if p.instance == instance and p.region == region and p.component == "Hosting")
        return max(known, key=lambda price: price.as_of, default=None)

    def history(self, instance: str, region: str) -> tuple[Price, ...]:
        """Every training price of an instance in a region, oldest first."""
        known = (p for p in self.prices if p.instance == instance and p.region == region and p.component != "Hosting")
        return tuple(sorted(known, key=lambda price: price.as_of))

    def with_prices(self, extra: Iterable[Price]) -> PriceBook:
        return replace(self, prices=(*self.prices, *extra))


def dump_prices(prices: Iterable[Price]) -> str:
    """Prices as JSON text, amounts as text; ``parse_prices`` reads them back."""
    return json.dumps(
        {"schema": SCHEMA, "rows": [{**asdict(row), "usd_per_hour": str(row.usd_per_hour)} for row in prices]}, indent=1
    )


def parse_prices(text: str, *, where: str = "prices") -> tuple[Price, ...]:
    """Read ``dump_prices``'s JSON. Raises SmTrnError for anything else, negative and infinite prices included."""
    try:
        body = json.loads(text)
        if body["schema"] != SCHEMA:
            raise SmTrnError(
                f"{where}: got schema {body['schema']!r}, wanted {SCHEMA}; refresh the prices with this version"
            )
        rows = tuple(Price(**{**row, "usd_per_hour": Decimal(row["usd_per_hour"])}) for row in body["rows"])
        wrong = [
            row
            for row in rows
            if not row.usd_per_hour.is_finite() or row.usd_per_hour <= 0 or not _DAY.fullmatch(row.as_of)
        ]
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise SmTrnError(
            f"{where}: not a table of prices ({type(error).__name__}: {error}); wanted what sm-trn catalog prices --refresh --save writes"
        ) from error
    if wrong:
        raise SmTrnError(
            f"{where}: got {wrong[0].usd_per_hour} of {wrong[0].as_of!r}, wanted a positive price of an ISO date"
        )
    return rows


@functools.cache
def snapshot_book() -> PriceBook:
    """The prices that ship with the package; ``price_sources()`` spells out where each is from."""
    body = json.loads(files(__package__).joinpath("prices.json").read_text("utf-8"))
    return PriceBook(
        prices=tuple(Price(**{**row, "usd_per_hour": Decimal(row["usd_per_hour"])}) for row in body["rows"])
    )


@functools.cache
def price_sources() -> Mapping[str, str]:
    return MappingProxyType(json.loads(files(__package__).joinpath("prices.json").read_text("utf-8"))["sources"])
