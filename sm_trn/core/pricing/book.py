"""Prices as dated, sourced facts. A price is (value, instance, region, component, date, source), never a constant."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files
from types import MappingProxyType

from ..errors import SmTrnError
from ..facts import facts_file, user_facts
from ..specs.units import Usd

SCHEMA = 1
BASE_REGION = "us-east-1"  # the region whose price list is public as a whole
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

    ``inferred`` marks a value that was not published for training in this region: ``source`` says what it stands on
    (``ec2-ratio``: the price in us-east-1 times EC2's ratio of the family between the two regions).
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
class RegionalRatios:
    """EC2's prices of one instance family in each region, in USD an hour, and the SageMaker types of the family.

    The ratio between two regions is the same for every size of a family, and SageMaker's prices follow it.
    """

    instances: frozenset[str]
    usd_per_hour: Mapping[str, Usd]
    as_of: str

    def infer(self, base: Price, region: str) -> Price | None:
        """The price of ``base``'s type in ``region``, as of the older of both sources; None where EC2 does not sell the family."""
        here, there = self.usd_per_hour.get(region), self.usd_per_hour.get(base.region)
        if here is None or there is None or region == base.region:
            return None
        return replace(
            base,
            region=region,
            usd_per_hour=(base.usd_per_hour * here / there).quantize(Decimal("0.0001"), ROUND_HALF_UP),
            as_of=min(base.as_of, self.as_of),
            source="ec2-ratio",
            inferred=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBook:
    """All known prices. ``find`` answers one question: what did this cost here, then?

    Where ``ratios`` has the type's family, a region without a price of its own is given one, marked as inferred:
    the price in ``BASE_REGION`` times EC2's ratio of the family between the two regions.
    """

    prices: tuple[Price, ...]
    ratios: tuple[RegionalRatios, ...] = ()
    _training: Mapping[tuple[str, str], tuple[Price, ...]] = field(init=False, repr=False, compare=False)
    _families: Mapping[str, RegionalRatios] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        training: dict[tuple[str, str], tuple[Price, ...]] = {}
        for price in self.prices:
            if price.component != "Hosting":
                place = price.instance, price.region
                training[place] = (*training.get(place, ()), price)
        families = {name: ratios for ratios in self.ratios for name in ratios.instances}
        object.__setattr__(self, "_training", training)
        object.__setattr__(self, "_families", families)

    def find(self, instance: str, region: str, *, at: date | str | None = None) -> Price | None:
        """The newest price on or before ``at`` (newest of all when None); None when none is known.

        A published price goes before an inferred one of its day. Hosting rates are never used for training. Raises ValueError
        for a text that is no date.
        """
        day = None if at is None else price_day(at)
        known = self._published(instance, region, day)
        if region != BASE_REGION:
            base = max(self._published(instance, BASE_REGION, day), key=_preference, default=None)
            family = self._families.get(instance)
            if base is not None and family is not None and (day is None or family.as_of <= day):
                price = family.infer(base, region)
                known += [] if price is None else [price]
        return max(known, key=_preference, default=None)

    def _published(self, instance: str, region: str, day: str | None) -> list[Price]:
        known = self._training.get((instance, region), ())
        return [price for price in known if day is None or price.as_of <= day]

    def newest(self, region: str) -> tuple[Price, ...]:
        """The newest training price of every type that has one in ``region``, by type."""
        types = sorted({price.instance for price in self.prices})
        return tuple(price for instance in types if (price := self.find(instance, region)) is not None)

    def of(self, machines: Iterable[tuple[str, int]], region: str, *, at: date | str | None = None) -> Price | None:
        """The price of one host of a job's ``machines``: of several types, what they cost together over their number, as of the
        oldest of their prices. None when one of them has none.
        """
        counts: dict[str, int] = {}
        for instance, count in machines:
            counts[instance] = counts.get(instance, 0) + count
        prices = [self.find(instance, region, at=at) for instance in counts]
        known = [price for price in prices if price is not None]
        if len(known) < len(prices) or not known:
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


def _preference(price: Price) -> tuple[str, bool]:
    return price.as_of, not price.inferred


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
            f"{where}: not a table of prices ({type(error).__name__}: {error}); wanted what sm-trn catalog update writes"
        ) from error
    if wrong:
        raise SmTrnError(
            f"{where}: got {wrong[0].usd_per_hour} of {wrong[0].as_of!r}, wanted a positive price of an ISO date"
        )
    return rows


@functools.cache
def snapshot_book() -> PriceBook:
    """The prices that ship with the package, and those of the user's own file of facts.

    ``price_sources()`` spells out where each is from. Raises NotConfigured when that file is not one.
    """
    body = json.loads(files(__package__).joinpath("prices.json").read_text("utf-8"))
    shipped = tuple(Price(**{**row, "usd_per_hour": Decimal(row["usd_per_hour"])}) for row in body["rows"])
    own = user_facts().get("prices")
    return PriceBook(
        prices=shipped if own is None else (*shipped, *parse_prices(json.dumps(own), where=str(facts_file()))),
        ratios=_regional_ratios(),
    )


def _regional_ratios() -> tuple[RegionalRatios, ...]:
    families = json.loads(files(__package__).joinpath("regions.json").read_text("utf-8"))["families"].values()
    return tuple(
        RegionalRatios(
            instances=frozenset(family["instances"]),
            usd_per_hour={region: Decimal(usd) for region, usd in family["usd_per_hour"].items()},
            as_of=family["as_of"],
        )
        for family in families
    )


@functools.cache
def price_sources() -> Mapping[str, str]:
    return MappingProxyType(json.loads(files(__package__).joinpath("prices.json").read_text("utf-8"))["sources"])
