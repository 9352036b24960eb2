"""Parameters counted from a configuration equal those of the model that transformers builds from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sm_trn.core.catalog.models import KNOWN, count, model_size

PUBLISHED = {  # parameters as published with the models, in millions
    "bert-base-cased": 108.3,
    "bert-large-uncased": 335.1,
    "gpt2": 124.4,
    "gpt2-xl": 1557.6,
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": 1100.0,
    "meta-llama/Llama-2-7b-hf": 6738.4,
    "meta-llama/Llama-2-13b-hf": 13015.9,
    "meta-llama/Llama-2-70b-hf": 68976.6,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_known_models_have_their_published_size(name: str) -> None:
    size = model_size(name)
    assert size is not None
    assert pytest.approx(PUBLISHED[name], rel=0.01) == size.parameters / 1e6


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama", "roberta"])
def test_the_count_is_that_of_the_real_model(kind: str) -> None:
    pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    sizes = {
        "vocab_size": 300,
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 128,
    }
    if kind == "gpt2":
        sizes = {"vocab_size": 300, "n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 50}
    if kind == "llama":
        sizes["num_key_value_heads"] = 2
    config = transformers.AutoConfig.for_model(kind, **sizes)
    causal = transformers.AutoModelForCausalLM if kind in {"gpt2", "llama"} else transformers.AutoModel
    real = sum(parameter.numel() for parameter in causal.from_config(config).parameters())
    ours = count(config.to_dict())
    assert ours is not None
    assert pytest.approx(real, rel=0.03) == ours.parameters


def test_a_local_folder_is_read_as_data(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(dict(KNOWN["gpt2"])))
    assert model_size("gpt2") == model_size(str(tmp_path))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"hidden_size": "x"}', '{"hidden_size": 5}'])
def test_something_else_is_unknown(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    assert model_size(str(tmp_path)) is None
    assert model_size("no/such-model") is None
