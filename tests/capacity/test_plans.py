"""Training plans on offer are listed with price, start and length."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import pytest
from fakes.simulated_sagemaker import Service
from fakes.simulated_wire import World


def offering(number: int, start: int, fee: str, currency: str = "USD") -> dict[str, Any]:
    """As the API reference of SearchTrainingPlanOfferings has them."""
    part = {
        "InstanceType": "ml.p5.48xlarge",
        "InstanceCount": 2,
        "AvailabilityZone": "us-west-2a",
        "StartTime": start,
        "EndTime": start + 86_400,
    }
    return {
        "TrainingPlanOfferingId": f"tpo-{number}",
        "TargetResources": ["training-job"],
        "DurationHours": 24,
        "UpfrontFee": fee,
        "CurrencyCode": currency,
        "ReservedCapacityOfferings": [part],
    }


class Reserving(Service):
    """A service with three offers."""

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.counts[operation] += 1
        if operation == "SearchTrainingPlanOfferings":
            assert ("ml.p5.48xlarge", 2, 24, ["training-job"]) == tuple(
                body[name] for name in ("InstanceType", "InstanceCount", "DurationHours", "TargetResources")
            )
            times = [(1, 1_800_200_000, "3000"), (2, 1_800_100_000, "4800.00"), (3, 1_800_100_000, "4700")]
            return {"TrainingPlanOfferings": [offering(*each) for each in times]}
        return super().answer(operation, body)


@pytest.fixture
def here(here: World) -> World:
    here.wire.service = Reserving(here.clock)
    return here


def test_offers_say_price_start_and_length(here: World) -> None:
    offers = here.session.offers("ml.p5.48xlarge", count=2, hours=24)
    assert ["tpo-3", "tpo-2", "tpo-1"] == [each.id for each in offers]
    assert datetime.fromtimestamp(1_800_100_000, tz=timezone.utc) == offers[0].starts
    assert "ml.p5.48xlarge × 2" in str(offers[0])
    assert "for 24 h: 4,700 USD" in str(offers[0])
