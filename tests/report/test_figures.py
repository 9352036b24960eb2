"""Figures of few and of many jobs: no text lies on another or outside, and their words say what they show."""

from __future__ import annotations

import dataclasses
import itertools
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from many_jobs import named, swept, tuned
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image
from report_jobs import describe, emulated_job, gpt2_pair

from sm_trn.core.formatting.theme import Theme
from sm_trn.core.specs import JobRecord, MetricPoint, parse_snapshot
from sm_trn.core.specs.record import record
from sm_trn.report import Comparison, compare, published_record
from sm_trn.report.figures import charts_of
from sm_trn.report.figures.chart import Chart

mpl.use("Agg")


def pair() -> list[JobRecord]:
    return [item for name in ("bert-p4d", "bert-trn1") if (item := published_record(f"published/{name}")) is not None]


def spot() -> list[JobRecord]:
    return [swept(0), swept(1, spot=True), swept(3)]


JOBS: dict[str, list[JobRecord]] = {
    "one": named(1), "two": named(2), "eight": named(8), "forty": named(40), "tuned": tuned(12), "spot": spot(),
    "published": pair(), "measured": gpt2_pair(), "emulated": [emulated_job("a"), emulated_job("b", number=1)],
}  # fmt: skip


def charts(jobs: list[JobRecord]) -> dict[str, Chart]:
    section = compare(jobs).section()
    return {chart.name: chart for chart in charts_of(section)}


def texts(figure: Figure) -> list[tuple[str, Any]]:
    """Every text that is drawn, and its box in pixels; the watermark is meant to lie behind all."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    shown = [item for item in figure.findobj(Text) if isinstance(item, Text) and item.get_alpha() != 0.08]
    ticks = {
        id(label): tick
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        if not min(axis.get_view_interval()) - 1e-9 <= tick.get_loc() <= max(axis.get_view_interval()) + 1e-9
        for label in (tick.label1, tick.label2)
    }
    return [
        (item.get_text(), item.get_window_extent(canvas.get_renderer()))
        for item in shown
        if item.get_visible() and item.get_text().strip() and id(item) not in ticks
    ]


def collisions(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts whose boxes share more than a pixel's edge, and texts that leave the figure."""
    boxes, whole = texts(figure), figure.bbox
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


@pytest.mark.parametrize("which", JOBS)
@pytest.mark.parametrize(("theme", "width"), [("light", 6.4), ("dark", 4.7)])
def test_no_text_lies_on_another_or_leaves_its_figure(which: str, theme: Theme, width: float) -> None:
    figures = {name: chart.figure(theme, width) for name, chart in charts(JOBS[which]).items()}
    assert {} == {name: pairs for name, figure in figures.items() if (pairs := collisions(figure))}


@pytest.mark.parametrize(
    ("which", "name", "title"),
    [
        ("measured", "cost", "gpt2-trcomp cost 12.4 % less than gpt2-smddp"),
        ("measured", "throughput", "gpt2-trcomp ran 36.9 % more samples per second than gpt2-smddp"),
        ("measured", "pareto", "gpt2-trcomp cost less and was billed for less time than gpt2-smddp"),
        ("eight", "throughput", "8 jobs ran at 2.00 it/s"),
        ("eight", "cost", "8 jobs cost $0.24 to $0.88, $6.15 together"),
        ("forty", "loss", "Final losses from 0.243 to 0.295, 5 jobs became NaN or infinite"),
        ("spot", "sweep", "learning_rate 2e-5 is best: eval_accuracy 0.926 against 0.924 for learning_rate 5e-5"),
        ("emulated", "loss", "EMULATED: a ended at a loss of 0.250, b ended at a loss of 0.270"),
    ],
)
def test_a_title_says_the_result(which: str, name: str, title: str) -> None:
    assert title == charts(JOBS[which])[name].title


def test_cost_shows_hours_times_price_and_the_price_that_flips_the_order() -> None:
    cost = charts(pair())["cost"]
    shown = [text.replace("\xa0", " ") for text, _ in texts(cost.figure())]
    assert any(re.search(r"[\d.]+ h × 1 × \$[\d.]+/h", text) for text in shown)
    assert "Dashed line: level, if" in cost.foot


def test_cost_of_spot_has_the_price_on_demand_as_an_outline() -> None:
    cost = charts(spot())["cost"]
    assert "0.566 h × 1 × $1.41/h × 0.30 (spot saved $0.56)" in [
        text.replace("\xa0", " ") for text, _ in texts(cost.figure())
    ]
    assert "Outline of a job on spot" in cost.foot


def test_emulated_jobs_have_a_loss_with_a_watermark_and_nothing_of_money() -> None:
    shown = charts(JOBS["emulated"])
    assert ["loss"] == list(shown)
    assert "EMULATED" in [item.get_text() for item in shown["loss"].figure().findobj(Text) if isinstance(item, Text)]
    assert "seconds on this machine" in [text for text, _ in texts(shown["loss"].figure())]


def test_emulated_jobs_are_not_drawn_with_measured_ones() -> None:
    first, second = gpt2_pair()
    emulated = emulated_job("rehearsal", workload=first.workload)
    assert "rehearsal" not in charts([first, second, emulated])["loss"].alt


def test_equal_jobs_are_no_winners() -> None:
    assert "pareto" not in charts(tuned(12))
    axes = compare(tuned(12)).plot_pareto(Figure().add_subplot())
    assert "12 jobs: no difference measured in cost and time" == axes.get_title(loc="left")


def test_a_job_that_diverged_flattens_nobody() -> None:
    jobs = [swept(0), swept(1)]
    points = [
        dataclasses.replace(point, value=1.7e48) if point.name == "loss" and (point.step or 0) > 1500 else point
        for point in jobs[0].points
    ]
    axes = charts([dataclasses.replace(jobs[0], points=tuple(points)), jobs[1]])["loss"].figure().axes[0]
    assert "log" == axes.get_yscale()


def test_given_axes_touch_neither_pyplot_nor_settings() -> None:
    before = dict(mpl.rcParams)
    axes = Figure().add_subplot()
    assert axes is compare(gpt2_pair()).plot_loss(axes, "dark")
    assert not plt.get_fignums()
    assert before == dict(mpl.rcParams)


@pytest.mark.parametrize("name", ["cost", "throughput", "pareto", "loss", "sweep"])
@pytest.mark.parametrize("which", ["measured", "emulated", "eight"])
def test_a_notebook_gets_a_figure_of_everything(which: str, name: str) -> None:
    comparison: Comparison = compare(JOBS[which])
    axes = getattr(comparison, f"plot_{name}")()
    assert axes.figure.number in plt.get_fignums()
    plt.close("all")


def test_dollar_signs_in_names_are_not_formulas() -> None:
    job = record(
        parse_snapshot(describe("job")), [MetricPoint("loss", 1.0, step=1.0)], label="$a$ and $b$", workload="w"
    )
    assert any("$a$ and $b$" in text for text, _ in texts(charts([job])["loss"].figure()))


def test_a_png_says_its_values(tmp_path: Path) -> None:
    cost = charts(gpt2_pair())["cost"]
    cost.save(tmp_path / "cost.png")
    with Image.open(tmp_path / "cost.png") as image:
        assert cost.alt == image.info["Description"]
        assert "gpt2-smddp $34.02; gpt2-trcomp $29.81" in cost.alt


def test_a_page_gets_its_colours_as_variables_and_foreign_names_as_text() -> None:
    evil = '<script>alert(1)</script>"'
    job = record(parse_snapshot(describe("job")), [MetricPoint("loss", 1.0, step=1.0)], label=evil, workload=evil)
    html = charts([job])["loss"].html("loss-1")
    assert "<script" not in html
    assert 'id="t-loss-1"' in html
    assert "var(--s1)" in html
    assert 2 == html.count("<svg class=")
