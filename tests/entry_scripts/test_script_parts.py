"""A batch cut into parts: nothing lost, never dearer than whole, and the same step."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from _batches import Batches, encode
from _models import load_classifier, load_config, load_tokenizer
from _parts import Grain, cut, rounded
from _peers import grain_of
from _runtime import BACKENDS
from train_text_classification import loss_of

LENGTHS = st.lists(st.integers(1, 128), min_size=1, max_size=24)


GRAINS = st.builds(Grain, multiple=st.sampled_from([1, 4, 8]), pass_tokens=st.integers(0, 4096))
LONGEST = 128


def price(lengths: list[int], grain: Grain) -> int:
    return sum(len(part.members) * part.length + grain.pass_tokens for part in cut(lengths, grain, LONGEST))


@given(lengths=LENGTHS, grain=GRAINS, more=st.integers(0, 20))
def test_parts_hold_every_example_once_and_whole(lengths: list[int], grain: Grain, more: int) -> None:
    longest = max(lengths) + more
    parts = cut(lengths, grain, longest)
    assert list(range(len(lengths))) == sorted(itertools.chain.from_iterable(part.members for part in parts))
    for part in parts:
        needed = rounded(max(lengths[member] for member in part.members), grain.multiple)
        assert min(needed, longest) == part.length


@given(lengths=st.lists(st.integers(1, 128), min_size=1, max_size=7), grain=GRAINS)
def test_no_other_cut_of_the_sorted_batch_is_cheaper(lengths: list[int], grain: Grain) -> None:
    padded, found = sorted(rounded(length, grain.multiple) for length in lengths), price(lengths, grain)
    for edges in itertools.chain.from_iterable(
        itertools.combinations(range(1, len(padded)), count) for count in range(len(padded))
    ):
        runs = itertools.pairwise((0, *edges, len(padded)))
        assert found <= sum((end - start) * padded[end - 1] + grain.pass_tokens for start, end in runs)


@given(lengths=LENGTHS)
def test_a_pass_that_costs_more_than_all_padding_leaves_the_batch_whole(lengths: list[int]) -> None:
    (part,) = cut(lengths, Grain(multiple=8, pass_tokens=len(lengths) * LONGEST), LONGEST)
    assert rounded(max(lengths)) == part.length


@settings(max_examples=8, deadline=None)
@given(lengths=st.lists(st.integers(3, 60), min_size=2, max_size=8), seed=st.integers(0, 99))
def test_the_parts_gradients_add_up_to_the_padded_batchs(lengths: list[int], seed: int) -> None:
    config = load_config("tiny-random", load_tokenizer("tiny-random"), ["0", "1"])
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    torch.manual_seed(seed)
    model = load_classifier("tiny-random", config, eager_attention=False).train()
    drawn = [torch.randint(5, config.vocab_size, (length,)).tolist() for length in lengths]
    data = encode(drawn, [index % 2 for index in range(len(drawn))], shapes=(64,), pad_id=0)
    order = torch.arange(len(drawn)).view(1, 1, -1)

    def gradients(grain: Grain | None) -> list[torch.Tensor]:  # type: ignore[name-defined]  # of a module that is not typed here
        model.zero_grad()
        for batch in Batches(data, order, 0, grain):
            (loss_of(model, batch)[0].sum() / len(drawn)).backward()
        return [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]

    for padded, parts in zip(gradients(None), gradients(Grain(4, 0)), strict=True):
        torch.testing.assert_close(parts, padded, rtol=1e-4, atol=1e-7)


def test_what_is_counted_is_every_workers_tokens_and_positions() -> None:
    data = encode([[1] * 3, [1] * 30, [1] * 5, [1] * 40], [0, 1, 0, 1], shapes=(40,), pad_id=0)
    made = Batches(data, torch.tensor([[[0, 1], [2, 3]]]), 0, Grain(8, 1))
    assert [2] == made.passes
    assert [32, 8] == made.lengths
    assert [(60, 64), (6, 16)] == made.filling
    assert [3] == Batches(data, torch.tensor([[[0]], [[1]], [[2]]]), 0, Grain(8, 1)).passes_per_step(3)


@pytest.mark.parametrize("name", ["cpu", "cuda", "smddp"])
def test_under_trainer_batches_are_cut_as_in_the_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SM_TRN_RUNTIME", name)
    assert BACKENDS[name].grain is not None
    assert BACKENDS[name].grain == grain_of(SimpleNamespace(deepspeed=None, fsdp=[], mp_parameters=""))


@pytest.mark.parametrize("library", ["deepspeed", "fsdp", "mp_parameters"])
def test_a_library_that_owns_the_backward_pass_gets_whole_batches(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SM_TRN_RUNTIME", "cuda")
    assert grain_of(SimpleNamespace(**{library: "asked"})) is None


@pytest.mark.parametrize("name", ["xla", "neuron"])
def test_where_lengths_are_compiled_batches_stay_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SM_TRN_RUNTIME", name)
    assert grain_of(SimpleNamespace()) is None
