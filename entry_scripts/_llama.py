"""Owns Llama models, their tokenizers and LoRA additions; must not know texts or trainers.

`tiny-llama` is made here, from code and the bundled tokenizer: no network, seconds on a CPU.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, Iterator

from _console import Mistake
from _models import TINY, attention_choice, load_tokenizer, unreachable
from _peers import loading_turn, on_xla

TINY_LLAMA = "tiny-llama"


@contextlib.contextmanager
def loading_turns(args: Any) -> Iterator[None]:
    """One worker of each machine downloads first, where the arguments know how to wait."""
    turns = getattr(args, "main_process_first", None)
    with loading_turn(args) if turns else contextlib.nullcontext():
        yield


def load_llama_tokenizer(own: Any) -> Any:
    name = own.tokenizer_name or own.model_name_or_path
    return load_tokenizer(TINY if name == TINY_LLAMA else name)


def load_llama(own: Any, tokenizer: Any, args: Any) -> Any:
    """Pretrained, or tiny and new. Without a key/value cache, which training has no use for."""
    import torch
    from transformers import AutoModelForCausalLM

    try:
        from transformers import LlamaConfig
    except ImportError as error:
        raise Mistake(
            f"transformers: wanted one that knows Llama, 4.28 or later ({error}); use a newer image"
        ) from error
    attention = attention_choice(eager=on_xla())
    if own.model_name_or_path == TINY_LLAMA:
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
            bos_token_id=tokenizer.sep_token_id,
            eos_token_id=tokenizer.sep_token_id,
            use_cache=False,
        )
        return AutoModelForCausalLM.from_config(config, **attention)
    half = {"torch_dtype": torch.bfloat16} if own.use_lora and args.bf16 else {}  # frozen weights need no more
    try:
        model = AutoModelForCausalLM.from_pretrained(own.model_name_or_path, **attention, **half)
    except (OSError, ValueError) as error:
        raise unreachable(own.model_name_or_path, error) from error
    model.config.use_cache = False
    return model


def lora_config(own: Any) -> Any:
    try:
        peft = importlib.import_module("peft")
    except ImportError as error:
        raise Mistake(f"--use_lora: wanted the library peft ({error}); install it, or train all weights") from error
    return peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=own.lora_r,
        lora_alpha=own.lora_alpha,
        lora_dropout=own.lora_dropout,
        target_modules=list(own.lora_target_modules),
        bias="none",
    )


def add_lora(own: Any, model: Any, library: Any) -> Any:
    """The model with small trainable additions; its own weights are frozen."""
    config = lora_config(own)
    return library.add_lora(model, config) if library else importlib.import_module("peft").get_peft_model(model, config)
