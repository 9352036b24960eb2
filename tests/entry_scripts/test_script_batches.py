"""Shapes, orders and shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import itertools

from _batches import (
    Batches,
    Data,
    Layout,
    batch_lengths,
    encode,
    encode_data,
    eval_order,
    train_order,
    window_steps,
)
from _console import Mistake
from _data import Rows
from _runtime import ON_CPU

SMALL = st.integers(1, 5)
LAYOUTS = st.builds(Layout, per_device=SMALL, workers=SMALL, accumulation=st.integers(1, 3))


@given(lengths=st.lists(st.integers(1, 99), min_size=1, max_size=200), workers=SMALL, per_device=SMALL)
def test_evaluation_sees_each_example_once_the_longest_first(lengths: list[int], workers: int, per_device: int) -> None:
    order = eval_order(torch.tensor(lengths), workers, per_device)
    seen = order[order >= 0].tolist()
    assert list(range(len(lengths))) == sorted(seen)
    assert sorted(lengths, reverse=True) == [lengths[index] for index in seen]
    assert (workers, per_device) == tuple(order.shape[1:])
    assert order.numel() - len(lengths) < workers * per_device


@given(count=st.integers(1, 300), layout=LAYOUTS, seed=st.integers(0, 2**31), epoch=st.integers(0, 9))
def test_training_sees_no_example_twice_and_only_full_steps(count: int, layout: Layout, seed: int, epoch: int) -> None:
    order = train_order(count, layout, seed, epoch)
    assert (count // layout.samples_per_step, layout.accumulation, layout.workers, layout.per_device) == tuple(
        order.shape
    )
    flat = order.flatten().tolist()
    assert len(flat) == len(set(flat))
    assert all(0 <= index < count for index in flat)


@given(seed=st.integers(0, 10**6))
def test_a_step_has_the_same_examples_however_many_workers_share_them(seed: int) -> None:
    alone, shared = train_order(64, Layout(8, 1, 1), seed, 3), train_order(64, Layout(4, 2, 1), seed, 3)
    assert [set(step.flatten().tolist()) for step in alone] == [set(step.flatten().tolist()) for step in shared]


def test_each_epoch_has_its_own_order_and_each_seed() -> None:
    layout = Layout(4, 2, 1)
    orders = [train_order(64, layout, seed, epoch).flatten().tolist() for seed in (0, 1) for epoch in (0, 1)]
    assert 4 == len({tuple(order) for order in orders})
    assert orders[0] == train_order(64, layout, 0, 0).flatten().tolist()


def test_one_length_is_what_the_longest_text_needs_and_no_more() -> None:
    assert (24,) == batch_lengths([3, 17], 128, 1)
    assert (16,) == batch_lengths([17], 16, 1)


@given(lengths=st.lists(st.integers(1, 600), min_size=1, max_size=80), shapes=st.integers(1, 9))
def test_there_are_at_most_as_many_lengths_as_asked_and_the_longest_text_fits(lengths: list[int], shapes: int) -> None:
    found = batch_lengths(lengths, 512, shapes)
    assert len(found) <= shapes
    assert found == tuple(sorted(set(found)))
    assert all(length % 8 == 0 for length in found)
    assert found[-1] == min(512, -(-max(lengths) // 8) * 8)


@given(count=st.integers(1, 300), layout=LAYOUTS, seed=st.integers(0, 10**6), data=st.data())
def test_texts_of_like_length_share_a_step_and_the_order_is_still_each_text_at_most_once(
    count: int, layout: Layout, seed: int, data: st.DataObject
) -> None:
    lengths = torch.tensor(data.draw(st.lists(st.integers(1, 128), min_size=count, max_size=count)))
    order = train_order(count, layout, seed, 1, lengths)
    plain = train_order(count, layout, seed, 1)
    assert plain.shape == order.shape
    assert sorted(plain.flatten().tolist()) == sorted(order.flatten().tolist())
    # Every step's texts are a run of a sorted window of the plain order: within one no two steps' spans cross.
    steps = [set(step.tolist()) for step in order.flatten(start_dim=1)]
    for window in plain.flatten(start_dim=1).split(window_steps(len(plain))):
        of_window = set(window.flatten().tolist())
        own = [sorted(int(lengths[text]) for text in step) for step in steps if step <= of_window]
        assert len(window) == len(own)
        assert all(before[-1] <= after[0] for before, after in itertools.pairwise(sorted(own)))


@given(count=st.integers(1, 300), layout=LAYOUTS, seed=st.integers(0, 10**6), data=st.data())
def test_what_needs_most_memory_comes_first(count: int, layout: Layout, seed: int, data: st.DataObject) -> None:
    lengths = torch.tensor(data.draw(st.lists(st.integers(1, 128), min_size=count, max_size=count)))
    own = [lengths[step].flatten().tolist() for step in train_order(count, layout, seed, 1, lengths)]
    assert all((max(own[0]), sum(own[0])) >= (max(other), sum(other)) for other in own)


def test_an_epoch_of_like_lengths_does_not_begin_with_the_shortest() -> None:
    lengths = torch.arange(1, 129)
    order = train_order(128, Layout(4, 1, 1), 0, 0, lengths)
    firsts = lengths[order.flatten(start_dim=1)[:, 0]].tolist()
    assert sorted(firsts) != firsts
    again = train_order(128, Layout(2, 2, 1), 0, 0, lengths)
    assert [set(step.flatten().tolist()) for step in order] == [set(step.flatten().tolist()) for step in again]


@given(steps=st.integers(1, 400))
def test_a_short_epoch_is_sorted_in_several_windows_so_that_its_steps_differ_between_epochs(steps: int) -> None:
    assert 1 <= window_steps(steps) <= 32
    assert steps < 4 or steps >= 4 * window_steps(steps)


def test_the_same_flags_are_the_same_steps_on_every_device() -> None:
    """Where each length is compiled nothing is gained by like lengths, but a checkpoint goes on elsewhere."""
    texts = Rows([], [], 0)
    lengths = [3, 30, 4, 28, 5, 31, 2, 29] * 8
    orders = []
    for grain, shapes in ((ON_CPU, (32,)), (None, (32,)), (None, (8, 32))):
        train = encode([[1] * length for length in lengths], [0] * len(lengths), shapes, pad_id=0)
        data = Data(["0"], train, train, (texts, texts), Layout(4, 1, 1), grain)
        orders.append([data.train_order(7, 1, alike=alike).flatten().tolist() for alike in (True, False)])
    assert orders[0] == orders[1] == orders[2]
    alike, drawn = orders[0]
    assert alike != drawn


def test_a_batch_is_as_long_as_the_longest_text_of_any_worker_needs() -> None:
    data = encode([[1] * 3, [1] * 12, [1] * 20, [1] * 5], [0, 0, 1, 1], shapes=(8, 16, 24), pad_id=0)
    order = torch.tensor([[[0], [3]], [[0], [1]], [[2], [-1]]])
    for rank in (0, 1):
        made = Batches(data, order, rank)
        assert [8, 16, 24] == made.lengths == [batch["input_ids"].shape[1] for batch in made]
    assert (8, 2 * 8) == made.filling[0]
    assert (15, 2 * 16) == made.filling[1]


def test_a_batch_is_padded_to_its_length_and_fillers_weigh_nothing() -> None:
    data = encode([[5, 6, 7], [8]], [1, 0], shapes=(4,), pad_id=9)
    (batch,) = Batches(data, torch.tensor([[[1, -1]]]), 0)
    assert [[8, 9, 9, 9], [5, 6, 7, 9]] == batch["input_ids"].tolist()
    assert [[1, 0, 0, 0], [1, 1, 1, 0]] == batch["attention_mask"].tolist()
    assert [0, 1] == batch["labels"].tolist()
    assert [1.0, 0.0] == batch["weight"].tolist()


def test_too_few_examples_for_one_step_are_refused_before_it() -> None:
    rows = Rows(["a", "b"], ["0", "1"], 0)
    with pytest.raises(Mistake, match=r"--train: got 2 examples, wanted at least 24 \(= 4 per device x 2 workers x 3"):
        encode_data((rows, rows), None, Layout(4, 2, 3), max_length=8, num_labels=None)
