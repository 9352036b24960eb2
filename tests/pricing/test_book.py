"""The shipped prices: what is published, what is inferred from it, and how near the inference comes to what it has not used."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from sm_trn.core.catalog import instances
from sm_trn.core.pricing import Price, PriceBook, price_sources, snapshot_book
from sm_trn.core.pricing.book import BASE_REGION

BOOK = snapshot_book()
ELSEWHERE = [
    price
    for price in BOOK.prices
    if price.region != BASE_REGION
    and price.component != "Hosting"
    and BOOK.find(price.instance, BASE_REGION) is not None
    and (price.instance, price.as_of) != ("ml.p4d.24xlarge", "2022-11")  # before AWS cut it by a third in June 2025
]


@pytest.mark.parametrize("price", ELSEWHERE, ids=lambda price: f"{price.instance}-{price.region}-{price.as_of}")
def test_an_inferred_price_is_within_half_a_percent_of_a_published_one(price: Price) -> None:
    others = PriceBook(prices=tuple(row for row in BOOK.prices if row.region == BASE_REGION), ratios=BOOK.ratios)
    inferred = others.find(price.instance, price.region)
    assert inferred is not None
    assert inferred.inferred
    assert abs(inferred.usd_per_hour / price.usd_per_hour - 1) < Decimal("0.005")


PRICED = {"us-east-1": 48, "us-east-2": 46, "us-west-2": 42, "eu-central-1": 35, "eu-west-1": 19, "ap-northeast-1": 39}


@pytest.mark.parametrize(("region", "least"), PRICED.items())
def test_accelerated_types_have_a_price_where_ec2_sells_them(region: str, least: int) -> None:
    accelerated = [row.name for row in instances().values() if row.trains and row.chips]
    assert sum(BOOK.find(name, region) is not None for name in accelerated) >= least


def test_the_newest_price_is_used_wherever_an_old_one_is_known_too() -> None:
    for region in (BASE_REGION, "us-west-2"):
        price = BOOK.find("ml.p4d.24xlarge", region)
        assert price is not None
        assert price.as_of > "2026"
        assert Decimal("25.25") == round(price.usd_per_hour, 2)
    old = BOOK.find("ml.p4d.24xlarge", "us-west-2", at="2022-12")
    assert old is not None
    assert Decimal("37.69") == old.usd_per_hour


def test_an_inferred_price_is_as_old_as_the_older_of_its_sources() -> None:
    price = BOOK.find("ml.g5.xlarge", "eu-central-1")
    assert price is not None
    assert (True, "2025-11-30", "ec2-ratio") == (price.inferred, price.as_of, price.source)
    assert BOOK.find("ml.g5.xlarge", "eu-central-1", at="2025-11-29") is None


def test_a_family_that_ec2_does_not_sell_in_a_region_has_no_price_there() -> None:
    assert BOOK.find("ml.p4d.24xlarge", "eu-west-3") is None
    assert BOOK.find("ml.trn1.32xlarge", "mars-1") is None


def test_a_users_price_of_the_base_region_moves_the_other_regions_too() -> None:
    base = BOOK.find("ml.g5.xlarge", BASE_REGION)
    assert base is not None
    dearer = Price(instance="ml.g5.xlarge", region=BASE_REGION, usd_per_hour=base.usd_per_hour * 2, as_of="2026-11-01",
                   component="Training", source="mine")  # fmt: skip
    before, after = (
        book.find("ml.g5.xlarge", "eu-central-1") for book in (BOOK, replace(BOOK, prices=(*BOOK.prices, dearer)))
    )
    assert before is not None
    assert after is not None
    assert before.usd_per_hour * 2 == after.usd_per_hour


def test_a_published_price_goes_before_an_inferred_one_of_its_day() -> None:
    row = Price(instance="ml.g5.xlarge", region="eu-central-1", usd_per_hour=Decimal(9), as_of="2025-11-30",
                component="Training", source="list")  # fmt: skip
    assert row == replace(BOOK, prices=(*BOOK.prices, row)).find("ml.g5.xlarge", "eu-central-1")


def test_every_price_names_a_source_and_a_type_of_the_catalogue() -> None:
    for price in BOOK.prices:
        assert price.source in price_sources()
        assert price.instance in instances()
    members = [name for ratios in BOOK.ratios for name in ratios.instances]
    assert len(members) == len(set(members))
    assert set(members) <= set(instances())
    assert all(BASE_REGION in ratios.usd_per_hour for ratios in BOOK.ratios)


def test_the_newest_of_a_region_are_those_that_are_found_there() -> None:
    newest = BOOK.newest("eu-west-1")
    assert {price.instance: price for price in newest} == {
        name: price for name in {row.instance for row in BOOK.prices} if (price := BOOK.find(name, "eu-west-1"))
    }
