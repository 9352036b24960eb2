"""How large a model is: parameters counted from its configuration, never from its weights.

A local folder's ``config.json`` is read as data; a few public models are known by name, from their published
configurations on the Hugging Face hub. Other names are simply unknown here.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

CONFIG_CAP = 1_000_000  # bytes: a configuration is a few kilobytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """What decides memory: parameters in all, and how many heads can be split over tensor-parallel workers."""

    parameters: int
    heads: int
    layers: int


def _config(kind: str, hidden: int, layers: int, heads: int, **more: int) -> Mapping[str, Any]:
    sizes = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads}
    return MappingProxyType({"model_type": kind, **sizes, **more})


_BERT = {"vocab_size": 28_996, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}
_LARGE = {**_BERT, "intermediate_size": 4096, "vocab_size": 30_522}
KNOWN: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "bert-base-cased": _config("bert", 768, 12, 12, **_BERT),
        "bert-base-uncased": _config("bert", 768, 12, 12, **{**_BERT, "vocab_size": 30_522}),
        "bert-large-uncased": _config("bert", 1024, 24, 16, **_LARGE),
        "bert-large-uncased-whole-word-masking": _config("bert", 1024, 24, 16, **_LARGE),
        "roberta-large": _config(
            "roberta", 1024, 24, 16, **{**_LARGE, "vocab_size": 50_265, "max_position_embeddings": 514}
        ),
        "gpt2": _config("gpt2", 768, 12, 12, vocab_size=50_257, intermediate_size=3072, max_position_embeddings=1024),
        "gpt2-xl": _config(
            "gpt2", 1600, 48, 25, vocab_size=50_257, intermediate_size=6400, max_position_embeddings=1024
        ),
        "TinyLlama/TinyLlama-1.1B-Chat-v1.0": _config(
            "llama", 2048, 22, 32, vocab_size=32_000, intermediate_size=5632, num_key_value_heads=4
        ),
        "meta-llama/Llama-2-7b-hf": _config("llama", 4096, 32, 32, vocab_size=32_000, intermediate_size=11_008),
        "meta-llama/Llama-2-13b-hf": _config("llama", 5120, 40, 40, vocab_size=32_000, intermediate_size=13_824),
        "meta-llama/Llama-2-70b-hf": _config(
            "llama", 8192, 80, 64, vocab_size=32_000, intermediate_size=28_672, num_key_value_heads=8
        ),
    }
)
# GPT-2's own names for the same sizes
_NAMES = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_positions": "max_position_embeddings",
    "n_inner": "intermediate_size",
}


def model_size(name: str) -> ModelSize | None:
    """The size of a known model or of a local folder with a ``config.json``; None when neither."""
    if name in KNOWN or name.replace("-chat-hf", "-hf") in KNOWN:
        return _known_size(name)
    config = _read(Path(name) / "config.json")
    return count(config) if config else None


@functools.cache
def _known_size(name: str) -> ModelSize | None:
    return count(KNOWN.get(name) or KNOWN[name.replace("-chat-hf", "-hf")])


def count(config: Mapping[str, Any]) -> ModelSize | None:
    """Parameters of a BERT-, GPT-2- or Llama-like transformer; None when the configuration lacks a size."""
    sizes = {**config, **{ours: config[theirs] for theirs, ours in _NAMES.items() if config.get(theirs)}}
    try:
        hidden, layers, heads, words = (
            int(sizes[name]) for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
        )
    except (KeyError, TypeError, ValueError):
        return None
    inner = int(sizes.get("intermediate_size") or 4 * hidden)
    gated = str(sizes.get("model_type", "")) in {"llama", "mistral", "qwen2", "qwen3", "gemma", "phi3", "granite"}
    keys = hidden * int(sizes.get("num_key_value_heads") or heads) // max(heads, 1)
    attention = 2 * hidden * hidden + 2 * hidden * keys
    feed_forward = (3 if gated else 2) * hidden * inner
    biases = 0 if gated else 2 * hidden + 2 * keys + inner + hidden
    norms = (2 if gated else 4) * hidden
    tied = sizes.get("tie_word_embeddings", not gated)
    positions = (
        0
        if gated
        else (int(sizes.get("max_position_embeddings") or 0) + int(sizes.get("type_vocab_size") or 0)) * hidden
    )
    embeddings = (1 if tied else 2) * words * hidden + positions
    whole = embeddings + layers * (attention + feed_forward + biases + norms) + (1 if gated else 2) * hidden
    return ModelSize(parameters=whole, heads=heads, layers=layers)


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        if path.stat().st_size > CONFIG_CAP:
            return None
        body = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return body if isinstance(body, dict) else None
