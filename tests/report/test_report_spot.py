"""Spot is a price, not a speed: time is from submit to end, and what was not billed is said as a saving."""

from __future__ import annotations

import pytest
from report_jobs import START, describe

from sm_trn.core.specs import JobRecord, parse_snapshot
from sm_trn.core.specs.record import record
from sm_trn.report import Comparison, compare
from sm_trn.report.figures.pareto import chart


def job(name: str, *, ended: float, trained: int, billed: int, spot: bool = False) -> JobRecord:
    answer = describe(
        name,
        CreationTime=START,
        TrainingEndTime=START + ended,
        TrainingTimeInSeconds=trained,
        BillableTimeInSeconds=billed,
        EnableManagedSpotTraining=spot,
    )
    return record(parse_snapshot(answer), [], label=name, workload="one workload")


@pytest.fixture(scope="module")
def pair() -> Comparison:
    """The spot job waited and was interrupted: it took longer, and a third was billed."""
    return compare(
        [
            job("plain", ended=6300, trained=6000, billed=6000),
            job("spot", ended=8520, trained=6300, billed=1890, spot=True),
        ],
        baseline="plain",
    )


def test_a_time_is_never_made_of_seconds_that_were_not_billed(pair: Comparison) -> None:
    said = " ".join(str(finding) for finding in pair.findings)
    assert "less billable time" not in said
    assert "spot took 35.2 % more time from submit to end than plain (8,520 against 6,300 s" in said
    assert pair.frame["billable_saving_pct"].isna().all()
    assert [6300.0, 8520.0] == pair.frame["wall_s"].tolist()


def test_what_spot_saved_is_said_beside_its_base(pair: Comparison) -> None:
    (said,) = [str(finding) for finding in pair.findings if finding.kind == "spot"]
    assert "Spot saved spot $30.93 of $44.19 (70.0 % of its training seconds were not billed)." == said


def test_the_figures_of_time_count_the_wait(pair: Comparison) -> None:
    drawn = chart(pair.sections[0])
    assert "plain: 105.0 min, " in drawn.alt
    assert "spot: 142.0 min, " in drawn.alt
    assert "from submit to end" in drawn.alt
    assert "plain took the least time, spot cost least" == drawn.title


def test_on_demand_jobs_are_compared_by_what_was_billed() -> None:
    two = compare([job("a", ended=700, trained=600, billed=600), job("b", ended=700, trained=500, billed=500)])
    assert "billable minutes" in chart(two.sections[0]).alt
    assert any("less billable time" in str(finding) for finding in two.findings)


def test_the_page_names_spot_its_base_and_the_saving(pair: Comparison) -> None:
    text = pair.page().replace("\xa0", " ").replace("&nbsp;", " ").replace("\u202f", " ")
    assert "70.0 % of its training seconds were not billed" in text
    assert "142 min" in text or "8,520" in text


def test_the_table_names_time_billed_seconds_and_the_saving(pair: Comparison) -> None:
    words = str(pair).split()
    assert {"WALL", "BILLED", "SAVED", "30.93"} <= set(words)
    text = pair.page()
    for label in ("Time, submit to end", "Billed, s/instance", "Spot saved, USD"):
        assert f'data-label="{label}"' in text.replace("\xa0", " ")
    frame = pair.frame
    assert [pytest.approx(30.93, abs=0.005)] == frame["spot_saved_usd"].dropna().tolist()


def test_a_change_that_rounds_to_nothing_is_not_printed() -> None:
    two = compare([job("a", ended=700, trained=600, billed=600), job("b", ended=700, trained=600, billed=600)])
    assert "+0.0" not in str(two)
