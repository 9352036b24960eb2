"""Today's prices from the AWS Price List: component Training, on demand, with the date they became valid."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import boto3

from ..pricing.book import Price
from .backend import CONFIG
from .errors import as_cloud_error

SOURCE = "AWS Price List API"


def fetch_region_prices(session: boto3.Session, region: str) -> list[Price]:
    """The training prices of every type in one region, in some thirty calls; empty when the list has none. Raises CloudError."""
    # The Price List API answers for all regions from this one.
    client = session.client("pricing", region_name="us-east-1", config=CONFIG)
    wanted = {"productFamily": "ML Instance", "regionCode": region}
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
    with as_cloud_error("GetProducts", region):
        pages = client.get_paginator("get_products").paginate(ServiceCode="AmazonSageMaker", Filters=filters)
        products = [json.loads(text) for page in pages for text in page["PriceList"]]
    named = ((product, product.get("product", {}).get("attributes", {}).get("instanceName")) for product in products)
    return [price for product, name in named if name for price in parse_product(product, name, region)]


def parse_product(product: Mapping[str, Any], instance: str, region: str) -> Iterator[Price]:
    """The on-demand dollars per hour of a Price List product, if it is of the component Training."""
    attributes = product.get("product", {}).get("attributes", {})
    component = attributes.get("component") or attributes.get("platosmlinstancetype") or ""
    if not component.lower().endswith("training"):
        return
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term.get("priceDimensions", {}).values():
            amount = Decimal(dimension.get("pricePerUnit", {}).get("USD", "0"))
            if amount > 0 and dimension.get("unit", "").lower() in {"hrs", "hours", "hour"}:
                yield Price(
                    instance=instance,
                    region=region,
                    usd_per_hour=amount,
                    as_of=str(term.get("effectiveDate", ""))[:10],
                    component="Training",
                    source=SOURCE,
                )
