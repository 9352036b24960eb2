"""The Llama script: plain Trainer here, optimum-neuron's trainer where Trainium is."""

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

import finetune_llama
from finetune_llama import main, parse_arguments
from kit.chats import tuning_set
from kit.models import load_tokenizer
from kit.tuning import peft_config_of, read_tables
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


@pytest.mark.parametrize("flag", ["tensor_parallel_size", "pipeline_parallel_size", "zero_1", "zero1"])
def test_what_only_trainium_can_do_is_refused_here(flag: str) -> None:
    value = "True" if flag.startswith("zero") else "8"
    run = run_here(main, "--model_name_or_path", "tiny-llama", f"--{flag}", value)
    assert USAGE_ERROR == run.code
    assert run.err.startswith(f"error: --{flag}: only optimum-neuron on Trainium has it; leave it out here")


def test_lora_without_its_library_is_a_mistake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    flags = ["--model_name_or_path", "tiny-llama", "--use_lora", "--block_size", "32", "--output_dir", str(tmp_path)]
    run = run_here(main, *flags)
    assert (USAGE_ERROR, True) == (run.code, "error: arguments: " in run.err and "peft" in run.err)


@pytest.mark.parametrize(("model", "trained"), [("tiny-llama", 2 * 4 * (128 + 96)), ("tiny-gpt2", None)])
def test_additions_are_trained_merged_and_kept_beside(model: str, trained: int | None, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    everywhere = "" if trained else " --lora_target_modules all-linear"
    flags = f"--model_name_or_path {model}{everywhere} --max_steps 20 --learning_rate 0.01 --block_size 32 --use_lora True --lora_r 4"
    more = (
        "--lora_dropout 0 --per_device_train_batch_size 8 --max_train_samples 400 --save_strategy no --logging_steps 5"
    )
    run = run_here(main, *flags.split(), *more.split(), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    losses = [line["loss"] for line in run.having("loss")]
    assert losses[-1] < losses[0]
    if trained:
        assert f"{trained} weights to train" in run.out
    merged = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "m")
    assert not any("lora" in name for name in merged.state_dict())
    assert (tmp_path / "m" / "adapter" / "adapter_model.safetensors").is_file()


CHATS = [
    {"messages": [{"role": "user", "content": f"Is it {word}?"}, {"role": "assistant", "content": f"It is {word}."}]}
    for word in ("good", "bad", "red", "blue") * 20
]
TEMPLATE = "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} [SEP] {% endfor %}"


def test_conversations_are_learnt_through_the_chat_template(tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, CHATS)))
    (tmp_path / "template.jinja").write_text(TEMPLATE)
    flags = "--model_name_or_path tiny-llama --max_steps 30 --learning_rate 0.005 --block_size 64 --save_strategy no --logging_steps 10"
    files = ["--train_file", str(tmp_path / "chats.jsonl"), "--output_dir", str(tmp_path / "m")]
    refused = run_here(main, *flags.split(), *files)
    assert USAGE_ERROR == refused.code
    assert "error: arguments: Cannot use chat template functions" in refused.err, refused.err
    run = run_here(main, *flags.split(), *files, "--chat_template_path", str(tmp_path / "template.jinja"))
    assert 0 == run.code, run.err
    losses = [line["loss"] for line in run.having("loss")]
    assert losses[-1] < 0.8 * losses[0]


def test_a_length_that_cuts_every_completion_off_is_said_before_training(tmp_path: Path) -> None:
    rows = [{"prompt": "a good film " * 30, "completion": "indeed"}] * 20
    (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = ["--model_name_or_path", "tiny-llama", "--block_size", "32", "--output_dir", str(tmp_path / "m")]
    run = run_here(main, *flags, "--train_file", str(tmp_path / "long.jsonl"))
    assert (USAGE_ERROR, True) == (run.code, "error: data: got no example with something to learn" in run.err), run.err


def test_a_loss_of_completions_needs_completions(tmp_path: Path) -> None:
    flags = ["--model_name_or_path", "tiny-llama", "--block_size", "32", "--output_dir", str(tmp_path)]
    run = run_here(main, *flags, "--completion_only_loss", "True")
    assert (USAGE_ERROR, True) == (
        run.code,
        "error: --completion_only_loss: wanted 'prompt' and 'completion'" in run.err,
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
            assert (
                "--train_file: row 5 of system.jsonl has a conversation that the chat template refuses (roles"
                in run.err
            )
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


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"prompt": "Is it good?", "completion": None}, "row 2 of rows.jsonl has ('Is it good?', None)"),
        ({"prompt": "Is it good?", "completion": 7}, "row 2 of rows.jsonl has ('Is it good?', 7)"),
        ({"instruction": "Is it good?", "output": "It is."}, "got the columns instruction, output, wanted 'messages'"),
        (
            {"conversations": [{"who": "human", "said": "Is it?"}]},
            "row 2 of rows.jsonl has no conversation in 'messages'",
        ),
    ],
)
def test_data_in_another_form_is_refused_with_the_forms_that_are_known(
    row: dict[str, object], said: str, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row))
    flags = ["--model_name_or_path", "tiny-llama", "--train_file", str(tmp_path / "rows.jsonl")]
    run = run_here(main, *flags, "--output_dir", str(tmp_path / "m"))
    assert (USAGE_ERROR, True) == (run.code, said in run.err), run.err


@pytest.mark.parametrize("flag", ["--text_column", "--dataset_text_field"])
@pytest.mark.parametrize(("packing", "examples"), [([], 17), (["--packing", "False"], 30)])
def test_texts_are_packed_unless_that_is_refused_and_their_column_has_trls_flag_too(
    flag: str, packing: list[str], examples: int, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("lyrics,stars\n" + "a good film,5\na bad film,1\n" * 15)
    flags = ["--model_name_or_path", "tiny-llama", "--max_steps", "1", "--max_length", "16", "--do_eval", "False"]
    flags += ["--train_file", str(tmp_path / "a.csv"), "--validation_file", str(tmp_path / "a.csv"), *packing]
    run = run_here(main, *flags, flag, "lyrics", "--output_dir", str(tmp_path / "m"), "--save_strategy", "no")
    assert 0 == run.code, run.err
    assert f": {examples} examples of at most 16 tokens out of 30 rows" in run.out


def test_a_row_that_is_no_conversation_is_named(tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, [*CHATS[:5], {"messages": [{"text": "x"}]}])))
    run = run_here(main, "--model_name_or_path", "tiny-llama", "--train_file", str(tmp_path / "chats.jsonl"))
    assert USAGE_ERROR == run.code
    assert "row 6 of chats.jsonl has no conversation in 'messages', wanted a list of" in run.err


def test_tools_reach_the_chat_template(tmp_path: Path) -> None:
    rows = [{**chat, "tools": [{"name": "look_up", "parameters": {"word": "text"}}]} for chat in CHATS]
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data_args = parse_arguments(["--train_file", str(tmp_path / "chats.jsonl")])[1]
    kept = tuning_set(read_tables(data_args)["train"])
    assert [{"name": "look_up", "parameters": {"word": "text"}}] == json.loads(kept[0]["tools"])


def test_conversations_in_the_form_of_sharegpt_are_learnt(tmp_path: Path) -> None:
    rows = [
        {"conversations": [{"from": "human", "value": "Is it so?"}, {"from": "gpt", "value": f"It is {word}."}]}
        for word in ("good", "bad", "red", "blue") * 20
    ]
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data_args = parse_arguments(["--train_file", str(tmp_path / "chats.jsonl")])[1]
    kept = tuning_set(read_tables(data_args)["train"])
    assert ["user", "assistant"] == [turn["role"] for turn in kept[0]["messages"]]


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
    model_args = parse_arguments(["--use_lora", "True"])[0]
    added = peft.get_peft_model(model, peft_config_of(model_args, model))
    assert trained == {name.split(".")[-4] for name, weight in added.named_parameters() if weight.requires_grad}


def test_a_part_that_only_some_models_have_is_refused_where_it_is_not(tmp_path: Path) -> None:
    flags = "--model_name_or_path tiny-gpt2 --use_peft True --lora_target_modules q_proj --max_length 32 --output_dir"
    run = run_here(main, *flags.split(), str(tmp_path))
    assert (USAGE_ERROR, True) == (run.code, "error: arguments: Target modules {'q_proj'} not found" in run.err), (
        run.err
    )


# Of trl's ModelConfig, version 1.16.
FLAGS_OF_MODEL_CONFIG = {
    "model_name_or_path": "m", "model_revision": "v2", "dtype": "bfloat16", "attn_implementation": "eager", "use_peft": "True",
    "lora_r": "8", "lora_alpha": "4", "lora_dropout": "0.1", "lora_task_type": "CAUSAL_LM", "use_rslora": "True",
    "use_dora": "True", "load_in_8bit": "False", "load_in_4bit": "True", "bnb_4bit_quant_type": "fp4",
    "use_bnb_nested_quant": "True",
}  # fmt: skip


def test_every_flag_of_trls_model_config_is_known() -> None:
    words = [word for name, value in FLAGS_OF_MODEL_CONFIG.items() for word in ("--" + name, value)]
    model_args = parse_arguments(words)[0]
    assert FLAGS_OF_MODEL_CONFIG == {name: str(getattr(model_args, name)) for name in FLAGS_OF_MODEL_CONFIG}


# --- on Trainium, recorded ---


def on_trainium(
    neuron: RecordingOptimumNeuron, folder: Path, monkeypatch: pytest.MonkeyPatch, *flags: str, rank: int = 0
) -> tuple[Finished, list[str]]:
    monkeypatch.setenv("SM_TRN_RUNTIME", "xla")
    monkeypatch.setenv("RANK", str(rank))
    folder.mkdir(exist_ok=True)
    load_tokenizer("tiny-llama").save_pretrained(folder / "tokenizer")
    (folder / "text.txt").write_text("the screen is very good .\n" * 800)
    files = ["--train_file", str(folder / "text.txt"), "--tokenizer_name", str(folder / "tokenizer")]
    out = ["--output_dir", str(folder / "model"), "--model_name_or_path", "meta-llama/Llama-2-7b-hf"]
    try:
        with neuron.installed(), RecordingTorchXla(rank=rank, world_size=32).installed() as xla:
            importlib.reload(finetune_llama)  # which decides when it is loaded
            neuron.trace = xla.record("trace")
            return run_here(finetune_llama.main, *PUBLISHED.split(), *files, *out, *flags), xla.calls
    finally:
        monkeypatch.undo()
        importlib.reload(finetune_llama)


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
    assert (2048, True) == (args.max_length, args.packing)
    (loaded,) = neuron.named("from_pretrained")
    assert ({"tp": 8}, torch.bfloat16) == (loaded["trn_config"], loaded["torch_dtype"])
    assert "flash_attention_2" == loaded["attn_implementation"]
    assert [{"output_dir": str(tmp_path / "model")}] == neuron.named("save_model")
    assert "optimum-cli neuron consolidate" in run.out


def test_by_default_zero_1_and_stochastic_rounding_are_the_librarys_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neuron = RecordingOptimumNeuron()
    on_trainium(neuron, tmp_path, monkeypatch)
    args = neuron.named("NeuronSFTTrainer")[0]["args"]
    assert (True, True) == (args.zero_1, args.stochastic_rounding_enabled)


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
    assert (tmp_path / "model" / "checkpoint-10" / "manifest.json").is_file() == (rank == 0)
    assert (tmp_path / "model" / "checkpoint-10" / "trainer_state.json").is_file() == (rank == 0)


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
    run, calls = on_trainium(stopping, tmp_path, monkeypatch)
    assert INTERRUPTED == run.code
    assert "interrupted: after step 10 of 20; saved in" in run.err  # workers ask one another every fifth step
    assert 2 == calls.count("all_reduce max")
    again, _ = on_trainium(RecordingOptimumNeuron(), tmp_path, monkeypatch)
    assert 0 == again.code, again.err
    assert "checkpoint-10 is put aside: this run begins anew" in again.out
    assert (tmp_path / "model" / "torn-checkpoint-10").is_dir()


def test_whether_to_stop_is_asked_where_the_library_has_cut_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a step's end and before the next one's beginning: optimum/neuron/trainers/transformers.py lines 1160 and 1197.
    A reduction takes the token of those before it, and with it all that is pending: torch_xla/csrc/tensor_methods.cpp line 594."""
    run, calls = on_trainium(RecordingOptimumNeuron(steps=20), tmp_path, monkeypatch)
    assert 0 == run.code, run.err
    asked = [number for number, call in enumerate(calls) if call == "all_reduce max"]
    assert 4 == len(asked)
    for number in asked:
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
    assert 2 == made[0].count("all_reduce max")
