"""Fine-tune a language model on texts or conversations with trl's SFTTrainer; on Trainium with optimum-neuron's NeuronSFTTrainer.

    python finetune_llama.py --model_name_or_path tiny-llama --max_steps 20 --block_size 64
    torchrun --nproc_per_node=8 finetune_llama.py --model_name_or_path meta-llama/Llama-3.1-8B --train_file chats.jsonl \
        --use_lora True --load_in_4bit True --gradient_checkpointing True --attn_implementation flash_attention_2
    torchrun --nproc_per_node=8 finetune_llama.py … --fsdp "full_shard auto_wrap" --fsdp_config fsdp2.json   # or --deepspeed zero3.json
    torchrun --nproc_per_node=32 finetune_llama.py … --tensor_parallel_size 8 --zero_1 True                    # Trainium
    neuron_parallel_compile torchrun --nproc_per_node=32 finetune_llama.py … --max_steps 5                # fills the cache first

Data: `messages` (conversations, through the model's chat template), `prompt` and `completion`, of which only the completion
is learnt, or texts, which are packed with end tokens between them. Every argument of trl's SFTConfig, or on Trainium of
NeuronSFTConfig, is a flag too. In a SageMaker job the channels `train` and `validation` are found by themselves.
Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
optimum-neuron's trainer does not evaluate and cannot go on from a checkpoint: there a run begins anew, and says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, List, Mapping, NoReturn, Optional, Sequence

import kit.trainer as kit
from kit.data import TEXTS, Table, conversation, in_one_text, pick_columns, said_of
from kit.device import choose, load_config, load_model, load_tokenizer, longest_input
from kit.job import graphs_only
from sm_spot import UsageError, exit_code_of, leave

import torch

SAMPLE = Path(__file__).resolve().parent / "sample" / "reviews.csv"
ATTENTION = (
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
)  # where LoRA adds on Trainium, as in the examples of optimum-neuron
ASKED = ("prompt", "completion")


@dataclass
class Arguments(kit.SharedArguments):
    __doc__ = __doc__

    model_name_or_path: str = field(
        default="TinyLlama/TinyLlama-1.1B-Chat-v1.0",
        metadata={"aliases": ["--model_id"], "help": "hub id, local folder, tiny-llama or tiny-gpt2"},
    )
    validation_split_percentage: int = field(default=5, metadata={"help": "where there is nothing to hold out"})
    text_column: Optional[str] = field(default=None, metadata={"help": "default: by the names that data sets use"})
    block_size: int = field(
        default=2048,
        metadata={"aliases": ["--max_length", "--max_seq_length"], "help": "tokens, at most what the model takes"},
    )
    sft: bool = field(default=True, metadata={"help": "accepted; NeuronSFTTrainer is always used on Trainium"})
    use_lora: bool = field(default=False, metadata={"help": "train small additions only; needs peft"})
    lora_r: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    lora_target_modules: Optional[List[str]] = field(
        default=None, metadata={"help": "default: peft's choice for the architecture, else all-linear"}
    )
    load_in_4bit: bool = field(default=False, metadata={"help": "QLoRA; needs CUDA and bitsandbytes"})
    merge_adapters: bool = field(default=True, metadata={"help": "save one model; the additions are in adapter/"})


def library_of(name: str, flag: str, needed: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        wanted = f"wanted the library {name} ({error})"
        raise UsageError(f"{flag}: {wanted}; install {needed}, or use an image that has it") from error


def on_optimum_neuron() -> bool:
    there = importlib.util.find_spec
    return choose() == "xla" and bool(there("optimum") and there("optimum.neuron"))


def parse_arguments(argv: Sequence[str] | None) -> tuple[Any, Any, list[str]]:
    """Our own arguments, SFTConfig or NeuronSFTConfig, and what was translated."""
    ours = {"per_device_train_batch_size": 1, "learning_rate": 2e-4}
    ours = {**ours, "push_to_hub": False, "gradient_checkpointing": False}
    if on_optimum_neuron():
        more = {"output_dir": "model", "do_train": True, "report_to": "none", "logging_steps": 20, "save_steps": 200,
                "disable_tqdm": True, "log_level": "error", "do_eval": False}  # fmt: skip
        kind = importlib.import_module("optimum.neuron").NeuronSFTConfig
        return kit.parse_flags(Arguments, argv, {**ours, **more}, kind)
    trl = library_of("trl", "finetune_llama.py", "trl and peft")
    on_cpu = {"bf16": False} if choose() == "cpu" else {}
    return kit.parse_flags(Arguments, argv, {**ours, **on_cpu, "packing_strategy": "wrapped"}, trl.SFTConfig)


# --- data ---


def load_sets(own: Arguments, say: Callable[..., None]) -> dict[str, Table]:
    """`train` and `validation`, each with the columns that the trainer knows, and no others."""
    tables = kit.read_tables(own, SAMPLE)
    say(*said_of(tables))
    if "validation" not in tables:
        rows = range(len(tables["train"]))
        held = kit.first_held_out(len(rows), own.validation_split_percentage)
        tables = {"train": tables["train"].take(rows[held:]), "validation": tables["train"].take(rows[:held])}
    limits = {"train": own.max_train_samples, "validation": own.max_eval_samples}
    return {name: table.take(range(len(table))[: limits[name]]) for name, table in tables.items()}


def data_set(table: Table, own: Arguments) -> Any:
    """For the trainer: conversations, prompts with completions, or texts."""
    datasets = library_of("datasets", "data", "datasets")
    datasets.disable_progress_bars()
    columns = {name: [in_one_text(value) for value in values] for name, values in table.columns.items()}
    if "messages" not in columns and "conversations" in columns:
        columns["messages"] = [from_sharegpt(value) for value in columns["conversations"]]
    if "messages" in columns:
        for index, one in enumerate(columns["messages"]):
            if not conversation(one):
                wanted = """wanted a list of {"role": …, "content": a text}"""
                raise table.wrong(index, f"has no conversation in 'messages', {wanted}")
        kept = {"messages": columns["messages"]}
        if "tools" in columns:  # which the chat template shows to the model; as JSON, for each row has its own form
            kept["tools"] = [one if isinstance(one, str) else json.dumps(one or []) for one in columns["tools"]]
        return datasets.Dataset.from_dict(kept)
    if {*ASKED} <= {*columns}:
        for index, pair in enumerate(zip(*(columns[name] for name in ASKED))):
            if not (all(isinstance(one, str) for one in pair) or all(map(conversation, pair))):
                raise table.wrong(index, f"has {pair!a:.60} in 'prompt' and 'completion', wanted two texts; correct it")
        return datasets.Dataset.from_dict({name: columns[name] for name in ASKED})
    if not own.text_column and not {*map(str.lower, columns)} & {*TEXTS}:
        wanted = "'messages', 'prompt' and 'completion', or a text; rename them, or name one with --text_column"
        raise UsageError(f"--{table.name}: got the columns {', '.join(columns)}, wanted {wanted}")
    texts = table.texts(pick_columns(table, text=own.text_column, unlabelled=True).text)
    return datasets.Dataset.from_dict({"text": [text for text in texts if text.strip()]})


def from_sharegpt(turns: Any) -> Any:
    """A conversation of ShareGPT's form, `from` and `value`, with the roles that chat templates know."""
    if not isinstance(turns, list) or not all(
        isinstance(turn, dict) and {"from", "value"} <= {*turn} for turn in turns
    ):
        return turns
    roles = {"human": "user", "gpt": "assistant"}
    return [{"role": roles.get(turn["from"], turn["from"]), "content": turn["value"]} for turn in turns]


def refuse_conversation(tables: Mapping[str, Table], tokenizer: Any, error: Exception) -> NoReturn:
    """The first that the chat template has no form for, such as a system's turn, or two of the user's."""
    for table in tables.values():
        conversations = table.columns.get("messages") or [from_sharegpt(one) for one in table.columns["conversations"]]
        for index, one in enumerate(conversations):
            with contextlib.suppress(type(error)):
                tokenizer.apply_chat_template(one, tokenize=False)
                continue
            message = f"has a conversation that the chat template refuses ({error}); correct it"
            raise table.wrong(index, f"{message}, or give another --chat_template_path") from error
    raise error


# --- model ---


def load_sft_model(own: Arguments, args: Any, tokenizer: Any, runtime: Any) -> Any:
    """Without a key/value cache, which training has no use for."""
    config = load_config(own.model_name_or_path, tokenizer, **own.hub())
    config.use_cache = False
    attention = own.attn_implementation or runtime.attention
    if not own.load_in_4bit:
        model = load_model(own.model_name_or_path, config, "CausalLM", attention, len(tokenizer), **own.hub())
        return model.to(torch.bfloat16) if own.use_lora and args.bf16 else model  # frozen weights need no more
    library_of("bitsandbytes", "--load_in_4bit", "bitsandbytes")
    if not (torch.cuda.is_available() and own.use_lora):
        raise UsageError(
            "--load_in_4bit: wanted a CUDA device and --use_lora True; weights in 4 bits cannot be trained themselves"
        )
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    kind = torch.bfloat16 if args.bf16 else torch.float16
    bits = BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=kind, bnb_4bit_use_double_quant=True
    )
    more = own.hub()
    if attention:
        more["attn_implementation"] = attention
    return AutoModelForCausalLM.from_pretrained(
        own.model_name_or_path, config=config, quantization_config=bits, device_map={"": runtime.local_rank}, **more
    )


def load_neuron_model(own: Arguments, args: Any) -> Any:
    """Each worker loads the shard that is its own."""
    return importlib.import_module("optimum.neuron.models.training").NeuronModelForCausalLM.from_pretrained(
        own.model_name_or_path,
        args.trn_config,
        torch_dtype=torch.bfloat16 if args.bf16 else torch.float32,
        attn_implementation=own.attn_implementation or ("flash_attention_2" if own.block_size % 2048 == 0 else "eager"),
    )


def lora_config(own: Arguments, model: Any, *, neuron: bool = False) -> Any:
    peft = library_of("peft", "--use_lora", "peft")
    if neuron:  # optimum-neuron translates the model's original names to those of its own layers
        targets: Any = own.lora_target_modules or list(ATTENTION)
    else:
        targets = lora_targets(own, model, peft)
    return peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=own.lora_r,
        lora_alpha=own.lora_alpha,
        lora_dropout=own.lora_dropout,
        target_modules=targets,
        bias="none",
        # GPT-2's Conv1D keeps its weights the other way round.
        fan_in_fan_out=any(type(module).__name__ == "Conv1D" for module in model.modules()),
    )


def lora_targets(own: Arguments, model: Any, peft: Any) -> Any:
    """What was asked for, if the model has it; else what peft has for this architecture, else every linear module."""
    if own.lora_target_modules is None:
        known = model.config.model_type in peft.utils.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
        return None if known else "all-linear"
    if own.lora_target_modules == ["all-linear"]:  # peft's word
        return "all-linear"
    linear = {
        name.rsplit(".", 1)[-1]
        for name, module in model.named_modules()
        if type(module).__name__ in {"Linear", "Linear4bit", "Conv1D"}
    }
    for name in own.lora_target_modules:
        if name not in linear:
            raise UsageError(
                f"--lora_target_modules: got {name!r}, wanted linear modules of the model: {', '.join(sorted(linear))}"
            )
    return own.lora_target_modules


def save_merged(own: Arguments, trainer: Any, tokenizer: Any) -> None:
    """One model without additions, as `from_pretrained` reads it; the additions themselves are in adapter/.

    Every worker calls it: where weights are in shards, all have to give theirs.
    """
    trainer.save_model(str(own.output_dir / "adapter"))
    if not trainer.accelerator.is_main_process:
        return
    model = trainer.accelerator.unwrap_model(trainer.model)
    if own.load_in_4bit or trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        # The base once more: what was in 4 bits has lost the others, and a shard is no model.
        from transformers import AutoModelForCausalLM

        base = AutoModelForCausalLM.from_pretrained(own.model_name_or_path, torch_dtype=torch.bfloat16)
        model = importlib.import_module("peft").PeftModel.from_pretrained(base, str(own.output_dir / "adapter"))
    model.merge_and_unload().save_pretrained(str(own.output_dir))
    tokenizer.save_pretrained(str(own.output_dir))


# --- main ---


def judge(trainer: Any, spot: Any, *, neuron: bool) -> None:
    """The perplexity; of optimum-neuron's trainer, which writes a file in its place, Trainer's last line."""
    if neuron:
        spot.meter.lap(trainer.args.gradient_accumulation_steps)
        logs = {"train_runtime": round(spot.meter.seconds, 4), "epoch": trainer.state.epoch}
        spot.on_log(trainer.args, trainer.state, None, logs=logs)
    elif trainer.args.do_eval:
        loss, samples = float(trainer.evaluate()["eval_loss"]), len(trainer.eval_dataset)
        line = {"eval_perplexity": round(math.exp(loss), 6) if loss < 700 else math.inf, "eval_samples": samples}
        spot.console.metrics({**line, "step": trainer.state.global_step})


def main(argv: Sequence[str] | None = None) -> None:
    from jinja2 import TemplateError

    own, args, notes = parse_arguments(argv)
    neuron = on_optimum_neuron()
    spot = kit.begin(own, args, notes, reseed=not neuron)
    runtime = spot.runtime
    if neuron:  # `process_index` is 0 on every worker (optimum-neuron 0.4.5, trainers/training_args.py line 723)
        args.distributed_state = SimpleNamespace(process_index=runtime.rank, local_process_index=runtime.local_rank)
    with runtime.loading_turn():
        tokenizer = load_tokenizer(own.tokenizer_name or own.model_name_or_path, **own.hub())
    if tokenizer.eos_token is None:
        raise UsageError("--tokenizer_name: wanted a tokenizer with an end token, this one has none")
    tables = load_sets(own, spot.console.say)
    sets = {name: data_set(table, own) for name, table in tables.items()}
    chats = "messages" in sets["train"].column_names
    if chats and not (tokenizer.chat_template or args.chat_template_path):
        raise UsageError(
            "--chat_template_path: wanted a chat template for 'messages', the tokenizer has none; name a .jinja file or a model"
        )
    if getattr(args, "completion_only_loss", False) and ASKED[1] not in sets["train"].column_names:
        raise UsageError(
            "--completion_only_loss: wanted 'prompt' and 'completion'; of 'messages', --assistant_only_loss"
        )
    args.packing = args.packing or "text" in sets["train"].column_names
    torch.manual_seed(args.seed)
    with runtime.loading_turn():
        model = load_neuron_model(own, args) if neuron else load_sft_model(own, args, tokenizer, runtime)
    args.max_length = min(own.block_size, longest_input(model.config) or own.block_size)
    common: dict[str, Any] = {
        "model": model,
        "args": args,
        "train_dataset": sets["train"],
        "processing_class": tokenizer,
        "callbacks": [spot],
        "peft_config": lora_config(own, model, neuron=neuron) if own.use_lora else None,
    }
    trained_by = importlib.import_module("optimum.neuron" if neuron else "trl")
    try:
        with kit.asked():
            if neuron:
                trainer = trained_by.NeuronSFTTrainer(**common)
            else:
                evaluates = args.do_eval or str(getattr(args, "eval_strategy", "no")) != "no"
                trainer = trained_by.SFTTrainer(**common, eval_dataset=sets["validation"] if evaluates else None)
                trainer.data_collator = spot.collate(trainer.model, trainer.data_collator)
    except TemplateError as error:
        refuse_conversation(tables, tokenizer, error)
    trainable = sum(weight.numel() for weight in trainer.model.parameters() if weight.requires_grad)
    spot.console.say(
        f"{own.model_name_or_path} with {type(trainer).__name__} on {args.device}, {args.world_size} replica(s), {trainable} weights "
        f"to train: {len(trainer.train_dataset)} examples of at most {args.max_length} tokens out of {len(sets['train'])} rows"
    )
    digest = hashlib.sha256(repr(list(sets["train"])).encode()).hexdigest()[:16]
    identity = {"model": own.model_name_or_path, "data": digest, "lora": own.use_lora, "block_size": args.max_length}
    kit.train(trainer, spot, own, identity, resumable=not neuron)
    judge(trainer, spot, neuron=neuron)
    if own.use_lora and own.merge_adapters and not neuron and not graphs_only():
        save_merged(own, trainer, tokenizer)
    else:
        kit.save(trainer, spot, tokenizer, own.output_dir)
    if neuron and (args.tensor_parallel_size > 1 or args.pipeline_parallel_size > 1):
        spot.console.say(
            f"{own.output_dir} holds each worker's shards; `optimum-cli neuron consolidate` makes one model"
        )


if __name__ == "__main__":
    leave(exit_code_of(main))
