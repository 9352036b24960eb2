"""Who is compared with whom; what is missing; what an emulated job never does."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_jobs import START, describe, emulated_job, gpt2_pair, step_lines, transitions

from sm_trn.core.errors import SmTrnError
from sm_trn.core.specs import JobRecord, MetricPoint, Origin, parse_snapshot
from sm_trn.core.specs.record import record
from sm_trn.report import Comparison, compare, published_record

WORK = "one workload"
NUMBERS = ("throughput_it_per_s", "samples_per_s", "price_usd_per_hour", "cost_usd", "usd_per_1000_it",
           "speedup_pct", "billable_saving_pct", "cost_saving_pct")  # fmt: skip


def job(name: str, *points: MetricPoint, workload: str = WORK, **changes: Any) -> JobRecord:
    return record(parse_snapshot(describe(name, **changes)), points, workload=workload)


def kinds(item: Comparison) -> set[str]:
    return {finding.kind for finding in item.findings}


def test_baseline_of_another_workload_is_refused() -> None:
    with pytest.raises(SmTrnError) as caught:
        compare([job("a", workload="BERT"), job("b", workload="GPT-2")], baseline="a")
    assert "a cannot be the baseline of b: different work" in str(caught.value)
    assert "got     BERT and GPT-2" in str(caught.value)
    assert "fix     drop the baseline" in str(caught.value)


def test_each_workload_has_a_baseline_of_its_own() -> None:
    found = compare([job("a", workload="x"), job("b", workload="y"), job("c", workload="x")])
    assert [(section.workload, section.base.label if section.base else "") for section in found.sections] == [
        ("x", "a"),
        ("y", "b"),
    ]


def test_baseline_defaults_to_the_first_completed_job() -> None:
    failed = job("failed", TrainingJobStatus="Failed", SecondaryStatus="Failed")
    assert getattr(compare([failed, job("good")]).sections[0].base, "label", None) == "good"


def test_emulated_baseline_of_measured_jobs_is_refused() -> None:
    with pytest.raises(SmTrnError, match="emu cannot be the baseline of real: it ran in the emulator"):
        compare([emulated_job("emu", workload=WORK), job("real")], baseline="emu")


def test_two_jobs_of_one_name_are_told_apart_or_refused() -> None:
    first, second = (dataclasses.replace(job(name), label="bert") for name in ("bert-1", "bert-2"))
    assert [row.label for row in compare([first, second]).rows] == ["bert-1", "bert-2"]
    with pytest.raises(SmTrnError, match="two jobs called 'same'"):
        compare([job("same"), job("same")])


def test_failed_job_is_never_cheaper() -> None:
    short = job("short", BillableTimeInSeconds=10, TrainingJobStatus="Failed", SecondaryStatus="Failed")
    found = compare([job("whole"), short], baseline="whole")
    assert math.isnan(found.frame["cost_saving_pct"][1])
    assert math.isnan(found.frame["billable_saving_pct"][1])
    assert "short failed: its billable time and cost are not compared." in [finding.text for finding in found.findings]


def test_no_price_is_missing_with_the_thing_to_type() -> None:
    found = compare([job("a", ResourceConfig={"InstanceType": "ml.trn9.huge", "InstanceCount": 1})])
    assert math.isnan(found.frame["cost_usd"][0])
    assert found.frame["price_as_of"][0] is None
    fix = "sm-trn catalog update --region us-west-2 asks AWS for it."
    assert f"a: no price for ml.trn9.huge in us-west-2; {fix}" in [f.text for f in found.findings]


def test_running_job_has_no_cost_yet() -> None:
    answer = describe("a", TrainingJobStatus="InProgress", SecondaryStatus="Training")
    for key in ("BillableTimeInSeconds", "TrainingTimeInSeconds", "TrainingEndTime"):
        answer.pop(key)
    found = compare([record(parse_snapshot(answer), ())])
    assert math.isnan(found.frame["cost_usd"][0])
    assert math.isnan(found.frame["billable_s"][0])


def test_small_differences_are_no_difference() -> None:
    pair = [
        job("a", MetricPoint("train_steps_per_second", 6.64)),
        job("b", MetricPoint("train_steps_per_second", 6.61)),
    ]
    texts = [finding.text for finding in compare(pair, baseline="a").findings]
    assert "b and a: no difference measured in iterations per second (6.61 against 6.64 it/s)." in texts


def test_difference_inside_both_whiskers_is_no_difference() -> None:
    def lines(median: float) -> list[MetricPoint]:
        return [MetricPoint("steps_per_second", median * (0.9 if n % 2 else 1.1), step=100.0 * n) for n in range(1, 22)]

    found = compare([job("a", *lines(5.0)), job("b", *lines(5.2))], baseline="a")
    assert any("no difference measured" in finding.text for finding in found.findings if finding.kind == "throughput")


def test_too_few_steps_give_no_rate() -> None:
    lines = [MetricPoint("steps_per_second", 5.0, step=float(step)) for step in (10, 20, 40)]
    found = compare([job("a", *lines)])
    assert math.isnan(found.frame["throughput_it_per_s"][0])
    assert "too short: 40 steps" in str(found)


def test_batches_that_differ_are_compared_by_samples() -> None:
    found = compare(gpt2_pair(), baseline="gpt2-smddp")
    assert found.sections[0].unit == "samples/s"
    (text,) = [finding.text for finding in found.findings if finding.kind == "throughput"]
    assert "more samples per second" in text
    assert found.frame["samples_per_s"][1] / found.frame["samples_per_s"][0] == pytest.approx(
        1 + found.frame["speedup_pct"][1] / 100
    )


def test_what_else_changed_is_said() -> None:
    (text,) = [finding.text for finding in compare(gpt2_pair()).findings if finding.kind == "changed"]
    assert "learning_rate 3.91e-5 against 2.03e-5 and per_device_train_batch_size 25 against 13" in text
    assert "sagemaker" not in text


def test_phases_add_up_to_the_billable_time() -> None:
    (row, _) = compare(gpt2_pair()).rows
    assert row.phases is not None
    assert pytest.approx(row.phases.total_s) == 2425
    assert pytest.approx(row.phases.transfer_s) == 176 + 59
    assert pytest.approx(row.phases.steady_s, rel=0.02) == 11070 / 5.37


def test_spot_phases_carry_the_discount_evenly() -> None:
    answer = describe(
        "spot",
        EnableManagedSpotTraining=True,
        BillableTimeInSeconds=180,
        SecondaryStatusTransitions=transitions(("Downloading", 60), ("Training", 540)),
    )
    (row,) = compare([record(parse_snapshot(answer), ())]).rows
    assert row.phases is not None
    assert (pytest.approx(row.phases.transfer_s), pytest.approx(row.phases.transfer_s * 9)) == (18, 162)  # type: ignore[comparison-overlap]  # numbers of several kinds
    assert row.cost is not None
    assert row.cost.spot_saving == 0.7


def test_nan_loss_stays_nan_and_final_loss_is_the_last() -> None:
    found = compare(
        [
            job("a", MetricPoint("loss", 2.0), MetricPoint("loss", 1.0)),
            job("b", MetricPoint("loss", 1.0), MetricPoint("loss", math.nan)),
        ]
    )
    assert found.frame["final_loss"][0] == 1.0
    assert math.isnan(found.frame["final_loss"][1])
    assert "NaN" in str(found)


def test_colours_follow_creation_time_not_argument_order() -> None:
    jobs = [job("late", created=START + 5), job("early", created=START)]
    assert {"early": 0, "late": 1} == dict(compare(jobs).slots) == dict(compare(jobs[::-1]).slots)


def test_origin_or_account_alone_marks_a_job_emulated() -> None:
    by_origin = dataclasses.replace(job("a"), origin=Origin.EMULATED)
    by_account = dataclasses.replace(emulated_job("b", workload=WORK), origin=Origin.MEASURED)
    assert list(compare([by_origin, by_account]).frame["emulated"]) == [True, True]


def test_json_has_null_for_what_is_missing() -> None:
    body = json.loads(compare([emulated_job("a")]).to_json())
    assert (body["jobs"][0]["cost_usd"], body["jobs"][0]["emulated"]) == (None, True)


@st.composite
def mixes(draw: st.DrawFn) -> list[JobRecord]:
    """Any mix of measured, published and emulated jobs of one or two workloads, in any order, with any numbers."""
    jobs = []
    for number in range(draw(st.integers(1, 6))):
        emulated = draw(st.booleans())
        points = step_lines(
            400, 40, rate=draw(st.floats(0.5, 90)), batch=8, first_s=150, epochs=2, final=draw(st.floats(0.1, 4))
        )
        answer = describe(
            f"job-{number}",
            emulated=emulated,
            created=START + draw(st.integers(0, 9)),
            BillableTimeInSeconds=draw(st.integers(1, 9999)),
        )
        jobs.append(record(parse_snapshot(answer), points, workload=draw(st.sampled_from(["x", "y"]))))
    return jobs


@settings(max_examples=40)
@given(mixes())
def test_emulated_jobs_are_in_no_number(jobs: list[JobRecord]) -> None:
    frame = compare(jobs).frame
    assert frame.loc[frame["emulated"], list(NUMBERS)].isna().all(axis=None)


@settings(max_examples=40)
@given(mixes())
def test_emulated_jobs_change_no_number_of_the_others(jobs: list[JobRecord]) -> None:
    measured = [item for item in jobs if not item.snapshot.emulated]
    if not measured:
        return
    mixed, alone = compare(jobs), compare(measured)
    kept = mixed.frame[~mixed.frame["emulated"]].reset_index(drop=True)
    assert kept[list(NUMBERS)].equals(alone.frame[list(NUMBERS)])
    spoken = [f.text for f in mixed.findings if f.kind != "emulated"]
    assert sorted(f.text for f in alone.findings) == sorted(spoken)


@settings(max_examples=40)
@given(mixes())
def test_cost_is_billable_times_price(jobs: list[JobRecord]) -> None:
    frame = compare(jobs).frame
    priced = frame[frame["cost_usd"].notna()]
    assert (
        priced["billable_s"] * priced["instances"] * priced["price_usd_per_hour"] / 3600
    ).to_list() == pytest.approx(priced["cost_usd"].to_list())


def calls(work: Callable[[], object]) -> int:
    """Calls of functions: the same on every machine."""
    made = [0]

    def count(_frame: object, event: str, _argument: object) -> None:
        made[0] += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made[0]


def test_four_times_the_jobs_take_four_times_the_work() -> None:
    one = published_record("published/bert-trn1")
    assert one is not None
    made = [
        dataclasses.replace(one, label=f"job-{n}", snapshot=dataclasses.replace(one.snapshot, name=f"job-{n}"))
        for n in range(400)
    ]
    for work in (compare, lambda jobs: str(compare(jobs))):
        few, many = (calls(lambda work=work, number=number: work(made[:number])) for number in (100, 400))  # type: ignore[misc]  # bound at once
        assert many < 5 * few
