"""Figures of 1, 2, 8 and 40 jobs with every column known: no text on another, none outside; ties, NaN and spot are said as such."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as some
from many_jobs import named, sweep, swept, tuned
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from report_jobs import describe, emulated_job, gpt2_pair
from test_report_spot import job

from sm_trn.core.specs import JobRecord, MetricPoint, parse_snapshot, record
from sm_trn.report import Comparison, compare
from sm_trn.report.comparison.page import pictures
from sm_trn.report.figures.accuracy import accuracy_info
from sm_trn.report.figures.cost import cost_info
from sm_trn.report.figures.drawing import Sheet
from sm_trn.report.figures.loss import SMOOTHED, _limits, _scale, loss_info, smooth
from sm_trn.report.figures.pareto import pareto_info
from sm_trn.report.figures.phases import phases_info
from sm_trn.report.figures.throughput import throughput_info

mpl.use("Agg")
COUNTS = (1, 2, 8, 40)
# Between a phone's and the widest, only where the pages are looked at in a browser too.
WIDTHS = (344.0, 528.0, 600.0, 1072.0) if "SM_TRN_CHROMIUM" in os.environ else (344.0, 1072.0)
SHEETS: dict[str, Sheet | None] = {
    "png": None,
    **{f"page-{width}": Sheet(headings=False, text=13, label=12, foot=12, side=2, width=width)
       for width in WIDTHS},
}  # fmt: skip


def texts(figure: Figure) -> list[tuple[str, Any]]:
    """Every text that is drawn, and its box in pixels; the watermark is meant to lie behind all."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    found = [item for item in figure.findobj(Text) if isinstance(item, Text)]
    unseen = {
        id(label)
        for axes in figure.findobj(mpl.axes.Axes)
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
        if not _shown(tick, axis, axes)
    }
    return [
        (item.get_text(), item.get_window_extent(renderer))
        for item in found
        if item.get_visible() and item.get_text().strip() and item.get_alpha() != 0.08 and id(item) not in unseen
    ]


def _shown(tick: Any, axis: Any, axes: Any) -> bool:
    low, high = sorted(axis.get_view_interval())
    return bool(axes.axison and low - 1e-9 <= tick.get_loc() <= high + 1e-9)


def collisions(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts whose boxes share more than a pixel's edge, and texts that leave the figure."""
    boxes = texts(figure)
    whole = figure.bbox
    out = [(text, "the edge") for text, box in boxes
           if box.x0 < -1 or box.y0 < -1 or box.x1 > whole.width + 1 or box.y1 > whole.height + 1]  # fmt: skip
    return out + [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 2
    ]


def test_the_measure_sees_two_texts_on_one_another() -> None:
    figure = Figure()
    figure.text(0.5, 0.5, "one")
    figure.text(0.5, 0.5, "other")
    figure.text(0.99, 0.9, "much too long for it")
    assert [("much too long for it", "the edge"), ("one", "other")] == collisions(figure)


@pytest.mark.parametrize("sheet", SHEETS)
@pytest.mark.parametrize("count", COUNTS)
def test_no_text_lies_on_another_or_leaves_its_figure(count: int, sheet: str) -> None:
    found = {
        picture.name: where
        for picture in pictures(compare(named(count)))
        if (where := collisions(picture.draw(SHEETS[sheet])))
    }
    assert {} == found


@pytest.mark.parametrize("sheet", SHEETS)
@pytest.mark.parametrize("which", ["pair", "mixed", "emulated", "tuned-3", "tuned-12"])
def test_nor_in_the_figures_of_other_reports(which: str, sheet: str) -> None:
    emulated = [emulated_job("bert-a"), emulated_job("bert-b", number=1, interrupted=True)]
    jobs = {
        "pair": gpt2_pair(),
        "mixed": [*gpt2_pair(), *emulated],
        "emulated": emulated,
        "tuned-3": tuned(3),
        "tuned-12": tuned(12),
    }[which]
    shown = pictures(compare(jobs))
    assert {} == {picture.name: where for picture in shown if (where := collisions(picture.draw(SHEETS[sheet])))}


@pytest.fixture(scope="module")
def eight() -> Comparison:
    return compare(sweep(8))


def test_a_figure_of_spot_shows_what_was_paid_and_what_was_not(eight: Comparison) -> None:
    (bar,) = [bar for bar in cost_info(eight.section(), eight.book).bars if bar.label == "reviews-lr2e-5-seed1"]
    assert "(spot)" in bar.detail
    assert "0.566 h × 1 × $1.41/h × 0.30 (spot)" == bar.detail
    assert ("$0.80", "on demand; spot saved $0.56") == (bar.ghost_text, bar.ghost_note)
    (bracket,) = [bar.bracket for bar in phases_info(eight.section()).bars if bar.label == "reviews-lr2e-5-seed1"]
    assert bracket is not None
    assert "trained 2,037 s × 0.30 (spot) = billed 611 s" == bracket.text


def test_the_words_of_spot_are_drawn_beside_the_bar(eight: Comparison) -> None:
    for name in ("cost", "phases"):
        (picture,) = [picture for picture in pictures(eight) if picture.name == name]
        for sheet in SHEETS.values():
            assert "× 0.30 (spot)" in " ".join(text for text, _ in texts(picture.draw(sheet))).replace("\xa0", " ")


def test_a_spot_point_has_a_tail_up_to_its_price_on_demand(eight: Comparison) -> None:
    points = {label: point for point in pareto_info(eight.section(), eight.book).points for label in point.labels}
    spot = points["reviews-lr2e-5-seed1"]
    assert pytest.approx(spot.usd / 0.3, rel=0.01) == spot.on_demand_usd
    assert points["reviews-lr1e-5-seed1"].on_demand_usd is None
    assert "spot" in spot.text


def test_points_on_one_another_are_one_mark_with_a_count() -> None:
    same = [job(f"j{number}", ended=2000, trained=1680, billed=1680) for number in range(8)]
    other = job("other", ended=2400, trained=1000, billed=1000)
    item = compare([*same, other])
    points = pareto_info(item.section(), item.book).points
    assert [8, 1] == sorted((len(point.labels) for point in points), reverse=True)
    (many,) = [point for point in points if len(point.labels) == 8]
    assert many.text.startswith("8 jobs, $")
    assert "j0, j1, j2, j3, j4, j5, j6 and j7" in pareto_info(item.section(), item.book).foot


def test_a_tie_is_no_win() -> None:
    tied = compare([job("a", ended=700, trained=600, billed=600), job("b", ended=700, trained=600, billed=600),
                    job("c", ended=900, trained=800, billed=800)])  # fmt: skip
    title = pareto_info(tied.section(), tied.book).title
    assert "a and b" in title
    assert "than all others" not in title


def accuracies(*values: float) -> Comparison:
    def one(number: int, value: float) -> JobRecord:
        return record(parse_snapshot(describe(f"j{number}")), [MetricPoint("eval_accuracy", value)], workload="w")

    return compare([one(number, value) for number, value in enumerate(values)])


def test_near_accuracies_are_dots_on_an_axis_that_says_where_it_starts() -> None:
    info = accuracy_info(accuracies(0.930, 0.926, 0.931).section())
    assert 0.9 < info.origin < 0.926
    assert f"axis from {info.origin:g}" in info.axis


def test_two_best_of_the_same_accuracy_are_both_named() -> None:
    assert (
        "j0 and j1 reached the best accuracy, 0.930" == accuracy_info(accuracies(0.9301, 0.9302, 0.9).section()).title
    )


def test_a_job_that_diverged_is_in_no_range_and_is_named(eight: Comparison) -> None:
    info = loss_info(eight.section())
    assert "reviews-lr8e-4-seed1 became NaN" in info.title
    (panel,) = [panel for panel in info.panels if panel.name == "reviews-lr8e-4-seed1"]
    assert "✗ NaN at step 810" == panel.level_text


def test_a_nan_label_names_its_job_inside_its_own_axes() -> None:
    jobs = [swept(number) for number in (6, 7)]
    (picture,) = [picture for picture in pictures(compare(jobs)) if picture.name == "loss"]
    for sheet in SHEETS.values():
        figure = picture.draw(sheet)
        said = [(text, box) for text, box in texts(figure) if "NaN at step" in text]
        inner = [axes.bbox for axes in figure.findobj(mpl.axes.Axes) if axes is not figure.axes[0]]
        assert len(said) == 4
        assert all("lr8e-4" in text for text, _ in said)
        assert all(any(axes.x0 - 1 <= box.x0 and box.x1 <= axes.x1 + 1 for axes in inner) for _, box in said)


def test_curves_on_one_another_are_both_drawn_and_said() -> None:
    points = [MetricPoint("loss", 1 / n, step=float(n)) for n in range(1, 9)]
    two = compare([record(parse_snapshot(describe(name)), points, workload="w") for name in ("a", "b")])
    curves = loss_info(two.section()).panels[1].curves
    assert [("a", ""), ("b", "a")] == [(curve.label, curve.lies_on) for curve in curves]


@given(some.lists(some.floats(-1e6, 1e6), min_size=SMOOTHED + 1, max_size=SMOOTHED + 60))
def test_a_smoothed_curve_stays_between_the_points_around_it(values: list[float]) -> None:
    points = tuple((float(n), value) for n, value in enumerate(values))
    for n, (x, mean) in enumerate(smooth(points)):
        around = values[max(0, n - 5) : n + 6]
        assert x == n
        assert min(around) - 1e-6 <= mean <= max(around) + 1e-6


def test_a_smoothed_line_is_the_line() -> None:
    points = tuple((float(n), 3.0 - n / 100) for n in range(SMOOTHED + 1))
    assert all(math.isclose(mean, 3.0 - x / 100) for x, mean in smooth(points))


def test_the_titles_of_many_jobs_say_a_range_and_no_pair(eight: Comparison) -> None:
    assert "8 jobs ran at 2.00 it/s" == throughput_info(eight.section()).title
    assert "8 jobs cost $0.24 to $0.88, $6.15 together" == cost_info(eight.section(), eight.book).title
    title = phases_info(eight.section()).title
    assert "66.4 % to 71.4 %" in title


def test_a_nan_label_lies_on_no_curve() -> None:
    jobs = [swept(number) for number in (6, 7, 15)]
    (picture,) = [picture for picture in pictures(compare(jobs)) if picture.name == "loss"]
    figure = picture.draw()
    said = [box for text, box in texts(figure) if "NaN at step" in text]
    places = [
        axes.transData.transform(point)
        for axes in figure.findobj(mpl.axes.Axes)
        if axes is not figure.axes[0]
        for line in axes.lines
        for point in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
    assert len(said) == 8
    assert not [point for point in places for box in said if box.x0 < point[0] < box.x1 and box.y0 < point[1] < box.y1]
    assert "reviews-lr8e-4-seed1 and reviews-lr8e-4-seed2 became NaN" in picture.info.title


def diverged(jobs: list[JobRecord], number: int, most: float = 1.7e48) -> list[JobRecord]:
    """The jobs, of which one leaves for ``most``."""
    item = jobs[number]
    points = [
        dataclasses.replace(point, value=most) if point.name == "loss" and (point.step or 0) > 1500 else point
        for point in item.points
    ]
    return [dataclasses.replace(each, points=tuple(points)) if each is item else each for each in jobs]


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_a_job_that_diverged_leaves_the_axes_and_flattens_nobody(count: int) -> None:
    jobs = diverged(sweep(count), 0)
    info = loss_info(compare(jobs).section())
    low, high = _limits(info)
    assert high < 100
    assert low < 1
    assert f"{jobs[0].label} diverged: it leaves the axes, up to 1.7e48." in info.foot
    assert f"{jobs[0].label} diverged" in info.title
    assert "1.7e48" not in info.title
    (picture,) = [picture for picture in pictures(compare(jobs)) if picture.name == "loss"]
    assert picture is not None


@pytest.mark.parametrize("count", [1, 2, 8])
def test_without_divergence_every_point_is_inside(count: int) -> None:
    info = loss_info(compare(sweep(count)).section())
    low, high = _limits(info)
    values = [y for panel in info.panels for curve in panel.curves for _, y in curve.points]
    assert low <= min(values) <= max(values) <= high
    assert "diverged" not in info.foot + info.title


def test_losses_over_powers_of_ten_have_a_logarithmic_axis() -> None:
    (item,) = sweep(1)
    points = [
        dataclasses.replace(point, value=10 ** (1 - (point.step or 0) / 750)) if point.name == "loss" else point
        for point in item.points
    ]
    assert "log" == _scale(loss_info(compare([dataclasses.replace(item, points=tuple(points))]).section()))
    assert "linear" == _scale(loss_info(compare([item]).section()))
