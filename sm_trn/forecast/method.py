"""How a job trains what it trains: adapters, quantised or 16-bit weights, sharding, the optimizer's state, evaluation alone.

Read once, for ``check``, ``estimate`` and ``plan``: from the arguments, from DeepSpeed's configuration where it is there, and from the
source, whose words are believed where they stand under no condition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core.preflight import reading, source
from ..core.specs.job import JobSpec
from ..core.strategies.smp_v2 import SMModelParallelV2
from .configuration import Sharding
from .training import arguments_of, file_here

ADAMW_BYTES = 8.0  # two float32 moments of a parameter
# Bytes of optimizer state a parameter, beside AdamW's: transformers, OptimizerNames; the states of each optimizer's paper.
OPTIMIZER_BYTES: Mapping[str, float] = {
    "adafactor": 0,
    "sgd": 0,
    "8bit": 2,
    "lion": 4,
    "galore": 0,
    "apollo": 0,
    "adagrad": 4,
    "rmsprop": 4,
}
HALF = frozenset({"bfloat16", "float16", "bf16", "fp16", "half"})
TYPE_FLAGS = ("torch_dtype", "dtype", "model_dtype", "param_dtype")
ADAPTER_FLAGS = ("adapter", "use_lora", "lora_r", "lora_rank", "use_peft", "peft", "use_qlora")
RECOMPUTE_FLAGS = ("gradient_checkpointing", "activation_checkpointing", "use_gradient_checkpointing")
DEEPSPEED_FLAGS = ("deepspeed", "deepspeed_config", "deepspeed_config_file")  # Trainer's, DeepSpeed's own, accelerate's
# Words of a source, by what they do to the state of training.
QUANTISES = ("BitsAndBytesConfig", "load_in_4bit", "load_in_8bit", "bitsandbytes")
ADAPTS = ("peft", "LoraConfig", "get_peft_model", "unsloth")
SHARDS = (
    "FullyShardedDataParallel",
    "fully_shard",
    "neuronx_distributed",
    "parallelize_module",
    "torchtitan",
    "megatron",
    "nemo",
)
SPREADS = ("device_map",)
OFFLOADS = ("deepspeed", "colossalai", "fairscale", "axolotl")  # it may: their configurations say how much
FREEZES = ("requires_grad_", "requires_grad", "freeze")
HALVES = ("bfloat16", "float16", "half")
SMALL_OPTIMIZERS = ("Adafactor", "SGD", "AdamW8bit", "ZeroRedundancyOptimizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """``half``: the weights themselves have 16 bits; ``master``: beside a float32 copy of them. ``recompute``: activations are computed
    a second time. ``flash``: attention never writes its scores, or None where nothing says.
    """

    adapters: bool = False
    weight_bits: int = 0
    half: bool = False
    master: bool = False
    sharding: Sharding = Sharding.NONE
    optimizer_bytes: float = ADAMW_BYTES
    evaluates_only: bool = False
    recompute: bool = False
    flash: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """``method`` is what surely holds. ``other`` is what the source may do besides, and ``why`` the words that say so."""

    method: Method
    other: Method | None = None
    why: str = ""


def method_of(job: JobSpec) -> Read:
    """How the job trains, by its arguments and by its source."""
    said = _by_arguments(job)
    named = deepspeed_file(job)
    if named is not None and not deepspeed(job):
        other = replace(said, sharding=Sharding.OFFLOAD)
        return Read(method=said, other=other, why=f"{named!r} cannot be read")
    found = reading.words(job)
    return Read(method=said) if found is None else _by_source(said, found, reading.keywords(job))


def _by_arguments(job: JobSpec) -> Method:
    return Method(
        adapters=any(said(job, flag) for flag in ADAPTER_FLAGS),
        weight_bits=int(quantised(job) or 0),
        half=half(job) or mixed_by_deepspeed(job),
        master=mixed_by_deepspeed(job),
        sharding=_sharding(job),
        optimizer_bytes=optimizer_bytes(job),
        evaluates_only=only_evaluates(job),
        recompute=any(said(job, flag) for flag in RECOMPUTE_FLAGS),
    )


def _by_source(method: Method, found: reading.Words, given: Mapping[str, frozenset[object]]) -> Read:
    """What the source does beside what the arguments say. A word under a condition may do it, and is left open."""
    open_ = found.undecided | found.asked_for
    sure = found.all - open_
    bits = 4 if _true(given, "load_in_4bit") else 8 if _true(given, "load_in_8bit") else 0
    types = {str(each).rpartition(".")[2] for name in TYPE_FLAGS for each in given.get(name, ())}
    kept = replace(
        method,
        adapters=method.adapters or bool(sure & {"get_peft_model", "peft_config", "FastLanguageModel"}),
        weight_bits=method.weight_bits or (bits if {f"load_in_{bits}bit"} & sure else 0),
        half=method.half or bool(types and types <= HALF and sure & set(TYPE_FLAGS)),
        sharding=Sharding.FULL if method.sharding is Sharding.NONE and sure & set(SHARDS) else method.sharding,
        optimizer_bytes=min([method.optimizer_bytes, *_named_optimizers(given)]),
        recompute=method.recompute or _true(given, "gradient_checkpointing") or "gradient_checkpointing_enable" in sure,
        flash=_flash(given, sure),
    )
    may = replace(
        kept,
        adapters=kept.adapters or bool(open_ & {"get_peft_model", "peft_config"}) or bool(found.all & set(FREEZES)),
        weight_bits=kept.weight_bits
        or (4 if found.all & {"load_in_4bit", "load_in_8bit", "BitsAndBytesConfig"} else 0),
        sharding=Sharding.OFFLOAD
        if found.all & set(OFFLOADS)
        else Sharding.FULL
        if open_ & set(SHARDS)
        else kept.sharding,
        recompute=kept.recompute or "gradient_checkpointing_enable" in open_ or "gradient_checkpointing" in given,
    )
    words = found.any_of(*QUANTISES, *ADAPTS, *SHARDS, *OFFLOADS, *FREEZES)
    return (
        Read(method=kept)
        if may == kept
        else Read(method=kept, other=may, why=f"the script names {', '.join(words[:3])}")
    )


def _true(given: Mapping[str, frozenset[object]], name: str) -> bool:
    return given.get(name) == frozenset({True})


def _named_optimizers(given: Mapping[str, frozenset[object]]) -> list[float]:
    named = [str(each).lower() for each in given.get("optim", ())]
    return (
        [size for name in named[:1] for word, size in OPTIMIZER_BYTES.items() if word in name]
        if len(named) == 1
        else []
    )


def _flash(given: Mapping[str, frozenset[object]], sure: frozenset[str]) -> bool | None:
    asked = given.get("attn_implementation", frozenset())
    if len(asked) == 1:
        return str(next(iter(asked))) in {"flash_attention_2", "flash_attention_3", "sdpa"}
    return True if sure & {"scaled_dot_product_attention", "flash_attn_func"} else None


def said(job: JobSpec, flag: str) -> bool:
    """Whether an argument is given and is not a way to say no."""
    return str(arguments_of(job).get(flag) or "").lower() not in {"", "0", "false", "none", "no", "off"}


def quantised(job: JobSpec) -> str:
    """``4`` or ``8``: the bits of quantised weights; empty where the arguments ask for none."""
    for bits in ("4", "8"):
        if said(job, f"load_in_{bits}bit") or said(job, f"use_{bits}bit") or (bits == "4" and said(job, "use_qlora")):
            return bits
    return ""


def half(job: JobSpec) -> bool:
    """Whether the arguments ask for 16-bit weights."""
    return any(str(arguments_of(job).get(flag)).removeprefix("torch.") in HALF for flag in TYPE_FLAGS)


def only_evaluates(job: JobSpec) -> bool:
    """Whether the job is told not to train."""
    asked = any(said(job, flag) for flag in ("do_eval", "do_predict"))
    return asked and "do_train" in arguments_of(job) and not said(job, "do_train")


def optimizer_bytes(job: JobSpec) -> float:
    """Bytes of optimizer state a parameter, in float32."""
    name = str(arguments_of(job).get("optim") or arguments_of(job).get("optimizer") or "").lower()
    return next((count for word, count in OPTIMIZER_BYTES.items() if word in name), ADAMW_BYTES)


def deepspeed_file(job: JobSpec) -> object:
    """What the job's arguments name as DeepSpeed's configuration."""
    return next((value for name in DEEPSPEED_FLAGS if (value := arguments_of(job).get(name))), None)


def deepspeed(job: JobSpec) -> Mapping[str, Any]:
    """The job's DeepSpeed configuration, where it is a file of the source folder or JSON itself."""
    named = deepspeed_file(job)
    if not isinstance(named, str):
        return {}
    try:
        body = json.loads(named if named.lstrip().startswith("{") else source.text(file_here(job, named)) or "{}")
    except ValueError:
        return {}
    return body if isinstance(body, Mapping) else {}


def mixed_by_deepspeed(job: JobSpec) -> bool:
    """Whether DeepSpeed's configuration turns 16-bit weights on; ``auto`` takes Trainer's own flag."""
    for kind in ("bf16", "fp16"):
        part = deepspeed(job).get(kind)
        enabled = part.get("enabled", False) if isinstance(part, Mapping) else False
        if enabled is True or (enabled == "auto" and said(job, kind)):
            return True
    return False


def offloads(job: JobSpec) -> bool:
    """Whether parameters or optimizer state wait in host memory: how much then stays on the device is the library's affair."""
    zero = deepspeed(job).get("zero_optimization") or {}
    by_deepspeed = isinstance(zero, Mapping) and any(
        isinstance(part := zero.get(name), Mapping) and part.get("device", "none") != "none"
        for name in ("offload_optimizer", "offload_param")
    )
    return by_deepspeed or "offload" in str(arguments_of(job).get("fsdp") or "")


def zero_stage(job: JobSpec) -> int:
    """The stage of DeepSpeed's ZeRO; 0 where there is none."""
    zero = deepspeed(job).get("zero_optimization") or {}
    stage = zero.get("stage", 0) if isinstance(zero, Mapping) else 0
    return stage if isinstance(stage, int) else 0


def _sharding(job: JobSpec) -> Sharding:
    fsdp = str(arguments_of(job).get("fsdp") or "")
    stage = zero_stage(job)
    if offloads(job):
        return Sharding.OFFLOAD
    if "shard_grad_op" in fsdp or stage == 2:
        return Sharding.GRADIENTS
    if (fsdp and fsdp.lower() != "false") or stage == 3 or isinstance(job.distribution, SMModelParallelV2):
        return Sharding.FULL
    if stage == 1 or (job.neuron is not None and job.neuron.zero_1):
        return Sharding.OPTIMIZER
    return Sharding.NONE
