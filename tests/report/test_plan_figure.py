"""The figure of a plan: what it shows, and that it is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import SQUAD
from matplotlib.figure import Figure

import sm_trn as st
from sm_trn.forecast.intervals import Interval
from sm_trn.report.plans import FrontInfo, FrontPoint, front_info, plot_front, save_front


@pytest.fixture(scope="module")
def plan() -> st.results.Plan:
    return st.plan(
        SQUAD, limits=st.Limits(deadline_s=7200, max_usd=50), only=["ml.p4d.*", "ml.g5.12xlarge", "ml.g4dn.xlarge"]
    )


def test_the_front_comes_first_and_what_a_limit_excludes_says_so(plan: st.results.Plan) -> None:
    info = front_info(plan)
    front = [point.front for point in info.points]
    assert front == sorted(front, reverse=True)
    assert len(plan.front) == sum(front)
    assert {"after the deadline"} == {point.excluded for point in info.points if point.excluded}
    assert 2.0 == info.deadline_h
    assert "ESTIMATED" in info.alt


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_it_is_drawn(plan: st.results.Plan, tmp_path: Path, suffix: str) -> None:
    found = save_front(plan, tmp_path / f"plan.{suffix}")
    assert 5000 < found.stat().st_size


def test_a_plan_without_a_choice_is_drawn_too(tmp_path: Path) -> None:
    empty = st.plan(SQUAD, limits=st.Limits(max_usd=0.01), only=["ml.p4d.*"])
    assert "No choice" in front_info(empty).title
    save_front(empty, tmp_path / "plan.svg", theme="dark")


def test_another_kind_of_file_is_refused(plan: st.results.Plan, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.png or \.svg"):
        save_front(plan, tmp_path / "plan.docx")


def test_the_fronts_names_lie_on_no_other() -> None:
    near = [Interval(0.2 + 0.001 * at, 0.25 + 0.001 * at, 0.3 + 0.001 * at) for at in range(6)]
    points = tuple(
        FrontPoint(f"ml.p4d.24xlarge × {at}", each, each.scaled(40), front=True) for at, each in enumerate(near)
    )
    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    axes = plot_front(FrontInfo("", points, None, None, ""), figure.subplots())
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 6
    assert not [(a, b) for at, a in enumerate(boxes) for b in boxes[at + 1 :] if a.overlaps(b)]
