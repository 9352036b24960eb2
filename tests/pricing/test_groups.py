"""Instance groups: one price of a host of several types, and costs that are the sum of the groups'."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.cli.files.ceilings import ceiling_of
from sm_trn.core.pricing import ceiling, job_cost, snapshot_book, usd_for
from sm_trn.core.session.budget import OverBudget, refuse_over
from sm_trn.core.specs import WallSeconds, parse_snapshot

import jobs  # isort: skip - a module of the tests

REGION = "us-west-2"
PRICED = sorted(
    {price.instance for price in snapshot_book().prices if snapshot_book().find(price.instance, "us-west-2")}
)
GROUPS = some.lists(some.tuples(some.sampled_from(PRICED), some.integers(1, 9)), min_size=1, max_size=4)


def grouped(groups: list[tuple[str, int]], *, max_run_s: int = 3600, keep_alive_s: int | None = None) -> st.JobSpec:
    parts = [st.specs.InstanceGroup(name=f"g{n}", instance=name, count=count) for n, (name, count) in enumerate(groups)]
    compute = st.Compute(groups=tuple(parts), keep_alive_s=keep_alive_s)
    return jobs.smddp(".").replace(compute=compute, max_run_s=max_run_s)


@given(GROUPS, some.integers(60, 400_000), some.none() | some.integers(60, 3600))
def test_a_ceiling_is_the_sum_of_its_groups_while_they_run_and_are_kept(
    groups: list[tuple[str, int]], max_run_s: int, keep_alive_s: int | None
) -> None:
    book = snapshot_book()
    spec = grouped(groups, max_run_s=max_run_s, keep_alive_s=keep_alive_s)
    each = [
        usd_for(WallSeconds(max_run_s + (keep_alive_s or 0)), count, price.usd_per_hour)
        for name, count in groups
        if (price := book.find(name, REGION))
    ]
    assert len(groups) == len(each)
    most = ceiling(spec, book.of(spec.compute.machines, REGION))
    assert most is not None
    assert abs(sum(each) - most) < Decimal("1e-9")
    assert ceiling_of(spec, "us-west-2").usd == most


@given(GROUPS, some.floats(1, 1e6))
def test_the_cost_of_a_job_is_the_sum_of_its_groups(groups: list[tuple[str, int]], billable: float) -> None:
    book = snapshot_book()
    rows = [{"InstanceType": n, "InstanceCount": c, "InstanceGroupName": f"g{i}"} for i, (n, c) in enumerate(groups)]
    snapshot = parse_snapshot(
        {
            "TrainingJobName": "j",
            "TrainingJobArn": f"arn:aws:sagemaker:{REGION}:123456789012:training-job/j",
            "ResourceConfig": {"InstanceGroups": rows},
            "BillableTimeInSeconds": billable,
        }
    )
    cost = job_cost(snapshot, book.of(snapshot.machines, REGION))
    each = [usd_for(WallSeconds(billable), n, p.usd_per_hour) for m, n in groups if (p := book.find(m, REGION))]
    assert cost is not None
    assert abs(sum(each) - cost.usd) < Decimal("1e-9")


def test_one_type_in_two_groups_has_the_types_own_price() -> None:
    book = snapshot_book()
    assert book.find("ml.p4d.24xlarge", REGION) == book.of([("ml.p4d.24xlarge", 1), ("ml.p4d.24xlarge", 1)], REGION)


def test_a_group_without_a_price_leaves_the_job_without_one() -> None:
    book = snapshot_book()
    assert book.find("ml.m4.xlarge", REGION) is None
    assert book.of([("ml.p4d.24xlarge", 1), ("ml.m4.xlarge", 1)], REGION) is None
    with pytest.raises(OverBudget, match=r"no price is known for ml\.p4d\.24xlarge and ml\.m4\.xlarge"):
        refuse_over(1e9, [grouped([("ml.p4d.24xlarge", 1), ("ml.m4.xlarge", 1)])], lambda m: book.of(m, REGION))


def test_a_serverless_job_is_billed_in_tokens_and_has_no_ceiling() -> None:
    base = "arn:aws:sagemaker:us-west-2:aws:hub-content/SageMakerPublicHub/Model/a/1.0.0"
    spec = st.JobSpec(
        name="tuned",
        framework=st.Container(),
        compute=st.Compute(st.specs.SERVERLESS),
        extra={"ServerlessJobConfig": {"BaseModelArn": base, "JobType": "FineTuning"}},
        max_run_s=3600,
    )
    assert "billed in tokens, so no ceiling" == str(ceiling_of(spec, "us-west-2"))
