"""Shapes of models: layers, width, heads and vocabulary, by public name or from a local ``config.json``."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from types import MappingProxyType

from ..core.specs.json import Json

# Models whose heads are not width ÷ heads wide: their config.json says d_kv or head_dim.
ATTENTION_WIDTH: Mapping[str, int] = MappingProxyType(
    {
        "t5-3b": 4096,
        "t5-11b": 16_384,
        "gemma-7b": 4096,
        "gemma-2-2b": 2048,
        "gemma-2-9b": 4096,
        "mistral-nemo-12b": 4096,
        "qwen3-0.6b": 2048,
        "qwen3-4b": 4096,
        "qwen3-32b": 8192,
    }
)
# Gated decoders whose output table is their input table: tie_word_embeddings of their config.json
TIED = (
    "gemma",
    "qwen-0.5b",
    "qwen-1.5b",
    "qwen-3b",
    "qwen3-0.6b",
    "qwen3-1.7b",
    "qwen3-4b",
    "llama-3.2",
    "smollm",
    "modernbert",
)
EXPERTS: Mapping[str, tuple[int, int]] = MappingProxyType({"mixtral-8x7b": (8, 2), "mixtral-8x22b": (8, 2)})
DECODERS = ("decoder", "mixture", "memory-decoder")


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A transformer's shape. ``layers`` counts encoder and decoder together; ``inner`` is the feed-forward width."""

    name: str
    kind: str
    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    vocabulary: int
    gated: bool = False
    attention_width: int = 0
    experts: int = 1
    active_experts: int = 1
    generic: bool = False  # a shape that was derived from a number of parameters alone

    @property
    def causal(self) -> bool:
        return self.kind in DECODERS

    @property
    def attention_parameters(self) -> float:
        inner = self.attention_width or self.width
        keys = inner * self.kv_heads / max(self.heads, 1)
        return 2 * self.width * (inner + keys)

    @property
    def feed_forward_parameters(self) -> float:
        """Of one expert."""
        return (3 if self.gated else 2) * self.width * self.inner

    @property
    def cross_parameters(self) -> float:
        """Of a decoder layer that also looks at an encoder, averaged over all layers."""
        return self.attention_parameters / 2 if self.kind == "encoder-decoder" else 0.0

    @property
    def active_parameters(self) -> float:
        """Weights of the layers that one token is multiplied with."""
        each = self.attention_parameters + self.cross_parameters + self.feed_forward_parameters * self.active_experts
        return self.layers * each * (1.35 if self.kind == "disentangled-encoder" else 1.0)

    @property
    def layer_parameters(self) -> float:
        """Weights of the layers in all: kept once where layers share them."""
        each = self.attention_parameters + self.cross_parameters + self.feed_forward_parameters * self.experts
        return each if self.kind == "shared-encoder" else self.layers * each

    @property
    def embedding_parameters(self) -> float:
        tables = 2 if self.gated and not self.name.startswith(TIED) else 1
        narrow = 128 if self.kind == "shared-encoder" else self.width
        if self.kind == "memory-decoder":  # adaptive softmax: clusters of 1, 1/4, 1/16 and 1/64 of the width
            return 20_000 * self.width + 20_000 * self.width / 4 + 160_000 * self.width / 16 + 67_735 * self.width / 64
        return tables * self.vocabulary * narrow

    @property
    def parameters(self) -> float:
        positions = 512 * self.width if self.kind in {"encoder", "vision"} else 0
        return self.layer_parameters + self.embedding_parameters + positions


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageModel:
    """A model that is known by its work on one image: GFLOP forward, and outputs of its convolutions in millions.

    ``gflop_forward_only`` is work of frozen parts, such as an image encoder before a diffusion model.
    """

    name: str
    gflop_forward: float
    million_activations: float
    million_parameters: float
    layers: int
    gflop_forward_only: float
    resolution: int

    @property
    def parameters(self) -> float:
        return self.million_parameters * 1e6


Model = Architecture | ImageModel


@functools.cache
def known() -> Mapping[str, Model]:
    """The table, by our names."""
    body = json.loads(files(__package__).joinpath("architectures.json").read_text("utf-8"))
    found: dict[str, Model] = {}
    for row in body["rows"]:
        values = dict(zip(body["columns"], row, strict=True))
        name = values["name"]
        experts = EXPERTS.get(name, (1, 1))
        found[name] = Architecture(
            **values, attention_width=ATTENTION_WIDTH.get(name, 0), experts=experts[0], active_experts=experts[1]
        )
    for row in body["images"]:
        values = dict(zip(body["image_columns"], row, strict=True))
        found[values["name"]] = ImageModel(**values)
    return MappingProxyType(found)


# What names of models say, in the order in which it is looked for; the last part of each is one of our names.
_SIZES = r"(\d+(?:\.\d+)?)\s*-?(m|b)(?![a-z])"
_WORDS: tuple[tuple[str, str], ...] = (
    (r"language.?perceiver", "language-perceiver"),
    (r"vision.?perceiver|perceiver", "vision-perceiver-conv"),
    (r"(stable.?diffusion|\bsd).?-?(xl)|sdxl", "stable-diffusion-xl"),
    (r"(stable.?diffusion|\bsd).?-?v?1", "stable-diffusion-1"),
    (r"stable.?diffusion|\bsd.?-?v?2", "stable-diffusion-2"),
    (r"transformer.?xl.*base", "transformer-xl-base"),
    (r"transformer.?xl", "transformer-xl-large"),
    (r"se.?-?resnext", "se-resnext101-32x4d"),
    (r"resnext.?-?101", "resnext101-32x4d"),
    (r"resnext", "resnext50-32x4d"),
    (r"wide.?resnet", "wide-resnet-50"),
    (r"resnet.?-?152", "resnet-152"),
    (r"resnet.?-?101", "resnet-101"),
    (r"resnet.?-?34", "resnet-34"),
    (r"resnet.?-?18", "resnet-18"),
    (r"resnet", "resnet-50"),
    (r"densenet", "densenet-121"),
    (r"vgg", "vgg-16"),
    (r"inception", "inception-v3"),
    (r"mobilenet", "mobilenet-v2"),
    (r"efficientnet.*b7", "efficientnet-b7"),
    (r"efficientnet.*b[3-5]", "efficientnet-b4"),
    (r"efficientnet", "efficientnet-b0"),
    (r"convnext.*(base|-b\b)", "convnext-base"),
    (r"convnext.*small", "convnext-small"),
    (r"convnext", "convnext-tiny"),
    (r"swin.*(base|-b\b)", "swin-base"),
    (r"swin", "swin-tiny"),
    (r"\b(vit|deit|beit|vision.?transformer).*(giant|\bg\b|-g/)", "vit-giant"),
    (r"\b(vit|deit|beit|vision.?transformer).*(huge|\bh\b|-h/|\bh/)", "vit-huge"),
    (r"\b(vit|deit|beit|vision.?transformer).*(large|\bl\b|-l/|\bl/)", "vit-large"),
    (r"\b(vit|deit|beit|vision.?transformer).*(small|\bs\b|-s/|\bs/)", "vit-small"),
    (r"\b(vit|deit|beit|vision.?transformer).*(tiny|\bti\b|-ti/)", "vit-tiny"),
    (r"\bvit|deit|beit|vision.?transformer", "vit-base"),
    (r"whisper.*tiny", "whisper-tiny"),
    (r"whisper.*base", "whisper-base"),
    (r"whisper.*small", "whisper-small"),
    (r"whisper.*medium", "whisper-medium"),
    (r"whisper", "whisper-large"),
    (r"wav2vec.*large", "wav2vec2-large"),
    (r"wav2vec", "wav2vec2-base"),
    (r"hubert", "hubert-large"),
    (r"modernbert.*large", "modernbert-large"),
    (r"modernbert", "modernbert-base"),
    (r"distil.?bert", "distilbert-base"),
    (r"distil.?roberta", "distilroberta-base"),
    (r"distil.?gpt", "distilgpt2"),
    (r"distil.?bart", "distilbart-12-6"),
    (r"xlm.?r\w*.*large", "xlm-roberta-large"),
    (r"xlm.?r", "xlm-roberta-base"),
    (r"minilm.*l?12", "minilm-l12-h384"),
    (r"minilm", "minilm-l6-h384"),
    (r"roberta.*large", "roberta-large"),
    (r"camembert", "camembert-base"),
    (r"roberta", "roberta-base"),
    (r"albert.*xx", "albert-xxlarge"),
    (r"albert.*xlarge", "albert-xlarge"),
    (r"albert.*large", "albert-large"),
    (r"albert", "albert-base"),
    (r"electra.*small", "electra-small"),
    (r"electra.*large", "electra-large"),
    (r"electra", "electra-base"),
    (r"deberta.*v3.*large", "deberta-v3-large"),
    (r"deberta.*v3.*small", "deberta-v3-small"),
    (r"deberta.*v3", "deberta-v3-base"),
    (r"deberta.*xlarge|deberta.*-xl", "deberta-xlarge"),
    (r"deberta.*large", "deberta-large"),
    (r"deberta", "deberta-base"),
    (r"mpnet", "mpnet-base"),
    (r"xlnet.*large", "xlnet-large"),
    (r"xlnet", "xlnet-base"),
    (r"flan.?t5.*(xxl|11b)|t5.?v?1.?1.*xxl", "flan-t5-xxl"),
    (r"flan.?t5.*(xl|3b)|t5.?v?1.?1.*xl", "flan-t5-xl"),
    (r"flan.?t5.*large", "flan-t5-large"),
    (r"flan.?t5.*small", "flan-t5-small"),
    (r"flan.?t5", "flan-t5-base"),
    (r"t5.*(xxl|11\s?b)", "t5-11b"),
    (r"t5.*(xl|3\s?b)", "t5-3b"),
    (r"t5.*large|t5.*770m", "t5-large"),
    (r"t5.*small|t5.*60m", "t5-small"),
    (r"t5", "t5-base"),
    (r"pegasus", "pegasus-large"),
    (r"bart.*large", "bart-large"),
    (r"bart", "bart-base"),
    (r"marian|opus.?mt", "marian-base"),
    (r"transformer.?(big|large)", "transformer-big"),
    (r"gpt.?-?2.?-?(xl|1\.5\s?b|1\.6\s?b)", "gpt2-xl"),
    (r"gpt.?-?2.?-?(large|774m|0\.8b)", "gpt2-large"),
    (r"gpt.?-?2.?-?(medium|345m|355m|0\.3b)", "gpt2-medium"),
    (r"gpt.?neo.?x.?-?20\s?b|gpt.?neo.?x", "gpt-neox-20b"),
    (r"gpt.?j", "gpt-j-6b"),
    (r"gpt.?-?2(?![\d.])", "gpt2"),
    (r"tiny.?llama", "tinyllama-1.1b"),
    (r"mixtral.*22", "mixtral-8x22b"),
    (r"mixtral", "mixtral-8x7b"),
    (r"mistral.*nemo", "mistral-nemo-12b"),
    (r"mistral|zephyr", "mistral-7b"),
    (r"phi-?\s?1", "phi-1.5"),
    (r"phi-?\s?2", "phi-2"),
    (r"phi-?\s?3.*medium", "phi-3-medium"),
    (r"phi-?\s?3", "phi-3-mini"),
    (r"phi-?\s?4", "phi-4"),
    (r"mobilebert", "minilm-l12-h384"),
    (r"bert.*multilingual|mbert", "bert-base-multilingual"),
    (r"bert.*chinese", "bert-base-chinese"),
    (r"bert.*japanese|bert.?jp", "bert-base-japanese"),
    (r"bert.*large", "bert-large"),
    (r"bert.*medium", "bert-medium"),
    (r"bert.*small", "bert-small"),
    (r"bert.*mini", "bert-mini"),
    (r"bert.*tiny", "bert-tiny"),
    (r"bert", "bert-base"),
)
# Families whose sizes are part of the name: family pattern -> prefix of our names, and billions by default
_SIZED: tuple[tuple[str, str], ...] = (
    (r"gpt.?-?neo", "gpt-neo"),
    (r"pythia", "pythia"),
    (r"\bopt\b", "opt"),
    (r"bloom", "bloom"),
    (r"\bmpt", "mpt"),
    (r"nemotron", "nemotron"),
    (r"code.?llama", "codellama|llama-2|llama"),
    (r"llama.?-?v?3\.?2", "llama-3.2|llama-3.1|llama-3"),
    (r"llama.?-?v?3", "llama-3|llama-3.1|llama-3.2"),
    (r"llama.?-?v?2", "llama-2|llama"),
    (r"llama|alpaca|vicuna|open.?llama", "llama|llama-2|llama-3"),
    (r"qwen.?-?3", "qwen3|qwen"),
    (r"qwen", "qwen"),
    (r"gemma.?-?[23]", "gemma-2|gemma"),
    (r"gemma", "gemma"),
    (r"falcon", "falcon"),
    (r"starcoder.?2", "starcoder2"),
    (r"starcoder|santacoder", "starcoder|santacoder"),
    (r"stable.?lm", "stablelm"),
    (r"smollm", "smollm"),
    (r"gpt|megatron|turing", "gpt3"),
)


@functools.lru_cache(maxsize=256)
def find_model(name: str, parameters: float | None = None) -> Model | None:
    """The shape of a model by any of its public names; by its number of ``parameters`` where only that is known.

    >>> find_model("meta-llama/Llama-2-7b-hf").layers
    32
    >>> find_model("an unheard-of model") is None
    True
    """
    # A window of the name is enough; longer text is no name.
    text = name[:120].lower().replace("_", "-")
    if text in known():
        return known()[text]
    word = next((ours for pattern, ours in _WORDS if re.search(pattern, text)), None)
    if word is not None:
        return known()[word]
    family = next((prefixes for pattern, prefixes in _SIZED if re.search(pattern, text)), None)
    size = _billions(text) or (parameters / 1e9 if parameters else None)
    if family is not None and size is not None:
        near = _nearest(family.split("|"), size)
        if near is not None:
            return near
    if family == "llama-3|llama-3.1|llama-3.2" and size is None:
        return known()["llama-3-8b"]
    if size is None or not 0.005 <= size <= 2000:
        return None
    return generic(size * 1e9, name)


def _billions(text: str) -> float | None:
    found = re.findall(_SIZES, text)
    if not found:
        return None
    number, unit = found[-1]
    return float(number) / (1000 if unit == "m" else 1)


def _nearest(prefixes: list[str], billions: float) -> Architecture | None:
    """The known size of a family nearest to what is asked; None where none is within a fifth of it.

    Names round ("1b" is 1.3 billion), so what a name says is compared too.
    """
    best: tuple[float, Architecture] | None = None
    for prefix in prefixes:
        for name, model in known().items():
            said = re.fullmatch(re.escape(prefix) + r"-(\d+(?:\.\d+)?)(m|b)", name)
            if said is None or not isinstance(model, Architecture):
                continue
            named = float(said[1]) / (1000 if said[2] == "m" else 1)
            away = abs(named / billions - 1)
            if away <= 0.2 and (best is None or away < best[0] - 1e-9):
                best = away, model
    return best[1] if best else None


def generic(parameters: float, name: str = "") -> Architecture:
    """A plain decoder of so many parameters, with the proportions of GPT-3's sizes: a stand-in that says so."""
    # Brown et al. 2020, table 2.1: depth grows as the 0.28th power of the size
    layers = max(2, round(24 * (parameters / 1.3e9) ** 0.28))
    vocabulary = 50_257
    width = 64
    while 12 * layers * width * width + vocabulary * width < parameters:
        width += 64
    heads = max(1, width // 128)
    return Architecture(
        name=name or f"a decoder of {parameters / 1e9:.3g} B", kind="decoder", layers=layers, width=width, inner=4 * width,
        heads=heads, kv_heads=heads, vocabulary=vocabulary, generic=True,
    )  # fmt: skip


_NAMES = {
    "n_embd": "hidden_size",
    "d_model": "hidden_size",
    "dim": "hidden_size",
    "n_layer": "num_hidden_layers",
    "num_layers": "num_hidden_layers",
    "n_layers": "num_hidden_layers",
    "encoder_layers": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "num_heads": "num_attention_heads",
    "n_heads": "num_attention_heads",
    "encoder_attention_heads": "num_attention_heads",
    "d_ff": "intermediate_size",
    "n_inner": "intermediate_size",
    "hidden_dim": "intermediate_size",
    "encoder_ffn_dim": "intermediate_size",
}
_GATED = frozenset(
    {"llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "phi3", "granite", "modernbert"}
)
_ENCODERS = frozenset(
    {"bert", "roberta", "distilbert", "electra", "mpnet", "xlm-roberta", "camembert", "albert", "deberta", "deberta-v2", "modernbert"}
)  # fmt: skip


def from_config(config: Mapping[str, Json], name: str = "") -> Architecture | None:
    """The shape that a ``config.json`` says; None where it lacks a size."""
    sizes = dict(config)
    for theirs, ours in _NAMES.items():
        if sizes.get(ours) is None and sizes.get(theirs) is not None:
            sizes[ours] = sizes[theirs]
    width, layers = _whole(sizes.get("hidden_size")), _whole(sizes.get("num_hidden_layers"))
    heads, words = _whole(sizes.get("num_attention_heads")), _whole(sizes.get("vocab_size"))
    if not width or not layers or not heads:
        return None
    kind_of = str(sizes.get("model_type", ""))
    both = bool(sizes.get("is_encoder_decoder"))
    experts = _whole(sizes.get("num_local_experts")) or 1
    kind = (
        "encoder-decoder"
        if both
        else "encoder"
        if kind_of in _ENCODERS
        else "vision"
        if "vit" in kind_of
        else "decoder"
    )
    if kind == "encoder" and kind_of == "albert":
        kind = "shared-encoder"
    if kind == "encoder" and "deberta" in kind_of:
        kind = "disentangled-encoder"
    head = _whole(sizes.get("head_dim")) or _whole(sizes.get("d_kv"))
    decoders = _whole(sizes.get("decoder_layers")) or _whole(sizes.get("num_decoder_layers")) or layers
    return Architecture(
        name=name or kind_of,
        kind="mixture" if experts > 1 else kind,
        layers=layers + decoders if both else layers,
        width=width,
        inner=_whole(sizes.get("intermediate_size")) or 4 * width,
        heads=heads,
        kv_heads=_whole(sizes.get("num_key_value_heads")) or heads,
        vocabulary=words or 1000,
        gated=kind_of in _GATED or "gated" in str(sizes.get("feed_forward_proj", "")),
        attention_width=head * heads if head else 0,
        experts=experts,
        active_experts=_whole(sizes.get("num_experts_per_tok")) or 1,
    )


def renamed(model: Architecture, name: str) -> Architecture:
    """The same shape under another name."""
    return replace(model, name=name)


def _whole(value: Json) -> int:
    """A positive whole number below what any model has; 0 for all else."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    return number if 0 < number < 10**8 else 0
