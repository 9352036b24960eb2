"""Metrics from log lines, whatever the expressions are."""

from __future__ import annotations

from sm_trn.emulator.telemetry.metrics import MetricReader, Point


def read(definitions: dict[str, str], lines: list[str]) -> tuple[list[Point], list[str], MetricReader]:
    points: list[Point] = []
    notes: list[str] = []
    reader = MetricReader(definitions.items(), points.append, notes.append)
    for index, line in enumerate(lines):
        reader.feed(1_500 + index * 1_000, line)
    reader.close()
    return points, notes, reader


def test_every_match_is_a_point_and_the_last_one_is_final() -> None:
    points, notes, reader = read({"loss": "loss=([0-9.]+)"}, ["loss=0.5", "nothing", "loss=0.25"])
    assert [("loss", 0.5, 1_500), ("loss", 0.25, 3_500)] == points
    assert [] == notes
    assert [("loss", 0.25, 3)] == [(m.name, m.value, m.timestamp) for m in reader.final()]


def test_what_is_no_number_is_no_point() -> None:
    assert [] == read({"a": "a=(.*)"}, ["a=high", "a=nan", "a=inf", "a="])[0]


def test_a_wrong_expression_is_named_and_the_others_go_on() -> None:
    points, notes, _ = read({"bad": "(", "good": "([0-9]+)"}, ["1"])
    assert [("good", 1.0, 1_500)] == points
    assert ["'bad'" in note for note in notes] == [True]


def test_an_endless_expression_is_switched_off_and_nothing_waits_for_it() -> None:
    points, notes, _ = read({"endless": "(a+)+$", "good": "([0-9]+)"}, ["a" * 9000 + "!", "1", "a" * 9000 + "!", "2"])
    assert [1.0, 2.0] == [value for name, value, _ in points if name == "good"]
    assert 1 == len(notes)
    assert "'endless'" in notes[0]
