"""Training plans are found with price, start and length, and bought once, if at all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from fakes.simulated_sagemaker import Refusal, Service
from fakes.simulated_wire import World

import sm_trn as st
from sm_trn.core.session.budget import OverBudget

PLAN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/a-plan"


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
    """Plans and extensions, and how often each was bought."""

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.counts[operation] += 1
        if operation == "SearchTrainingPlanOfferings" and "TrainingPlanArn" in body:
            more = {
                "TrainingPlanExtensionOfferingId": "tpe-1",
                "DurationHours": 24,
                "UpfrontFee": "2400.5",
                "CurrencyCode": "USD",
            }
            return {"TrainingPlanOfferings": [], "TrainingPlanExtensionOfferings": [more]}
        if operation == "SearchTrainingPlanOfferings":
            assert ("ml.p5.48xlarge", 2, 24, ["training-job"]) == tuple(
                body[name] for name in ("InstanceType", "InstanceCount", "DurationHours", "TargetResources")
            )
            times = [(1, 1_800_200_000, "3000"), (2, 1_800_100_000, "4800.00"), (3, 1_800_100_000, "4700")]
            return {"TrainingPlanOfferings": [offering(*each) for each in times]}
        if operation == "CreateTrainingPlan":
            if self.counts[operation] > 5:
                raise Refusal("ResourceLimitExceeded", "no more plans")
            return {"TrainingPlanArn": PLAN}
        if operation == "ExtendTrainingPlan":
            return {
                "TrainingPlanExtensions": [{"TrainingPlanExtensionOfferingId": body["TrainingPlanExtensionOfferingId"]}]
            }
        return super().answer(operation, body)


@pytest.fixture
def here(here: World) -> World:
    here.wire.service = Reserving(here.clock)
    return here


def test_offers_say_price_start_and_length(here: World) -> None:
    offers = here.session.offers("ml.p5.48xlarge", count=2, hours=24)
    assert ["tpo-3", "tpo-2", "tpo-1"] == [each.id for each in offers]
    assert datetime.fromtimestamp(1_800_100_000, tz=timezone.utc) == offers[0].starts
    assert Decimal(4700) / 48 == offers[0].per_instance_hour
    assert "ml.p5.48xlarge × 2" in str(offers[0])
    assert "for 24 h: 4,700 USD, 97.92 an instance and hour" in str(offers[0])


def test_a_plan_is_bought_within_a_limit_and_a_job_uses_it(here: World, spec: st.JobSpec) -> None:
    offer = here.session.offers("ml.p5.48xlarge", count=2, hours=24)[0]
    with pytest.raises(OverBudget):
        here.session.buy(offer, max_usd=4699)
    assert 0 == here.wire.calls["CreateTrainingPlan"]
    plan = here.session.buy(offer, max_usd=4700, name="a-plan")
    reserved = spec.replace(compute=st.Compute("ml.p5.48xlarge", count=2, training_plan=plan))
    assert PLAN == st.render(reserved)["ResourceConfig"]["TrainingPlanArn"]


def test_an_extension_is_found_and_bought(here: World) -> None:
    (more,) = here.session.extensions(PLAN)
    assert (Decimal("2400.5"), PLAN, None) == (more.fee, more.plan, more.per_instance_hour)
    assert PLAN == here.session.buy(more, max_usd=2401)
    assert 1 == here.wire.calls["ExtendTrainingPlan"]


@pytest.mark.parametrize("operation", ["CreateTrainingPlan", "ExtendTrainingPlan"])
def test_a_purchase_whose_answer_is_lost_is_not_made_again(here: World, operation: str) -> None:
    offers = (
        here.session.offers("ml.p5.48xlarge", count=2, hours=24)
        if "Create" in operation
        else here.session.extensions(PLAN)
    )
    here.wire.lose_answers_of = {operation}
    with pytest.raises(st.errors.LaunchUnknown, match="Before you buy it again: aws sagemaker describe-training-plan"):
        here.session.buy(offers[0], max_usd=1e6)
    assert 1 == here.wire.calls[operation]


def test_another_currency_is_not_bought(here: World) -> None:
    offer = here.session.offers("ml.p5.48xlarge", count=2, hours=24)[0]
    with pytest.raises(OverBudget):
        here.session.buy(
            type(offer)(id="x", length=offer.length, fee=Decimal(1), currency="CNY", starts=None, ends=None), max_usd=10
        )
