"""The published pair, recomputed: every number that its own figures and the dated prices give."""

from __future__ import annotations

import math

import pytest

from sm_trn.core.errors import NotConfigured, UnknownName
from sm_trn.core.specs import JobRecord, Origin
from sm_trn.report import COLUMNS, Comparison, compare, published_names, published_record


@pytest.fixture(scope="module")
def pair() -> list[JobRecord]:
    found = [published_record(name) for name in ("published/bert-p4d", "published/bert-trn1")]
    return [record for record in found if record is not None]


@pytest.fixture(scope="module")
def newest(pair: list[JobRecord]) -> Comparison:
    return compare(pair, baseline="bert-p4d")


@pytest.fixture(scope="module")
def old(pair: list[JobRecord]) -> Comparison:
    return compare(pair, baseline="bert-p4d", at="2022-11")


def _texts(item: Comparison, kind: str) -> list[str]:
    return [finding.text for finding in item.findings if finding.kind == kind]


def test_names_are_known_with_and_without_prefix() -> None:
    assert published_names() == (
        "published/bert-p4d",
        "published/bert-trn1",
        "published/squad-p3",
        "published/squad-smddp",
    )
    assert published_record("bert-trn1") is None  # a job of one's own may be called so
    with pytest.raises(UnknownName, match="did you mean 'published/bert-trn1'"):
        published_record("published/bert-trn9")


def test_nothing_that_was_not_published_is_there(pair: list[JobRecord]) -> None:
    for record in pair:
        assert Origin.PUBLISHED is record.origin
        assert {"train_steps_per_second", "eval_accuracy"} == {point.name for point in record.points}
        assert record.snapshot.transitions == ()
        assert record.snapshot.training_s is None
        assert record.source


def test_frame_has_the_documented_columns(newest: Comparison) -> None:
    assert list(COLUMNS) == list(newest.frame.columns)


@pytest.mark.parametrize(
    ("column", "p4d", "trn1"),
    [
        ("throughput_it_per_s", 5.44, 6.64),
        ("billable_s", 6553, 6033),
        ("price_usd_per_hour", 25.251286, 24.725),
        ("cost_usd", 45.964, 41.435),
        ("usd_per_1000_it", 1.2894, 1.0343),
        ("accuracy", 0.984, 0.984),
    ],
)
def test_newest_values(newest: Comparison, column: str, p4d: float, trn1: float) -> None:
    assert [p4d, trn1] == [pytest.approx(value, abs=0.0006) for value in newest.frame[column]]


@pytest.mark.parametrize(("column", "p4d", "trn1"), [("cost_usd", 68.606, 41.435), ("usd_per_1000_it", 1.9245, 1.0343)])
def test_values_at_2022_prices(old: Comparison, column: str, p4d: float, trn1: float) -> None:
    assert [p4d, trn1] == [pytest.approx(value, abs=0.0006) for value in old.frame[column]]


@pytest.mark.parametrize(
    ("column", "expected"), [("speedup_pct", 22.06), ("billable_saving_pct", 7.94), ("cost_saving_pct", 9.85)]
)
def test_percentages_against_the_baseline(newest: Comparison, column: str, expected: float) -> None:
    base, other = newest.frame[column]
    assert math.isnan(base)
    assert expected == pytest.approx(other, abs=0.005)


@pytest.mark.parametrize("column", ["samples_per_s", "final_loss"])
def test_what_was_not_published_is_missing_and_not_zero(newest: Comparison, column: str) -> None:
    assert newest.frame[column].isna().all()


def test_findings_in_full(newest: Comparison) -> None:
    assert _texts(newest, "throughput") == [
        "bert-trn1 ran 22.1 % more iterations per second than bert-p4d (6.64 against 5.44 it/s)."
    ]
    assert _texts(newest, "billable") == [
        "bert-trn1 took 7.9 % less billable time than bert-p4d (6,033 against 6,553 s per instance)."
    ]
    dates = "2025-11-30 (ml.trn1.32xlarge, inferred) and 2026-09-01 (ml.p4d.24xlarge, inferred)"
    text = f"bert-trn1 cost 9.9 % less than bert-p4d ($41.43 against $45.96), at prices of {dates}."
    assert _texts(newest, "cost") == [text]
    assert _texts(newest, "flip") == [
        "The order flips if ml.p4d.24xlarge falls below $22.76/h ($25.25/h on 2026-09-01, inferred)."
    ]
    assert _texts(newest, "runs") == ["One run each; throughput as published."]


def test_headline_names_both_price_dates(newest: Comparison) -> None:
    (cost,) = [finding for finding in newest.findings if finding.kind == "cost"]
    assert cost.headline == "bert-trn1 cost 9.9 % less than bert-p4d, at prices of 2025-11-30 and 2026-09-01"


def test_old_prices_are_dated_once(old: Comparison) -> None:
    assert _texts(old, "cost") == [
        "bert-trn1 cost 39.6 % less than bert-p4d ($41.43 against $68.61), at prices of 2022-11."
    ]


def test_printed_numbers_that_do_not_follow_are_named(newest: Comparison) -> None:
    notes = " ".join(_texts(newest, "note"))
    assert "$41.47" in notes
    assert "$41.43" in notes
    assert "39.6 %" in notes
    assert "7.9 %" in notes


def test_the_data_parallel_claim_of_2021_recomputed() -> None:
    """Four hours on one GPU for roughly $15 against 24 minutes for $28, whose instances nobody named."""
    claim = [
        found for name in ("squad-p3", "squad-smddp") if (found := published_record(f"published/{name}")) is not None
    ]
    one, many = compare(claim, baseline="squad-p3").cells()
    assert (15.3, 28.7152) == (one["cost_usd"], many["cost_usd"])
    assert math.isclose(87.68, -many["cost_saving_pct"], abs_tol=0.01)
    assert math.isclose(90.0, many["billable_saving_pct"])
    assert any("2 × ml.p3.16xlarge would give $22.52" in note for note in claim[1].notes)


def test_the_same_seconds_priced_in_another_region(pair: list[JobRecord]) -> None:
    east = compare(pair, baseline="bert-p4d", region="us-east-1")
    assert {"us-east-1"} == {row.price.region for row in east.rows if row.price is not None}
    assert math.isclose(9.85, east.cells()[1]["cost_saving_pct"], abs_tol=0.1)
    with pytest.raises(NotConfigured, match="mars-north-1"):
        compare(pair, region="mars-north-1")


def test_the_pair_of_the_quickstart_did_the_same_work() -> None:
    from sm_trn.report.commands.quickstart import PUBLISHED

    assert 1 == len({record.workload for name in PUBLISHED if (record := published_record(name)) is not None})
    assert set(PUBLISHED) <= set(published_names())
