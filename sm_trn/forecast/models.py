"""Shapes of models: by the exact id of the hub, by a size such as ``7b``, or from the ``config.json`` of a local folder."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..core.specs.json import Json

CONFIG_CAP = 1_000_000  # bytes: a configuration is a few kilobytes
NEAR = 0.2  # weights beside a configuration that count otherwise belong to another model


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A transformer's shape. ``layers`` counts encoder and decoder together; ``inner`` is the feed-forward width, of one expert.

    ``attention_width`` is heads × the width of a head where that is not ``width``. Experts that every token passes are counted among
    ``experts`` and ``active_experts``. ``tied``: one table serves as input and output. ``composed``: the activation is a chain of
    operations instead of one, as transformers writes ``gelu_new``. ``generic``: the shape follows from a number of parameters alone.
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
    generic: bool = False

    @property
    def causal(self) -> bool:
        return self.kind in {"decoder", "mixture"}

    def _layer(self, experts: int) -> float:
        """Weights of a layer with so many experts; one of a decoder beside an encoder looks at this too, half of all layers do."""
        inner = self.attention_width or self.width
        attention = 2 * self.width * (inner + inner * self.kv_heads / max(self.heads, 1))
        feed_forward = (3 if self.gated else 2) * self.width * self.inner
        return attention * (1.5 if self.kind == "encoder-decoder" else 1.0) + feed_forward * experts

    @property
    def active_parameters(self) -> float:
        """Weights of the layers that one token is multiplied with. Relative positions take a third more: DeBERTa, XLNet."""
        return self.layers * self._layer(self.active_experts) * (1.35 if self.kind == "disentangled-encoder" else 1.0)

    @property
    def layer_parameters(self) -> float:
        """Weights of the layers in all: kept once where layers share them."""
        return self._layer(self.experts) * (1 if self.kind == "shared-encoder" else self.layers)

    @property
    def parameters(self) -> float:
        tables = (1 if self.tied else 2) * self.vocabulary * (128 if self.kind == "shared-encoder" else self.width)
        return self.layer_parameters + tables + (512 * self.width if self.kind in {"encoder", "vision"} else 0)


@functools.cache
def _table() -> Any:
    return json.loads(files(__package__).joinpath("architectures.json").read_text("utf-8"))


@functools.cache
def known() -> Mapping[str, Architecture]:
    """The table of shapes, by our names."""
    rows = [dict(zip(_table()["columns"], row, strict=True)) for row in _table()["rows"]]
    return {row["name"]: Architecture(**row, composed=row["name"] in _table()["composed"]) for row in rows}


@functools.cache
def _ids() -> Mapping[str, str]:
    return {name.lower(): ours for ours, names in _table()["ids"].items() for name in names}


def find_model(name: str) -> Architecture | None:
    """The shape of a model by its exact id on the hub, by our name, or of a plain decoder by a size; None where it is not known.

    >>> find_model("meta-llama/Llama-2-7b-hf").layers
    32
    >>> find_model("somebody/an-unheard-of-model") is None
    True
    """
    text = name[:200].lower()
    size = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)([bm])", text)
    if size:
        return generic(float(size[1]) * (1e9 if size[2] == "b" else 1e6), name)
    return known().get(_ids().get(text, text))


def generic(parameters: float, name: str) -> Architecture | None:
    """A plain decoder with the proportions of GPT-3's sizes: depth grows as the 0.28th power (Brown et al. 2020, table 2.1)."""
    if not 5e6 <= parameters <= 2e12:
        return None
    layers, vocabulary, width = max(2, round(24 * (parameters / 1.3e9) ** 0.28)), 50_257, 64
    while 12 * layers * width * width + vocabulary * width < parameters:
        width += 64
    heads = max(1, width // 128)
    return Architecture(
        name=name, kind="decoder", layers=layers, width=width, inner=4 * width, heads=heads, kv_heads=heads, vocabulary=vocabulary,
        generic=True,
    )  # fmt: skip


# What configurations of transformers call a size, in the order in which it is looked for.
_NAMES = {
    "width": ("hidden_size", "n_embd", "d_model", "dim"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "inner": ("intermediate_size", "d_ff", "n_inner", "hidden_dim", "encoder_ffn_dim"),
    "vocabulary": ("vocab_size",),
    "head": ("head_dim", "d_kv"),
    "decoders": ("decoder_layers", "num_decoder_layers"),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "expert_width": ("moe_intermediate_size",),
    "active": ("num_experts_per_tok", "experts_per_token"),
    "shared": ("n_shared_experts",),
    "shared_width": ("shared_expert_intermediate_size",),
}
# Gated by another activation than these, or by default where a configuration does not say its activation.
_GATED_ACTIVATIONS = frozenset({"silu", "swish", "swiglu", "geglu"})
_GATED = frozenset(
    {"llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "granite", "modernbert"}
)
# Parts that this shape has no words for: latent attention, states instead of attention, layers of several kinds.
_ANOTHER_SHAPE = (
    "kv_lora_rank", "ssm_cfg", "mamba_d_state", "state_size", "linear_num_key_heads", "attn_layer_period", "text_config",
)  # fmt: skip
_ENCODERS = frozenset({"bert", "roberta", "distilbert", "electra", "mpnet", "xlm-roberta", "camembert", "modernbert"})


def from_config(config: Mapping[str, Json], name: str = "", *, verified: bool = True) -> Architecture | None:
    """The shape that a ``config.json`` says; None where it lacks a size, or its type is built otherwise, as far as is ``verified``.

    Verified are the types of which the shape counts the parameters that transformers builds: ``.github/model_types.py``.
    """
    kind = str(config.get("model_type", ""))
    if any(config.get(key) is not None for key in _ANOTHER_SHAPE) or (
        verified and kind not in _table()["verified"]["types"]
    ):
        return None
    sizes = {
        ours: next((n for each in theirs if (n := _whole(config.get(each)))), 0) for ours, theirs in _NAMES.items()
    }
    width, layers, heads, inner = sizes["width"], sizes["layers"], sizes["heads"], sizes["inner"]
    if not width or not layers or not heads:
        return None
    experts, active = 1, 1
    if sizes["experts"] > 1:
        inner = sizes["expert_width"] or inner
        shared = round(sizes["shared_width"] / inner) if inner and sizes["shared_width"] else sizes["shared"]
        experts, active = sizes["experts"] + shared, (sizes["active"] or 1) + shared
    both = bool(config.get("is_encoder_decoder"))
    acts = {str(config.get(key, "")) for key in ("hidden_act", "hidden_activation", "activation_function")}
    gated = bool(acts & _GATED_ACTIVATIONS) or kind in _GATED or "gated" in str(config.get("feed_forward_proj", ""))
    one_key = config.get("multi_query") is True and not config.get("new_decoder_architecture")
    return Architecture(
        name=name or kind,
        kind="mixture" if experts > 1 else "encoder-decoder" if both else _kind(kind),
        layers=layers + (sizes["decoders"] or layers) if both else layers,
        width=width,
        inner=inner or 4 * width,
        heads=heads,
        kv_heads=1 if one_key else sizes["kv_heads"] or heads,
        vocabulary=sizes["vocabulary"] or 1000,
        gated=gated,
        attention_width=sizes["head"] * heads,
        tied=config.get("tie_word_embeddings", not gated or kind.startswith("gemma")) is True,
        experts=experts,
        active_experts=active,
        composed=bool(acts & {"gelu_new", "gelu_fast"}),
    )


def _kind(model_type: str) -> str:
    if model_type == "albert":
        return "shared-encoder"
    if "deberta" in model_type:
        return "disentangled-encoder"
    return "encoder" if model_type in _ENCODERS else "vision" if "vit" in model_type else "decoder"


def in_folder(name: str) -> Architecture | None:
    """The shape in a folder's ``config.json``, or in that file itself; None where there is none, or weights beside it say another size."""
    if "\n" in name or len(name) > 1000:
        return None
    path = Path(name) if name.endswith(".json") else Path(name, "config.json")
    config = _json(path)
    shape = from_config(config, name.rstrip("/").rpartition("/")[2])
    about = _json(path.with_name("model.safetensors.index.json")).get("metadata")
    size = _whole(about.get("total_size"), cap=10**14) if isinstance(about, dict) else 0
    bits = re.search("(16|32)$", str(config.get("dtype") or config.get("torch_dtype") or ""))
    if shape and size and bits and not config.get("quantization_config"):
        return None if abs(shape.parameters / (size * 8 / int(bits[1])) - 1) > NEAR else shape
    return shape


def _json(path: Path) -> Mapping[str, Json]:
    try:
        text = path.read_text("utf-8") if path.is_file() and path.stat().st_size <= CONFIG_CAP else ""
        body = json.loads(text or "{}")
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def _whole(value: Json, cap: int = 10**8) -> int:
    """A positive whole number below ``cap``, what any model has; 0 for all else."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    return number if 0 < number < cap else 0
