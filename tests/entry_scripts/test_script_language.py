"""The language-model script: text in blocks, hidden tokens, perplexity, workers that agree."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from _console import USER_MISTAKE
from _corpus import IGNORED, Blocks, HiddenTokens, NextToken, pack, read_texts
from _models import load_tokenizer
from hypothesis import given
from hypothesis import strategies as st
from train_language_model import main, parse_arguments

from launch import Finished, Launch, run_here

pytestmark = pytest.mark.local
SCRIPT = "train_language_model.py"
# The hyperparameters of the Training Compiler's published example.
PUBLISHED = {
    "model_type": "gpt2",
    "tokenizer_name": "gpt2",
    "dataset_name": "wikitext",
    "dataset_config_name": "wikitext-103-v1",
    "do_train": True,
    "do_eval": False,
    "num_train_epochs": 10,
    "block_size": 512,
    "overwrite_output_dir": True,
    "save_strategy": "no",
    "evaluation_strategy": "no",
    "logging_strategy": "epoch",
    "output_dir": "/opt/ml/model",
    "dataloader_drop_last": True,
    "preprocessing_num_workers": 12,
    "per_device_train_batch_size": 13,
    "learning_rate": 5e-5 / 32 * 13,
}


def flags_of(values: dict[str, object]) -> list[str]:
    return [part for name, value in values.items() for part in ("--" + name, str(value))]


# --- blocks ---


class Letters:
    """A token for each letter."""

    mask_token_id = 30
    all_special_ids = (30, 31)

    def __len__(self) -> int:
        return 32

    def __call__(self, texts: list[str], **_: object) -> dict[str, list[list[int]]]:
        return {"input_ids": [[ord(letter) - 97 for letter in text] for text in texts]}


@given(st.lists(st.text("abcdefgh", max_size=30), max_size=30), st.integers(2, 12))
def test_blocks_are_the_texts_one_after_another_and_lose_only_the_last_rest(texts: list[str], size: int) -> None:
    joined = "".join(texts)
    blocks = pack(texts, Letters(), size)
    assert (len(joined) // size, size) == tuple(blocks.shape)
    whole = len(joined) // size * size
    assert joined[:whole] == "".join(chr(97 + int(token)) for token in blocks.flatten())


def test_more_texts_than_the_tokenizer_takes_at_a_time_keep_their_order() -> None:
    texts = [chr(97 + number % 26) * 2 for number in range(2500)]
    assert "".join(texts) == "".join(chr(97 + int(token)) for token in pack(texts, Letters(), 2).flatten())


def test_causal_labels_are_the_tokens_themselves() -> None:
    batch = NextToken(Blocks(torch.arange(12, dtype=torch.int32).view(4, 3)))([(2, 0), (0, 0)])
    assert [[6, 7, 8], [0, 1, 2]] == batch["input_ids"].tolist() == batch["labels"].tolist()


def hidden(epoch: int, seed: int = 1) -> tuple[list[list[int]], list[list[int]]]:
    ids = torch.arange(400, dtype=torch.int32).remainder(26).view(10, 40)
    batch = HiddenTokens(Blocks(ids), Letters(), 0.15, seed)([(number, epoch) for number in range(10)])
    return batch["input_ids"].tolist(), batch["labels"].tolist()


def test_what_is_hidden_depends_on_seed_epoch_and_block_only() -> None:
    assert hidden(0) == hidden(0)
    assert hidden(0) != hidden(1) != hidden(0, seed=2)


def test_in_each_block_the_same_number_is_hidden_and_labels_say_what_was_there() -> None:
    shown, labels = hidden(3)
    for row, (ids, own) in enumerate(zip(shown, labels, strict=True)):
        places = [place for place, label in enumerate(own) if label != IGNORED]
        assert 6 == len(places)
        assert [(row * 40 + place) % 26 for place in places] == [own[place] for place in places]
        assert all(ids[place] == (row * 40 + place) % 26 for place in range(40) if place not in places)


def test_four_of_five_hidden_tokens_show_the_mask() -> None:
    counted = [
        ids[place]
        for epoch in range(40)
        for ids, own in zip(*hidden(epoch), strict=True)
        for place in range(40)
        if own[place] >= 0
    ]
    assert 0.75 < counted.count(30) / len(counted) < 0.85


def test_special_tokens_are_not_hidden() -> None:
    ids = torch.full((1, 40), 31, dtype=torch.int32)
    ids[0, :10] = 5
    labels = HiddenTokens(Blocks(ids), Letters(), 0.15, 0)([(0, 0)])["labels"]
    assert {5, IGNORED} == set(labels.flatten().tolist())


# --- texts ---


def test_texts_come_from_lines_and_from_any_known_column(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    (tmp_path / "b.csv").write_text("id,sentence\n1,three\n")
    own = SimpleNamespace(dataset_name=None, text_column=None, validation_split_percentage=5)
    own.train_file, own.validation_file = str(tmp_path / "a.txt"), str(tmp_path / "b.csv")
    assert (["one\n", "two\n"], ["three"]) == tuple(read_texts(own))


def test_without_held_out_texts_the_first_are_held_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(50)))
    own = SimpleNamespace(dataset_name=None, text_column=None, validation_split_percentage=10, validation_file=None)
    own.train_file = str(tmp_path / "a.txt")
    train, held_out = read_texts(own)
    assert [f"{number}\n" for number in range(5)] == held_out
    assert 45 == len(train)


# --- runs ---


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    """The published flags, with what needs the network or much time exchanged."""
    folder = tmp_path_factory.mktemp("language")
    smaller = {"model_type": "tiny-gpt2", "dataset_name": "sample", "block_size": 32, "num_train_epochs": 3}
    values = {**PUBLISHED, **smaller, "learning_rate": 0.002, "do_eval": True, "output_dir": folder / "model"}
    del values["tokenizer_name"], values["dataset_config_name"]
    run = run_here(main, *flags_of(values))
    assert 0 == run.code, run.err
    return run, folder / "model"


def test_the_published_flags_are_accepted_unchanged() -> None:
    own, args, _ = parse_arguments(flags_of(PUBLISHED))
    assert ("gpt2", 512, "/opt/ml/model") == (own.model_type, own.block_size, str(own.output_dir))
    assert (13, 10, False) == (args.per_device_train_batch_size, args.num_train_epochs, args.do_eval)
    assert args.learning_rate == pytest.approx(5e-5 / 32 * 13)


def test_the_loss_falls_with_each_epoch(learned: tuple[Finished, Path]) -> None:
    losses = [line["loss"] for line in learned[0].having("loss")]
    assert 3 == len(losses)
    assert losses[2] < losses[1] < losses[0]
    assert losses[2] < 0.6 * losses[0]


@pytest.mark.parametrize("key", ["train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss"])
def test_the_published_regexes_read_the_summary(learned: tuple[Finished, Path], key: str) -> None:
    (line,) = learned[0].having("train_runtime")
    assert [line[key]] == [float(number) for number in re.findall(rf"'{key}': ([0-9.]*)", learned[0].out)]


def test_each_epochs_line_has_loss_rate_epoch_and_speed(learned: tuple[Finished, Path]) -> None:
    lines = learned[0].having("loss")
    assert [1.0, 2.0, 3.0] == [line["epoch"] for line in lines]
    assert all({"learning_rate", "samples_per_second", "tokens_per_second", "step"} <= set(line) for line in lines)
    assert all(line["tokens_per_second"] == pytest.approx(32 * line["samples_per_second"], rel=1e-3) for line in lines)


def test_the_summary_counts_every_sample_once(learned: tuple[Finished, Path]) -> None:
    (line,) = learned[0].having("train_runtime")
    steps = line["step"]
    assert steps == learned[0].having("first_step_seconds")[0]["total_steps"]
    assert line["train_samples_per_second"] * line["train_runtime"] == pytest.approx(steps * 13, rel=1e-2)


def test_perplexity_is_e_to_the_mean_loss_of_the_saved_model(learned: tuple[Finished, Path]) -> None:
    run, folder = learned
    (line,) = run.having("eval_perplexity")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    own, _, _ = parse_arguments(["--dataset_name", "sample"])
    ids = pack(read_texts(own).held_out, load_tokenizer("tiny-random"), 32).long()
    assert line["eval_samples"] == len(ids)
    with torch.no_grad():
        chances = model(ids).logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])
    assert line["eval_perplexity"] == pytest.approx(math.exp(-float(chances.double().mean())), rel=1e-4)


def test_blocks_are_all_of_one_length_and_grouping_them_changes_nothing(tmp_path: Path) -> None:
    flags = "--model_type tiny-gpt2 --block_size 32 --max_train_samples 64 --max_steps 4 --logging_steps 1 --max_eval_samples 8"
    losses = []
    for wish in ("True", "False"):
        run = run_here(main, *flags.split(), "--group_by_length", wish, "--output_dir", str(tmp_path / wish))
        assert 0 == run.code, run.err
        losses.append([line["loss"] for line in run.having("loss")])
    assert losses[0] == losses[1] != []


def test_masked_models_learn_too(tmp_path: Path) -> None:
    more = ("--max_train_samples", "300", "--num_train_epochs", "4", "--learning_rate", "0.003", "--do_eval", "True")
    run = run_here(
        main, "--model_type", "tiny-bert", "--max_seq_length", "32", "--output_dir", str(tmp_path / "m"), *more
    )
    losses = [line["loss"] for line in run.having("loss")]
    assert 0 == run.code, run.err
    assert losses[-1] < 0.85 * losses[0]
    assert "mlm," in run.out
    assert math.log(run.having("eval_perplexity")[0]["eval_perplexity"]) == pytest.approx(
        run.having("eval_loss")[0]["eval_loss"], abs=1e-5
    )


def test_two_workers_with_micro_batches_train_as_one_with_the_whole_batch(tmp_path: Path) -> None:
    tokenizer = load_tokenizer("tiny-random")
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    torch.manual_seed(0)
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path / "still")
    tokenizer.save_pretrained(tmp_path / "still")
    # Clipping would hide a gradient of the wrong size; so would Adam, but for its epsilon.
    same = {
        "model_name_or_path": tmp_path / "still",
        "max_seq_length": 32,
        "max_train_samples": 64,
        "num_train_epochs": 2,
        "logging_steps": 1,
        "optim": "sgd",
        "learning_rate": 0.5,
        "max_grad_norm": 0,
        "save_strategy": "no",
    }
    alone = run_here(main, *flags_of({**same, "per_device_train_batch_size": 16, "output_dir": tmp_path / "alone"}))
    split = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "output_dir": tmp_path / "shared"}
    shared = Launch(tmp_path, SCRIPT).run(*flags_of({**same, **split}), workers=2)
    assert 0 == alone.code == shared.code, alone.err + shared.err[-3000:]
    assert [line["loss"] for line in alone.having("loss")] == pytest.approx(
        [line["loss"] for line in shared.having("loss")], abs=1e-4
    )
    one, two = (
        transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / name).state_dict() for name in ("alone", "shared")
    )
    assert all(torch.allclose(one[name], two[name], atol=1e-5) for name in one)


# --- mistakes ---


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--model_type", "gtp2"), "error: --tokenizer_name: wanted one for --model_type 'gtp2'"),
        (("--model_type", "tiny-gpt2", "--block_size", "600"), "error: --block_size: got 600, wanted at most 512"),
        (
            ("--model_type", "tiny-gpt2", "--train_file", "nowhere"),
            "error: --train_file: got 'nowhere', which does not",
        ),
        (
            ("--model_type", "tiny-gpt2", "--block_size", "64", "--per_device_train_batch_size", "5000"),
            "error: data: got 750 examples, wanted at least 5000",
        ),
        (("--model_type", "tiny-gpt2", "--dataset_name", "wikitext"), "error: --dataset_name: "),
    ],
)
def test_a_mistake_is_told_before_the_first_step(
    flags: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run = run_here(main, *flags)
    assert USER_MISTAKE == run.code
    assert run.err.startswith(said), run.err
    assert "first_step_seconds" not in run.out
