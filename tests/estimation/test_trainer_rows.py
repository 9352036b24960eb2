"""What estimates are worth where users are: Hugging Face's Trainer, eager, with and without LoRA, as it was measured on an H200."""

from __future__ import annotations

import statistics

import pytest
from forecast.trainer import Trained, largest, trained

from sm_trn.forecast.intervals import Interval
from sm_trn.forecast.jobs.configure import Configured
from sm_trn.forecast.jobs.estimate import step_interval
from sm_trn.forecast.memory import largest_batch, memory


def interval(row: Trained) -> Interval:
    found, _, _ = step_interval(Configured(row.configuration, row.configuration, (), (), 1.0), None)
    assert found is not None
    return found


def covered(row: Trained) -> bool:
    found = interval(row)
    return found.p10 <= row.step_s <= found.p90


def within(rows: list[Trained], bound: float) -> float:
    return statistics.mean(abs(row.step_s / interval(row).p50 - 1) <= bound for row in rows)


def test_four_of_five_steps_lie_in_the_interval_of_80_per_cent() -> None:
    assert 0.76 <= statistics.mean(map(covered, trained())) <= 0.9


def test_most_steps_are_met_within_a_third_those_of_adapters_less_often() -> None:
    adapted = [row for row in trained() if row.configuration.adapters]
    assert (53, 12) == (len(trained()), len(adapted))
    assert within(trained(), 0.35) >= 0.75
    assert within(adapted, 0.35) >= 0.55


def test_hosts_widen_the_interval_where_launches_limit_a_step_and_there_alone() -> None:
    rows = {(row.name, row.configuration.sequence, row.configuration.micro_batch): row for row in trained()}
    waiting = interval(rows["Qwen/Qwen2.5-0.5B", 512, 2])
    busy = interval(rows["TinyLlama/TinyLlama-1.1B", 2048, 4])
    assert waiting.p90 / waiting.p50 > 1.1 * busy.p90 / busy.p50
    assert waiting.p10 / waiting.p50 < busy.p10 / busy.p50


def test_memory_is_met_within_a_third() -> None:
    misses = [row.gib / memory(row.configuration).total - 1 for row in trained()]
    assert max(misses) <= 0.35
    assert min(misses) >= -0.35
    assert statistics.mean(abs(miss) <= 0.2 for miss in misses) >= 0.8


@pytest.mark.parametrize("row", largest(), ids=lambda row: f"{row.name} {row.configuration.sequence:.0f}")
def test_largest_batches_are_met_within_a_third(row: Trained) -> None:
    assert 1 / 1.35 <= row.configuration.micro_batch / largest_batch(row.configuration) <= 1.35
