"""The Llama script: plain Trainer here, optimum-neuron's trainer where Trainium is."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from _console import INTERRUPTED, USER_MISTAKE
from _models import load_tokenizer
from finetune_llama import main
from recording_optimum_neuron import RecordingOptimumNeuron
from recording_torch_xla import RecordingTorchXla

from launch import Finished, run_here

pytestmark = pytest.mark.local
PUBLISHED = "--tensor_parallel_size 8 --pipeline_parallel_size 2 --bf16 True --block_size 2048 --max_train_samples 8"


# --- here ---


def test_a_tiny_llama_learns_and_is_saved(tmp_path: Path) -> None:
    flags = "--model_name_or_path tiny-llama --max_steps 120 --learning_rate 0.003 --block_size 32 --do_eval True "
    flags += "--per_device_train_batch_size 8 --save_strategy no --tensor_parallel_size 1 --zero_1 False"
    run = run_here(main, *flags.split(), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    losses = [line["loss"] for line in run.having("loss")]
    assert losses[-1] < 0.6 * losses[0]
    assert 1 < run.having("eval_perplexity")[0]["eval_perplexity"] < 20
    assert "llama" == transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "m").config.model_type


@pytest.mark.parametrize("flag", ["tensor_parallel_size", "pipeline_parallel_size", "zero_1", "zero1"])
def test_what_only_trainium_can_do_is_refused_here(flag: str) -> None:
    value = "True" if flag.startswith("zero") else "8"
    run = run_here(main, "--model_name_or_path", "tiny-llama", f"--{flag}", value)
    assert USER_MISTAKE == run.code
    assert run.err.startswith(f"error: --{flag}: got {value!r}, which only optimum-neuron on Trainium can do")


def test_lora_without_its_library_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    run = run_here(main, "--model_name_or_path", "tiny-llama", "--use_lora", "--block_size", "32")
    assert (USER_MISTAKE, True) == (run.code, "error: --use_lora: wanted the library peft" in run.err)


class RecordingPeft(ModuleType):
    """Freezes all but what it is told to add to, as the library does."""

    def __init__(self) -> None:
        super().__init__("peft")
        self.configs: list[dict[str, Any]] = []

    def LoraConfig(self, **settings: Any) -> Any:  # noqa: N802 - the library's name
        self.configs.append(settings)
        return SimpleNamespace(**settings)

    def get_peft_model(self, model: Any, config: Any) -> Any:
        for name, weight in model.named_parameters():
            weight.requires_grad = any(f".{target}." in name for target in config.target_modules)
        return model


def test_lora_trains_only_what_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peft = RecordingPeft()
    monkeypatch.setitem(sys.modules, "peft", peft)
    flags = (
        "--model_name_or_path tiny-llama --max_steps 4 --block_size 32 --use_lora True --lora_r 4 --save_strategy no"
    )
    run = run_here(main, *flags.split(), "--lora_target_modules", "q_proj", "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    (config,) = peft.configs
    assert ("CAUSAL_LM", 4, 32, ["q_proj"]) == (
        config["task_type"],
        config["r"],
        config["lora_alpha"],
        config["target_modules"],
    )
    assert f"{2 * 64 * 64} weights to train" in run.out


# --- on Trainium, recorded ---


def on_trainium(
    neuron: RecordingOptimumNeuron, folder: Path, monkeypatch: pytest.MonkeyPatch, *flags: str, rank: int = 0
) -> tuple[Finished, list[str]]:
    monkeypatch.setenv("SM_TRN_RUNTIME", "xla")
    monkeypatch.setenv("RANK", str(rank))
    folder.mkdir(exist_ok=True)
    load_tokenizer("tiny-random").save_pretrained(folder / "tokenizer")
    (folder / "text.txt").write_text("the screen is very good .\n" * 8000)
    files = ["--train_file", str(folder / "text.txt"), "--tokenizer_name", str(folder / "tokenizer")]
    out = ["--output_dir", str(folder / "model"), "--model_name_or_path", "meta-llama/Llama-2-7b-hf"]
    with neuron.installed(), RecordingTorchXla(rank=rank, world_size=32).installed() as xla:
        return run_here(main, *PUBLISHED.split(), *files, *out, *flags), xla.calls


def test_parallel_flags_reach_the_librarys_own_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neuron = RecordingOptimumNeuron()
    run, _ = on_trainium(neuron, tmp_path, monkeypatch, "--zero1", "False", "--disable_sequence_parallel", "True")
    assert 0 == run.code, run.err
    (made,) = neuron.named("NeuronTrainer")
    args = made["args"]
    assert (8, 2, False, True) == (
        args.tensor_parallel_size,
        args.pipeline_parallel_size,
        args.zero_1,
        args.disable_sequence_parallel,
    )
    assert "default_optim" == args.optim  # ours would not keep master weights
    (loaded,) = neuron.named("from_pretrained")
    assert ({"tp": 8}, torch.bfloat16) == (loaded["trn_config"], loaded["torch_dtype"])
    assert "flash_attention_2" == loaded["attn_implementation"]
    assert (1, 2048) == tuple(neuron.named("train")[0]["batch"]["input_ids"].shape)
    assert [{"output_dir": str(tmp_path / "model")}] == neuron.named("save_model")


def test_the_order_is_model_additions_trainer_train_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", RecordingPeft())
    neuron = RecordingOptimumNeuron()
    run, _ = on_trainium(neuron, tmp_path, monkeypatch, "--use_lora", "True")
    assert 0 == run.code, run.err
    order = [name for name, _ in neuron.calls if name != "remove_callback"]
    assert ["from_pretrained", "get_peft_model", "NeuronTrainer", "train", "save_model"] == order
    assert "optimum-cli neuron consolidate" in run.out


def test_metric_lines_are_ours_there_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neuron = RecordingOptimumNeuron()
    run, _ = on_trainium(neuron, tmp_path, monkeypatch)
    assert [1, 2, 3] == [line["step"] for line in run.having("loss")]
    assert {"PrinterCallback", "ProgressCallback"} == {call["kind"] for call in neuron.named("remove_callback")}


def test_a_stop_there_is_agreed_saved_and_proven_and_the_next_run_says_that_it_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = RecordingOptimumNeuron(
        steps=20, before_step=lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == 6 else None
    )
    run, calls = on_trainium(stopping, tmp_path, monkeypatch)
    assert INTERRUPTED == run.code
    assert "interrupted: after step 10 of 20; saved in" in run.err  # workers ask one another every fifth step
    assert 2 == calls.count("all_reduce sum")
    assert (tmp_path / "model" / "checkpoint-10" / "manifest.json").is_file()
    again, _ = on_trainium(RecordingOptimumNeuron(), tmp_path, monkeypatch)
    assert 0 == again.code, again.err
    assert "checkpoint-10 is put aside: this trainer cannot go on from a checkpoint" in again.out
    assert (tmp_path / "model" / "torn-checkpoint-10").is_dir()


def test_every_worker_makes_the_same_collectives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for rank in (0, 31):
        neuron = RecordingOptimumNeuron(
            steps=20, before_step=lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == 6 else None
        )
        run, calls = on_trainium(neuron, tmp_path / str(rank), monkeypatch, rank=rank)
        assert INTERRUPTED == run.code
        made.append([call for call in calls if call in {"rendezvous", "all_reduce sum"}])
    assert made[0] == made[1]
    assert (2, 5) == (made[0].count("all_reduce sum"), made[0].count("rendezvous"))
