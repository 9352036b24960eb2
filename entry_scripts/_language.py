"""Owns where language models, their configurations and tokenizers come from; must not know texts, devices or Trainer.

`tiny-gpt2` and `tiny-bert` are made here, from code and the bundled tokenizer: no network, seconds on a CPU.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from _console import Mistake
from _models import TINY, attention_choice, load_tokenizer, unreachable

FUSED_GELU = "gelu_pytorch_tanh"
TINY_TYPES = ("tiny-gpt2", "tiny-bert")
# Of those that transformers can also train to foretell the next token.
MASKED = frozenset(
    "bert big_bird camembert data2vec-text electra ernie megatron-bert rembert roberta roberta-prelayernorm roc_bert "
    "roformer xlm-roberta xlm-roberta-xl xmod".split()
)


def is_tiny(own: Any) -> bool:
    return TINY in {own.model_type, own.model_name_or_path} or own.model_type in TINY_TYPES


def load_language_tokenizer(own: Any) -> Any:
    if own.tokenizer_name:
        return load_tokenizer(own.tokenizer_name)
    if is_tiny(own):
        return load_tokenizer(TINY)
    name = own.model_name_or_path or own.config_name
    if name is None:
        raise Mistake(f"--tokenizer_name: wanted one for --model_type {own.model_type!r}, which has none of its own")
    return load_tokenizer(name)


def load_language_config(own: Any, tokenizer: Any) -> Any:
    """The configuration, with a vocabulary as large as the tokenizer's where the model starts from scratch."""
    if is_tiny(own):
        return _tiny(own.model_type == "tiny-bert" or own.objective == "mlm", tokenizer)
    from transformers import CONFIG_MAPPING, AutoConfig

    name = own.config_name or own.model_name_or_path
    if name is None and own.model_type not in CONFIG_MAPPING:
        raise Mistake(f"--model_type: got {own.model_type!r}, wanted {', '.join(TINY_TYPES)}, gpt2, bert, roberta, …")
    try:
        config = AutoConfig.from_pretrained(name) if name else CONFIG_MAPPING[own.model_type]()
    except (OSError, ValueError) as error:
        raise unreachable(name, error) from error
    if own.model_name_or_path is None:
        config.vocab_size = max(config.vocab_size, len(tokenizer))
    return config


@contextlib.contextmanager
def fused_activation(config: Any) -> Iterator[None]:
    """GPT-2's gelu as one operation instead of eight, where transformers has it: the same function.

    The configuration keeps its name for it, which older versions know.
    """
    from transformers.activations import ACT2FN

    name = getattr(config, "activation_function", None)
    if name == "gelu_new" and FUSED_GELU in ACT2FN:
        config.activation_function = FUSED_GELU
    try:
        yield
    finally:
        if name is not None:
            config.activation_function = name


def load_language_model(own: Any, config: Any, *, masked: bool, eager_attention: bool) -> Any:
    """Pretrained, or new. New weights are drawn from torch's generator: seed it first."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    family = AutoModelForMaskedLM if masked else AutoModelForCausalLM
    attention = attention_choice(eager=eager_attention)
    try:
        with fused_activation(config):
            if own.model_name_or_path is None or is_tiny(own):
                model = family.from_config(config, **attention)
            else:
                model = family.from_pretrained(own.model_name_or_path, config=config, **attention)
    except (OSError, ValueError) as error:
        raise unreachable(own.model_name_or_path or config.model_type, error) from error
    model.config.activation_function = getattr(config, "activation_function", None)
    return model


def masked_by_nature(config: Any) -> bool:
    from transformers.models.auto import modeling_auto as known

    name = config.model_type
    both = name in known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    return name in MASKED if both else name in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES


def _tiny(masked: bool, tokenizer: Any) -> Any:
    from transformers import BertConfig, GPT2Config

    if masked:
        return BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=512,
            pad_token_id=tokenizer.pad_token_id,
        )
    ends = {"bos_token_id": tokenizer.sep_token_id, "eos_token_id": tokenizer.sep_token_id}
    return GPT2Config(vocab_size=len(tokenizer), n_embd=64, n_layer=2, n_head=4, n_positions=512, **ends)
