"""Figures: what they show, exactly; that they draw; what they say to who cannot see them."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image
from report_jobs import START, describe, emulated_job, gpt2_pair, step_lines, transitions

from sm_trn.core.specs import JobRecord, MetricPoint, parse_snapshot, record
from sm_trn.report import Comparison, compare, published_record
from sm_trn.report.figures.accuracy import accuracy_info, plot_accuracy
from sm_trn.report.figures.cost import cost_info, plot_cost
from sm_trn.report.figures.loss import FIGURE as LOSS
from sm_trn.report.figures.loss import loss_info
from sm_trn.report.figures.throughput import plot_throughput, throughput_info

mpl.use("Agg")


def pair() -> list[JobRecord]:
    return [item for name in ("bert-p4d", "bert-trn1") if (item := published_record(f"published/{name}")) is not None]


@pytest.fixture(scope="module")
def mixed() -> Comparison:
    return compare([*pair(), emulated_job("bert-trn1-spot", workload=pair()[0].workload)], baseline="bert-p4d")


@pytest.fixture(scope="module")
def emulated() -> Comparison:
    return compare([emulated_job("a"), emulated_job("b", number=1)])


@pytest.fixture(scope="module")
def gpt2() -> Comparison:
    return compare(gpt2_pair())


def sweep(count: int) -> Comparison:
    return compare(
        [
            record(
                parse_snapshot(describe(f"s{n}", created=START + n)),
                step_lines(400, 40, rate=5.0 + n, batch=8, first_s=130, epochs=2, final=0.3 + n / 10),
            )
            for n in range(count)
        ]
    )


def words(ax: Any) -> str:
    """Every text of an axes, its insets and packed labels included."""
    return " | ".join(item.get_text() for item in ax.findobj(mpl.text.Text))


def test_throughput_info_of_the_published_pair(mixed: Comparison) -> None:
    info = throughput_info(mixed.section())
    assert info.title == "bert-trn1 ran 22.1 % more iterations per second than bert-p4d"
    assert [bar.value for bar in info.bars] == [5.44, 6.64, None]
    assert [bar.low for bar in info.bars] == [None, None, None]
    assert info.bars[0].detail == "ml.p4d.24xlarge × 1, as published"
    assert info.bars[2].missing == "no bar: its seconds are this machine's"
    assert "bert-p4d 5.44 it/s; bert-trn1 6.64 it/s" in info.alt
    assert not info.emulated


def test_cost_info_of_the_published_pair(mixed: Comparison) -> None:
    info = cost_info(mixed.section(), mixed.book)
    assert [bar.text for bar in info.bars] == ["$45.96", "$41.43", ""]
    assert [pytest.approx(68.606, abs=0.001), None, None] == [bar.ghost for bar in info.bars]
    assert info.bars[0].ghost_note == "same job at $37.69/h, 2022-11"
    assert info.bars[1].detail == "1.676 h × 1 × $24.73/h"
    assert pytest.approx(info.tie, abs=0.001) == 41.435
    assert pytest.approx(float(info.tie_usd_per_hour or 0), abs=0.001) == 22.763
    assert "2025-11-30 (ml.trn1.32xlarge, inferred)" in info.subtitle
    assert "2026-09-01" in info.subtitle


def test_cost_parts_add_up_to_the_cost(gpt2: Comparison) -> None:
    for bar in cost_info(gpt2.section(), gpt2.book).bars:
        assert [name for name, _ in bar.parts] == ["transfer", "warmup", "steady"]
        assert bar.value == pytest.approx(sum(length for _, length in bar.parts))


def test_whiskers_surround_the_median(gpt2: Comparison) -> None:
    for bar in throughput_info(gpt2.section()).bars:
        assert bar.low is not None
        assert bar.high is not None
        assert bar.value is not None
        assert bar.low <= bar.value <= bar.high


def test_loss_panels_of_measured_jobs(gpt2: Comparison) -> None:
    info = loss_info(gpt2.section())
    assert [panel.axis for panel in info.panels] == ["epoch", "optimizer step", "billable minutes", "US dollars"]
    last = [panel.curves[0].points[-1][0] for panel in info.panels]
    assert [10, 11070, pytest.approx((430 - 200 + 11070 / 5.37) / 60)] == last[:3]
    assert last[2] / 60 * 2 * 25.251286 == pytest.approx(last[3])


def test_loss_panels_of_emulated_jobs_have_no_money(emulated: Comparison) -> None:
    info = loss_info(emulated.section())
    assert [panel.axis for panel in info.panels] == ["epoch", "optimizer step", "s emu"]
    assert info.title.startswith("EMULATED: ")
    assert info.emulated


def test_emulated_curves_are_not_drawn_with_measured_ones() -> None:
    both = compare([*gpt2_pair(), emulated_job("emu", workload=gpt2_pair()[0].workload)])
    assert {"gpt2-smddp", "gpt2-trcomp"} == {
        curve.label for panel in loss_info(both.section()).panels for curve in panel.curves
    }


def test_missing_loss_is_words(mixed: Comparison) -> None:
    info = loss_info(mixed.section())
    assert not info.drawn
    assert "no loss in the log of bert-p4d and bert-trn1" in words(LOSS.plot(info, Figure().add_subplot()))


def test_panel_without_its_axis_is_kept_with_words() -> None:
    points = [MetricPoint("loss", 1 / n, step=float(n)) for n in range(1, 9)]
    info = loss_info(compare([record(parse_snapshot(describe("a")), points)]).section())
    assert [panel.missing for panel in info.panels] == [
        "no epoch in the log",
        "",
        "billable time per step is not known",
        "cost per step is not known",
    ]


def test_nan_ends_the_line_with_words() -> None:
    points = [MetricPoint("loss", math.nan if n > 5 else 1.0, step=float(n), epoch=float(n)) for n in range(1, 9)]
    info = loss_info(compare([record(parse_snapshot(describe("a")), points)]).section())
    (curve,) = info.panels[1].curves
    assert (curve.points[-1][0], curve.ended) == (5, "✗ NaN at step 6")


def test_minutes_of_a_job_on_spot_count_from_submit_and_its_dollars_are_those_billed() -> None:
    answer = describe("a", EnableManagedSpotTraining=True, BillableTimeInSeconds=180)
    points = [MetricPoint("loss", 1.0, step=1.0, time_s=START + 700)]
    info = loss_info(compare([record(parse_snapshot(answer), points)]).section())
    assert "minutes since submit" == info.panels[2].axis
    assert pytest.approx(700 / 60) == info.panels[2].curves[0].points[-1][0]
    assert pytest.approx(180 / 3600 * 25.251286) == info.panels[3].curves[0].points[-1][0]


def test_curves_that_cross_are_level_there() -> None:
    def falling(name: str, start: float, end: float) -> JobRecord:
        points = [
            MetricPoint("loss", start + (end - start) * n / 10, step=float(n), time_s=START + 100 + 60 * n)
            for n in range(11)
        ]
        return record(parse_snapshot(describe(name)), points)

    info = loss_info(compare([falling("a", 10, 0), falling("b", 8, 2)]).section())
    assert pytest.approx(info.panels[2].level) == 5.0
    assert info.panels[2].level_text == "level, 5.00 min"


def test_more_than_200_points_are_smoothed_and_said() -> None:
    points = [MetricPoint("loss", 1.0 + n % 2, step=float(n)) for n in range(300)]
    info = loss_info(compare([record(parse_snapshot(describe("a")), points)]).section())
    assert len(info.panels[1].curves[0].smooth) == 300
    assert "the mean of 5 points to the left and right" in info.subtitle


def test_more_than_six_jobs_are_small_panels_best_first() -> None:
    info = loss_info(sweep(8).section())
    assert info.multiples
    assert [f"s{n}" for n in range(8)] == [panel.name for panel in info.panels]


def test_more_than_twenty_bars_are_folded() -> None:
    info = throughput_info(sweep(25).section())
    assert len(info.bars) == 14
    assert info.bars[10].label == "12 more"
    assert info.bars[0].label == "s24"
    assert info.bars[-1].label == "s0"


def test_accuracy_has_its_baselines(emulated: Comparison) -> None:
    info = accuracy_info(emulated.section())
    assert [bar.value for bar in info.bars] == [0.914, 0.917]
    assert info.bars[0].marks == (("majority", 0.5), ("bag of words", 0.761))
    assert info.title == "EMULATED: b reached an accuracy of 0.917"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["throughput", "loss", "cost", "accuracy"])
@pytest.mark.parametrize("which", ["mixed", "emulated", "gpt2"])
def test_every_figure_draws_in_both_themes(which: str, name: str, theme: str, request: pytest.FixtureRequest) -> None:
    item = request.getfixturevalue(which)
    ax = Figure(figsize=(8, 4)).add_subplot()
    assert ax is getattr(item, f"plot_{name}")(ax, theme)
    ax.figure.canvas.draw()
    assert ("EMULATED" in words(ax)) == (which == "emulated" or (which == "mixed" and name in {"throughput", "cost"}))


def test_given_axes_touch_neither_pyplot_nor_settings(mixed: Comparison) -> None:
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    mixed.plot_cost(Figure().add_subplot())
    assert before == dict(mpl.rcParams)
    assert figures == plt.get_fignums()


def test_without_axes_a_notebook_gets_a_figure(mixed: Comparison) -> None:
    ax = mixed.plot_throughput()
    assert ax.figure.number in plt.get_fignums()  # type: ignore[union-attr]  # there is one
    plt.close(ax.figure)


def test_emulated_figure_is_watermarked(emulated: Comparison) -> None:
    ax = emulated.plot_loss(Figure().add_subplot())
    (mark,) = [item for item in ax.texts if item.get_text() == "EMULATED"]
    assert mark.get_alpha() == 0.08


def test_dollar_signs_in_names_are_not_formulas() -> None:
    hostile = dataclasses.replace(pair()[0], label=r"$\frac{x}$ & <b>")
    ax = compare([hostile]).plot_throughput(Figure().add_subplot())
    ax.figure.canvas.draw()
    assert r"$\frac{x}$ & <b>" in words(ax)


def test_failed_job_with_phases_draws() -> None:
    answer = describe(
        "f",
        TrainingJobStatus="Failed",
        SecondaryStatus="Failed",
        SecondaryStatusTransitions=transitions(("Downloading", 60), ("Training", 40), ("Failed", 0)),
    )
    item = compare([record(parse_snapshot(answer), ())])
    item.plot_cost(Figure().add_subplot()).figure.canvas.draw()


def test_info_and_plot_are_two_functions(mixed: Comparison) -> None:
    section, figure = mixed.section(), Figure()
    plot_throughput(throughput_info(section), figure.add_subplot(2, 2, 1))
    plot_cost(cost_info(section, mixed.book), figure.add_subplot(2, 2, 2))
    plot_accuracy(accuracy_info(section), figure.add_subplot(2, 2, 3), "dark")
    LOSS.plot(loss_info(section), figure.add_subplot(2, 2, 4), "dark")
    assert len(figure.axes) == 4


def test_png_says_its_values_and_has_200_dpi(mixed: Comparison, tmp_path: Path) -> None:
    mixed.save(tmp_path)
    with Image.open(tmp_path / "cost.png") as image:
        assert "bert-trn1 $41.43 at $24.73/h of 2025-11-30" in image.text["Description"]
        assert round(image.info["dpi"][0]) == 200


def test_files_are_named_by_what_they_show(mixed: Comparison, emulated: Comparison, tmp_path: Path) -> None:
    first = {path.name for path in mixed.save(tmp_path / "mixed")}
    assert {
        "report.html",
        "compare.csv",
        "compare.json",
        "throughput.png",
        "cost.png",
        "cost-and-time.png",
        "accuracy.png",
        "loss-emulated.png",
        "accuracy-emulated.png",
    } == first
    second = {path.name for path in emulated.save(tmp_path / "emulated") if path.suffix == ".png"}
    assert {"loss-emulated.png", "accuracy-emulated.png"} == second


def test_several_workloads_have_files_of_their_own(tmp_path: Path) -> None:
    names = {path.name for path in compare([*pair(), *gpt2_pair()]).save(tmp_path)}
    assert {"cost-bert-base-text-classification.png", "cost-gpt-2-language-modelling.png"} <= names


def test_saving_registers_no_figure(mixed: Comparison, tmp_path: Path) -> None:
    before = plt.get_fignums()
    mixed.save(tmp_path)
    assert before == plt.get_fignums()
