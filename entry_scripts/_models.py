"""Owns where a model and its tokenizer come from; must not know data, devices or the loop.

`tiny-random` is made here, from code and a bundled tokenizer: it needs no network and trains in seconds on a CPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

from _console import Mistake

TINY = "tiny-random"
# Whose positions start after the padding's.
AFTER_PADDING = frozenset(
    "camembert data2vec-text esm ibert longformer luke mpnet roberta roberta-prelayernorm xlm-roberta "
    "xlm-roberta-xl xmod".split()
)
TINY_TOKENIZER = Path(__file__).resolve().parent / "tiny_random" / "tokenizer.json"


def load_tokenizer(name: str) -> Any:
    from transformers.utils import logging

    logging.disable_progress_bar()  # a job's log is read as lines
    if name == TINY:
        from transformers import PreTrainedTokenizerFast

        special = {kind + "_token": f"[{kind.upper()}]" for kind in ("pad", "unk", "cls", "sep", "mask")}
        return PreTrainedTokenizerFast(tokenizer_file=str(TINY_TOKENIZER), model_max_length=512, **special)
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise unreachable(name, error) from error
    if tokenizer.pad_token is None:  # GPT-like models
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_config(name: str, tokenizer: Any, labels: Sequence[str]) -> Any:
    """The model's configuration with these labels in it."""
    names = {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: number for number, label in enumerate(labels)},
    }
    return load_head_config(name, tokenizer, **names)


def load_head_config(name: str, tokenizer: Any, **more: Any) -> Any:
    if name == TINY:
        from transformers import BertConfig

        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=512,
            **more,
        )
    else:
        from transformers import AutoConfig

        try:
            config = AutoConfig.from_pretrained(name, **more)
        except (OSError, ValueError) as error:
            raise unreachable(name, error) from error
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    return config


def load_classifier(name: str, config: Any, *, eager_attention: bool) -> Any:
    """Pretrained weights with a new head, or `tiny-random`'s new ones. Draws from torch's generator: seed it first."""
    return load_with_head(name, config, "SequenceClassification", eager_attention=eager_attention)


def load_with_head(name: str, config: Any, head: str, *, eager_attention: bool) -> Any:
    """`head` is the last part of transformers' class names: SequenceClassification, QuestionAnswering."""
    import transformers

    attention = attention_choice(eager=eager_attention)
    if name == TINY:
        for key, value in attention.items():
            setattr(config, "_" + key, value)
        return getattr(transformers, "BertFor" + head)(config)
    try:
        return getattr(transformers, "AutoModelFor" + head).from_pretrained(name, config=config, **attention)
    except (OSError, ValueError) as error:
        raise unreachable(name, error) from error


def longest_input(config: Any) -> int | None:
    """The most tokens the model has positions for, where its configuration says so."""
    longest: int | None = getattr(config, "max_position_embeddings", None)
    if longest is None or longest <= 0:  # XLNet's is -1
        return None
    return longest - (config.pad_token_id + 1 if config.model_type in AFTER_PADDING else 0)


def attention_choice(*, eager: bool) -> dict[str, str]:
    """The argument exists since transformers 4.36; before that every attention was the eager one."""
    import transformers

    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    return {"attn_implementation": "eager"} if eager and (major, minor) >= (4, 36) else {}


def unreachable(name: str, error: Exception) -> Mistake:
    reason = str(error).strip().splitlines()[0]
    return Mistake(
        f"--model: got {name!r}, which does not load ({reason}); "
        f"wanted a model of the Hugging Face hub, a folder with one, or {TINY!r} (needs no network)"
    )
