"""What a model's configuration says of it, asked of the model itself."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from kit.models import AFTER_PADDING, load_tokenizer, longest_input, masked_by_nature
from train_glue import main as train_glue
from train_text_classification import main as train_classifier

from launch import run_here

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 50,
    "max_position_embeddings": 32,
    "pad_token_id": 1,
}
OF_ITS_OWN: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 32},
    "distilbert": {"dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 64},
    "longformer": {"attention_window": 4},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "luke": {"entity_vocab_size": 10, "entity_emb_size": 8},
    "esm": {"position_embedding_type": "absolute"},
    "opt": {"word_embed_proj_dim": 32, "ffn_dim": 64},
}


@pytest.mark.parametrize("kind", sorted({*AFTER_PADDING, "albert", "bert", "distilbert", "electra", "gpt2", "opt"}))
def test_a_model_takes_as_many_tokens_as_we_say_and_not_one_more(kind: str) -> None:
    if kind not in transformers.CONFIG_MAPPING:
        pytest.skip("this transformers does not know it")
    config = transformers.AutoConfig.for_model(kind, **{**SMALL, **OF_ITS_OWN.get(kind, {})})
    model = transformers.AutoModel.from_config(config).eval()
    longest = longest_input(config)
    assert longest is not None

    def takes(count: int) -> bool:
        tokens = torch.full((2, count), 7)
        try:
            with torch.no_grad():
                model(input_ids=tokens, attention_mask=torch.ones_like(tokens))
        except (RuntimeError, IndexError):
            return False
        return True

    assert takes(longest)
    assert not takes(longest + 1)


def test_a_model_without_positions_of_its_own_takes_any_number() -> None:
    assert longest_input(SimpleNamespace(model_type="xlnet", max_position_embeddings=-1)) is None
    assert longest_input(SimpleNamespace(model_type="bloom")) is None


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta-v2", "distilbert", "albert", "longformer", "electra"])
def test_models_that_fill_gaps_are_known(kind: str) -> None:
    assert masked_by_nature(SimpleNamespace(model_type=kind))


@pytest.mark.parametrize("kind", ["gpt2", "opt", "bloom", "llama", "xlnet", "bart"])
def test_models_that_go_on_with_a_text_are_known(kind: str) -> None:
    assert not masked_by_nature(SimpleNamespace(model_type=kind))


@pytest.mark.local
@pytest.mark.parametrize("kind", ["bart", "xlnet"])
def test_models_that_hand_out_more_than_logits_learn_and_are_judged(kind: str, tmp_path: Path) -> None:
    """BART also hands out its encoder's states; XLNet has no longest input, and states of its own."""
    tokenizer = load_tokenizer("tiny-random")
    own = {
        "bart": {
            "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
            "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "eos_token_id": tokenizer.sep_token_id,
        },
        "xlnet": {"n_layer": 1, "n_head": 2, "d_inner": 64},
    }[kind]  # fmt: skip
    size = {"d_model": 32, "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    folder = tmp_path / kind
    transformers.AutoModel.from_config(transformers.AutoConfig.for_model(kind, **size, **own)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    glue = run_here(
        train_glue, "--model_name_or_path", str(folder), "--max_steps", "3", "--max_eval_samples", "30",
        "--save_strategy", "no", "--output_dir", str(tmp_path / "glue"),
    )  # fmt: skip
    assert 0 == glue.code, glue.err
    assert 30 == glue.having("eval_accuracy")[0]["eval_samples"]
    loop = run_here(
        train_classifier, "--model", str(folder), "--epochs", "1", "--per_device_batch_size", "300",
        "--model_dir", str(tmp_path / "loop"),
    )  # fmt: skip
    assert 0 == loop.code, loop.err
    assert 400 == loop.having("eval_accuracy")[0]["eval_samples"]
