"""Shapes of models: by the exact id of the hub, by a size, or from a configuration; anything else is unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sm_trn.core.specs.json import Json
from sm_trn.forecast.models import find_model, from_config, in_folder, known

# Ids of the hub, and billions of parameters as their pages say them.
NAMES = """
bert-base-uncased=0.110 bert-large-cased-whole-word-masking=0.335 google-bert/bert-base-multilingual-cased=0.178
distilbert/distilbert-base-uncased-finetuned-sst-2-english=0.067 FacebookAI/roberta-large=0.355
FacebookAI/xlm-roberta-large=0.560 albert/albert-xxlarge-v2=0.223 microsoft/deberta-v3-large=0.435
answerdotai/ModernBERT-large=0.395 nreimers/MiniLM-L6-H384-uncased=0.023 sentence-transformers/all-mpnet-base-v2=0.109
BAAI/bge-m3=0.568 BAAI/bge-large-en-v1.5=0.335 intfloat/e5-mistral-7b-instruct=7.11 openai-community/gpt2=0.124 gpt2-1558M=1.558
openai-community/gpt2-medium=0.355 distilbert/distilgpt2=0.082 EleutherAI/gpt-j-6b=6.05 EleutherAI/gpt-neo-2.7B=2.65
EleutherAI/gpt-neox-20b=20.6 EleutherAI/pythia-410m-deduped=0.405 EleutherAI/pythia-12b=11.8 facebook/opt-350m=0.331
facebook/opt-66b=66 bigscience/bloom-560m=0.559 bigscience/bloom-7b1=7.07 bigscience/bloomz-3b=3.0 google-t5/t5-11b=11.3
google/flan-t5-xl=2.85 google/t5-v1_1-xxl=11.1 google/mt5-base=0.58 google/mt5-xxl=12.9 facebook/bart-large-cnn=0.406
facebook/mbart-large-50=0.611 google/pegasus-xsum=0.569 facebook/nllb-200-3.3B=3.3 facebook/nllb-200-distilled-600M=0.615
facebook/m2m100_418M=0.418 Helsinki-NLP/opus-mt-en-de=0.074 xlnet/xlnet-large-cased=0.36 tiiuae/falcon-7b=7.2
tiiuae/falcon-40b-instruct=41.8 tiiuae/falcon-180B=179.5 tiiuae/Falcon3-10B-Instruct=10.3 mosaicml/mpt-30b=30
huggyllama/llama-65b=65.3 meta-llama/Llama-2-13b-chat-hf=13.0 meta-llama/Meta-Llama-3-8B=8.03 meta-llama/Llama-3.1-405B=406
meta-llama/Llama-3.2-1B-Instruct=1.24 meta-llama/Llama-3.3-70B-Instruct=70.6 meta-llama/Llama-4-Scout-17B-16E-Instruct=108.6
meta-llama/CodeLlama-34b-hf=33.7 TinyLlama/TinyLlama-1.1B-Chat-v1.0=1.1 lmsys/vicuna-13b-v1.5=13.0
mistralai/Mistral-7B-Instruct-v0.3=7.25 mistralai/Mistral-Nemo-Instruct-2407=12.2 mistralai/Mistral-Small-24B-Instruct-2501=23.6
mistralai/Mistral-Small-Instruct-2409=22.2 mistralai/Ministral-8B-Instruct-2410=8.02 mistralai/Ministral-3-8B-Base-2512=8.49
allenai/Olmo-3-7B-Instruct=7.3 JetBrains/Mellum2-12B-A2.5B-Base=12.15 upstage/Solar-Open-100B=102.7
mistralai/Codestral-22B-v0.1=22.2 mistralai/Mistral-Large-Instruct-2407=122.6 mistralai/Mixtral-8x7B-v0.1=46.7
mistralai/Mixtral-8x22B-Instruct-v0.1=140.6 HuggingFaceH4/zephyr-7b-beta=7.24 microsoft/phi-1_5=1.42 microsoft/phi-2=2.78
microsoft/Phi-3-mini-4k-instruct=3.82 microsoft/Phi-3-small-8k-instruct=7.39 microsoft/Phi-3-medium-128k-instruct=14.0
microsoft/Phi-3.5-MoE-instruct=41.9 microsoft/Phi-4-mini-instruct=3.84 microsoft/phi-4=14.7 google/gemma-2b=2.51
google/gemma-7b-it=8.54 google/gemma-2-27b-it=27.2 google/gemma-3-1b-it=1.0 google/gemma-3-4b-it=4.3 google/gemma-3-12b-it=12.2
google/gemma-3-27b-it=27.4 Qwen/Qwen-7B=7.7 Qwen/Qwen1.5-MoE-A2.7B=14.3 Qwen/Qwen1.5-110B=111 Qwen/Qwen2-57B-A14B-Instruct=57.4
Qwen/Qwen2.5-0.5B=0.494 Qwen/Qwen2.5-Coder-32B-Instruct=32.8 Qwen/Qwen2.5-72B-Instruct=72.7 Qwen/QwQ-32B=32.8 Qwen/Qwen3-8B=8.19
Qwen/Qwen3-14B=14.8 Qwen/Qwen3-30B-A3B-Instruct-2507=30.5 Qwen/Qwen3-235B-A22B=235 Qwen/Qwen3-Coder-480B-A35B-Instruct=480
Qwen/Qwen3-0.6B=0.6 openai/gpt-oss-20b=20.9 openai/gpt-oss-120b=116.8 deepseek-ai/deepseek-llm-7b-base=6.91
deepseek-ai/DeepSeek-R1-Distill-Qwen-14B=14.8 deepseek-ai/DeepSeek-R1-Distill-Llama-8B=8.03
deepseek-ai/DeepSeek-R1-0528-Qwen3-8B=8.19 01-ai/Yi-34B=34.4 01-ai/Yi-1.5-9B-Chat=8.83 internlm/internlm2_5-20b-chat=19.9
CohereForAI/c4ai-command-r-plus=103.8 CohereForAI/aya-expanse-8b=8.03 databricks/dbrx-base=131.6 databricks/dolly-v2-12b=11.8
ibm-granite/granite-3.3-8b-instruct=8.17 allenai/OLMo-2-1124-13B=13.7 allenai/OLMoE-1B-7B-0924=6.92
HuggingFaceTB/SmolLM2-360M=0.362 HuggingFaceTB/SmolLM3-3B=3.08 bigcode/starcoder2-15b=16.0 bigcode/starcoderbase-1b=1.14
stabilityai/stablelm-2-12b=12.1 stabilityai/stablelm-zephyr-3b=2.8 nvidia/Nemotron-4-340B-Base=341 zai-org/GLM-4.5-Air=110.5
zai-org/GLM-4-9B-0414=9.4 baichuan-inc/Baichuan2-13B-Base=13.9 upstage/SOLAR-10.7B-v1.0=10.7
NousResearch/Hermes-3-Llama-3.1-8B=8.03 google/vit-base-patch16-224-in21k=0.086 openai/whisper-large-v3-turbo=0.809
openai/whisper-small=0.242 facebook/wav2vec2-xls-r-300m=0.317 facebook/wav2vec2-xls-r-1b=0.965 facebook/hubert-base-ls960=0.094
cl-tohoku/bert-base-japanese-whole-word-masking=0.111 dbmdz/bert-base-german-cased=0.110 ProsusAI/finbert=0.110
allenai/scibert_scivocab_uncased=0.110 emilyalsentzer/Bio_ClinicalBERT=0.108 microsoft/codebert-base=0.125
microsoft/MiniLM-L12-H384-uncased=0.033 sentence-transformers/all-MiniLM-L6-v2=0.0227
cardiffnlp/twitter-roberta-base-sentiment-latest=0.125 cross-encoder/nli-deberta-v3-base=0.184
google/electra-large-discriminator=0.335 facebook/roberta-hate-speech-dynabench-r4-target=0.125
FacebookAI/xlm-roberta-base=0.278 EleutherAI/gpt-neo-125m=0.125 gpt2-xl=1.558 openai-community/gpt2-large=0.774
cerebras/Cerebras-GPT-1.3B=1.3 databricks/dolly-v2-3b=2.78 stabilityai/stablelm-tuned-alpha-7b=7.87
stabilityai/stablelm-3b-4e1t=2.8 stabilityai/stablelm-2-1_6b=1.64 facebook/opt-iml-1.3b=1.32 google-t5/t5-small=0.0605
google/flan-t5-large=0.783 facebook/bart-base=0.139 sshleifer/distilbart-cnn-12-6=0.306 google/pegasus-large=0.571
meta-llama/Meta-Llama-3-70B-Instruct=70.6 meta-llama/Llama-3.2-3B=3.21 meta-llama/Llama-Guard-3-8B=8.03
NousResearch/Nous-Hermes-Llama2-13b=13.0 codellama/CodeLlama-7b-Python-hf=6.74 teknium/OpenHermes-2.5-Mistral-7B=7.24
mistralai/Mathstral-7B-v0.1=7.25 mistralai/Devstral-Small-2505=23.6 mistralai/Magistral-Small-2506=23.6
mistralai/Mistral-Small-3.1-24B-Base-2503=24.0 cognitivecomputations/dolphin-2.6-mixtral-8x7b=46.7
microsoft/Phi-3-mini-128k-instruct=3.82 microsoft/Phi-3.5-mini-instruct=3.82 google/codegemma-7b=8.54 google/gemma-2-2b-it=2.61
google/gemma-3-270m=0.268 Qwen/Qwen2-7B-Instruct=7.62 Qwen/Qwen2.5-1.5B-Instruct=1.54 Qwen/Qwen2.5-14B-Instruct-1M=14.8
Qwen/Qwen3-4B-Instruct-2507=4.02 Qwen/Qwen3-32B=32.8 Qwen/Qwen3-1.7B=1.72 Qwen/Qwen3-Embedding-8B=7.57
deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B=1.78 deepseek-ai/DeepSeek-R1-Distill-Llama-70B=70.6 01-ai/Yi-6B=6.06
allenai/OLMo-2-0325-32B=32.2 allenai/OLMo-7B=6.89 allenai/Llama-3.1-Tulu-3-8B=8.03 ibm-granite/granite-3.1-2b-instruct=2.53
HuggingFaceTB/SmolLM2-1.7B-Instruct=1.71 CohereForAI/c4ai-command-r-v01=35 nvidia/Mistral-NeMo-Minitron-8B-Base=8.4
tiiuae/Falcon3-3B-Base=3.23 tiiuae/falcon-rw-1b=1.31 bigcode/starcoder=15.5 bigcode/santacoder=1.12 bigcode/starcoder2-3b=3.03
mosaicml/mpt-7b-instruct=6.65 openai/whisper-tiny.en=0.0378 facebook/wav2vec2-base-960h=0.0944
microsoft/beit-large-patch16-224=0.304 facebook/deit-small-patch16-224=0.022
"""
ROWS = [(name, float(billions)) for name, _, billions in (word.partition("=") for word in NAMES.split())]


@pytest.mark.parametrize(("name", "billions"), ROWS)
def test_an_id_gives_a_shape_of_its_size(name: str, billions: float) -> None:
    found = find_model(name)
    assert found is not None
    assert abs(found.parameters / 1e9 / billions - 1) <= 0.20


@pytest.mark.parametrize(
    "name",
    [
        "facebook/galactica-6.7b",
        "Qwen/Qwen2.5-VL-7B-Instruct",
        "state-spaces/mamba-2.8b-hf",
        "google/paligemma-3b-pt-224",
        "Qwen/Qwen4-8B",
        "gpt2-30b-a3b",
        "Mistral-Small-99B",
        "bert-xxl",
        "sgugger/my-bert-model",
        "me/Llama-2-7b-sam",
        "/opt/ml/input/data/model",
    ],
)
def test_nothing_is_guessed_from_a_name(name: str) -> None:
    assert find_model(name) is None


def test_an_id_may_be_written_in_any_case_and_every_row_is_found_by_its_own_name() -> None:
    assert find_model("Meta-Llama/llama-2-7B-HF") is find_model("meta-llama/Llama-2-7b-hf") is not None
    for name, model in known().items():
        assert model is find_model(name), name


@pytest.mark.parametrize(("size", "parameters"), [("7b", 7e9), ("0.5b", 5e8), ("350m", 3.5e8), ("70B", 7e10)])
def test_a_size_gives_a_plain_decoder_that_says_so(size: str, parameters: float) -> None:
    found = find_model(size)
    assert found is not None
    assert found.generic
    assert pytest.approx(parameters, rel=0.1) == found.parameters
    assert find_model("999999999b") is None


@pytest.mark.parametrize(
    ("name", "billions", "active"),
    [("Qwen/Qwen3-30B-A3B", 30.5, 3.3), ("openai/gpt-oss-20b", 20.9, 3.6), ("mistralai/Mixtral-8x7B-v0.1", 46.7, 12.9)],
)
def test_a_mixture_has_all_its_experts_and_uses_some(name: str, billions: float, active: float) -> None:
    found = find_model(name)
    assert found is not None
    assert pytest.approx(billions, rel=0.03) == found.parameters / 1e9
    used = found.active_parameters + found.parameters - found.layer_parameters
    assert pytest.approx(active, rel=0.20) == used / 1e9


def test_a_configuration_of_another_kind_is_no_shape() -> None:
    plain: dict[str, Json] = {
        "model_type": "llama",
        "hidden_size": 2048,
        "num_hidden_layers": 8,
        "num_attention_heads": 16,
        "vocab_size": 32_000,
    }
    assert from_config(plain) is not None
    assert from_config({**plain, "kv_lora_rank": 512}) is None
    mixture = from_config(
        {**plain, "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 512, "n_shared_experts": 1}
    )
    assert mixture is not None
    assert (65, 9, 512) == (mixture.experts, mixture.active_experts, mixture.inner)


def test_a_configuration_of_an_unknown_type_is_no_shape() -> None:
    sizes: dict[str, Json] = {
        "hidden_size": 2304,
        "num_hidden_layers": 30,
        "num_attention_heads": 8,
        "vocab_size": 262_144,
    }
    assert from_config({**sizes, "model_type": "gemma2"}) is not None
    assert from_config({**sizes, "model_type": "gemma4_text"}) is None
    assert from_config(sizes) is None


def test_weights_beside_a_configuration_are_held_against_it(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 11_008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32_000,
        "torch_dtype": "float16",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 2 * 6_738_000_000}, "weight_map": {}}))
    shape = in_folder(str(tmp_path))
    assert shape is not None
    assert pytest.approx(6.74e9, rel=0.01) == shape.parameters
    index.write_text(json.dumps({"metadata": {"total_size": 2 * 13_016_000_000}, "weight_map": {}}))
    assert in_folder(str(tmp_path)) is None
    for hostile in ("[]", '{"metadata": 7}', '{"metadata": {"total_size": "x"}}', "{"):
        index.write_text(hostile)
        assert in_folder(str(tmp_path)) is not None


@pytest.mark.parametrize(
    "kind", ["bert", "falcon", "gemma2", "gpt2", "llama", "mixtral", "olmoe", "qwen3", "t5", "whisper"]
)
def test_a_verified_type_counts_what_transformers_build(kind: str) -> None:
    pytest.importorskip("transformers", minversion="5")
    from model_types import NEAR, counted

    both = counted(kind)
    assert both is not None
    assert pytest.approx(both[1], rel=NEAR) == both[0]


@pytest.mark.parametrize(
    ("activation", "composed"), [("gelu_new", True), ("gelu", False), ("gelu_pytorch_tanh", False)]
)
def test_a_configuration_says_whether_its_activation_is_a_chain(activation: str, composed: bool) -> None:
    sizes: dict[str, Json] = {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100}
    shape = from_config({**sizes, "activation_function": activation})
    assert shape is not None
    assert composed == shape.composed
