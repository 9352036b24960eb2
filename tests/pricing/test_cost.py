"""Money: billable × instances × dated price, recomputed from the published pair."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.catalog import instances
from sm_trn.core.pricing import break_even, ceiling, job_cost, price_sources, snapshot_book, spot_saving, usd_for
from sm_trn.core.specs import JobSnapshot, WallSeconds, parse_snapshot

import jobs  # isort: skip - a module of the tests

REGION = "us-west-2"


def job(
    instance: str, billable: float | None, *, count: int = 1, account: str = "123456789012", **more: object
) -> JobSnapshot:
    return parse_snapshot(
        {
            "TrainingJobName": "j",
            "TrainingJobArn": f"arn:aws:sagemaker:{REGION}:{account}:training-job/j",
            "TrainingJobStatus": "Completed",
            "ResourceConfig": {"InstanceType": instance, "InstanceCount": count},
            **({"BillableTimeInSeconds": billable} if billable is not None else {}),
            **more,
        }
    )


TRN1, P4D = job("ml.trn1.32xlarge", 6033), job("ml.p4d.24xlarge", 6553)


@pytest.mark.parametrize(
    ("snapshot", "at", "usd"),
    [(TRN1, "2022-12-31", "41.43"), (P4D, "2022-12-31", "68.61"), (P4D, None, "45.96"), (TRN1, None, "41.43")],
)
def test_the_published_pair_at_its_dates(snapshot: JobSnapshot, at: str | None, usd: str) -> None:
    cost = job_cost(snapshot, snapshot_book().find(snapshot.instance, REGION, at=at))
    assert cost is not None
    assert Decimal(usd) == cost.rounded


def test_the_price_at_which_the_order_flips() -> None:
    cost = job_cost(TRN1, snapshot_book().find(TRN1.instance, REGION))
    assert cost is not None
    tie = break_even(cost, P4D)
    assert tie is not None
    assert Decimal("22.76") == round(tie, 2)


def test_two_instances_cost_twice() -> None:
    price = snapshot_book().find("ml.p4d.24xlarge", REGION)
    one, two = job_cost(P4D, price), job_cost(job("ml.p4d.24xlarge", 6553, count=2), price)
    assert one is not None
    assert two is not None
    assert 2 * one.usd == two.usd


@given(some.floats(1, 1e6), some.floats(0, 1e6), some.integers(1, 64))
def test_cost_grows_with_time(seconds: float, more: float, count: int) -> None:
    rate = Decimal("25.251286")
    assert usd_for(WallSeconds(seconds), count, rate) <= usd_for(WallSeconds(seconds + more), count, rate)


def test_an_emulated_job_has_no_cost() -> None:
    price = snapshot_book().find("ml.p4d.24xlarge", REGION)
    assert job_cost(job("ml.p4d.24xlarge", 10, account="000000000000"), price) is None


def test_an_unbilled_job_has_no_cost_yet() -> None:
    assert job_cost(job("ml.p4d.24xlarge", None), snapshot_book().find("ml.p4d.24xlarge", REGION)) is None


def test_spot_saving_is_the_consoles_formula() -> None:
    saving = spot_saving(job("ml.p4d.24xlarge", 100, EnableManagedSpotTraining=True, TrainingTimeInSeconds=500))
    assert saving == pytest.approx(0.8)
    assert spot_saving(job("ml.p4d.24xlarge", 100, TrainingTimeInSeconds=500)) is None


def test_a_price_of_another_region_is_never_used() -> None:
    assert snapshot_book().find("ml.trn1.32xlarge", "eu-west-1") is None


def test_a_price_from_the_future_is_never_used() -> None:
    assert snapshot_book().find("ml.trn1.32xlarge", REGION, at=date(2020, 1, 1)) is None


def test_hosting_rates_are_not_training_prices() -> None:
    assert snapshot_book().find("ml.inf2.xlarge", "us-east-1") is None


def test_every_price_has_a_date_a_spelled_out_source_and_a_known_instance() -> None:
    for price in snapshot_book().prices:
        assert price.as_of[:2] == "20"
        assert price.source in price_sources()
        assert price.instance in instances()
        assert price.usd_per_hour > 0


def test_ceiling_is_max_run_on_every_instance() -> None:
    most = ceiling(jobs.smddp("."), snapshot_book().find("ml.p4d.24xlarge", REGION))
    assert most is not None
    assert Decimal("1212.06") == round(most, 2)
