"""The terminal comparison."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_jobs import emulated_job, gpt2_pair

from sm_trn.core.specs import JobRecord, MetricPoint
from sm_trn.core.status import LOOKS
from sm_trn.report import Comparison, compare, published_record


def pair() -> list[JobRecord]:
    return [
        record for name in ("bert-p4d", "bert-trn1") if (record := published_record(f"published/{name}")) is not None
    ]


@pytest.fixture(scope="module")
def mixed() -> Comparison:
    rehearsal = emulated_job("bert-trn1-spot", interrupted=True, workload=pair()[0].workload)
    return compare([*pair(), rehearsal], baseline="bert-p4d")


def test_table_of_the_published_pair() -> None:
    lines = str(compare(pair(), baseline="bert-p4d")).splitlines()
    assert lines[0] == "BERT-base, text classification                    us-west-2, newest known prices"
    assert lines[2:6] == [
        "  JOB                    IT/S  BILLABLE s     USD  USD/1,000 it    ACC",
        "● bert-p4d, baseline     5.44       6,553   45.96          1.29  0.984",
        "■ bert-trn1              6.64       6,033   41.43          1.03  0.984",
        "                      +22.1 %      -7.9 %  -9.9 %",
    ]


def test_given_date_is_named() -> None:
    assert "prices of 2022-11 or before" in str(compare(pair(), at="2022-11"))


def test_rehearsal_has_its_own_table_whose_unit_carries_the_mark(mixed: Comparison) -> None:
    rehearsal = str(mixed).partition("EMULATED  BERT")[2]
    assert "BILLABLE, s emu" in rehearsal
    assert "No speed-up, no cost" in rehearsal
    assert "$" not in rehearsal
    assert "%" not in rehearsal


def test_only_emulated_jobs_show_learning_and_no_money() -> None:
    text = str(compare([emulated_job("a"), emulated_job("b", number=1)]))
    assert "0.914  0.250               11" in text
    assert "$" not in text


@settings(max_examples=25)
@given(st.integers(60, 200))
def test_no_line_is_wider_than_asked(width: int) -> None:
    rehearsal = emulated_job("bert-trn1-spot", workload=pair()[0].workload)
    text = compare([*pair(), *gpt2_pair(), rehearsal]).text(width)
    assert max(map(len, text.splitlines())) <= width


def test_ascii_text_is_ascii(mixed: Comparison) -> None:
    assert mixed.text(ascii_only=True).isascii()


def test_colour_adds_no_fact(mixed: Comparison) -> None:
    assert mixed.text() == mixed.text(color=True).replace("\x1b[7;35m", "").replace("\x1b[32m", "").replace(
        "\x1b[0m", ""
    )


def test_foreign_control_characters_are_taken_out() -> None:
    hostile = dataclasses.replace(
        pair()[0], label="a\x1b[31mb\x07\nc", workload="w\x1b]0;title\x07x", notes=("n\x1b[2Jm",)
    )
    text = str(compare([hostile]))
    assert "\x1b" not in text
    assert "ab c" in text


def test_a_log_without_numbers_is_answered_with_the_rule_that_finds_them() -> None:
    silent = dataclasses.replace(gpt2_pair()[0], points=())
    assert "A MetricRule reads lines of the script's own" in " ".join(str(compare([silent])).split())
    assert "MetricRule" not in str(compare([gpt2_pair()[0]]))


def test_a_rule_named_accuracy_is_the_accuracy() -> None:
    (job, *_) = gpt2_pair()
    points = [point for point in job.points if point.name != "eval_accuracy"]
    own = dataclasses.replace(job, points=(*points, MetricPoint("accuracy", 0.875)))
    assert 0.875 == compare([own]).sections[0].rows[0].accuracy
    guessed = dataclasses.replace(job, points=(*points, MetricPoint("accuracy", 0.875, guessed=True)))
    assert [False, True] == ["guessed from ordinary lines" in str(compare([each])) for each in (own, guessed)]


@pytest.mark.parametrize(
    ("status", "said"),
    [("Failed", "failed"), ("Stopped", "stopped"), ("Training", "is training"), ("Interrupted", "was interrupted")],
)
def test_a_status_is_said_as_a_predicate(status: str, said: str) -> None:
    assert said == LOOKS[status].predicate
