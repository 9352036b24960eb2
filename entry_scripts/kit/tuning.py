"""A causal model for trl's trainers: trl's own flags for it, LoRA, weights in 4 or 8 bits, and how
it is saved.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import kit.trainer as kit
from kit.data import DataArguments, Table, read_sets
from kit.job import graphs_only
from kit.models import attention, hub_options, load_config, load_model, loading
from sm_spot import place

import torch
from transformers import AutoModelForCausalLM, set_seed
from trl import ModelConfig, get_peft_config, get_quantization_config


@dataclass
class ModelArguments(ModelConfig):  # type: ignore[misc]  # trl is untyped here
    """trl's ModelConfig, and what belongs to a job."""

    model_name_or_path: Optional[str] = field(
        default="TinyLlama/TinyLlama-1.1B-Chat-v1.0",
        metadata={"help": "hub id, local folder, tiny-llama or tiny-gpt2"},
    )
    tokenizer_name: Optional[str] = field(default=None, metadata={"help": "default: the model's"})
    cache_dir: Optional[str] = field(
        default=None, metadata={"help": "where what the hub sends is kept"}
    )
    token: Optional[str] = field(
        default=None, metadata={"help": "of the hub; default: the one you logged in with"}
    )
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    merge_adapters: bool = field(
        default=True, metadata={"help": "save one model; the additions are in adapter/"}
    )

    def hub(self, args: Any) -> dict[str, Any]:
        trusted = getattr(self, "trust_remote_code", False)
        trusted = trusted or getattr(args, "trust_remote_code", False)
        return hub_options(self, trust_remote_code=trusted)


@dataclass
class TuningArguments(DataArguments):
    validation_split_percentage: int = field(
        default=5, metadata={"help": "where there is nothing to hold out"}
    )


def read_tables(data_args: Any) -> dict[str, Table]:
    """`train` and `validation`, which is a part of `train` where there are no files for it."""
    tables = read_sets(data_args, "reviews.csv")
    if "validation" not in tables:
        rows = range(len(tables["train"]))
        count = kit.first_held_out(len(rows), data_args.validation_split_percentage)
        tables["validation"] = tables["train"].take(rows[:count])
        tables["train"] = tables["train"].take(rows[count:])
    limits = {"train": data_args.max_train_samples, "validation": data_args.max_eval_samples}
    return {name: table.take(range(len(table))[: limits[name]]) for name, table in tables.items()}


def load_causal_model(model_args: ModelArguments, args: Any, tokenizer: Any) -> Any:
    """In float32, or in bits; without a key/value cache, which training has no use for."""
    set_seed(args.seed)
    options = model_args.hub(args)
    name = str(model_args.model_name_or_path)
    config = load_config(name, tokenizer, **options)
    config.use_cache = False
    options.update(attention(model_args.attn_implementation))
    if model_args.load_in_4bit or model_args.load_in_8bit:
        model_args.dtype = "bfloat16" if args.bf16 else "float16"
        quantized = get_quantization_config(model_args)
        where = {"": place().local_rank}
        with loading(name):  # bitsandbytes may lack
            return AutoModelForCausalLM.from_pretrained(
                name, config=config, quantization_config=quantized, device_map=where, **options
            )
    model = load_model(AutoModelForCausalLM, name, config, tokenizer, **options)
    # frozen weights need no more
    return model.to(torch.bfloat16) if model_args.use_peft and args.bf16 else model


def peft_config_of(model_args: ModelArguments, model: Any) -> Any:
    """trl's, where peft has no layers of its own for this architecture, over every linear layer."""
    if not model_args.use_peft:
        return None
    with kit.usage_errors():
        import peft

        targets = model_args.lora_target_modules
        known = peft.utils.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
        if targets is None and model.config.model_type not in known:
            model_args.lora_target_modules = "all-linear"
        # trl's one name, which peft would take for a pattern
        elif isinstance(targets, str) and targets != "all-linear":
            model_args.lora_target_modules = [targets]
        config = get_peft_config(model_args)
    # GPT-2's Conv1D keeps its weights the other way round.
    config.fan_in_fan_out = any(type(module).__name__ == "Conv1D" for module in model.modules())
    return config


def save_tuned(model_args: ModelArguments, trainer: Any, tokenizer: Any) -> None:
    """The model; of one with additions the merged one, as `from_pretrained` reads it, and the
    additions in adapter/.

    Every worker calls it: where weights are in shards, all have to give theirs.
    """
    folder = Path(trainer.args.model_dir)
    if not (model_args.use_peft and model_args.merge_adapters) or graphs_only():
        kit.save(trainer)
        return
    trainer.save_model(str(folder / "adapter"))
    if not trainer.accelerator.is_main_process:
        return
    model = trainer.accelerator.unwrap_model(trainer.model)
    in_bits = model_args.load_in_4bit or model_args.load_in_8bit
    if in_bits or trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        # The base once more: what was in few bits has lost the others, and a shard is no model.
        name = model_args.model_name_or_path
        base = AutoModelForCausalLM.from_pretrained(
            name, torch_dtype=torch.bfloat16, **model_args.hub(trainer.args)
        )
        model = importlib.import_module("peft").PeftModel.from_pretrained(
            base, str(folder / "adapter")
        )
    model.merge_and_unload().save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
