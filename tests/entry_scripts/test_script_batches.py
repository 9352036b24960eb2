"""The order of examples in the loop of our own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")
pytest.importorskip("datasets")

from train_text_classification import EpochSampler, adamw

SMALL = st.integers(1, 5)


def steps_of(lengths: list[int], samples: int, seed: int, epoch: int, *, by_length: bool) -> list[list[int]]:
    sampler = EpochSampler(lengths, samples, seed, by_length=by_length)
    sampler.epoch = epoch
    order = list(sampler)
    assert len(order) == len(sampler)
    return [order[begin : begin + samples] for begin in range(0, len(order), samples)]


@given(
    count=st.integers(1, 300),
    samples=st.integers(1, 40),
    seed=st.integers(0, 2**31),
    by_length=st.booleans(),
    data=st.data(),
)
def test_training_sees_no_example_twice_and_only_full_steps(
    count: int, samples: int, seed: int, by_length: bool, data: st.DataObject
) -> None:
    lengths = data.draw(st.lists(st.integers(1, 128), min_size=count, max_size=count))
    if count < samples:
        return  # refused before
    steps = steps_of(lengths, samples, seed, 1, by_length=by_length)
    seen = [index for step in steps for index in step]
    assert count // samples == len(steps)
    assert len(seen) == len(set(seen))
    assert {*seen} <= {*range(count)}
    if by_length:
        longest = max(lengths[index] for index in seen)
        assert longest == max(lengths[index] for index in steps[0])  # what needs most memory comes first


@given(seed=st.integers(0, 10**6), by_length=st.booleans())
def test_a_step_has_the_same_examples_however_many_workers_share_them(seed: int, by_length: bool) -> None:
    """Accelerate deals batches out in turn: of a step's 8 the first worker has the first 4, the second the others."""
    from accelerate.data_loader import BatchSamplerShard
    from torch.utils.data import BatchSampler

    lengths = [1 + (7 * number) % 50 for number in range(64)]
    alone = steps_of(lengths, 8, seed, 3, by_length=by_length)
    shares: list[Any] = []
    for rank in range(2):
        sampler = EpochSampler(lengths, 8, seed, by_length=by_length)
        sampler.epoch = 3
        shares.append(list(BatchSamplerShard(BatchSampler(sampler, 4, drop_last=True), 2, rank)))
    assert alone == [one + other for one, other in zip(*shares, strict=True)]


def test_each_epoch_has_its_own_order_and_each_seed() -> None:
    orders = [steps_of([1] * 64, 8, seed, epoch, by_length=False) for seed in (0, 1) for epoch in (0, 1)]
    assert 4 == len({str(order) for order in orders})
    assert orders[0] == steps_of([1] * 64, 8, 0, 0, by_length=False)


def test_an_epoch_of_like_lengths_does_not_begin_with_the_shortest() -> None:
    firsts = [step[0] for step in steps_of(list(range(1, 129)), 4, 0, 0, by_length=True)]
    assert sorted(firsts) != firsts


def test_on_a_cpu_an_optimizer_step_is_one_kernel_and_biases_do_not_decay() -> None:
    groups = adamw(torch.nn.Linear(4, 3), 0.1, 0.01).param_groups
    assert [(True, 0.01), (True, 0.0)] == [(group["fused"], group["weight_decay"]) for group in groups]
    with torch.device("meta"):
        model = torch.nn.Linear(4, 3)
    assert not any(group["fused"] for group in adamw(model, 0.1, 0).param_groups)
