"""Faults that runs of earlier versions had, which ended well or fell over; each is one test here."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

import train_glue
import train_language_model
import train_question_answering
import train_text_classification
from kit.common import load_config, load_model, load_tokenizer
from sm_spot import USAGE_ERROR
from train_text_classification import EpochSampler

from launch import Finished, Launch, run_here

pytestmark = pytest.mark.local
RAW = "--model tiny-random --train sample --epochs 1 --per_device_batch_size 64 --logging_steps 50"
CAUSAL = "--model_type tiny-gpt2 --block_size 32 --max_train_samples 64 --max_eval_samples 13 --do_eval True --logging_steps 1"


def weights_of(folder: Path) -> bytes:
    (path,) = [*folder.glob("model.safetensors"), *folder.glob("pytorch_model.bin")]
    return path.read_bytes()


# --- the last step ---


def test_a_loop_that_resumes_after_its_last_step_evaluates_and_saves_the_same_model(tmp_path: Path) -> None:
    flags = [*RAW.split(), "--save_steps", "56", "--checkpoint_dir", str(tmp_path / "c")]
    first = run_here(train_text_classification.main, *flags, "--model_dir", str(tmp_path / "one"))
    again = run_here(train_text_classification.main, *flags, "--model_dir", str(tmp_path / "two"))
    assert (0, 0) == (first.code, again.code), again.err
    assert "resuming after step 56" in again.out
    assert weights_of(tmp_path / "one") == weights_of(tmp_path / "two")
    assert first.having("eval_accuracy") == again.having("eval_accuracy")


def test_a_trainer_that_resumes_after_its_last_step_trains_no_further(tmp_path: Path) -> None:
    flags = [*CAUSAL.split(), "--max_steps", "5", "--lr_scheduler_type", "constant", "--save_steps", "5"]
    flags += ["--checkpoint_dir", str(tmp_path / "c")]
    first = run_here(train_language_model.main, *flags, "--output_dir", str(tmp_path / "one"))
    again = run_here(train_language_model.main, *flags, "--output_dir", str(tmp_path / "two"))
    assert (0, 0) == (first.code, again.code), again.err
    assert "resuming after step 5" in again.out
    assert [] == again.having("loss")
    assert weights_of(tmp_path / "one") == weights_of(tmp_path / "two")
    assert (
        first.having("eval_perplexity")[0]["eval_perplexity"] == again.having("eval_perplexity")[0]["eval_perplexity"]
    )


@pytest.mark.parametrize(
    ("flag", "one", "other"),
    [
        ("lr_scheduler_type", "linear", "constant"),
        ("adam_beta2", "0.999", "0.95"),
        ("label_smoothing_factor", "0.0", "0.1"),
        ("warmup_steps", "0", "2"),
        ("bf16", "False", "True"),
    ],
)
def test_another_scheduler_precision_or_smoothing_is_another_run(
    flag: str, one: str, other: str, tmp_path: Path
) -> None:
    flags = [
        *CAUSAL.split(),
        "--max_steps",
        "2",
        "--save_steps",
        "1",
        "--do_eval",
        "False",
        "--output_dir",
        str(tmp_path),
    ]
    assert 0 == run_here(train_language_model.main, *flags, f"--{flag}", one).code
    run = run_here(train_language_model.main, *flags, f"--{flag}", other)
    assert USAGE_ERROR == run.code
    assert re.search(rf"was written by another run \(.*{flag}: got", run.err)


# --- numbers ---


def half_precision_model(folder: Path, kind: Any) -> None:
    tokenizer = load_tokenizer("tiny-random")
    torch.manual_seed(0)
    config = load_config("tiny-random", tokenizer, num_labels=2)
    load_model(
        transformers.AutoModelForSequenceClassification,
        "tiny-random",
        config,
        tokenizer,
        SimpleNamespace(seed=0, device="cpu"),
    ).to(kind).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_a_checkpoint_in_half_precision_is_trained_in_float32(kind: Any, tmp_path: Path) -> None:
    half_precision_model(tmp_path / "half", kind)
    flags = [*RAW.replace("tiny-random", str(tmp_path / "half")).split(), "--learning_rate", "0.002"]
    loop = run_here(train_text_classification.main, *flags, "--model_dir", str(tmp_path / "loop"))
    more = "--max_steps 5 --save_strategy no --do_eval False --output_dir"
    glue = run_here(
        train_glue.main, "--model_name_or_path", str(tmp_path / "half"), *more.split(), str(tmp_path / "glue")
    )
    assert (0, 0) == (loop.code, glue.code), loop.err + glue.err
    for name in ("loop", "glue"):
        model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / name, dtype="auto")
        assert {torch.float32} == {weight.dtype for weight in model.parameters()}
        assert all(weight.isfinite().all() for weight in model.parameters())


# --- models that do not fit ---


def small_model(folder: Path, kind: str = "Bert", head: str = "ForSequenceClassification", **more: Any) -> Path:
    """With fewer positions than a script's default length."""
    tokenizer = load_tokenizer("tiny-random")
    tokenizer.save_pretrained(folder)
    how = {"vocab_size": len(tokenizer), "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
           "intermediate_size": 16, "max_position_embeddings": 64, "pad_token_id": tokenizer.pad_token_id, **more}  # fmt: skip
    torch.manual_seed(0)
    getattr(transformers, kind + head)(getattr(transformers, kind + "Config")(**how)).save_pretrained(folder)
    return folder


def test_a_masked_model_that_foretells_the_next_token_does_not_see_it(tmp_path: Path) -> None:
    flags = "--objective clm --block_size 32 --max_steps 1 --max_train_samples 20 --do_eval False".split()
    model = small_model(tmp_path / "m", head="ForMaskedLM")
    run = run_here(
        train_language_model.main, *flags, "--model_name_or_path", str(model), "--output_dir", str(tmp_path / "out")
    )
    assert run.code == 0, run.err
    trained = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    ids = torch.arange(20, 30)[None]
    other = torch.cat([ids[:, :-1], ids[:, -1:] + 1], dim=1)
    with torch.no_grad():
        assert torch.equal(trained(ids).logits[:, :-1], trained(other).logits[:, :-1])


def test_a_model_that_is_saved_under_other_names_goes_on_and_is_best_with_all_its_weights(tmp_path: Path) -> None:
    tokenizer = load_tokenizer("tiny-gpt2")
    tokenizer.save_pretrained(tmp_path / "m")
    config = transformers.MixtralConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
        intermediate_size=16, num_local_experts=2, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.MixtralForCausalLM(config).save_pretrained(tmp_path / "m")
    flags = "--block_size 32 --max_steps 4 --save_steps 2 --max_train_samples 40 --learning_rate 0.5 --lr_scheduler_type constant"
    best = "--max_eval_samples 8 --do_eval True --eval_strategy steps --eval_steps 2 --load_best_model_at_end True"
    command = ["--model_name_or_path", str(tmp_path / "m"), *flags.split()]

    def run(out: str, *more: str) -> Finished:
        found = run_here(train_language_model.main, *command, *more, "--output_dir", str(tmp_path / out))
        assert found.code == 0, found.err
        return found

    run("out")
    straight = weights_of(tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "checkpoint-4")
    assert "resuming after step 2" in run("out").out
    assert straight == weights_of(tmp_path / "out")
    for greater in ("True", "False"):
        losses = [
            line["eval_loss"]
            for line in run(
                greater, *best.split(), "--metric_for_best_model", "loss", "--greater_is_better", greater
            ).having("eval_loss")
        ]
        assert losses[-1] == (max if greater == "True" else min)(losses[:2])
        assert losses[0] != losses[1]


def test_a_wish_to_predict_without_anything_to_label_is_a_mistake(tmp_path: Path) -> None:
    run = run_here(
        train_glue.main, "--model_name_or_path", "tiny-random", "--do_predict", "--output_dir", str(tmp_path)
    )
    assert (USAGE_ERROR, True) == (run.code, "error: --do_predict: got nothing to label" in run.err)


def test_tokens_that_the_model_has_no_embeddings_for_get_some(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m", head="ForMaskedLM")
    tokenizer = load_tokenizer("tiny-random")
    tokenizer.add_tokens(["<one>", "<two>"])
    tokenizer.save_pretrained(model)
    flags = "--block_size 32 --max_steps 1 --max_train_samples 20 --do_eval False".split()
    run = run_here(
        train_language_model.main, *flags, "--model_name_or_path", str(model), "--output_dir", str(tmp_path / "out")
    )
    assert 0 == run.code, run.err
    assert len(tokenizer) == transformers.AutoConfig.from_pretrained(tmp_path / "out").vocab_size


def test_a_loss_that_is_no_number_ends_a_trainer_script_too(tmp_path: Path) -> None:
    flags = [*CAUSAL.split(), "--max_steps", "30", "--learning_rate", "1e30", "--max_grad_norm", "0", "--optim", "sgd"]
    run = run_here(train_language_model.main, *flags, "--output_dir", str(tmp_path))
    assert USAGE_ERROR == run.code
    assert re.search("error: loss: got (nan|inf), wanted a finite number", run.err)


def test_perplexity_counts_each_token_once_however_many_workers_there_are(tmp_path: Path) -> None:
    flags = [*CAUSAL.split(), "--max_steps", "2", "--save_strategy", "no", "--per_device_eval_batch_size", "4"]
    alone = run_here(train_language_model.main, *flags, "--output_dir", str(tmp_path / "m"))
    assert 0 == alone.code, alone.err
    judge = ["--model_name_or_path", str(tmp_path / "m"), *CAUSAL.split()[2:], "--do_train", "False"]
    shared = Launch(tmp_path, "train_language_model.py").run(
        *judge, "--per_device_eval_batch_size", "4", "--output_dir", "o", workers=2
    )
    assert 0 == shared.code, shared.err[-3000:]
    one, two = (run.having("eval_perplexity")[0] for run in (alone, shared))
    assert 13 == one["eval_samples"] == two["eval_samples"]
    assert one["eval_perplexity"] == pytest.approx(two["eval_perplexity"], rel=1e-6)
    assert math.log(one["eval_perplexity"]) == pytest.approx(one["eval_loss"], abs=1e-6)


# --- data ---


def classify(folder: Path, text: str, *flags: str, name: str = "train.csv") -> Finished:
    (folder / name).write_text(text, encoding="utf-8")
    size = ["--model", "tiny-random", "--epochs", "1", "--per_device_batch_size", "4", "--model_dir", str(folder / "m")]
    return run_here(train_text_classification.main, *size, "--train", str(folder / name), *flags)


# --- sentences instead of tracebacks ---


def test_a_disk_that_refuses_the_last_save_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transformers.PreTrainedModel, "save_pretrained", full)
    run = run_here(train_text_classification.main, *RAW.split(), "--model_dir", str(tmp_path / "m"))
    assert USAGE_ERROR == run.code
    assert "error: disk: a file could not be written ([Errno 28] No space left on device)" in run.err


def test_a_failure_is_written_where_sagemaker_looks_for_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sm_spot.FAILURE", tmp_path / "failure")
    run_here(train_text_classification.main, "--epoch", "3")
    assert "--epoch: unknown flag; see --help" == (tmp_path / "failure").read_text()


# --- answers ---


def test_an_answer_with_blanks_at_its_edges_keeps_its_label_and_predictions_are_written(tmp_path: Path) -> None:
    context = "My sister bought the blue handle on Monday."
    rows = [
        {
            "id": f"q{number}",
            "question": "Who?",
            "context": context,
            "answers": {"text": [" My sister "], "answer_start": [0]},
        }
        for number in range(40)
    ]
    for row in rows:
        row["answers"] = {"text": ["sister "], "answer_start": [3]}
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = "--model_name_or_path tiny-random --max_steps 40 --learning_rate 0.01 --max_seq_length 48 --doc_stride 8 --save_strategy no"
    out = tmp_path / "m"
    run = run_here(
        train_question_answering.main,
        *flags.split(),
        "--train_file",
        str(tmp_path / "a.jsonl"),
        "--output_dir",
        str(out),
    )
    assert 0 == run.code, run.err
    assert 100.0 == run.having("eval_exact_match")[0]["eval_exact_match"]
    predictions = json.loads((out / "predictions.json").read_text())
    assert {"sister"} == set(predictions.values())
    assert predictions.keys() <= {row["id"] for row in rows}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_none_is_written_as_our_own_reader_reads_it(value: float) -> None:
    from sm_spot import metric_line
    from sm_trn.core.logs import numbers

    read = numbers(metric_line({"loss": value, "step": 3}))
    assert ["loss", "step"] == list(read)
    assert repr(value) == repr(read["loss"])


# --- against a loop of its own ---


def test_losses_are_those_of_a_plain_loop_with_transformers_schedule(tmp_path: Path) -> None:
    tokenizer = load_tokenizer("tiny-random")
    config = load_config("tiny-random", tokenizer, num_labels=2)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    torch.manual_seed(0)
    model = load_model(
        transformers.AutoModelForSequenceClassification,
        "tiny-random",
        config,
        tokenizer,
        SimpleNamespace(seed=0, device="cpu"),
    )
    model.save_pretrained(tmp_path / "still")
    tokenizer.save_pretrained(tmp_path / "still")
    texts, labels = (
        [f"it is {'good' if n % 2 else 'bad'} " + "and fine " * (n % 4) for n in range(64)],
        [n % 2 for n in range(64)],
    )
    for name, rows in (("train", range(64)), ("validation", range(8))):
        lines = [json.dumps({"text": texts[row], "label": labels[row]}) for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    flags = "--epochs 2 --per_device_batch_size 8 --learning_rate 0.003 --warmup_ratio 0.25 --logging_steps 1 --seed 5"
    files = ["--train", str(tmp_path / "train.jsonl"), "--validation", str(tmp_path / "validation.jsonl")]
    where = ["--model", str(tmp_path / "still"), "--model_dir", str(tmp_path / "out")]
    run = run_here(train_text_classification.main, *where, *files, *flags.split())
    assert 0 == run.code, run.err

    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed}, {"params": others, "weight_decay": 0.0}], lr=0.003, weight_decay=0.01
    )
    schedule = transformers.get_scheduler("linear", optimizer, num_warmup_steps=4, num_training_steps=16)
    sampler = EpochSampler([len(ids) for ids in tokenizer(texts)["input_ids"]], 8, 5, by_length=True)
    wanted = []
    model.train()
    for epoch in range(2):
        sampler.epoch = epoch
        order = list(sampler)
        for begin in range(0, len(order), 8):
            chosen = order[begin : begin + 8]
            batch = tokenizer(
                [texts[row] for row in chosen], padding=True, return_token_type_ids=False, return_tensors="pt"
            )
            loss = model(**batch, labels=torch.tensor([labels[row] for row in chosen])).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            wanted.append((loss.item(), schedule.get_last_lr()[0]))
    got = [(line["loss"], line["learning_rate"]) for line in run.having("loss")]
    assert [loss for loss, _ in got] == pytest.approx([loss for loss, _ in wanted], abs=1e-5)
    assert [rate for _, rate in got] == pytest.approx([rate for _, rate in wanted], abs=1e-9)


# --- what was asked ---

GLUE = "--model_name_or_path tiny-random --train_file sample --max_train_samples 64 --max_eval_samples 16 --max_steps 1"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--fsdp full_shard", "error: arguments: Using fsdp only works in distributed training"),
        ("--output_dir /proc/none", "error: --output_dir: got '/proc/none'"),
        ("--checkpoint_dir /proc/none", "error: --checkpoint_dir: got '/proc/none'"),
        ("--use_liger_kernel True", "error: arguments: You have set `use_liger_kernel` to `True`"),
    ],
)
def test_what_trainer_refuses_is_one_sentence(flags: str, said: str, tmp_path: Path) -> None:
    found = run_here(train_glue.main, *GLUE.split(), "--output_dir", str(tmp_path / "model"), *flags.split())
    assert USAGE_ERROR == found.code
    assert found.err.startswith(said), found.err


def test_a_folder_that_cannot_be_written_to_is_known_before_the_loop_trains() -> None:
    found = run_here(train_text_classification.main, *RAW.split(), "--model_dir", "/proc/none")
    assert USAGE_ERROR == found.code
    assert found.err.startswith("error: --model_dir: got '/proc/none'")
    assert [] == found.metrics


def test_another_programs_checkpoints_are_neither_taken_over_nor_deleted(tmp_path: Path) -> None:
    foreign = tmp_path / "c" / "checkpoint-500"
    foreign.mkdir(parents=True)
    (foreign / "trainer_state.json").write_text("{}")
    flags = ["--checkpoint_dir", str(tmp_path / "c")]
    loop = run_here(train_text_classification.main, *RAW.split(), *flags, "--model_dir", str(tmp_path / "m"))
    trainer = run_here(train_glue.main, *GLUE.split(), *flags, "--output_dir", str(tmp_path / "m"))
    for found in (loop, trainer):
        assert USAGE_ERROR == found.code
        assert f"got {foreign}, which another program has written" in found.err
    assert ["trainer_state.json"] == [path.name for path in foreign.iterdir()]
    assert [foreign] == [*(tmp_path / "c").iterdir()]


def test_the_best_checkpoint_outlives_newer_ones_and_is_what_is_saved(tmp_path: Path) -> None:
    """Every evaluation counts as many samples, so the first stays the best of six; two checkpoints are kept beside it."""
    flags = GLUE.replace("--max_steps 1", "--max_steps 6").split()
    flags += "--save_strategy steps --eval_strategy steps --save_steps 1 --eval_steps 1".split()
    flags += "--load_best_model_at_end True --metric_for_best_model samples".split()
    folders = ["--checkpoint_dir", str(tmp_path / "c"), "--output_dir", str(tmp_path / "model")]
    found = run_here(train_glue.main, *flags, *folders)
    assert 0 == found.code, found.err
    kept = sorted(path.name for path in (tmp_path / "c").glob("checkpoint-*"))
    assert ["checkpoint-1", "checkpoint-5", "checkpoint-6"] == kept
    assert weights_of(tmp_path / "c" / "checkpoint-1") == weights_of(tmp_path / "model")
