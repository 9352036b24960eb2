"""Shapes of models: layers, width, heads and vocabulary, by public name or from a local ``config.json``."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from ..core.specs.json import Json
from .model_types import types_in

CONFIG_CAP = 1_000_000  # bytes: a configuration is a few kilobytes
DECODERS = ("decoder", "mixture", "memory-decoder")


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A transformer's shape. ``layers`` counts encoder and decoder together; ``inner`` is the feed-forward width, of one expert.

    ``attention_width`` is heads × the width of a head where that is not ``width``. Experts that every token passes are counted among
    ``experts`` and ``active_experts``. ``tied``: one table serves as input and output. ``composed``: the activation is a chain of
    operations instead of one, as transformers writes ``gelu_new``.
    """

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
    tied: bool = True
    experts: int = 1
    active_experts: int = 1
    composed: bool = False
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
        tables = 1 if self.tied else 2
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
        found[values["name"]] = Architecture(**values, composed=values["name"] in body["composed"])
    for row in body["images"]:
        values = dict(zip(body["image_columns"], row, strict=True))
        found[values["name"]] = ImageModel(**values)
    return MappingProxyType(found)


# What names of models say, in the order in which it is looked for; the last part of each is one of our names. A pattern begins where a
# word does: mT5 is no T5.
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
    (r"whisper.*large.*turbo", "whisper-large-turbo"),
    (r"whisper.*tiny", "whisper-tiny"),
    (r"whisper.*base", "whisper-base"),
    (r"whisper.*small", "whisper-small"),
    (r"whisper.*medium", "whisper-medium"),
    (r"whisper", "whisper-large"),
    (r"wav2vec2?-xls-r-300m", "wav2vec2-xls-r-300m"),
    (r"wav2vec2?-xls-r-1b", "wav2vec2-xls-r-1b"),
    (r"wav2vec.*large", "wav2vec2-large"),
    (r"wav2vec", "wav2vec2-base"),
    (r"hubert.*base", "hubert-base"),
    (r"hubert.*large", "hubert-large"),
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
    (r"deberta-?xlarge|deberta.*-xl", "deberta-xlarge"),
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
    (r"mt5.*xxl", "mt5-xxl"),
    (r"mt5.*xl", "mt5-xl"),
    (r"mt5.*large", "mt5-large"),
    (r"mt5.*base", "mt5-base"),
    (r"mt5.*small", "mt5-small"),
    (r"t5.*(xxl|11\s?b)", "t5-11b"),
    (r"t5.*(xl|3\s?b)", "t5-3b"),
    (r"t5.*large|t5.*770m", "t5-large"),
    (r"t5.*small|t5.*60m", "t5-small"),
    (r"t5", "t5-base"),
    (r"pegasus", "pegasus-large"),
    (r"mbart.*large", "mbart-large"),
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
    (r"mixtral.*8x22b", "mixtral-8x22b"),
    (r"mixtral.*8x7b", "mixtral-8x7b"),
    (r"mistral.*nemo", "mistral-nemo-12b"),
    (r"mistral.*large.*(2407|2411)", "mistral-large-123b"),
    (r"mistral.*small.*2409", "mistral-small-22b"),
    (r"mistral.*small.*(2501|2503|2506)", "mistral-small-24b"),
    (r"codestral.*22b", "mistral-small-22b"),
    (r"(devstral|magistral).*small.*25\d\d", "mistral-small-24b"),
    (r"mistral|mathstral|zephyr", "mistral-7b"),
    (r"phi-?\s?1", "phi-1.5"),
    (r"phi-?\s?2", "phi-2"),
    (r"phi-?\s?3.*medium", "phi-3-medium"),
    (r"phi-?\s?3.*small", "phi-3-small"),
    (r"phi-?\s?3\.5.*moe", "phi-3.5-moe"),
    (r"phi-?\s?3", "phi-3-mini"),
    (r"phi-?\s?4.*mini", "phi-4-mini"),
    (r"phi-?\s?4", "phi-4"),
    (r"gpt-?oss-?120b", "gpt-oss-120b"),
    (r"gpt-?oss-?20b", "gpt-oss-20b"),
    (r"llama-?4-?scout", "llama-4-scout-109b"),
    (r"qwen1\.5-moe-a2\.7b", "qwen-14.3b-a2.7b"),
    (r"qwq-32b", "qwen-32b"),
    (r"olmoe-?1b-?7b", "olmoe-1b-7b"),
    (r"dbrx", "dbrx-132b"),
    (r"command-?r-?plus", "command-r-plus-104b"),
    (r"command-?r(-v01)?$", "command-r-35b"),
    (r"glm-?4\.5-?air", "glm-4.5-air-106b"),
    (r"ministral-3-8b", "ministral-3-8b"),
    (r"olmo-3-7b", "olmo-3-7b"),
    (r"olmo-7b", "olmo-7b"),
    (r"mellum2-12b", "mellum2-12b-a2.5b"),
    (r"solar-open-100b", "solar-open-100b"),
    (r"bge-m3", "xlm-roberta-large"),
    (r"(bge|e5|gte)-large", "bert-large"),
    (r"(bge|e5|gte)-base", "bert-base"),
    (r"bge-small", "bge-small"),
    (r"bert.*multilingual|mbert", "bert-base-multilingual"),
    (r"bert.*chinese", "bert-base-chinese"),
    (r"bert.*japanese|bert.?jp", "bert-base-japanese"),
    (r"bert.*large", "bert-large"),
    (r"bert.*medium", "bert-medium"),
    (r"bert.*small", "bert-small"),
    (r"bert.*mini", "bert-mini"),
    (r"bert.*tiny", "bert-tiny"),
    (r"(bio|fin|sci|legal|clinical|med|pubmed|blue|hate)?-?bert", "bert-base"),
)
# Families whose sizes are part of the name: family pattern -> prefixes of our names. What a pattern leaves of a version is another family.
_SIZED: tuple[tuple[str, str], ...] = (
    (r"gpt.?neo", "gpt-neo"),
    (r"pythia", "pythia"),
    (r"opt\b", "opt"),
    (r"bloomz?", "bloom"),
    (r"mpt", "mpt"),
    (r"nemotron-?[34]?", "nemotron"),
    (r"dolly.?v2", "pythia"),
    (r"falcon.?3", "falcon3"),
    (r"yi(-1\.5)?-", "yi"),
    (r"internlm.?2(.5)?", "internlm2"),
    (r"deepseek.?llm", "deepseek-llm"),
    (r"olmo.?2", "olmo-2"),
    (r"granite.?3(\.\d)?", "granite-3"),
    (r"glm.?4", "glm-4"),
    (r"baichuan.?2", "baichuan2"),
    (r"solar", "solar"),
    (r"aya-(expanse|23)", "aya"),
    (r"nllb", "nllb"),
    (r"m2m100", "m2m100"),
    (r"ministral", "ministral"),
    (r"mistral.?small", "mistral-small"),
    (r"mistral.?large", "mistral-large"),
    (r"gpt-?2", "gpt2"),
    (r"code.?llama", "codellama|llama-2|llama"),
    (r"llama.?-?v?3\.?2", "llama-3.2|llama-3.1|llama-3"),
    (r"llama.?-?v?3(\.\d)?", "llama-3|llama-3.1|llama-3.2"),
    (r"llama.?-?v?2", "llama-2|llama"),
    (r"llama|alpaca|vicuna|open.?llama", "llama|llama-2|llama-3"),
    (r"qwen.?-?3", "qwen3"),
    (r"qwen(1\.5|2\.5|2)?", "qwen"),
    (r"gemma.?-?3", "gemma-3"),
    (r"gemma.?-?2", "gemma-2"),
    (r"(code)?gemma(-1\.1)?", "gemma"),
    (r"falcon", "falcon"),
    (r"starcoder.?2", "starcoder2"),
    (r"starcoder|santacoder", "starcoder|santacoder"),
    (r"stable.?lm-?2", "stablelm-2"),
    (r"stable.?lm-(zephyr|3b-4e1t)", "stablelm-zephyr"),
    (r"stable.?lm", "stablelm"),
    (r"smollm3", "smollm3"),
    (r"smollm2?", "smollm"),
    (r"gpt-?3?|megatron|turing", "gpt3"),
)
# Model types of transformers that share a shape with the rows of another.
_SAME_SHAPE = frozenset({"open-llama", "code_llama", "qwen2", "deit", "beit", "xlm", "swinv2", "convnextv2"})
_VERSION = re.compile(r"\.\d|[-.]?\d{1,2}(\.\d+)?(?![\d.]*\s*-?[bm])(?!\d)")


# Words that make another shape of a family, and those of kinds that no row has: images beside text, states instead of attention.
_SHAPE_WORDS = frozenset(
    {"nano", "tiny", "mini", "xsmall", "small", "medium", "base", "large", "xl", "xlarge", "xxl", "xxlarge", "huge", "giant", "turbo",
     "plus", "multilingual", "generator"}
)  # fmt: skip
_OTHER_KINDS = frozenset(
    {"vl", "vlm", "vision", "multimodal", "llava", "clip", "siglip", "blip", "omni", "audio", "pixtral", "paligemma", "detr", "w2v",
     "mamba", "jamba", "recurrentgemma", "next", "3n", "distil"}
)  # fmt: skip
_NEAR = 0.2  # of a size: names round, and two shapes of a family differ by more


@dataclass(frozen=True, slots=True)
class _Said:
    """What a name says of a model: ``billions`` of parameters in all, its words, whether only a part of it is active, its types."""

    billions: float | None
    words: frozenset[str]
    mixture: bool
    types: frozenset[str]


def _said(text: str) -> _Said:
    """30b-a3b: 30 in all, 3 of them active. 8x7b and 16e: a mixture, whose size in all the name does not say."""
    words = frozenset(re.split(r"[^a-z0-9.]+", text))
    number = r"(\d+(?:\.\d+)?)"
    active = re.findall(rf"(?<![a-z0-9.])a{number}[bm](?![a-z0-9])", text)
    experts = re.search(r"(?<![a-z0-9])\d+(x\d+(\.\d+)?b|e)(?![a-z0-9])", text)
    sizes = [
        float(n) / (1000 if unit == "m" else 1)
        for n, unit in re.findall(rf"(?<![a-z0-9.]){number}\s*-?(b|m)(?![a-z0-9])", text)
    ]
    sizes += [float(f"{whole}.{tenth}") for whole, tenth in re.findall(r"(?<![a-z0-9.])(\d+)b(\d)(?![a-z0-9])", text)]
    return _Said(
        billions=None if experts else max(sizes, default=None),
        words=words,
        mixture=bool(active or experts or "moe" in words),
        types=types_in(text),
    )


@functools.lru_cache(maxsize=256)
def find_model(name: str, parameters: float | None = None) -> Model | None:
    """The shape of a model by any of its public names; by its number of ``parameters`` where only that is known.

    None where a name says another size, or another kind of model, than every shape that is known of its family.

    >>> find_model("meta-llama/Llama-2-7b-hf").layers
    32
    >>> find_model("an unheard-of model") is None
    True
    """
    # A window of the name is enough; longer text is no name.
    text = name[:120].lower().replace("_", "-")
    if re.search("[a-z]", text.rsplit("/")[-1]):
        text = text.rsplit("/")[-1]  # whose model it is says nothing of its shape
    found = _by_name(text, parameters)
    if found is not None or (parameters is None and not re.fullmatch(r"\d+(\.\d+)?\s*-?[bm]", text)):
        return found
    size = _said(text).billions or (parameters or 0) / 1e9
    return generic(size * 1e9, name) if 0.005 <= size <= 2000 else None


def _by_name(text: str, parameters: float | None) -> Model | None:
    if text in known():
        return known()[text]
    said = _said(text)
    for pattern, ours in _WORDS:
        if re.search(rf"(?<![a-z])(?:{pattern})", text) and _agrees(said, known()[ours], pattern):
            return known()[ours]
    size = said.billions or (parameters / 1e9 if parameters else None)
    family = _family(text)
    if size is not None:
        return _nearest(family.split("|"), size, said) if family else None
    return known()["llama-3-8b"] if family == "llama-3|llama-3.1|llama-3.2" else None


def _family(text: str) -> str:
    """The prefixes of our names for the family of a name; empty where none is known, or only other versions of it."""
    for pattern, prefixes in _SIZED:
        found = re.search(rf"(?<![a-z])(?:{pattern})", text)
        if found:
            return "" if _VERSION.match(text, found.end()) else prefixes
    return ""


def _agrees(said: _Said, model: Model, pattern: str = "") -> bool:
    """Whether a name says nothing else than this shape: no other size, type or word for one, no experts that it lacks."""
    if said.mixture and getattr(model, "experts", 1) == 1:
        return False
    if not said.types <= types_in(model.name) | types_in(pattern) | _SAME_SHAPE:
        return False
    of_row = set(re.split(r"[^a-z0-9.]+", model.name))
    for word in said.words - of_row:
        if re.fullmatch(r"\d+(\.\d+)?v", word):  # glm-4v, glm-4.1v: it sees
            return False
        sized = _said(model.name).billions or not of_row & (_SHAPE_WORDS - {"base"})
        pretrained = word == "base" and sized  # Mistral-Nemo-Base: not tuned for chats
        another = word in _SHAPE_WORDS | _OTHER_KINDS and not pretrained
        if another and not re.search(rf"(?<![a-z]){word}(?![a-z])", pattern):
            return False
    return said.billions is None or _away(said.billions, model) <= _NEAR


def _away(billions: float, model: Model) -> float:
    """How far a size lies from a shape's: from its count of parameters, or from what its name rounds it to."""
    named = _said(model.name).billions
    return min(abs(size / billions - 1) for size in (model.parameters / 1e9, named) if size)


def _nearest(prefixes: list[str], billions: float, said: _Said) -> Architecture | None:
    """The known size of a family nearest to what is asked; None where none is within a fifth of it."""
    sized = replace(said, billions=billions)
    members = [
        model
        for prefix in prefixes
        for name, model in known().items()
        if (name == prefix or re.fullmatch(re.escape(prefix) + r"-(\d.*|medium|large|xl)", name))
        and isinstance(model, Architecture)
        and (model.experts > 1) == said.mixture
        and _agrees(sized, model)
    ]
    return min(members, key=lambda model: _away(billions, model), default=None)


STAND_IN = 1.3  # times the interval of an estimate whose shape follows from a size alone


def sizes_in(name: str) -> list[float]:
    """Parameters that a name says, be it of all of them or of those that a token passes: 30B-A3B, E4B."""
    return [float(billions) * 1e9 for billions in re.findall(r"(?<![0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])", name.lower())]


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
    "num_kv_heads": "num_key_value_heads",
}
_COMPOSED_ACTIVATIONS = frozenset({"gelu_new", "gelu_fast"})
_GATED_ACTIVATIONS = frozenset({"silu", "swish", "swiglu", "geglu"})
# Gated by another activation, or by default where a configuration does not say its activation.
_GATED = frozenset(
    {"llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "granite", "modernbert"}
)
# Parts that this shape has no words for: latent attention, states instead of attention, layers of several kinds.
_ANOTHER_SHAPE = (
    "kv_lora_rank",
    "ssm_cfg",
    "mamba_d_state",
    "state_size",
    "linear_num_key_heads",
    "attn_layer_period",
    "text_config",
)
_ENCODERS = frozenset(
    {"bert", "roberta", "distilbert", "electra", "mpnet", "xlm-roberta", "camembert", "albert", "deberta", "deberta-v2", "modernbert"}
)  # fmt: skip


@functools.cache
def verified_types() -> frozenset[str]:
    """The model types whose configurations say their shape: what it counts is what transformers build, by ``.github/model_types.py``."""
    return frozenset(
        json.loads(files(__package__).joinpath("architectures.json").read_text("utf-8"))["verified"]["types"]
    )


def from_config(config: Mapping[str, Json], name: str = "", *, verified: bool = True) -> Architecture | None:
    """The shape that a ``config.json`` says; None where it lacks a size, or its type is built otherwise, as far as is ``verified``."""
    if any(config.get(key) is not None for key in _ANOTHER_SHAPE):
        return None
    if verified and config.get("model_type") not in verified_types():
        return None
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
    experts, active, inner = _experts(sizes)
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
    acts = {str(sizes.get(key, "")) for key in ("hidden_act", "hidden_activation", "activation_function")}
    gated = bool(acts & _GATED_ACTIVATIONS) or kind_of in _GATED or "gated" in str(sizes.get("feed_forward_proj", ""))
    head = _whole(sizes.get("head_dim")) or _whole(sizes.get("d_kv"))
    decoders = _whole(sizes.get("decoder_layers")) or _whole(sizes.get("num_decoder_layers")) or layers
    one_key = sizes.get("multi_query") is True and not sizes.get("new_decoder_architecture")
    return Architecture(
        name=name or kind_of,
        kind="mixture" if experts > 1 else kind,
        layers=layers + decoders if both else layers,
        width=width,
        inner=inner or 4 * width,
        heads=heads,
        kv_heads=1 if one_key else _whole(sizes.get("num_key_value_heads")) or heads,
        vocabulary=words or 1000,
        gated=gated,
        attention_width=head * heads if head else 0,
        tied=sizes.get("tie_word_embeddings", not gated or kind_of.startswith("gemma")) is True,
        experts=experts,
        active_experts=active,
        composed=bool(acts & _COMPOSED_ACTIVATIONS),
    )


def _experts(sizes: Mapping[str, Json]) -> tuple[int, int, int]:
    """Experts in all, those that a token passes, and the width of one: what every token passes counts as experts of that width."""
    inner = _whole(sizes.get("intermediate_size"))
    routed = (
        _whole(sizes.get("num_local_experts"))
        or _whole(sizes.get("num_experts"))
        or _whole(sizes.get("n_routed_experts"))
    )
    if routed < 2:
        return 1, 1, inner
    width = _whole(sizes.get("moe_intermediate_size")) or inner
    shared = _whole(sizes.get("n_shared_experts"))
    if width and _whole(sizes.get("shared_expert_intermediate_size")):
        shared = round(_whole(sizes.get("shared_expert_intermediate_size")) / width)
    active = _whole(sizes.get("num_experts_per_tok")) or _whole(sizes.get("experts_per_token")) or 1
    return routed + shared, active + shared, width


def in_folder(name: str) -> Architecture | None:
    """The shape in a folder's ``config.json``, or in that file itself; None where there is none, or weights beside it say another size."""
    if "\n" in name or len(name) > 1000:
        return None
    path = Path(name) if name.endswith(".json") else Path(name, "config.json")
    body = _json(path)
    shape = from_config(body, name.rstrip("/").rpartition("/")[2])
    weights = _weights(path.with_name("model.safetensors.index.json"), body)
    return None if shape and weights and abs(shape.parameters / weights - 1) > _NEAR else shape


def _json(path: Path) -> Mapping[str, Json]:
    try:
        text = path.read_text("utf-8") if path.is_file() and path.stat().st_size <= CONFIG_CAP else ""
        body = json.loads(text or "{}")
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def _weights(index: Path, config: Mapping[str, Json]) -> float | None:
    """Parameters that the index of a model's weight files counts; None where there is no index, or they are kept in fewer bits."""
    about = _json(index).get("metadata")
    size = _whole(about.get("total_size"), cap=10**14) if isinstance(about, dict) else 0
    bits = re.search("(16|32)$", str(config.get("dtype") or config.get("torch_dtype") or ""))
    return size * 8 / int(bits[1]) if size and bits and not config.get("quantization_config") else None


def _whole(value: Json, cap: int = 10**8) -> int:
    """A positive whole number below ``cap``, what any model has; 0 for all else."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    return number if 0 < number < cap else 0
