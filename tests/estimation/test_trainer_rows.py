"""What estimates are worth where users are: Hugging Face's Trainer, eager, with and without LoRA, as it was measured on an H200."""

from __future__ import annotations

import statistics

import pytest
from forecast.trainer import Trained, largest, trained

from sm_trn.forecast.intervals import around, support_width
from sm_trn.forecast.memory import largest_batch, memory
from sm_trn.forecast.rates import shipped, support_key
from sm_trn.forecast.step import host_seconds, step_parts
from sm_trn.forecast.work import work_of


def covered(row: Trained) -> bool:
    fitted, c = shipped(), row.configuration
    work, rates = work_of(c), fitted.constants.rates(c)
    width = support_width(fitted.support.get(support_key(c), 0))
    seconds = step_parts(work, rates).total
    found = around(seconds, fitted.spread, width=width, hosts=host_seconds(work, rates))
    return found.p10 <= row.step_s <= found.p90


def within(rows: list[Trained], bound: float) -> float:
    fitted = shipped()
    misses = [
        row.step_s / step_parts(work_of(row.configuration), fitted.constants.rates(row.configuration)).total - 1
        for row in rows
    ]
    return statistics.mean(abs(miss) <= bound for miss in misses)


def test_four_of_five_steps_lie_in_the_interval_of_80_per_cent() -> None:
    assert 0.76 <= statistics.mean(map(covered, trained())) <= 0.9


def test_most_steps_are_met_within_a_third_those_of_adapters_less_often() -> None:
    adapted = [row for row in trained() if row.configuration.adapters]
    assert (53, 12) == (len(trained()), len(adapted))
    assert within(trained(), 0.35) >= 0.75
    assert within(adapted, 0.35) >= 0.55


def test_memory_is_met_within_a_third() -> None:
    misses = [row.gib / memory(row.configuration).total - 1 for row in trained()]
    assert max(misses) <= 0.35
    assert min(misses) >= -0.35
    assert statistics.mean(abs(miss) <= 0.2 for miss in misses) >= 0.8


@pytest.mark.parametrize("row", largest(), ids=lambda row: f"{row.name} {row.configuration.sequence:.0f}")
def test_largest_batches_are_met_within_a_third(row: Trained) -> None:
    assert 1 / 1.35 <= row.configuration.micro_batch / largest_batch(row.configuration) <= 1.35
