"""Shapes, orders and shares."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import itertools
import math

from kit.loop import Batches, batch_lengths, eval_order, train_order

SMALL = st.integers(1, 5)
LAYOUTS = st.tuples(st.integers(1, 3), SMALL, SMALL)  # accumulation, workers, per device


def of_length(count: int) -> Any:
    return torch.ones(count, dtype=torch.int64)


@given(lengths=st.lists(st.integers(1, 99), min_size=1, max_size=200), workers=SMALL, per_device=SMALL)
def test_evaluation_sees_each_example_once_the_longest_first(lengths: list[int], workers: int, per_device: int) -> None:
    order = eval_order(torch.tensor(lengths), workers, per_device)
    seen = order[order >= 0].tolist()
    assert list(range(len(lengths))) == sorted(seen)
    assert sorted(lengths, reverse=True) == [lengths[index] for index in seen]
    assert (workers, per_device) == tuple(order.shape[1:])
    assert order.numel() - len(lengths) < workers * per_device


@given(count=st.integers(1, 300), layout=LAYOUTS, seed=st.integers(0, 2**31), epoch=st.integers(0, 9))
def test_training_sees_no_example_twice_and_only_full_steps(
    count: int, layout: tuple[int, int, int], seed: int, epoch: int
) -> None:
    order = train_order(of_length(count), layout, seed, epoch, alike=False)
    assert (count // math.prod(layout), *layout) == tuple(order.shape)
    flat = order.flatten().tolist()
    assert len(flat) == len(set(flat))
    assert all(0 <= index < count for index in flat)


@given(seed=st.integers(0, 10**6))
def test_a_step_has_the_same_examples_however_many_workers_share_them(seed: int) -> None:
    alone, shared = (train_order(of_length(64), layout, seed, 3, alike=False) for layout in ((1, 1, 8), (1, 2, 4)))
    assert [set(step.flatten().tolist()) for step in alone] == [set(step.flatten().tolist()) for step in shared]


def test_each_epoch_has_its_own_order_and_each_seed() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        return list(train_order(of_length(64), (1, 2, 4), seed, epoch, alike=False).flatten().tolist())

    orders = [order(seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert 4 == len({tuple(order) for order in orders})
    assert orders[0] == order(0, 0)


def test_one_length_is_what_the_longest_text_needs_and_no_more() -> None:
    assert [24] == batch_lengths(torch.tensor([3, 17]), 128, 1)
    assert [16] == batch_lengths(torch.tensor([17]), 16, 1)
    assert [8, 16, 20] == batch_lengths(torch.tensor([3, 30]), 20, None)


@given(lengths=st.lists(st.integers(1, 600), min_size=1, max_size=80), shapes=st.integers(1, 9))
def test_there_are_at_most_as_many_lengths_as_asked_and_the_longest_text_fits(lengths: list[int], shapes: int) -> None:
    found = batch_lengths(torch.tensor(lengths), 512, shapes)
    assert len(found) <= shapes
    assert found == sorted(set(found))
    assert all(length % 8 == 0 for length in found)
    assert found[-1] == min(512, -(-max(lengths) // 8) * 8)


@given(count=st.integers(1, 300), layout=LAYOUTS, seed=st.integers(0, 10**6), data=st.data())
def test_texts_of_like_length_share_a_step_and_the_order_is_still_each_text_at_most_once(
    count: int, layout: tuple[int, int, int], seed: int, data: st.DataObject
) -> None:
    lengths = torch.tensor(data.draw(st.lists(st.integers(1, 128), min_size=count, max_size=count)))
    order = train_order(lengths, layout, seed, 1, alike=True)
    plain = train_order(lengths, layout, seed, 1, alike=False)
    assert plain.shape == order.shape
    assert sorted(plain.flatten().tolist()) == sorted(order.flatten().tolist())
    # Every step's texts are a run of a sorted window of the plain order: within one no two steps' spans cross.
    steps = [set(step.tolist()) for step in order.flatten(start_dim=1)]
    for window in plain.flatten(start_dim=1).split(max(1, min(32, len(plain) // 4))):
        of_window = set(window.flatten().tolist())
        own = [sorted(int(lengths[text]) for text in step) for step in steps if step <= of_window]
        assert len(window) == len(own)
        assert all(before[-1] <= after[0] for before, after in itertools.pairwise(sorted(own)))


@given(count=st.integers(1, 300), layout=LAYOUTS, seed=st.integers(0, 10**6), data=st.data())
def test_what_needs_most_memory_comes_first(
    count: int, layout: tuple[int, int, int], seed: int, data: st.DataObject
) -> None:
    lengths = torch.tensor(data.draw(st.lists(st.integers(1, 128), min_size=count, max_size=count)))
    own = [lengths[step].flatten().tolist() for step in train_order(lengths, layout, seed, 1, alike=True)]
    assert all((max(own[0]), sum(own[0])) >= (max(other), sum(other)) for other in own)


def test_an_epoch_of_like_lengths_does_not_begin_with_the_shortest() -> None:
    lengths = torch.arange(1, 129)
    order = train_order(lengths, (1, 1, 4), 0, 0, alike=True)
    firsts = lengths[order.flatten(start_dim=1)[:, 0]].tolist()
    assert sorted(firsts) != firsts
    again = train_order(lengths, (1, 2, 2), 0, 0, alike=True)
    assert [set(step.flatten().tolist()) for step in order] == [set(step.flatten().tolist()) for step in again]


class Tokens:
    """As `encode` makes them: examples of known lengths."""

    def __init__(self, ids: list[list[int]], labels: list[int]) -> None:
        self._ids, self._labels, self.lengths = ids, labels, [len(one) for one in ids]

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"input_ids": self._ids[index], "labels": self._labels[index]}


def test_a_batch_is_as_long_as_the_longest_text_of_any_worker_needs() -> None:
    tokens = Tokens([[1] * 3, [1] * 12, [1] * 20, [1] * 5], [0, 0, 1, 1])
    order = torch.tensor([[[0], [3]], [[0], [1]], [[2], [-1]]])
    for rank in (0, 1):
        made = Batches(tokens, order, rank, [8, 16, 24], 0)
        assert [8, 16, 24] == made.lengths == [made[number]["input_ids"].shape[1] for number in range(len(made))]
    assert [3, 3, 20] == Batches(tokens, order, 0, [8, 16, 24], 0).filled


def test_a_batch_is_padded_to_its_length_and_fillers_weigh_nothing() -> None:
    batch = Batches(Tokens([[5, 6, 7], [8]], [1, 0]), torch.tensor([[[1, -1]]]), 0, [4], 9)[0]
    assert [[8, 9, 9, 9], [5, 6, 7, 9]] == batch["input_ids"].tolist()
    assert [[1, 0, 0, 0], [1, 1, 1, 0]] == batch["attention_mask"].tolist()
    assert [0, 1] == batch["labels"].tolist()
    assert [1.0, 0.0] == batch["weight"].tolist()
