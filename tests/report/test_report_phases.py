"""Where billed time went, and cost against time: the values behind the figures, and that they draw."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as some
from matplotlib.figure import Figure
from report_jobs import START, describe, emulated_job, gpt2_pair, step_lines, transitions

from sm_trn.core.pricing import snapshot_book
from sm_trn.core.specs import JobRecord, parse_snapshot, record
from sm_trn.report import Comparison, compare, published_record
from sm_trn.report.figures.pareto import pareto_info, plot_pareto
from sm_trn.report.figures.phases import phases_info, plot_phases, timeline
from sm_trn.report.sections.rows import Row

mpl.use("Agg")
WORK = "GPT-2, language modelling"


def job(name: str, *phases: tuple[str, float], **changes: Any) -> JobRecord:
    answer = describe(name, SecondaryStatusTransitions=transitions(*phases), **changes)
    return record(parse_snapshot({key: value for key, value in answer.items() if value is not None}), [], workload=WORK)


def row(item: JobRecord) -> Row:
    return compare([item]).rows[0]


def textures(item: JobRecord) -> list[tuple[str, float]]:
    found = timeline(row(item))
    assert found is not None
    return [(stretch.texture, stretch.seconds) for stretch in found.stretches]


SPOT = job(
    "spot", ("Starting", 200), ("Downloading", 100), ("Training", 900), ("Interrupted", 600), ("Starting", 60),
    ("Training", 1200), ("Uploading", 30), ("Completed", 0), EnableManagedSpotTraining=True, BillableTimeInSeconds=1100,
)  # fmt: skip
RUNNING = job(
    "running", ("Starting", 200), ("Downloading", 100), ("Training", -1), TrainingJobStatus="InProgress", TrainingEndTime=None,
    BillableTimeInSeconds=None, LastModifiedTime=START + 1500,
)  # fmt: skip


def test_warm_up_is_what_training_took_beyond_its_steps_at_the_steady_rate() -> None:
    phases = row(gpt2_pair()[0]).phases
    assert phases is not None
    found = dict(textures(gpt2_pair()[0]))
    assert math.isclose(phases.warmup_s, found["warmup"])
    assert math.isclose(2190, found["warmup"] + found["steady"])


def test_an_interrupted_job_is_not_split_and_its_gap_is_not_billed() -> None:
    assert ["waiting", "transfer", "steady", "interrupted", "waiting", "steady", "transfer"] == [
        t for t, _ in textures(SPOT)
    ]
    found = timeline(row(SPOT))
    assert found is not None
    assert ((200, 3090), 600) == (found.billed, found.seconds("interrupted"))


def test_a_running_job_ends_at_the_newest_thing_known_of_it() -> None:
    found = timeline(row(RUNNING))
    assert found is not None
    assert (True, 1500.0) == (found.open, found.end_s)
    later = dataclasses.replace(
        RUNNING, points=tuple(step_lines(100, 50, rate=1, batch=1, first_s=1700, epochs=1, final=1))
    )
    assert 1800.0 == getattr(timeline(row(later)), "end_s", None)


def test_nothing_recorded_is_no_timeline() -> None:
    assert timeline(row(job("old"))) is None
    assert timeline(row(emulated_job("rehearsed"))) is None


@given(
    some.lists(
        some.tuples(
            some.sampled_from(
                ["Starting", "Pending", "Downloading", "Training", "Interrupted", "Uploading", "Something new"]
            ),
            some.floats(0, 10_000),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_stretches_never_overlap_and_end_with_the_last_transition(phases: list[tuple[str, float]]) -> None:
    found = timeline(row(job("any", *phases)))
    total = sum(seconds for _, seconds in phases)
    assert (found.end_s if found else 0.0) == pytest.approx(total, abs=0.01)
    ends = [0.0, *(stretch.end_s for stretch in found.stretches)] if found else []
    for before, stretch in zip(ends, found.stretches if found else (), strict=False):
        assert stretch.start_s >= before - 0.01
        assert stretch.seconds > 0


@pytest.fixture(scope="module")
def several() -> Comparison:
    return compare([*gpt2_pair(), SPOT, RUNNING, emulated_job("rehearsed", workload=WORK), job("old")])


def test_every_job_has_a_row_and_what_is_missing_says_so(several: Comparison) -> None:
    info = phases_info(several.section())
    bars = {bar.label: bar for bar in info.bars}
    assert "phases not recorded" == bars["old"].missing
    assert (True, None) == (bars["rehearsed"].emulated, bars["rehearsed"].value)
    assert "runs on" == bars["running"].text
    assert bars["spot"].detail == "interrupted 1 time, 10 m 00 s between"
    assert "gpt2-trcomp trained for 71.2 % of its billed time, gpt2-smddp for 85.6 %" == info.title
    brace = bars["gpt2-smddp"].bracket
    assert brace is not None
    assert (200 / 60, 2625 / 60, "billed 2,425 s = 40 m 25 s") == (brace.start, brace.end, brace.text)


def test_parts_fill_the_bar(several: Comparison) -> None:
    for bar in phases_info(several.section()).bars:
        if bar.value is not None:
            assert math.isclose(bar.value, sum(length for _, length in bar.parts))


def test_the_front_holds_whom_no_other_beats() -> None:
    cheap = job(
        "cheap",
        ("Training", 600),
        BillableTimeInSeconds=1200,
        ResourceConfig={"InstanceType": "ml.g5.xlarge", "InstanceCount": 1},
    )
    quick = job("quick", ("Training", 600), BillableTimeInSeconds=600)
    worse = job("worse", ("Training", 600), BillableTimeInSeconds=1300)
    info = pareto_info(compare([cheap, quick, worse]).section(), snapshot_book())
    assert [10.0, 20.0] == [minutes for minutes, _ in info.front]
    assert "quick was billed for the least time, cheap cost least" == info.title


def test_the_published_pair_has_a_tie_price_and_one_winner() -> None:
    pair = [found for name in ("bert-p4d", "bert-trn1") if (found := published_record(f"published/{name}")) is not None]
    info = pareto_info(compare(pair, baseline="bert-p4d").section(), snapshot_book())
    assert "bert-trn1 cost less and was billed for less time than bert-p4d" == info.title
    assert ["$25.25/h\n2026-09-01", "$37.69/h\n2022-11", "$22.76/h\nwould tie"] == [ray.text for ray in info.rays]


def test_unfinished_and_emulated_jobs_are_no_points(several: Comparison) -> None:
    labels = [point.label for point in pareto_info(several.section(), several.book).points]
    assert {"gpt2-smddp", "gpt2-trcomp", "spot", "old"} == set(labels)


def test_one_job_is_a_sentence_and_no_figure() -> None:
    info = pareto_info(compare([gpt2_pair()[0]]).section(), snapshot_book())
    assert (False, "One job: nothing to weigh") == (info.drawn, info.title)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_they_draw(several: Comparison, theme: Any) -> None:
    figure = Figure(figsize=(6, 12))
    plot_phases(phases_info(several.section()), figure.add_subplot(2, 1, 1), theme)
    plot_pareto(pareto_info(several.section(), several.book), figure.add_subplot(2, 1, 2), theme)
    figure.canvas.draw()
    assert len(figure.axes) == 2


def test_scaling_is_the_rate_per_instance_against_the_smallest_job() -> None:
    def sized(name: str, count: int, rate: float) -> JobRecord:
        answer = describe(name, ResourceConfig={"InstanceType": "ml.p4d.24xlarge", "InstanceCount": count})
        return record(
            parse_snapshot(answer),
            step_lines(1000, 100, rate=rate, batch=8, first_s=100, epochs=1, final=1),
            workload=WORK,
        )

    item = compare([sized("one", 1, 10.0), sized("four", 4, 32.0)])
    (said,) = [finding.text for finding in item.findings if finding.kind == "scaling"]
    assert said.startswith("four reached 80.0 % of linear scaling from one (")
    assert "× 4)" in said


def test_cost_per_epoch_is_the_whole_cost_and_per_thousand_samples_the_steady_one() -> None:
    cells = compare(gpt2_pair()).cells()[0]
    assert math.isclose(cells["cost_usd"] / 10, cells["usd_per_epoch"])
    steady = cells["price_usd_per_hour"] * 2 / 3600 / cells["samples_per_s"] * 1000
    assert math.isclose(steady, cells["usd_per_1000_samples"])
    assert compare([emulated_job("rehearsed")]).cells()[0]["usd_per_epoch"] is None
