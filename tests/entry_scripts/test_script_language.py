"""The language-model script: text in blocks, hidden tokens, perplexity, workers that agree."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from kit.common import TrainingArguments, load_tokenizer, parse
from sm_spot import USAGE_ERROR
from train_language_model import LanguageArguments, ModelArguments, blocks_of, main

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


def test_the_published_flags_are_accepted_unchanged(tmp_path: Path) -> None:
    kinds = (ModelArguments, LanguageArguments, TrainingArguments)
    model_args, data_args, args = parse(kinds, flags_of({**PUBLISHED, "output_dir": tmp_path}))
    assert ("gpt2", 512, str(tmp_path)) == (model_args.model_type, data_args.block_size, args.model_dir)
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
    assert all(line["tokens_per_second"] == pytest.approx(32 * line["samples_per_second"], rel=0.02) for line in lines)


def test_the_summary_counts_every_sample_once(learned: tuple[Finished, Path]) -> None:
    (line,) = learned[0].having("train_runtime")
    steps = line["step"]
    assert steps == learned[0].having("first_step_seconds")[0]["total_steps"]
    assert line["train_samples_per_second"] * line["train_runtime"] == pytest.approx(steps * 13, rel=1e-2)


def test_perplexity_is_e_to_the_mean_loss_of_the_saved_model(learned: tuple[Finished, Path]) -> None:
    run, folder = learned
    (line,) = run.having("eval_perplexity")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    blocks = blocks_of(LanguageArguments(), load_tokenizer("tiny-gpt2"), 32)["validation"]
    ids = torch.tensor(blocks["input_ids"][:])
    assert line["eval_samples"] == len(ids)
    with torch.no_grad():
        chances = model(ids).logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])
    assert line["eval_perplexity"] == pytest.approx(math.exp(-float(chances.double().mean())), rel=1e-4)


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
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=1, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
    )
    torch.manual_seed(0)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "still")
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
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path / name).state_dict() for name in ("alone", "shared")
    )
    assert all(torch.allclose(one[name], two[name], atol=1e-5) for name in one)


# --- mistakes ---


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--model_type", "gtp2"), "error: --tokenizer_name: wanted one for a model"),
        (("--model_type", "tiny-gpt2", "--block_size", "600"), "error: --block_size: got 600, wanted at most 512"),
        (
            ("--model_type", "tiny-gpt2", "--train_file", "nowhere"),
            "error: --train_file: got 'nowhere', which does not",
        ),
        (("--model_type", "tiny-gpt2", "--dataset_name", "wikitext"), "error: --dataset_name: "),
    ],
)
def test_a_mistake_is_told_before_the_first_step(
    flags: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for module in ("huggingface_hub.constants", "datasets.config"):  # which have read the variable
        monkeypatch.setattr(f"{module}.HF_HUB_OFFLINE", True, raising=False)
    run = run_here(main, *flags)
    assert USAGE_ERROR == run.code
    assert run.err.startswith(said), run.err
    assert "first_step_seconds" not in run.out
