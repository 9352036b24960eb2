"""Fine-tuning: trl's trainers here, optimum-neuron's where Trainium is."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("trl")

import finetune
from finetune import ModelArguments, TuningArguments, load_sets, main, peft_config_of
from kit.common import load_tokenizer, parse
from recording_optimum_neuron import RecordingOptimumNeuron
from recording_torch_xla import RecordingTorchXla
from sm_spot import INTERRUPTED, USAGE_ERROR

from launch import Finished, run_here

pytestmark = pytest.mark.local
PUBLISHED = "--tensor_parallel_size 8 --pipeline_parallel_size 2 --bf16 True --block_size 2048 --max_train_samples 8"


# --- here ---


def test_a_tiny_llama_learns_and_is_saved(tmp_path: Path) -> None:
    flags = "--model_name_or_path tiny-llama --max_steps 120 --learning_rate 0.003 --block_size 32 --do_eval True "
    flags += "--per_device_train_batch_size 8 --save_strategy no"
    run = run_here(main, *flags.split(), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    losses = [line["loss"] for line in run.having("loss")]
    assert losses[-1] < 0.6 * losses[0]
    assert 1 < run.having("eval_perplexity")[0]["eval_perplexity"] < 20
    assert "llama" == transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "m").config.model_type


def test_lora_without_its_library_is_a_mistake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    flags = ["--model_name_or_path", "tiny-llama", "--use_lora", "--block_size", "32", "--output_dir", str(tmp_path)]
    run = run_here(main, *flags)
    assert (USAGE_ERROR, True) == (run.code, "error: arguments: " in run.err and "peft" in run.err)


@pytest.mark.parametrize("model", ["tiny-llama", "tiny-gpt2"])
def test_additions_are_trained_merged_and_kept_beside(model: str, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    everywhere = "" if model == "tiny-llama" else " --lora_target_modules all-linear"
    flags = f"--model_name_or_path {model}{everywhere} --max_steps 20 --learning_rate 0.01 --block_size 32 --use_lora True --lora_r 4"
    more = (
        "--lora_dropout 0 --per_device_train_batch_size 8 --max_train_samples 400 --save_strategy no --logging_steps 5"
    )
    run = run_here(main, *flags.split(), *more.split(), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    losses = [line["loss"] for line in run.having("loss")]
    assert losses[-1] < losses[0]
    merged = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "m")
    assert not any("lora" in name for name in merged.state_dict())
    assert (tmp_path / "m" / "adapter" / "adapter_model.safetensors").is_file()


CHATS = [
    {"messages": [{"role": "user", "content": f"Is it {word}?"}, {"role": "assistant", "content": f"It is {word}."}]}
    for word in ("good", "bad", "red", "blue") * 20
]


FORMS = [
    ({"prompt": "Is it good?", "completion": "It is."}, ["prompt", "completion"]),
    ({"messages": CHATS[0]["messages"], "tools": "[]", "id": 3}, ["messages", "tools"]),
    ({"conversations": [{"from": "human", "value": "Is it?"}, {"from": "gpt", "value": "It is."}]}, ["messages"]),
    ({"content": "some text", "id": 3}, ["text"]),
]


@pytest.mark.parametrize(("row", "columns"), FORMS)
def test_trl_gets_the_columns_that_it_learns_from(row: dict[str, object], columns: list[str], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n".join([json.dumps(row)] * 4))
    (data_args,) = parse((TuningArguments,), ["--train_file", str(tmp_path / "rows.jsonl")])
    sets = load_sets(data_args, finetune.METHODS["sft"][1])
    assert columns == sets["train"].column_names
    assert [3, 1] == [len(part) for part in sets.values()]


def test_conversations_can_be_rehearsed_with_the_bundled_model_in_groups_of_like_length(tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, CHATS)))
    flags = "--model_name_or_path tiny-llama --max_steps 30 --learning_rate 0.005 --block_size 64 --save_strategy no --logging_steps 10"
    run = run_here(
        main, *flags.split(), "--train_file", str(tmp_path / "chats.jsonl"), "--output_dir", str(tmp_path / "m")
    )
    assert 0 == run.code, run.err
    losses = [line["loss"] for line in run.having("loss")]
    assert losses[-1] < 0.8 * losses[0]


def test_preferences_are_learnt_and_other_data_is_refused(tmp_path: Path) -> None:
    rows = [{"prompt": "Is it?", "chosen": " It is good." * (1 + n % 2), "rejected": " bad"} for n in range(40)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = "--method dpo --model_name_or_path tiny-llama --max_steps 12 --learning_rate 0.01 --logging_steps 4 --save_strategy no"
    run = run_here(
        main, *flags.split(), "--train_file", str(tmp_path / "pairs.jsonl"), "--output_dir", str(tmp_path / "m")
    )
    assert 0 == run.code, run.err
    losses = [line["loss"] for line in run.having("loss")]
    assert losses[-1] < 0.5 * losses[0]
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, CHATS)))
    refused = run_here(main, *flags.split(), "--train_file", str(tmp_path / "chats.jsonl"))
    assert (USAGE_ERROR, True) == (
        refused.code,
        "got the columns messages, wanted prompt, chosen, rejected" in refused.err,
    )


ROLES = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must take turns') }}{% endif %}"
)
# By family: its model, and how its tokenizer writes a conversation. Written from the model cards and prompt-format pages of
# Llama 3 (llama.com/docs), Qwen2.5 (ChatML), Gemma (ai.google.dev/gemma/docs/core/prompt-structure), Phi-3 and Mistral 7B.
CHAT_FAMILIES: dict[str, str] = {
    "llama": "{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}"
    "{% endfor %}",
    "qwen2": "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}",
    "gemma": ROLES
    + "{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' + m.content | trim }}"
    "{{ '<end_of_turn>\\n' }}{% endfor %}",
    "phi3": "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}{% endfor %}{{ eos_token }}",
    "mistral": ROLES
    + "{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}{% else %}{{ ' ' + m.content + eos_token }}"
    "{% endif %}{% endfor %}",
}
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "num_key_value_heads": 1,
    "max_position_embeddings": 256, "vocab_size": 400, "head_dim": 16, "pad_token_id": 0, "bos_token_id": 3, "eos_token_id": 3,
}  # fmt: skip
SYSTEM = {"role": "system", "content": "It is short."}


@pytest.mark.parametrize("family", sorted(CHAT_FAMILIES))
def test_conversations_in_a_familys_own_form_are_learnt_or_refused_in_one_sentence(family: str, tmp_path: Path) -> None:
    sizes = {
        name: size
        for name, size in SMALL.items()
        if (family, name) not in {("phi3", "head_dim"), ("qwen2", "head_dim")}
    }
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(family, **sizes)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "model")
    tokenizer = load_tokenizer("tiny-llama")
    tokenizer.chat_template = CHAT_FAMILIES[family]
    tokenizer.save_pretrained(tmp_path / "model")
    flags = f"--model_name_or_path {tmp_path / 'model'} --max_steps 20 --learning_rate 0.005 --block_size 64 --logging_steps 10"
    for name, begins in {"plain": [], "system": [SYSTEM]}.items():
        rows = [{"messages": [*begins, *chat["messages"]]} for chat in CHATS]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
        files = ["--train_file", str(tmp_path / f"{name}.jsonl"), "--output_dir", str(tmp_path / name)]
        run = run_here(main, *flags.split(), *files)
        if name == "system" and family in {"gemma", "mistral"}:  # whose templates take no such turn
            assert (USAGE_ERROR, 1) == (run.code, len(run.err.splitlines())), run.err
            assert "error: arguments: roles must take turns" in run.err
        else:
            assert 0 == run.code, run.err
            losses = [line["loss"] for line in run.having("loss")]
            assert losses[-1] < losses[0]


def test_of_a_prompt_and_its_completion_only_the_completion_is_learnt(tmp_path: Path) -> None:
    rows = [{"prompt": f"{word} " * 9, "completion": "good"} for word in ("red", "blue", "bad") * 20]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = "--model_name_or_path tiny-llama --max_steps 40 --learning_rate 0.01 --block_size 64 --save_strategy no --logging_steps 10"
    files = ["--train_file", str(tmp_path / "rows.jsonl"), "--output_dir", str(tmp_path / "m")]
    run = run_here(main, *flags.split(), *files)
    assert 0 == run.code, run.err
    assert run.having("loss")[-1]["loss"] < 0.1  # the prompts' words cannot be foretold so well


FUSED = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
         "intermediate_size": 32, "pad_token_id": 0}  # fmt: skip


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of one library about another
@pytest.mark.parametrize(
    ("kind", "trained"),
    [("phi3", {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}), ("llama", {"q_proj", "v_proj"})],
)
def test_by_default_additions_are_where_peft_puts_them_or_everywhere(kind: str, trained: set[str]) -> None:
    peft = pytest.importorskip("peft")
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(kind, **FUSED))
    (model_args,) = parse((ModelArguments,), ["--use_lora", "True"])
    added = peft.get_peft_model(model, peft_config_of(model_args, model))
    assert trained == {name.split(".")[-4] for name, weight in added.named_parameters() if weight.requires_grad}


def test_a_part_that_only_some_models_have_is_refused_where_it_is_not(tmp_path: Path) -> None:
    flags = "--model_name_or_path tiny-gpt2 --use_peft True --lora_target_modules q_proj --max_length 32 --output_dir"
    run = run_here(main, *flags.split(), str(tmp_path))
    assert (USAGE_ERROR, True) == (run.code, "error: arguments: Target modules q_proj not found" in run.err), run.err


# Of trl's ModelConfig, version 1.16.
FLAGS_OF_MODEL_CONFIG = {
    "model_name_or_path": "m", "model_revision": "v2", "dtype": "bfloat16", "attn_implementation": "eager", "use_peft": "True",
    "lora_r": "8", "lora_alpha": "4", "lora_dropout": "0.1", "lora_task_type": "CAUSAL_LM", "use_rslora": "True",
    "use_dora": "True", "load_in_8bit": "False", "load_in_4bit": "True", "bnb_4bit_quant_type": "fp4",
    "use_bnb_nested_quant": "True",
}  # fmt: skip


def test_every_flag_of_trls_model_config_is_known() -> None:
    words = [word for name, value in FLAGS_OF_MODEL_CONFIG.items() for word in ("--" + name, value)]
    (model_args,) = parse((ModelArguments,), words)
    assert FLAGS_OF_MODEL_CONFIG == {name: str(getattr(model_args, name)) for name in FLAGS_OF_MODEL_CONFIG}


# --- on Trainium, recorded ---


def on_trainium(
    neuron: RecordingOptimumNeuron, folder: Path, monkeypatch: pytest.MonkeyPatch, *flags: str, rank: int = 0
) -> tuple[Finished, list[str]]:
    monkeypatch.setenv("SM_TRN_RUNTIME", "xla")
    for name, value in (("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", 32), ("LOCAL_WORLD_SIZE", 32)):
        monkeypatch.setenv(name, str(value))
    folder.mkdir(exist_ok=True)
    load_tokenizer("tiny-llama").save_pretrained(folder / "tokenizer")
    (folder / "text.txt").write_text("the screen is very good .\n" * 800)
    files = ["--train_file", str(folder / "text.txt"), "--tokenizer_name", str(folder / "tokenizer")]
    out = ["--output_dir", str(folder / "model"), "--model_name_or_path", "meta-llama/Llama-2-7b-hf"]
    try:
        with neuron.installed(), RecordingTorchXla(rank=rank, world_size=32).installed() as xla:
            importlib.reload(finetune)  # which decides when it is loaded
            neuron.trace = xla.record("trace")
            return run_here(finetune.main, *PUBLISHED.split(), *files, *out, *flags), xla.calls
    finally:
        monkeypatch.undo()
        importlib.reload(finetune)


def test_parallel_flags_reach_the_librarys_own_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neuron = RecordingOptimumNeuron()
    run, _ = on_trainium(neuron, tmp_path, monkeypatch, "--zero1", "False", "--disable_sequence_parallel", "True")
    assert 0 == run.code, run.err
    (made,) = neuron.named("NeuronSFTTrainer")
    args = made["args"]
    assert (8, 2, False, True) == (
        args.tensor_parallel_size,
        args.pipeline_parallel_size,
        args.zero_1,
        args.disable_sequence_parallel,
    )
    assert "default_optim" == args.optim  # ours would not keep master weights
    assert (512, True) == (args.max_length, args.packing)  # the tokenizer's
    (loaded,) = neuron.named("from_pretrained")
    assert ({"tp": 8}, torch.bfloat16) == (loaded["trn_config"], loaded["torch_dtype"])
    assert "flash_attention_2" == loaded["attn_implementation"]
    assert [{"output_dir": str(tmp_path / "model")}] == neuron.named("save_model")


def test_additions_there_are_asked_for_by_the_models_own_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library puts q, k and v into one layer where the key heads are few, and translates the names by itself:
    optimum/neuron/models/training/transformations_utils.py line 948."""
    pytest.importorskip("peft")
    neuron = RecordingOptimumNeuron()
    run, _ = on_trainium(neuron, tmp_path, monkeypatch, "--use_lora", "True")
    assert 0 == run.code, run.err
    assert {"q_proj", "k_proj", "v_proj", "o_proj"} == neuron.named("NeuronSFTTrainer")[0]["peft_config"].target_modules


def test_a_wish_to_evaluate_there_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = on_trainium(RecordingOptimumNeuron(), tmp_path, monkeypatch, "--do_eval", "True")
    assert (USAGE_ERROR, "error: arguments: Evaluation is not supported yet.\n") == (run.code, run.err)


@pytest.mark.parametrize("rank", [0, 16, 31])
def test_only_the_main_worker_writes_though_the_library_believes_each_to_be_it(
    rank: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neuron = RecordingOptimumNeuron(
        steps=20, before_step=lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == 6 else None
    )
    run, _ = on_trainium(neuron, tmp_path, monkeypatch, rank=rank)
    assert INTERRUPTED == run.code
    assert bool(run.having("loss")) == (rank == 16)  # the first worker of the last of two pipeline stages
    assert bool(neuron.named("save tokenizer")) == (rank == 0)
    assert (tmp_path / "model" / "checkpoint-8" / "manifest.json").is_file() == (rank == 0)
    assert (tmp_path / "model" / "checkpoint-8" / "trainer_state.json").is_file() == (rank == 0)


def test_metric_lines_are_ours_there_too_and_the_last_one_has_the_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neuron = RecordingOptimumNeuron()
    run, _ = on_trainium(neuron, tmp_path, monkeypatch, rank=16)
    assert [1, 2, 3] == [line["step"] for line in run.having("loss")]
    assert 1 == len(run.having("train_runtime"))
    assert {"PrinterCallback", "ProgressCallback"} == {call["kind"] for call in neuron.named("remove_callback")}


def test_a_stop_there_is_agreed_saved_and_proven_and_the_next_run_says_that_it_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = RecordingOptimumNeuron(
        steps=20, before_step=lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == 6 else None
    )
    run, _ = on_trainium(stopping, tmp_path, monkeypatch)
    assert INTERRUPTED == run.code
    assert "interrupted: after step 8 of 20; saved in" in run.err
    again, _ = on_trainium(RecordingOptimumNeuron(), tmp_path, monkeypatch)
    assert 0 == again.code, again.err
    assert "begins anew: checkpoints in " in again.out
    assert (tmp_path / "model" / "torn-checkpoint-8").is_dir()


def test_whether_to_stop_is_asked_where_the_library_has_cut_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a step's end and before the next one's beginning: optimum/neuron/trainers/transformers.py lines 1160 and 1197.
    A reduction takes the token of those before it, and with it all that is pending: torch_xla/csrc/tensor_methods.cpp line 594."""
    run, calls = on_trainium(RecordingOptimumNeuron(steps=20), tmp_path, monkeypatch)
    assert 0 == run.code, run.err
    asked = [number for number, call in enumerate(calls) if call == "all_reduce max"]
    assert 2 < len(asked) < 20
    for number in asked[2:]:  # the first is before any step, and the second behind one that was waited for
        traced = max(before for before, call in enumerate(calls[:number]) if call == "trace")
        assert ["cut", "cut"] == calls[traced + 1 : traced + 3]


def test_every_worker_makes_the_same_collectives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for rank in (0, 31):
        neuron = RecordingOptimumNeuron(
            steps=20, before_step=lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == 6 else None
        )
        run, calls = on_trainium(neuron, tmp_path / str(rank), monkeypatch, rank=rank)
        assert INTERRUPTED == run.code
        made.append([call for call in calls if call in {"rendezvous", "all_reduce max", "all_reduce min"}])
    assert made[0] == made[1]
