"""Fine-tune a language model with trl – on texts or conversations (sft), on preferences (dpo), or on
prompts whose answers are rewarded (grpo) – in a SageMaker job that may be interrupted.

    python finetune.py --model_name_or_path tiny-llama --max_steps 20 --max_length 64
    torchrun --nproc_per_node=8 finetune.py --model_name_or_path meta-llama/Llama-3.1-8B --train_file chats.jsonl \
        --use_peft True --load_in_4bit True --gradient_checkpointing True --attn_implementation flash_attention_2
    torchrun --nproc_per_node=8 finetune.py … --fsdp full_shard --fsdp_config fsdp2.json      # or --deepspeed zero3.json
    torchrun --nproc_per_node=8 finetune.py --method dpo --train_file pairs.jsonl …
    torchrun --nproc_per_node=8 finetune.py --method grpo --reward_model_name_or_path my/reward-model …
    torchrun --nproc_per_node=32 finetune.py … --tensor_parallel_size 8 --zero_1 True           # Trainium, sft
    neuron_parallel_compile torchrun --nproc_per_node=32 finetune.py … --max_steps 5       # fills the cache first

Data as trl has it: `messages` (or ShareGPT's `conversations`), `prompt` and `completion`, or texts,
which are packed; for dpo `prompt`, `chosen` and `rejected`; for grpo `prompt`. Every argument of trl's
SFTConfig (DPOConfig, GRPOConfig) and ModelConfig is a flag; on Trainium of optimum-neuron's
NeuronSFTConfig, whose trainer does not evaluate and cannot go on from a checkpoint: there a run
begins anew, and says so. In a SageMaker job the channels `train` and `validation` are found by
themselves. Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same
command again to continue.
"""

from __future__ import annotations

import copy
import importlib.util
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional, Sequence

import kit.common as kit
import sm_spot
from kit.data import DataArguments, read_sets, text_columns
from sm_spot import UsageError, place

import torch
from datasets import Dataset, DatasetDict
from transformers import AutoModelForCausalLM

try:
    from trl import (
        DPOConfig,
        DPOTrainer,
        GRPOConfig,
        GRPOTrainer,
        ModelConfig,
        SFTConfig,
        SFTTrainer,
        get_peft_config,
        get_quantization_config,
    )
    from trl.data_utils import maybe_convert_to_chatml
except ImportError as error:
    sm_spot.tell(f"error: finetune.py: wanted trl and peft ({error}); install them")
    sys.exit(sm_spot.USAGE_ERROR)

ON_NEURON = (
    kit.choose() == "xla"
    and importlib.util.find_spec("optimum") is not None
    and importlib.util.find_spec("optimum.neuron") is not None
)
if ON_NEURON:
    from optimum.neuron import NeuronSFTConfig as SFTConfig
    from optimum.neuron import NeuronSFTTrainer as SFTTrainer
    from optimum.neuron.models.training import NeuronModelForCausalLM

# Where LoRA adds on Trainium, as in optimum-neuron's examples.
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]


@dataclass
class ModelArguments(ModelConfig):  # type: ignore[misc]  # trl is untyped here
    """trl's ModelConfig, and what belongs to a job."""

    model_name_or_path: Optional[str] = field(
        default="TinyLlama/TinyLlama-1.1B-Chat-v1.0",
        metadata={"help": "hub id, local folder, tiny-llama or tiny-gpt2"},
    )
    tokenizer_name: Optional[str] = field(default=None, metadata={"help": "default: the model's"})
    cache_dir: Optional[str] = None
    token: Optional[str] = field(
        default=None, metadata={"help": "of the hub; default: the one you logged in with"}
    )
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    merge_adapters: bool = field(
        default=True, metadata={"help": "save one model; the additions are in adapter/"}
    )


@dataclass
class TuningArguments(DataArguments):
    method: str = field(default="sft", metadata={"choices": ("sft", "dpo", "grpo")})
    reward_model_name_or_path: Optional[str] = field(
        default=None, metadata={"help": "what judges answers; for grpo"}
    )


@dataclass
class SFTArguments(kit.JobArguments, SFTConfig):  # type: ignore[misc]  # both libraries are untyped here
    """SFTConfig or NeuronSFTConfig, and a job's folders."""


@dataclass
class DPOArguments(kit.JobArguments, DPOConfig):  # type: ignore[misc]  # as above
    """DPOConfig, and a job's folders."""


@dataclass
class GRPOArguments(kit.JobArguments, GRPOConfig):  # type: ignore[misc]  # as above
    """GRPOConfig, and a job's folders."""


# Of each method: arguments, columns, and defaults that differ from trl's.
METHODS: dict[str, tuple[Any, tuple[str, ...], dict[str, Any]]] = {
    "sft": (
        SFTArguments,
        ("messages", "prompt", "completion", "tools"),
        {
            "per_device_train_batch_size": 1,
            "learning_rate": 2e-4,
            "max_length": 2048,
            "packing": None,  # texts are packed unless that is refused
            "packing_strategy": "wrapped",
            **kit.GROUP_BY_LENGTH,  # conversations, where not packed: else half the positions are padding
        },
    ),
    "dpo": (
        DPOArguments,
        ("prompt", "chosen", "rejected"),
        {"per_device_train_batch_size": 2, "learning_rate": 1e-6},
    ),
    "grpo": (
        GRPOArguments,
        ("prompt",),
        {"per_device_train_batch_size": 8, "learning_rate": 1e-6},
    ),
}


def load_sets(data_args: Any, columns: Sequence[str]) -> DatasetDict:
    """The columns that trl's trainer learns from, and no others."""
    sets = read_sets(data_args, "reviews.csv")
    if "validation" not in sets:
        fraction = data_args.validation_split_percentage / 100
        parts = sets["train"].train_test_split(max(1, int(len(sets["train"]) * fraction)), seed=0)
        sets["train"], sets["validation"] = parts["train"], parts["test"]
    for name, part in sets.items():
        sets[name] = columns_of(part, name, data_args, columns)
        limit = data_args.max_train_samples if name == "train" else data_args.max_eval_samples
        sets[name] = sets[name].select(range(min(len(sets[name]), limit or len(sets[name]))))
    return sets


def columns_of(part: Dataset, name: str, data_args: Any, columns: Sequence[str]) -> Dataset:
    if "conversations" in part.column_names:  # ShareGPT's
        part = part.map(maybe_convert_to_chatml, remove_columns="conversations")
    own = [column for column in columns if column in part.column_names]
    if data_args.method != "sft" and own != list(columns):
        listed = ", ".join(part.column_names)
        raise UsageError(f"--{name}: got the columns {listed}, wanted {', '.join(columns)}")
    if data_args.method != "sft" or {"messages", "completion"} & set(own):
        return part.select_columns(own)
    (text, *_) = text_columns(part.column_names, data_args, name)
    texts = part.select_columns([text]).filter(lambda row: bool((row[text] or "").strip()))
    return texts if text == "text" else texts.rename_column(text, "text")


def load_model(model_args: Any, args: Any, tokenizer: Any, **hub: Any) -> Any:
    """In float32, or in bits; without a key/value cache, which training has no use for."""
    name = model_args.model_name_or_path
    if ON_NEURON:  # each worker loads the shard that is its own
        fitting = "flash_attention_2" if args.max_length % 2048 == 0 else "eager"
        return NeuronModelForCausalLM.from_pretrained(
            name,
            args.trn_config,
            torch_dtype=torch.bfloat16 if args.bf16 else torch.float32,
            attn_implementation=model_args.attn_implementation or fitting,
        )
    config = kit.load_config(name, tokenizer, **hub)
    config.use_cache = False
    options = {**kit.attention_of(model_args), **hub}
    if model_args.load_in_4bit or model_args.load_in_8bit:
        model_args.dtype = "bfloat16" if args.bf16 else "float16"
        with kit.usage_errors("--load_in_4bit, --load_in_8bit"):  # bitsandbytes may lack
            options["quantization_config"] = get_quantization_config(model_args)
            options["device_map"] = {"": place().local_rank}
            return AutoModelForCausalLM.from_pretrained(name, config=config, **options)
    model = kit.load_model(AutoModelForCausalLM, name, config, tokenizer, args, **options)
    # frozen weights need no more
    return model.to(torch.bfloat16) if model_args.use_peft and args.bf16 else model


def peft_config_of(model_args: Any, model: Any) -> Any:
    """trl's, where peft has no layers of its own for this architecture, over every linear layer."""
    if not model_args.use_peft:
        return None
    with kit.usage_errors():
        import peft

        known = peft.utils.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
        if model_args.lora_target_modules is None and ON_NEURON:
            model_args.lora_target_modules = ATTENTION
        elif model_args.lora_target_modules is None and model.config.model_type not in known:
            model_args.lora_target_modules = "all-linear"
        config = get_peft_config(model_args)
    # GPT-2's Conv1D keeps its weights the other way round.
    config.fan_in_fan_out = any(type(module).__name__ == "Conv1D" for module in model.modules())
    return config


def make_trainer(model: Any, model_args: Any, data_args: Any, args: Any, **options: Any) -> Any:
    options.update(args=args, peft_config=peft_config_of(model_args, model))
    with kit.usage_errors("arguments", (Exception,)):  # such as a chat template's
        if data_args.method == "grpo":
            return GRPOTrainer(model, data_args.reward_model_name_or_path, **options)
        if data_args.method == "dpo":
            # trl would look for it where the model is from
            tiny = model_args.model_name_or_path in kit.TINY and not model_args.use_peft
            return DPOTrainer(model, copy.deepcopy(model) if tiny else None, **options)
        return SFTTrainer(model=model, **options)


def save_tuned(model_args: Any, trainer: Any, tokenizer: Any, **hub: Any) -> None:
    """The model; of one with additions the merged one, and the additions in adapter/. Every worker
    calls it: where weights are in shards, all have to give theirs.
    """
    folder = Path(trainer.args.model_dir)
    if not (model_args.use_peft and model_args.merge_adapters) or ON_NEURON or kit.graphs_only():
        kit.finish(trainer, {})
        return
    trainer.save_model(str(folder / "adapter"))
    if not trainer.accelerator.is_main_process:
        return
    model = trainer.accelerator.unwrap_model(trainer.model)
    in_bits = model_args.load_in_4bit or model_args.load_in_8bit
    if in_bits or trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        # The base once more: what was in few bits has lost the others, and a shard is no model.
        base = AutoModelForCausalLM.from_pretrained(
            model_args.model_name_or_path, torch_dtype=torch.bfloat16, **hub
        )
        peft = importlib.import_module("peft")
        model = peft.PeftModel.from_pretrained(base, str(folder / "adapter"))
    model.merge_and_unload().save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))


def main(argv: Optional[Sequence[str]] = None) -> None:
    words = " ".join(sys.argv[1:] if argv is None else argv).replace("=", " ")
    method = next((one for one in ("dpo", "grpo") if f"--method {one}" in words), "sft")
    config, columns, defaults = METHODS[method]
    if ON_NEURON:  # its own optimizer keeps master weights
        defaults = {**defaults, "do_eval": False, "optim": SFTConfig.optim}
    model_args, data_args, args = kit.parse(
        (ModelArguments, TuningArguments, config),
        argv,
        __doc__,
        gradient_checkpointing=False,
        **defaults,
    )
    if method == "grpo" and not data_args.reward_model_name_or_path:
        raise UsageError("--reward_model_name_or_path: wanted a model that rewards answers")
    if ON_NEURON:  # process_index is 0 on every worker (optimum-neuron 0.4.5, training_args.py 723)
        args.distributed_state = SimpleNamespace(
            process_index=place().rank, local_process_index=place().local_rank
        )
    name = model_args.model_name_or_path
    model_args.trust_remote_code = getattr(args, "trust_remote_code", False)
    hub = kit.hub_options(model_args)
    with kit.loading_turn():
        tokenizer = kit.load_tokenizer(model_args.tokenizer_name or name, **hub)
        sets = load_sets(data_args, columns)
        model = load_model(model_args, args, tokenizer, **hub)
    if method == "sft":
        if args.packing is None:
            args.packing = "text" in sets["train"].column_names
        limit = args.max_length
        args.max_length = kit.length_of("max_length", None, limit, tokenizer, model.config)
    options = {"train_dataset": sets["train"], "processing_class": tokenizer}
    if not ON_NEURON and (args.do_eval or args.eval_strategy != "no"):
        options["eval_dataset"] = sets["validation"]
    trainer = make_trainer(model, model_args, data_args, args, **options)
    kit.say_what_runs(
        f"{name} with {type(trainer).__name__}",
        args,
        f"{len(trainer.train_dataset)} examples out of {len(sets['train'])} rows",
    )
    identity = {"model": name, "lora": model_args.use_peft, "method": method}
    identity["data"] = kit.fingerprint(sets["train"])
    callback = kit.watch(trainer, identity, reseed=not ON_NEURON)
    kit.train(trainer, resumable=not ON_NEURON)
    if ON_NEURON:  # its trainer writes a file in the place of Trainer's last line
        logs = {"train_runtime": 0.0, "epoch": trainer.state.epoch}
        callback.on_log(args, trainer.state, trainer.control, logs=logs)
    elif args.do_eval:
        kit.judge_in_order(args)
        loss = trainer.evaluate()["eval_loss"]
        if method == "sft":
            perplexity = round(math.exp(loss), 6) if loss < 700 else math.inf
            line = {"eval_perplexity": perplexity, "step": trainer.state.global_step}
            sm_spot.say(sm_spot.metric_line(line))
    args.do_eval = False
    save_tuned(model_args, trainer, tokenizer, **hub)


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))
