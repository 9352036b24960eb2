"""Small data and models that need no network, for the strangers' scripts."""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

TOKENIZER = Path(__file__).with_name("tokenizer.json")  # copied here with sm_spot.py
WORDS = ("good", "bad", "film", "story", "never", "again", "actor", "music", "scene", "watch", "the", "of")


def tokenizer() -> Any:
    return PreTrainedTokenizerFast(
        tokenizer_file=str(TOKENIZER),
        model_max_length=64,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        eos_token="[SEP]",
    )


def dataset(count: int = 480) -> Any:
    texts = [" ".join(WORDS[(row * step) % len(WORDS)] for step in range(1, 4 + row % 9)) for row in range(count)]
    return Dataset.from_dict({"text": texts, "label": [int("good" in text) for text in texts]})


def classifier(tokens: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tokens),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
        )
    )
    seconds, calls = float(os.environ.get("STEP_SECONDS", "0")), count()
    if seconds:
        first = int(os.environ["FIRST_SLOW"])
        model.register_forward_pre_hook(lambda *_: time.sleep(seconds * (next(calls) >= first)))
    return model


def generator(tokens: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokens),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
            pad_token_id=tokens.pad_token_id,
            eos_token_id=tokens.eos_token_id,
            attention_dropout=0.1,
        )
    )
