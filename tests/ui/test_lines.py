"""What is kept of a log and of its numbers: bounded, the newest always there, and found by host, rank, text and expression."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.logs.events import LogEvent
from sm_trn.core.specs.metrics import MetricPoint
from sm_trn.report.ui import lines as kept_lines
from sm_trn.report.ui.lines import WINDOW, Lines, Wanted, line_text
from sm_trn.report.ui.series import METRICS, POINTS, Curves, Series


def lines_of(*texts: str, host: str = "algo-1") -> Lines:
    found = Lines()
    found.add(LogEvent(float(n), host, text) for n, text in enumerate(texts))
    return found


@given(some.integers(0, 6 * POINTS), some.integers(1, 97))
def test_a_curve_has_few_points_the_first_and_the_newest_among_them(count: int, every: int) -> None:
    curve = Series("loss")
    for n in range(count):
        curve.add(MetricPoint("loss", 1.0 / (1 + n), step=n * every, time_s=float(n)))
    rows = list(curve.rows())
    assert len(rows) <= 2 * POINTS
    assert [step for step, _, _ in rows] == sorted({step for step, _, _ in rows})
    if count:
        assert (0.0, (count - 1) * every) == (rows[0][0], rows[-1][0])
        assert (1.0 / count, 1.0) == (curve.low, curve.high)


def test_what_is_no_number_is_in_no_lowest_and_named_with_its_step() -> None:
    curve = Series("loss")
    for step, value in ((1.0, 2.0), (2.0, math.nan), (3.0, math.inf)):
        curve.add(MetricPoint("loss", value, step=step))
    assert (2.0, 2.0, 2.0) == (curve.low, curve.high, curve.broken_step)


def test_a_script_with_thousands_of_names_has_the_first_as_curves() -> None:
    curves = Curves()
    for n in range(1000):
        curves.add(MetricPoint(f"metric_{n}", 1.0))
    assert METRICS == len(curves.series)


def test_the_newest_lines_are_kept_up_to_a_number_and_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_lines, "MOST", 50)
    found = lines_of(*(f"line {n}" for n in range(120)))
    window = found.window(Wanted())
    assert (50, 70, 120) == (window.kept, window.first, window.end)
    assert "line 119" == window.lines[-1].event.text
    monkeypatch.setattr(kept_lines, "MOST_CHARACTERS", 100)
    found.add([LogEvent(0.0, "algo-1", "x" * 60), LogEvent(0.0, "algo-1", "y" * 60)])
    assert ["y" * 60] == [line.event.text for line in found.window(Wanted()).lines]


HOSTS, RANKS = some.sampled_from(["algo-1", "algo-2"]), some.sampled_from(["[0]: ", "[3]: ", ""])
TEXTS = some.sampled_from(["loss", "Loss 1", "a (b", ""])


@given(some.lists(some.tuples(HOSTS, RANKS, TEXTS)))
def test_a_search_finds_what_a_look_at_every_line_finds(said: list[tuple[str, str, str]]) -> None:
    found = Lines()
    events = [LogEvent(float(n), host, f"{rank}{text}") for n, (host, rank, text) in enumerate(said)]
    found.add(events)
    wanted = Wanted(host="algo-2", rank=3, find="LOSS")
    texts = [
        event.text for event in events if event.host == "algo-2" and event.rank == 3 and "loss" in event.text.lower()
    ]
    assert texts == [line.event.text for line in found.window(wanted).lines][-WINDOW:]
    assert found.window(Wanted(find="(b")).matching == sum("(b" in event.text for event in events)


def test_windows_meet_without_a_gap() -> None:
    found = lines_of(*(f"line {n}" for n in range(1000)))
    last = found.window(Wanted())
    before = found.window(Wanted(), before=last.lines[0].number)
    assert last.lines[0].number == before.lines[-1].number + 1
    after = found.window(Wanted(), after=before.lines[-1].number + 1)
    assert last.lines == after.lines


@pytest.mark.parametrize("find", ["/(/", "/(a+)+$/"])
def test_an_expression_that_is_wrong_or_would_not_end_is_a_sentence(find: str) -> None:
    found = lines_of("a" * 4000 + "!")
    with pytest.raises(st.SmTrnError, match="matching"):
        found.window(Wanted(find=find))


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("Traceback (most recent call last):", True),
        ("ValueError: label 7 out of range", True),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory.", True),
        ("[1]: ERROR could not open", True),
        ("loss 0.3, no error so far", False),
        ("mean absolute errors are small", False),
    ],
)
def test_a_line_that_tells_of_an_error_is_marked(text: str, bad: bool) -> None:
    assert [bad] == [line.bad for line in lines_of(text).window(Wanted()).lines]


def test_a_line_is_shown_as_a_terminal_had_drawn_it_and_cut_with_a_word() -> None:
    bar, long = lines_of("  0%|  | 0/9\r100%|##| 9/9", "x" * 9000).window(Wanted()).lines
    assert "100%|##| 9/9" == line_text(bar)
    assert line_text(long).endswith("… 5,000 more characters")
