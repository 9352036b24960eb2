"""Training plans: machines that are reserved for a time and paid in advance. What is on offer, and how a plan is bought and extended.

https://docs.aws.amazon.com/sagemaker/latest/dg/reserve-capacity-with-training-plans.html
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config

from ..core.aws.backend import CONFIG, make_client
from ..core.aws.errors import as_cloud_error, unanswered
from ..core.errors import CloudError, LaunchUnknown
from ..core.specs.snapshot import parse_time
from .ports import Offer

TARGET = "training-job"
ONCE = Config(retries={"total_max_attempts": 1})  # a purchase has no token: asked twice, it may be paid twice


class Boto3Plans:
    """The ``Plans`` port over a boto3 session. Its clients are made when they are needed."""

    def __init__(self, session: boto3.Session) -> None:
        self._session = session

    @cached_property
    def _sagemaker(self) -> Any:
        return make_client(self._session, "sagemaker")

    @cached_property
    def _buyer(self) -> Any:
        return self._session.client("sagemaker", config=CONFIG.merge(ONCE))

    def search(
        self, instance: str, count: int, hours: int, *, after: datetime | None = None, before: datetime | None = None
    ) -> tuple[Offer, ...]:
        """Offers of so many instances for so many hours, the earliest first, and of equal starts the cheapest."""
        times = {"StartTimeAfter": after, "EndTimeBefore": before}
        with as_cloud_error("SearchTrainingPlanOfferings", instance):
            answer = self._sagemaker.search_training_plan_offerings(
                InstanceType=instance,
                InstanceCount=count,
                DurationHours=hours,
                TargetResources=[TARGET],
                **{name: time for name, time in times.items() if time is not None},
            )
            offers = [_offer(each) for each in answer["TrainingPlanOfferings"]]
        return tuple(sorted(offers, key=_order))

    def extensions(self, plan_arn: str) -> tuple[Offer, ...]:
        """Offers by which a plan goes on after its end, the cheapest first."""
        with as_cloud_error("SearchTrainingPlanOfferings", plan_arn):
            answer = self._sagemaker.search_training_plan_offerings(TrainingPlanArn=plan_arn, TargetResources=[TARGET])
            offers = [_extension(each, plan_arn) for each in answer.get("TrainingPlanExtensionOfferings", ())]
        return tuple(sorted(offers, key=_order))

    def buy(self, offer: Offer, name: str) -> str:
        """Buy a plan, once; returns its ARN. Raises LaunchUnknown when nobody can say whether it was bought, CloudError."""
        try:
            with as_cloud_error("CreateTrainingPlan", name):
                answer = self._buyer.create_training_plan(TrainingPlanName=name, TrainingPlanOfferingId=offer.id)
                return str(answer["TrainingPlanArn"])
        except CloudError as error:
            raise _doubt(error, name, f"aws sagemaker describe-training-plan --training-plan-name {name}") from error

    def extend(self, offer: Offer) -> None:
        """Buy an extension, once. Raises LaunchUnknown when nobody can say whether it was bought, CloudError."""
        try:
            with as_cloud_error("ExtendTrainingPlan", offer.plan):
                self._buyer.extend_training_plan(TrainingPlanExtensionOfferingId=offer.id)
        except CloudError as error:
            look = f"aws sagemaker describe-training-plan-extension-history --training-plan-arn {offer.plan}"
            raise _doubt(error, offer.plan, look) from error


def _doubt(error: CloudError, name: str, look: str) -> CloudError:
    """The error of a purchase: LaunchUnknown where it may have been made."""
    if not unanswered(error):
        return error
    return LaunchUnknown(
        f"{error}; whether it was bought is not known. Before you buy it again: {look}",
        name=name,
        code=error.code,
        operation=error.operation,
    )


def _order(offer: Offer) -> tuple[float, Decimal]:
    return (offer.starts.timestamp() if offer.starts is not None else 0.0, offer.fee)


def _offer(said: Any) -> Offer:
    """An offering of the service; its machines are those of its first reserved capacity, and of the others where they are the same."""
    parts = said.get("ReservedCapacityOfferings") or [{}]
    starts, ends = _times(parts, "StartTime"), _times(parts, "EndTime")
    return Offer(
        id=str(said["TrainingPlanOfferingId"]),
        instance=" + ".join(dict.fromkeys(str(part.get("InstanceType") or "") for part in parts)),
        count=max(int(part.get("InstanceCount") or 0) for part in parts),
        length=timedelta(hours=int(said.get("DurationHours") or 0), minutes=int(said.get("DurationMinutes") or 0)),
        fee=Decimal(str(said.get("UpfrontFee") or "0")),
        currency=str(said.get("CurrencyCode") or ""),
        starts=min(starts, default=None),
        ends=max(ends, default=None),
        zones=tuple(dict.fromkeys(str(part["AvailabilityZone"]) for part in parts if part.get("AvailabilityZone"))),
    )


def _times(parts: Sequence[Any], name: str) -> list[datetime]:
    known = [parse_time(part.get(name)) for part in parts]
    return [time for time in known if time is not None]


def _extension(said: Any, plan_arn: str) -> Offer:
    return Offer(
        id=str(said["TrainingPlanExtensionOfferingId"]),
        length=timedelta(hours=int(said.get("DurationHours") or 0)),
        fee=Decimal(str(said.get("UpfrontFee") or "0")),
        currency=str(said.get("CurrencyCode") or ""),
        starts=parse_time(said.get("StartDate")),
        ends=parse_time(said.get("EndDate")),
        zones=(str(said["AvailabilityZone"]),) if said.get("AvailabilityZone") else (),
        plan=plan_arn,
    )
