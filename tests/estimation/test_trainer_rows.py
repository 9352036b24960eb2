"""What estimates are worth where users are: Hugging Face's Trainer, eager, with and without LoRA, as it was measured on an H200."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
from forecast.trainer import Trained, largest, trained

from sm_trn.forecast.architectures import Architecture, from_config
from sm_trn.forecast.intervals import Interval, support_width
from sm_trn.forecast.jobs.calibration import NARROWED, Calibration, calibration_key
from sm_trn.forecast.jobs.configure import Configured
from sm_trn.forecast.jobs.estimate import step_interval
from sm_trn.forecast.memory import largest_batch, memory, sample_bytes
from sm_trn.forecast.rates import shipped, support_key


def interval(row: Trained, calibration: Calibration | None = None) -> Interval:
    found, _, _ = step_interval(Configured(row.configuration, row.configuration, (), (), 1.0), calibration)
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


def test_jobs_that_taught_a_speed_taught_that_of_their_host() -> None:
    limited = next(row for row in trained() if row.configuration.micro_batch == 2 and row.configuration.autocast)
    taught = Calibration({calibration_key(limited.configuration): (1.0,)})
    low, high = (bound * NARROWED[1] for bound in shipped().spread)
    width = support_width(shipped().support[support_key(limited.configuration)])
    found = interval(limited, taught)
    assert (math.log(found.p10 / found.p50), math.log(found.p90 / found.p50)) == pytest.approx(
        (low * width, high * width)
    )


def test_a_power_keeps_half_as_much_where_nothing_is_float32() -> None:
    mixed = next(row.configuration for row in trained() if row.name == "gpt2" and row.configuration.precision == "bf16")
    assert isinstance(mixed.model, Architecture)
    plain = replace(mixed.model, composed=False)
    kept = {
        autocast: sample_bytes(replace(mixed, autocast=autocast))[0]
        - sample_bytes(replace(mixed, autocast=autocast, model=plain))[0]
        for autocast in (True, False)
    }
    assert kept[True] == pytest.approx(2 * kept[False])
    assert kept[True] == pytest.approx(12 * 12 * 1024 * 3072)  # bytes, layers, positions, inner width


@pytest.mark.parametrize(
    ("activation", "composed"), [("gelu_new", True), ("gelu", False), ("gelu_pytorch_tanh", False)]
)
def test_a_config_says_whether_its_activation_is_a_chain(activation: str, composed: bool) -> None:
    shape = from_config(
        {
            "model_type": "gpt2",
            "n_embd": 64,
            "n_layer": 2,
            "n_head": 2,
            "vocab_size": 100,
            "activation_function": activation,
        }
    )
    assert shape is not None
    assert composed == shape.composed


def test_memory_is_met_within_a_third() -> None:
    misses = [row.gib / memory(row.configuration).total - 1 for row in trained()]
    assert max(misses) <= 0.35
    assert min(misses) >= -0.35
    assert statistics.mean(abs(miss) <= 0.2 for miss in misses) >= 0.8


@pytest.mark.parametrize("row", largest(), ids=lambda row: f"{row.name} {row.configuration.sequence:.0f}")
def test_largest_batches_are_met_within_a_third(row: Trained) -> None:
    assert 1 / 1.35 <= row.configuration.micro_batch / largest_batch(row.configuration) <= 1.35
