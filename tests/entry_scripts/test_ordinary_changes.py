"""One ordinary change to a copied script, as a reader makes it: it works, or is refused in a sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")
pytest.importorskip("datasets")

from sm_spot import USAGE_ERROR

from launch import QUIET, SCRIPTS, Finished, Launch, run_here

pytestmark = pytest.mark.local
SMALL = "--model_name_or_path tiny-random --max_steps 4 --logging_steps 2 --save_steps 2 --max_eval_samples 16"
Copied = Callable[..., ModuleType]


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> Copied:
    """A script of another name in which some places are written otherwise."""

    def copy(name: str, changes: list[tuple[str, str]]) -> ModuleType:
        path = SCRIPTS / f"{name}.py"
        text = path.read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        module = ModuleType("copied")
        monkeypatch.setitem(sys.modules, "copied", module)
        module.__file__ = str(path)
        exec(compile(text, "copied.py", "exec"), vars(module))  # noqa: S102 - a copy of the script
        return module

    return copy


def learns(module: ModuleType, folder: Path, flags: str = SMALL) -> Finished:
    run = run_here(module.main, *flags.split(), "--output_dir", str(folder / "m"))
    assert 0 == run.code, run.err
    assert run.having("loss")
    assert (folder / "m" / "model.safetensors").is_file()
    return run


def test_sets_made_by_datasets_and_map(copied: Copied, tmp_path: Path) -> None:
    sets = """
    from datasets import ClassLabel, Dataset, Features, Value
    features = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    rows = {"text": ["very good", "very bad"] * 60, "label": ["good", "bad"] * 60}
    parts = Dataset.from_dict(rows, features=features).train_test_split(0.1)
    raw_datasets = DatasetDict({"train": parts["train"], "eval": parts["test"]})
"""
    old = "    raw_datasets = load_raw_datasets(data_args, list(config.id2label.values()))\n"
    module = copied("train_glue", changes=[(old, sets)])
    assert learns(module, tmp_path).having("eval_accuracy")


def test_metrics_in_the_form_of_evaluate(copied: Copied, tmp_path: Path) -> None:
    """The library loads its metrics from the hub; what it gives is a function of predictions and references."""
    new = """            compute_metrics=lambda found: {"mean_guess": float(found.predictions.argmax(-1).mean())},
"""
    module = copied("train_glue", changes=[("            compute_metrics=compute_metrics,\n", new)])
    assert learns(module, tmp_path).having("eval_mean_guess")


def test_another_model_class(copied: Copied, tmp_path: Path) -> None:
    own = """class Pooled(AutoModelForSequenceClassification):
    @classmethod
    def from_config(cls, config, **options):
        from transformers import BertForSequenceClassification

        class Own(BertForSequenceClassification):
            pass

        return Own(config)


# --- main ---
"""
    old = "model_of(\n        AutoModelForSequenceClassification,"
    changes = [("# --- main ---\n", own), (old, old.replace("AutoModelForSequenceClassification", "Pooled"))]
    learns(copied("train_glue", changes=changes), tmp_path)


def test_a_callback_and_a_collator_of_ones_own(copied: Copied, tmp_path: Path) -> None:
    callback = """    from transformers import TrainerCallback

    class Told(TrainerCallback):
        def on_step_end(self, args, state, control, **more):
            print("told", state.global_step)

    trainer.add_callback(Told())
    pad = trainer.data_collator
    trainer.data_collator = lambda features: {name: value for name, value in pad(features).items()}
    kit.watch(trainer,"""
    run = learns(copied("train_glue", changes=[("    kit.watch(trainer,", callback)]), tmp_path)
    assert [f"told {step}" for step in (1, 2, 3, 4)] == [
        line for line in run.out.splitlines() if line.startswith("told")
    ]


def test_a_trainer_of_ones_own_with_another_loss(copied: Copied, tmp_path: Path) -> None:
    own = """class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        outputs = model(**inputs)
        return (2 * outputs.loss, outputs) if return_outputs else 2 * outputs.loss


# --- main ---
"""
    module = copied("train_glue", changes=[("# --- main ---\n", own), ("trainer = Trainer(", "trainer = Weighted(")])
    learns(module, tmp_path)


def test_a_data_set_that_streams(copied: Copied, tmp_path: Path) -> None:
    old, new = (
        "            train_dataset=train_dataset,\n",
        "            train_dataset=train_dataset.to_iterable_dataset(),\n",
    )
    module = copied("train_language_model", changes=[(old, new)])
    learns(
        module,
        tmp_path,
        "--model_type tiny-gpt2 --block_size 32 --max_steps 4 --logging_steps 2 --max_train_samples 64",
    )


def test_a_data_set_in_the_form_of_the_hubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "squad").mkdir()
    answers = {"text": ["Ann"], "answer_start": [7]}
    rows = [{"id": str(row), "question": "Who?", "context": "It was Ann.", "answers": answers} for row in range(40)]
    for split in ("train", "validation"):
        (tmp_path / "squad" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    import train_question_answering

    flags = f"{SMALL} --dataset_name {tmp_path / 'squad'} --max_seq_length 32 --doc_stride 8"
    assert learns(train_question_answering, tmp_path, flags).having("eval_f1")


def test_accelerate_launch(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\n" + "good,1\nbad,0\n" * 40)
    flags = "--model tiny-random --train train.csv --epochs 1 --per_device_batch_size 8 --logging_steps 3 --model_dir m"
    launcher = "-m accelerate.commands.launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no"
    run = subprocess.run(
        [sys.executable, *launcher.split(), str(SCRIPTS / "train_text_classification.py"), *flags.split()],
        cwd=tmp_path,
        env={**os.environ, **QUIET},
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == run.returncode, run.stderr[-3000:]
    assert "eval_accuracy" in run.stdout
    assert (tmp_path / "m" / "model.safetensors").is_file()


def test_deepspeed_without_the_library_is_refused_in_a_sentence(tmp_path: Path) -> None:
    import train_glue

    (tmp_path / "zero3.json").write_text(json.dumps({"zero_optimization": {"stage": 3}}))
    flags = [*SMALL.split(), "--deepspeed", str(tmp_path / "zero3.json"), "--output_dir", str(tmp_path / "m")]
    run = run_here(train_glue.main, *flags)
    assert (USAGE_ERROR, 1) == (run.code, len(run.err.splitlines())), run.err
    assert "eepspeed" in run.err


def test_a_copy_beside_the_kit_is_a_script_of_its_own(tmp_path: Path) -> None:
    """As `sm-trn init --script` lays it down."""
    for name in ("kit", "sample", "tiny_random"):
        shutil.copytree(SCRIPTS / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("sm_spot.py", "train_glue.py"):
        shutil.copy(SCRIPTS / name, tmp_path / name)
    launch = Launch(tmp_path)
    launch._script = str(tmp_path / "train_glue.py")
    run = launch.run(*SMALL.split(), "--output_dir", "m")
    assert 0 == run.code, run.err[-3000:]
    assert run.having("eval_accuracy")


def test_preferences_are_learnt_and_other_data_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    import train_preference

    words = ("good", "bad", "red", "blue") * 10
    rows: list[dict[str, Any]] = [{"prompt": "is it", "chosen": f" {word} .", "rejected": " not ."} for word in words]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "texts.jsonl").write_text("\n".join(json.dumps({"text": word}) for word in words))
    flags = "--model_name_or_path tiny-llama --max_steps 6 --logging_steps 3 --save_steps 3 --learning_rate 0.005"
    out = ["--output_dir", str(tmp_path / "m")]
    run = run_here(train_preference.main, *flags.split(), *out, "--train_file", str(tmp_path / "pairs.jsonl"))
    assert 0 == run.code, run.err
    losses = [line["loss"] for line in run.having("loss")]
    assert losses[-1] < losses[0] < 0.75
    refused = run_here(train_preference.main, *flags.split(), *out, "--train_file", str(tmp_path / "texts.jsonl"))
    assert (USAGE_ERROR, True) == (refused.code, "got the columns text, wanted prompt, chosen, rejected" in refused.err)
    lacking = run_here(train_preference.main, *flags.split(), *out, "--method", "grpo")
    assert (USAGE_ERROR, True) == (lacking.code, "--reward_model_name_or_path: wanted a model" in lacking.err)
