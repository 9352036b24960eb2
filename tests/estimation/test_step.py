"""Laws of the step and of memory: more work never takes less, a faster chip is never slower, nothing beats the datasheet."""

from __future__ import annotations

import dataclasses

from hypothesis import assume, given
from hypothesis import strategies as some

from sm_trn.core.catalog.instances import Chip, chips
from sm_trn.forecast import memory
from sm_trn.forecast.configuration import Configuration, Sharding, Style
from sm_trn.forecast.models import known
from sm_trn.forecast.step import step_seconds

MODELS = [model for model in known().values() if model.parameters < 20e9]


def seconds(c: Configuration) -> float:
    return step_seconds(c)[0]


@some.composite
def configurations(draw: some.DrawFn) -> Configuration:
    chip = draw(some.sampled_from([each for each in chips().values() if each.fp16 is not None]))
    neuron = chip.generation.startswith("trainium")
    data, hosts = draw(some.sampled_from([1, 2, 8])), draw(some.sampled_from([1, 2, 4]))
    return Configuration(
        model=draw(some.sampled_from(MODELS)),
        chip=chip,
        precision=draw(some.sampled_from(["fp16", "bf16", "tf32", "fp32", "fp8"])),
        style=Style.NEURON if neuron else draw(some.sampled_from([each for each in Style if each is not Style.NEURON])),
        sequence=draw(some.integers(16, 4096)),
        micro_batch=draw(some.integers(1, 64)),
        micro_steps=draw(some.integers(1, 16)),
        data=data * hosts,
        workers_per_host=data,
        hosts=hosts,
        sharding=draw(some.sampled_from(list(Sharding))),
        recompute=draw(some.sampled_from([0.0, 0.5, 1.0])),
        predicted=draw(some.sampled_from([0.0, 0.157, 1.0])),
        adapted=draw(some.sampled_from([0.0, 2 / 7, 1.0])),
        autocast=draw(some.booleans()),
        flash=0 if neuron else draw(some.sampled_from([0, 1, 2])),
    )


@given(configurations(), some.integers(1, 64))
def test_more_samples_never_take_less_time_or_memory(c: Configuration, more: int) -> None:
    larger = dataclasses.replace(c, micro_batch=c.micro_batch + more)
    assert seconds(c) <= seconds(larger) * (1 + 1e-9)
    assert memory.memory(c).total < memory.memory(larger).total


@given(configurations(), some.integers(1, 2048))
def test_longer_sequences_never_take_less_time_or_memory(c: Configuration, more: int) -> None:
    longer = dataclasses.replace(c, sequence=c.sequence + more)
    assert seconds(c) <= seconds(longer) * (1 + 1e-9)
    assert memory.memory(c).total <= memory.memory(longer).total + 1e-9


@given(configurations(), some.integers(1, 8))
def test_more_micro_steps_never_take_less_time(c: Configuration, more: int) -> None:
    assert seconds(c) <= seconds(dataclasses.replace(c, micro_steps=c.micro_steps + more)) * (1 + 1e-9)


def faster(chip: Chip, times: float) -> Chip:
    peaks = {
        name: value * times
        for name in ("fp16", "bf16", "tf32", "fp32", "fp8")
        if (value := getattr(chip, name)) is not None
    }
    return dataclasses.replace(chip, hbm_gbs=chip.hbm_gbs * times, link_gbs=chip.link_gbs * times, **peaks)


@given(configurations(), some.floats(1.01, 4))
def test_a_faster_chip_is_never_slower(c: Configuration, times: float) -> None:
    quick = dataclasses.replace(c, chip=faster(c.chip, times))
    assert seconds(quick) <= seconds(c) * (1 + 1e-9)


@given(configurations())
def test_nothing_beats_the_datasheet(c: Configuration) -> None:
    likely, fastest = step_seconds(c)
    assert 0 < fastest <= likely


@given(configurations())
def test_the_largest_batch_is_never_surely_too_large_and_twice_and_more_of_it_is(c: Configuration) -> None:
    most = memory.largest_batch(c)
    assert most < 1 or not memory.surely_too_large(dataclasses.replace(c, micro_batch=most))
    doubt = memory.NEURON_DOUBT if c.neuron else memory.DOUBT
    assert memory.surely_too_large(dataclasses.replace(c, micro_batch=(most + 1) * doubt * 1.001))


@given(configurations(), some.integers(2, 4))
def test_splitting_over_hosts_never_lowers_the_total_work(c: Configuration, times: int) -> None:
    """The same global batch on more hosts: host-seconds never fall, as long as nothing is sharded that did not fit before."""
    whole = dataclasses.replace(
        c, hosts=1, data=c.workers_per_host, micro_steps=c.micro_steps * times, sharding=Sharding.NONE
    )
    split = dataclasses.replace(whole, hosts=times, data=c.workers_per_host * times, micro_steps=c.micro_steps)
    assert whole.global_batch == split.global_batch
    assert seconds(whole) <= times * seconds(split) * (1 + 1e-9)


@given(configurations(), some.sampled_from([4, 8]))
def test_quantised_weights_save_memory_and_not_time(c: Configuration, bits: int) -> None:
    assume(c.data == 1)
    half = dataclasses.replace(c, precision="bf16", adapted=1.0, autocast=False, sharding=Sharding.NONE)
    quantised = dataclasses.replace(half, weight_bits=bits)
    assert seconds(half) < seconds(quantised)
    assert memory.memory(quantised).weights < memory.memory(half).weights


@given(configurations())
def test_adapters_exchange_and_update_less(c: Configuration) -> None:
    assume(c.data > 1 and not c.adapters)
    whole = dataclasses.replace(c, sharding=Sharding.NONE)
    frozen = dataclasses.replace(whole, adapted=1.0)
    assert memory.memory(frozen).optimizer <= 0.02 * memory.memory(whole).optimizer
    assert memory.memory(frozen).gradients <= 0.02 * memory.memory(whole).gradients
