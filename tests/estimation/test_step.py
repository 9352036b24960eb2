"""Laws of the step's model: more work never takes less time, a faster chip is never slower, and every term is seconds."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as some

from sm_trn.core.catalog.chips import Chip, chips
from sm_trn.forecast import memory, rates, step, work
from sm_trn.forecast.architectures import Architecture, known
from sm_trn.forecast.configuration import Configuration, Head, Recompute, Sharding, Style

TRANSFORMERS = [model for model in known().values() if isinstance(model, Architecture) and model.parameters < 20e9]


def seconds(c: Configuration) -> float:
    return step.step_parts(work.work_of(c), rates.shipped().constants.rates(c)).total


@some.composite
def configurations(draw: some.DrawFn) -> Configuration:
    chip = draw(some.sampled_from([each for each in chips().values() if each.fp16 is not None]))
    neuron = chip.generation.startswith("trainium")
    data, hosts = draw(some.sampled_from([1, 2, 8])), draw(some.sampled_from([1, 2, 4]))
    flash = draw(some.booleans()) and not neuron
    return Configuration(
        model=draw(some.sampled_from([*TRANSFORMERS, *(each for each in known().values() if each.name.startswith(("resnet", "stable")))])),
        chip=chip,
        precision=draw(some.sampled_from(["fp16", "bf16", "tf32", "fp32", "fp8"])),
        style=Style.NEURON if neuron else draw(some.sampled_from([each for each in Style if each is not Style.NEURON])),
        family=draw(some.sampled_from(["neuron-xla", "neuronx-distributed"] if neuron else ["transformers", "nemo", "ngc", "other"])),
        sequence=draw(some.integers(16, 4096)),
        micro_batch=draw(some.integers(1, 64)),
        micro_steps=draw(some.integers(1, 16)),
        data=data * hosts,
        workers_per_host=data,
        hosts=hosts,
        sharding=draw(some.sampled_from(list(Sharding))),
        recompute=draw(some.sampled_from(list(Recompute))),
        head=draw(some.sampled_from(list(Head))),
        adapters=draw(some.booleans()),
        autocast=draw(some.booleans()),
        flash=flash,
    )  # fmt: skip


@given(configurations(), some.integers(1, 64))
def test_more_samples_never_take_less_time(c: Configuration, more: int) -> None:
    larger = dataclasses.replace(c, micro_batch=c.micro_batch + more)
    assert seconds(c) <= seconds(larger) * (1 + 1e-9)


@given(configurations(), some.integers(1, 2048))
def test_longer_sequences_never_take_less_time(c: Configuration, more: int) -> None:
    assume(isinstance(c.model, Architecture))
    assert seconds(c) <= seconds(dataclasses.replace(c, sequence=c.sequence + more)) * (1 + 1e-9)


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
    """The same constants on a chip of which every rate is higher."""
    used = rates.shipped().constants.rates(c)
    quick = dataclasses.replace(c, chip=faster(c.chip, times))
    assert step.step_parts(work.work_of(quick), used).total <= step.step_parts(work.work_of(c), used).total * (1 + 1e-9)


@given(configurations(), some.floats(1.5, 8))
def test_every_term_is_seconds(c: Configuration, times: float) -> None:
    """A chip whose rates are all N times higher does the ideal work in an Nth: what counts and what is a size does not change."""
    counts = {"kernels", "tensors", "width", "tokens", "bubble", "micro_steps", "samples", "years"}
    base = work.work_of(c)
    fast = work.work_of(dataclasses.replace(c, chip=faster(c.chip, times), network_gbps=c.network_gbps * times))
    for field in dataclasses.fields(step.Work):
        if field.name not in counts:
            ours, theirs = getattr(base, field.name), getattr(fast, field.name)
            assert abs(ours - theirs * times) <= 1e-9 * max(ours, 1e-30), field.name


@given(configurations())
def test_nothing_beats_the_datasheet(c: Configuration) -> None:
    assert 0 < work.fastest_seconds(c) <= seconds(c) * 1.35  # fitted constants may pass a datasheet's peak a little


@given(configurations(), some.integers(1, 64))
def test_memory_rises_with_the_batch(c: Configuration, more: int) -> None:
    assert memory.memory(c).total < memory.memory(dataclasses.replace(c, micro_batch=c.micro_batch + more)).total


@given(configurations(), some.integers(1, 4096))
def test_memory_never_falls_with_the_length(c: Configuration, more: int) -> None:
    assume(isinstance(c.model, Architecture))
    assert memory.memory(c).total <= memory.memory(dataclasses.replace(c, sequence=c.sequence + more)).total + 1e-9


@given(configurations())
def test_the_largest_batch_is_never_surely_too_large_and_twice_and_more_of_it_is(c: Configuration) -> None:
    most = memory.largest_batch(c)
    assert most < 1 or not memory.surely_too_large(dataclasses.replace(c, micro_batch=most))
    doubt = memory.NEURON_DOUBT if c.neuron else memory.DOUBT
    assert c.images or memory.surely_too_large(dataclasses.replace(c, micro_batch=(most + 1) * doubt * 1.001))


@given(configurations(), some.integers(2, 4))
@example(
    Configuration(
        model=known()["bert-large"], chip=chips()["A100-40GB"], precision="fp16", style=Style.TUNED, family="ngc", sequence=128,
        micro_batch=64, micro_steps=4, data=8, workers_per_host=8,
    ),
    2,
)  # fmt: skip
def test_splitting_over_hosts_never_lowers_the_total_work(c: Configuration, times: int) -> None:
    """The same global batch on more hosts: host-seconds never fall, as long as nothing is sharded that did not fit before."""
    whole = dataclasses.replace(
        c, hosts=1, data=c.workers_per_host, micro_steps=c.micro_steps * times, sharding=Sharding.NONE
    )
    split = dataclasses.replace(whole, hosts=times, data=c.workers_per_host * times, micro_steps=c.micro_steps)
    assert whole.global_batch == split.global_batch
    assert seconds(whole) <= times * seconds(split) * (1 + 1e-9)


@given(configurations())
def test_frozen_weights_are_gathered_in_their_own_bits_and_leave_no_gradient(c: Configuration) -> None:
    assume(isinstance(c.model, Architecture) and c.data > 1)
    trained = dataclasses.replace(c, sharding=Sharding.GRADIENTS, adapters=False)
    frozen = dataclasses.replace(trained, adapters=True)
    whole = work.work_of(trained)
    assert work.work_of(frozen).gather_host <= 0.02 * whole.gather_host
    assert work.work_of(frozen).gather_net <= 0.02 * whole.gather_net
    full = dataclasses.replace(frozen, sharding=Sharding.FULL)
    choices = (dataclasses.replace(full, weight_bits=4), full, dataclasses.replace(full, adapters=False))
    gathered = [found.gather_host + found.gather_net for found in map(work.work_of, choices)]
    assert gathered == sorted(set(gathered))


@given(configurations(), some.sampled_from([4, 8]))
def test_quantised_weights_are_written_out_before_they_are_multiplied(c: Configuration, bits: int) -> None:
    """They save memory, not time: a step with frozen weights of 16 bits is never slower."""
    assume(isinstance(c.model, Architecture))
    half = dataclasses.replace(
        c, precision="bf16", adapters=True, autocast=False, weight_bits=0, sharding=Sharding.NONE
    )
    quantised = dataclasses.replace(half, weight_bits=bits)
    assert seconds(half) < seconds(quantised)
    narrow, wide = (work.work_of(dataclasses.replace(quantised, weight_bits=each)).traffic for each in (4, 8))
    without = work.work_of(half).traffic
    # Read, and written in 16 bits; of 4 bits looked up besides.
    assert (wide - without) / (narrow - without) == pytest.approx((1 + 2) / 2 / (0.5 + 2))


@given(configurations())
def test_gradients_of_what_is_trained_alone_are_exchanged(c: Configuration) -> None:
    assume(c.data > 1)
    whole, frozen = (
        work.work_of(dataclasses.replace(c, sharding=Sharding.NONE, adapters=adapters)) for adapters in (False, True)
    )
    assert 0 < frozen.host_reduce + frozen.net_reduce <= 0.02 * (whole.host_reduce + whole.net_reduce)


MISTRAL = Configuration(
    model=known()["mistral-7b"], chip=chips()["A100-80GB"], precision="bf16", style=Style.EAGER, family="transformers", sequence=512,
    micro_batch=1, flash=True, head=Head.TOKENS, release=2024.5,
)  # fmt: skip


def test_weights_that_pytorch_unpacks_move_more_than_those_of_one_kernel() -> None:
    kernel = dataclasses.replace(MISTRAL, adapters=True, weight_bits=4, sequence=64)
    assert work.work_of(dataclasses.replace(kernel, unpacked=True)).traffic > 1.4 * work.work_of(kernel).traffic


def test_sums_between_quantised_layers_are_float32_under_autocast() -> None:
    for autocast, more in ((True, 1.8), (False, 1.1)):
        frozen = dataclasses.replace(MISTRAL, adapters=True, autocast=autocast, sequence=8192)
        quantised = dataclasses.replace(frozen, weight_bits=4)
        assert work.work_of(quantised).traffic / work.work_of(frozen).traffic == pytest.approx(more, abs=0.1)


def test_zero_3_of_deepspeed_waits_for_its_host_where_there_is_little_to_do() -> None:
    """Qwen's README (2023-12): a step of 8 micro-steps takes 2.1 to 2.3 s from 256 to 2,048 tokens."""
    qwen = dataclasses.replace(
        MISTRAL,
        model=known()["qwen-1.8b"],
        micro_steps=8,
        recompute=Recompute.FULL,
        family="deepspeed",
        sharding=Sharding.FULL,
    )
    found = [seconds(dataclasses.replace(qwen, sequence=length)) for length in (256, 2048)]
    assert found == pytest.approx([2.1, 2.3], rel=0.2)


def test_tokens_are_shared_among_experts() -> None:
    """Many small products reach less of a chip than few large ones of as many operations."""
    few = known()["mixtral-8x7b"]
    assert isinstance(few, Architecture)
    many = dataclasses.replace(few, experts=64, active_experts=16, inner=few.inner // 8)
    assert seconds(dataclasses.replace(MISTRAL, model=few)) < seconds(dataclasses.replace(MISTRAL, model=many))
    assert work.work_of(dataclasses.replace(MISTRAL, model=few)).tokens < work.work_of(MISTRAL).tokens


def test_attention_is_as_fast_as_the_kernels_of_its_year() -> None:
    constants = rates.shipped().constants
    old, new = (constants.rates(dataclasses.replace(MISTRAL, release=year)) for year in (2023.5, 2024.5))
    assert new.attention > 1.5 * old.attention
    assert new.efficiency == old.efficiency


def test_fewer_adapters_cost_less() -> None:
    found = [seconds(dataclasses.replace(MISTRAL, adapters=True, adapted=share)) for share in (2 / 7, 4 / 7, 1)]
    assert found == sorted(set(found))
