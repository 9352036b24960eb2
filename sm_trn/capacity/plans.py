"""Offers of SageMaker training plans: machines that are reserved for a time and paid in advance. This module buys nothing.

https://docs.aws.amazon.com/sagemaker/latest/dg/reserve-capacity-with-training-plans.html
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import boto3

from ..core.aws.backend import make_client
from ..core.aws.errors import as_cloud_error
from ..core.formatting import numbers as fmt
from ..core.specs.snapshot import parse_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A training plan on offer. ``fee`` is paid in advance, in ``currency``, whether the machines are used or not."""

    id: str
    instance: str
    count: int
    length: timedelta
    fee: Decimal
    currency: str
    starts: datetime | None
    zones: tuple[str, ...] = ()

    def __str__(self) -> str:
        start = fmt.stamp(self.starts) if self.starts is not None else "an unknown start"
        hours = self.length.total_seconds() / 3600
        return f"{fmt.instances(self.instance, self.count)} from {start} for {hours:g} h: {self.fee:,} {self.currency}"


def find_offers(
    session: boto3.Session,
    instance: str,
    count: int,
    hours: int,
    *,
    after: datetime | None = None,
    before: datetime | None = None,
) -> tuple[Offer, ...]:
    """Return the offers of ``count`` instances for ``hours``, the earliest first, then the cheapest. Raises CloudError."""
    times = {"StartTimeAfter": after, "EndTimeBefore": before}
    with as_cloud_error("SearchTrainingPlanOfferings", instance):
        answer = make_client(session, "sagemaker").search_training_plan_offerings(
            InstanceType=instance,
            InstanceCount=count,
            DurationHours=hours,
            TargetResources=["training-job"],
            **{name: time for name, time in times.items() if time is not None},
        )
        offers = [_parse_offer(each) for each in answer["TrainingPlanOfferings"]]
    return tuple(sorted(offers, key=lambda offer: (offer.starts.timestamp() if offer.starts else 0.0, offer.fee)))


def _parse_offer(offering: Any) -> Offer:
    parts = offering.get("ReservedCapacityOfferings") or [{}]
    starts = [start for part in parts if (start := parse_time(part.get("StartTime"))) is not None]
    return Offer(
        id=str(offering["TrainingPlanOfferingId"]),
        instance=" + ".join(dict.fromkeys(str(part.get("InstanceType") or "") for part in parts)),
        count=max(int(part.get("InstanceCount") or 0) for part in parts),
        length=timedelta(
            hours=int(offering.get("DurationHours") or 0), minutes=int(offering.get("DurationMinutes") or 0)
        ),
        fee=Decimal(str(offering.get("UpfrontFee") or "0")),
        currency=str(offering.get("CurrencyCode") or ""),
        starts=min(starts, default=None),
        zones=tuple(dict.fromkeys(str(part["AvailabilityZone"]) for part in parts if part.get("AvailabilityZone"))),
    )
