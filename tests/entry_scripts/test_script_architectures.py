"""Tiny models of many families through the scripts: trained, resumed and saved, or refused in one sentence.

SM_TRN_ARCHITECTURES=1 runs it; with -rP it prints a table, a line for each family.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

import train_glue
import train_language_model
import train_question_answering
import train_text_classification
from kit.common import load_tokenizer
from sm_spot import DONE, USAGE_ERROR

from launch import run_here

pytestmark = [
    pytest.mark.local,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore:Initializing zero-element tensors"),  # of MobileBERT, so small
    pytest.mark.skipif("SM_TRN_ARCHITECTURES" not in os.environ, reason="set SM_TRN_ARCHITECTURES to run it"),
]
USUAL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 2000,
    "max_position_embeddings": 512, "pad_token_id": 0,
}  # fmt: skip
GROUPED = {"num_key_value_heads": 1}
FAMILIES: dict[str, dict[str, Any]] = {
    "albert": {"embedding_size": 16}, "bert": {}, "big_bird": {"attention_type": "original_full"}, "camembert": {},
    "convbert": {"embedding_size": 32}, "deberta": {}, "deberta-v2": {}, "electra": {"embedding_size": 32}, "ernie": {},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}, "gpt_neox": {}, "llama": GROUPED,
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 512}, "megatron-bert": {}, "mistral": GROUPED,
    "mobilebert": {"embedding_size": 32, "true_hidden_size": 32, "intra_bottleneck_size": 32}, "mpnet": {},
    "nystromformer": {}, "opt": {"word_embed_proj_dim": 32, "ffn_dim": 64}, "phi": {}, "qwen2": GROUPED, "roberta": {},
    "roformer": {"embedding_size": 32}, "xlnet": {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64},
    "xlm-roberta": {},
}  # fmt: skip
TRAINER = "--model_name_or_path", "--output_dir"
SCRIPTS = {
    "loop": (train_text_classification, "--epochs 2 --per_device_batch_size 600", ("--model", "--model_dir")),
    "glue": (train_glue, "--max_steps 2 --max_eval_samples 20", TRAINER),
    "questions": (train_question_answering, "--max_steps 2 --max_seq_length 64 --doc_stride 16", TRAINER),
    "causal": (train_language_model, "--max_steps 2 --block_size 32 --objective clm", TRAINER),
    "masked": (train_language_model, "--max_steps 2 --block_size 32 --objective mlm", TRAINER),
}  # fmt: skip


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_is_trained_and_saved_or_refused_in_one_sentence(family: str, tmp_path: Path) -> None:
    if family not in transformers.CONFIG_MAPPING:
        pytest.skip("this transformers does not know it")
    tokenizer = load_tokenizer("tiny-gpt2")
    usual = {name: size for name, size in USUAL.items() if (family, name) != ("xlnet", "max_position_embeddings")}
    config = transformers.AutoConfig.for_model(family, **{**usual, **FAMILIES[family]})
    torch.manual_seed(0)
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    ends = {}
    for name, (script, flags, (model, out)) in SCRIPTS.items():
        where = [model, str(tmp_path / "model"), "--checkpoint_dir", str(tmp_path / name / "kept"), "--save_steps", "1"]
        runs = [run_here(script.main, *where, out, str(tmp_path / name / turn), *flags.split()) for turn in ("a", "b")]
        assert runs[0].code in {DONE, USAGE_ERROR}, (name, runs[0].err)
        if runs[0].code == USAGE_ERROR:
            assert 1 == len(runs[0].err.strip().splitlines()), (name, runs[0].err)
            ends[name] = f"refused: {runs[0].err.strip()}"
            continue
        assert DONE == runs[1].code, (name, runs[1].err)
        assert "resuming after step" in runs[1].out
        assert (tmp_path / name / "b" / "config.json").is_file()
        ends[name] = "trained, resumed"
    print(family, *(f"{name}: {end}" for name, end in ends.items()), sep=" | ")
    assert "trained, resumed" in ends.values()
