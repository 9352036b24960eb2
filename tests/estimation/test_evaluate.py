"""What the forecast is worth on the frozen rows, beside the baseline of two lines: the figures of docs/guides/estimate.md."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import pytest
from forecast.evaluate import ROWS as ROWS_FILE
from forecast.evaluate import Measured, baseline, forecast, measured, report

from sm_trn.forecast.memory import largest_batch, memory
from sm_trn.forecast.step import WIDTHS, method

ROWS = measured()
TIMED = [row for row in ROWS if row.step_s]
TRAINER = [row for row in TIMED if row.repository.startswith("Trainer")]


def within(rows: Sequence[Measured], seconds: Sequence[float], bound: float) -> float:
    return statistics.mean(abs(row.step_s / each - 1) <= bound for row, each in zip(rows, seconds, strict=True))


def covered(rows: Sequence[Measured]) -> float:
    inside = []
    for row in rows:
        low, high = WIDTHS[method(row.configuration)]
        inside.append(low <= row.step_s / forecast(row) <= high)
    return statistics.mean(inside)


def test_the_forecast_is_worth_its_lines_beside_two_of_them() -> None:
    assert len(TIMED) == 530
    found, plain = [forecast(row) for row in TIMED], baseline(TIMED, TIMED)
    assert within(TIMED, found, 0.20) >= 0.67
    assert within(TIMED, found, 0.35) >= 0.84
    assert within(TIMED, found, 0.35) >= within(TIMED, plain, 0.35) + 0.3


def test_eight_of_ten_rows_lie_in_an_interval_of_80_per_cent() -> None:
    assert 0.78 <= covered(TIMED) <= 0.9
    assert 0.78 <= covered(TRAINER) <= 0.92


def test_rows_that_no_constant_had_seen_are_met_too() -> None:
    unseen = measured(ROWS_FILE.with_name("unseen.json"))
    timed, sized = [row for row in unseen if row.step_s], [row for row in unseen if row.gib]
    assert (35, 24) == (len(timed), len(sized))
    assert within(timed, list(map(forecast, timed)), 0.35) >= 0.9 > within(timed, baseline(timed, TIMED), 0.35) + 0.3
    assert statistics.mean(1 / 1.35 <= memory(row.configuration).total / row.gib <= 1.35 for row in sized) >= 0.9


def test_most_steps_of_trainer_are_met_within_a_third() -> None:
    assert len(TRAINER) == 53
    assert within(TRAINER, [forecast(row) for row in TRAINER], 0.35) >= 0.75


def test_memory_is_met_within_a_third() -> None:
    ratios = [memory(row.configuration).total / row.gib for row in ROWS if row.gib]
    assert len(ratios) == 53
    assert all(1 / 1.35 <= ratio <= 1.35 for ratio in ratios)
    assert statistics.mean(1 / 1.2 <= ratio <= 1.2 for ratio in ratios) >= 0.75


@pytest.mark.parametrize("row", [row for row in ROWS if row.largest], ids=lambda row: row.configuration.model.name)
def test_largest_batches_are_met_within_a_third(row: Measured) -> None:
    assert 1 / 1.35 <= row.largest / largest_batch(row.configuration) <= 1.35


def test_the_report_has_a_line_of_each_kind_and_of_its_baseline() -> None:
    lines = report(ROWS).splitlines()
    assert {"all", "LoRA", "Trainium", "memory in use"} <= {line[:44].strip() for line in lines}
    assert sum("baseline" in line for line in lines) >= 5
