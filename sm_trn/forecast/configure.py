"""A job's spec as a configuration: what it trains, how, on how many workers, and what its script may do besides."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..core.catalog.instances import Chip, find_chip, find_instance
from ..core.preflight import reading, source
from ..core.preflight.distribution import one_process
from ..core.specs.compute import Accelerator, InstanceType
from ..core.specs.job import JobSpec
from ..core.strategies import plan
from ..core.strategies.smp_v2 import SMModelParallelV2
from ..scripts.arguments import options
from .configuration import Configuration, Sharding, Style
from .data import lengths, packs
from .facts import ACCUMULATION, BATCH, TARGET, Facts, MissingFact, facts_of
from .models import Architecture

# Bytes of optimizer state a parameter, where they are not AdamW's two float32 moments: transformers, OptimizerNames; each one's paper.
OPTIMIZER_BYTES: Mapping[str, float] = {
    "adafactor": 0, "sgd": 0, "8bit": 2, "lion": 4, "galore": 0, "apollo": 0, "adagrad": 4, "rmsprop": 4,
}  # fmt: skip
HALF = frozenset({"bfloat16", "float16", "bf16", "fp16", "half"})
TYPE_FLAGS = ("torch_dtype", "dtype", "model_dtype", "param_dtype")
ADAPTER_FLAGS = ("adapter", "use_lora", "lora_r", "lora_rank", "use_peft", "peft", "use_qlora")
RECOMPUTE_FLAGS = ("gradient_checkpointing", "activation_checkpointing", "use_gradient_checkpointing")
# Words of a source, by what they do to the state of training.
QUANTISES = ("BitsAndBytesConfig", "load_in_4bit", "load_in_8bit", "bitsandbytes")
ADAPTS = ("get_peft_model", "peft_config", "FastLanguageModel")
SHARDS = (
    "FullyShardedDataParallel", "fully_shard", "neuronx_distributed", "parallelize_module", "torchtitan", "megatron", "nemo",
)  # fmt: skip
OFFLOADS = ("deepspeed", "colossalai", "fairscale", "axolotl")  # it may: their configurations say how much
FREEZES = ("requires_grad_", "requires_grad", "freeze")
SMALL_OPTIMIZERS = ("Adafactor", "SGD", "AdamW8bit", "ZeroRedundancyOptimizer")


@dataclass(frozen=True, slots=True)
class Configured:
    """The configuration of the longest batch, which memory follows from, and that of the average one, which time follows from.

    ``others`` are those that open facts allow besides; ``assumed`` says in words what nobody said. ``may`` is what the script may
    make of the first, and ``why`` the words that say so.
    """

    configuration: Configuration
    average: Configuration
    others: tuple[Configuration, ...] = ()
    assumed: tuple[str, ...] = ()
    may: Configuration | None = None
    why: str = ""
    packed: bool = False  # texts are joined and cut into blocks


def configure(facts: Facts) -> Configured:
    """The configuration of a job. Raises MissingFact for what is neither said nor given."""
    job = facts.job
    instance, chip = machine(job)
    model, batch = facts.model(), facts.batch()
    tokens = lengths(facts, model)
    assumed = [tokens.assumed] if tokens.assumed else []
    precision, neuron = _precision(facts, chip, assumed), chip.generation.startswith("trainium")
    compiled = job.compiled or facts.given("torch_compile")
    given = Configuration(
        model=model,
        chip=chip,
        precision=precision,
        style=Style.NEURON if neuron else Style.COMPILED if compiled else Style.EAGER,
        sequence=tokens.longest,
        target=facts.number(TARGET) or min(128.0, tokens.longest) if model.kind == "encoder-decoder" else 0.0,
        micro_batch=batch,
        micro_steps=facts.number(ACCUMULATION) or 1.0,
        hosts=job.compute.hosts,
        network_gbps=instance.network_gbps or 10.0,
        predicted=_predicted(facts, model),
        flash=0 if neuron else _flash(facts, model),
    )
    given = _by_arguments(facts, _spread(facts, given, instance, assumed))
    c, may, why = _by_source(facts, given, instance)
    average = replace(c, sequence=tokens.average)
    others = [replace(average, sequence=each) for each in (tokens.least, tokens.most) if each != tokens.average]
    if model.generic:
        assumed.append(f"a plain decoder of {model.name}, for the model's own shape is not known")
    if precision == "tf32" and "precision" not in facts.known:
        others += [replace(each, precision="fp32") for each in (average, *others)]
    if may is not None:
        others.append(replace(may, sequence=average.sequence))
        assumed.append(f"what the arguments say, for {why}, and what it does with them is decided when it runs")
    return Configured(c, average, tuple(others), tuple(assumed), may, why, packs(facts, model))


def machine(job: JobSpec) -> tuple[InstanceType, Chip]:
    """The one instance type that trains, and its chip. Raises MissingFact."""
    names = job.compute.instances
    instance = find_instance(names[0]) if len(names) == 1 else None
    if instance is None:
        fix = "one instance type of sm-trn catalog instances"
        raise MissingFact("instance", f"which machines train, got {' and '.join(names)}", fix)
    chip = find_chip(instance.chip)
    if chip is None:
        what = f"how fast {instance.name} is: no accelerator of it is in the table"
        cpu = "jobs on CPUs are not estimated"
        raise MissingFact(
            "instance", what, f'an instance with an accelerator, such as instance = "ml.g5.xlarge"; {cpu}'
        )
    return instance, chip


def _version(job: JobSpec, library: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", str(getattr(job.framework, library, "") or ""))[:2])


def _spread(facts: Facts, c: Configuration, instance: InstanceType, assumed: list[str]) -> Configuration:
    """With the workers that share the model and the data.

    Without a distribution several GPUs in one process are torch.nn.DataParallel, unless the model is laid over them by ``device_map``:
    transformers, TrainingArguments.n_gpu and Trainer.
    """
    job, driven, laid_over = facts.job, 1, 1
    if instance.accelerator is Accelerator.CUDA and instance.workers > 1 and one_process(job):
        if reading.keywords(job).get("device_map", set()) & {"auto", "balanced", "sequential"}:
            laid_over = instance.workers
            assumed.append(f"one process lays the model over {laid_over} GPUs, which compute one after another")
        elif any(word.endswith("Trainer") for word in reading.source_words(job).all):
            driven = instance.workers
            how = f"Trainer drives {driven} GPUs from one process (torch.nn.DataParallel)"
            assumed.append(f"{how}, for the job has no distribution")
    per_host = max(1, plan(job).workers_per_host, driven)
    workers = per_host * job.compute.hosts
    layout = replace(facts, arguments={**plan(job).parameters, **facts.arguments})
    tensor = int(layout.number(("tensor_parallel_size", "tensor_parallel_degree")) or 1)
    pipeline = int(layout.number(("pipeline_parallel_size", "pipeline_parallel_degree", "partitions")) or 1)
    tensor = min(workers, max(1, tensor))
    pipeline = min(workers // tensor, max(1, pipeline))
    data = max(1, workers // (tensor * pipeline))
    shared = replace(c, data=data, tensor=tensor, pipeline=pipeline, workers_per_host=per_host)
    return replace(shared, driven=driven, laid_over=laid_over)


def _precision(facts: Facts, chip: Chip, assumed: list[str]) -> str:
    """The matrix units' precision."""
    named = facts.text("torch_dtype", "dtype", "precision", "mixed_precision", "amp_dtype").lower()
    casts = {facts.job.variables.get(name) for name in ("XLA_USE_BF16", "XLA_DOWNCAST_BF16")}
    mixed = _mixed_by_deepspeed(facts)
    precision, why = "fp32", "float32: no argument says bf16 or fp16"
    if "precision" in facts.known:
        precision, why = str(facts.known["precision"]), ""
        if precision not in {"fp16", "bf16", "tf32", "fp32", "fp8"}:
            known = "precision='fp32', 'tf32', 'fp16', 'bf16' or 'fp8' in Python"
            raise MissingFact("precision", f"the precision {precision!r}", known)
    elif facts.given("bf16") or "bf" in named or "1" in casts or mixed == "bf16":
        precision, why = "bf16", ""
    elif facts.given("fp16", "amp") or "16" in named or mixed == "fp16":
        precision, why = "fp16", ""
    elif source.shipped(facts.job) and chip.bf16 is not None and "bf16" not in facts.arguments:
        precision, why = "bf16", "bfloat16, as the shipped scripts compute where the device has it"
    elif chip.generation.startswith("trainium"):
        why = "float32 weights, multiplied in bfloat16 as the Neuron compiler does by default"
    elif chip.tf32 is not None and (() < _version(facts.job, "pytorch") < (1, 12) or facts.given("tf32")):
        precision, why = (
            "tf32",
            "float32, multiplied in TF32 as PyTorch before 1.12 does: else up to three times slower",
        )
    if why:
        assumed.append(why)
    return precision


def _flash(facts: Facts, model: Architecture) -> int:
    """Whether attention never writes its scores: PyTorch's own is the default of decoders since transformers 4.36 (2023-12)."""
    job, kernel = facts.job, facts.text("attn_implementation").lower()
    transformers = _version(job, "transformers")
    modern = transformers >= (4, 36) if transformers else _version(job, "pytorch") >= (2, 2)
    named = reading.sure_words(job) & {"scaled_dot_product_attention", "flash_attn_func"}
    chosen = bool(named) or facts.given("flash_attention", "use_flash_attention", "use_flash_attention_2")
    if kernel:
        chosen = kernel in {"sdpa", "flash_attention_2", "flash_attention_3"}
    elif modern and model.causal:
        chosen = True
    return 0 if not chosen else 1 if () < _version(job, "pytorch") < (2, 1) else 2


def _predicted(facts: Facts, model: Architecture) -> float:
    if model.causal or model.kind == "encoder-decoder":
        return 0.0 if re.search(r"classif|glue", facts.words()) else 1.0
    return 1.0 if re.search(r"mlm|language_model|pretrain", facts.words()) else 0.0


def _by_arguments(facts: Facts, c: Configuration) -> Configuration:
    """With what the job keeps of its model, by its arguments and by DeepSpeed's configuration where that can be read."""
    own, zero, fsdp = facts.job.neuron, _mapping(_deepspeed(facts).get("zero_optimization")), facts.text("fsdp").lower()
    kept = any(str(facts.arguments.get(flag)).removeprefix("torch.") in HALF for flag in TYPE_FLAGS)
    mixed = bool(_mixed_by_deepspeed(facts))
    pure = own is not None and (own.zero_1 or own.stochastic_rounding or own.tensor_parallel > 1)
    bits = 4 if facts.given("load_in_4bit", "use_4bit", "use_qlora") else 8 * facts.given("load_in_8bit", "use_8bit")
    untrained = str(facts.arguments.get("do_train")).lower() in {"false", "0"}
    optimizer = facts.text("optim", "optimizer").lower()
    devices = {_mapping(zero.get(name)).get("device", "none") for name in ("offload_optimizer", "offload_param")}
    stage, by_smp = zero.get("stage", 0), isinstance(facts.job.distribution, SMModelParallelV2)
    sharding = Sharding.OPTIMIZER if stage == 1 or (own is not None and own.zero_1) else Sharding.NONE
    if fsdp not in {"", "false"} or stage == 3 or by_smp:
        sharding = Sharding.FULL
    if "shard_grad_op" in fsdp or stage == 2:
        sharding = Sharding.GRADIENTS
    if devices != {"none"} or "offload" in fsdp:
        sharding = Sharding.OFFLOAD
    return replace(
        c,
        adapted=float(facts.given(*ADAPTER_FLAGS)),
        weight_bits=bits,
        autocast=not (kept or mixed or pure),
        half_states=kept and not mixed and not c.neuron,
        sharding=sharding,
        optimizer_bytes=next((size for word, size in OPTIMIZER_BYTES.items() if word in optimizer), 8.0),
        forward_only=facts.given("do_eval", "do_predict") and untrained,
        recompute=float(facts.given(*RECOMPUTE_FLAGS)),
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _mixed_by_deepspeed(facts: Facts) -> str:
    """The 16 bits of weights that DeepSpeed's configuration turns on; ``auto`` takes Trainer's own flag."""
    switches = {kind: _mapping(_deepspeed(facts).get(kind)).get("enabled") for kind in ("bf16", "fp16")}
    return next((kind for kind, on in switches.items() if on is True or (on == "auto" and facts.given(kind))), "")


def _deepspeed(facts: Facts) -> Mapping[str, object]:
    """DeepSpeed's configuration, where it is a file of the source folder or JSON itself; under ``unread`` what cannot be read."""
    folder = source.source_folder(facts.job)
    named = facts.text("deepspeed", "deepspeed_config", "deepspeed_config_file")
    text: str | None = named or "{}"
    if not str(text).lstrip().startswith("{"):
        text = source.text(folder / named.removeprefix("/opt/ml/code/")) if folder is not None else None
    try:
        body = json.loads(text or "null")
    except ValueError:
        body = None
    return body if isinstance(body, Mapping) else {"unread": named}


def _by_source(
    facts: Facts, c: Configuration, instance: InstanceType
) -> tuple[Configuration, Configuration | None, str]:
    """The configuration with what the source surely does, the one that it may make of it, and the words that say so.

    A word that stands under no condition is believed. Any other is left open.
    """
    job, words, sure = facts.job, reading.source_words(facts.job), reading.sure_words(facts.job)
    given = reading.keywords(job)
    true = {name for name, values in given.items() if values == {True}}
    bits = 4 if "load_in_4bit" in true & sure else 8 if "load_in_8bit" in true & sure else 0
    projections = sum(f"{each}_proj" in words.all for each in ("q", "k", "v", "o", "gate", "up", "down"))
    everywhere = "LoraConfig" not in words.all or "all-linear" in given.get("target_modules", ())
    adapted = 1.0 if everywhere else (projections or 2) / 7  # peft: q_proj and v_proj where no name is given
    types = {str(each).rpartition(".")[2] for name in TYPE_FLAGS for each in given.get(name, ())}
    half = bool(types and types <= HALF and sure & set(TYPE_FLAGS))
    kept = replace(
        c,
        adapted=adapted if c.adapters or sure & set(ADAPTS) else 0.0,
        weight_bits=c.weight_bits or bits,
        autocast=c.autocast and not half,
        half_states=c.half_states or (half and not c.neuron),
        sharding=Sharding.FULL if c.sharding is Sharding.NONE and sure & set(SHARDS) else c.sharding,
        recompute=1.0 if "gradient_checkpointing_enable" in sure else c.recompute,
    )
    unread = _deepspeed(facts).get("unread")
    if unread:
        return kept, replace(kept, sharding=Sharding.OFFLOAD), f"{unread!r} cannot be read"
    quantises, freezes = words.any_of(*QUANTISES), words.any_of(*ADAPTS, *FREEZES)
    offloads, shards = words.any_of(*OFFLOADS), words.any_of(*SHARDS)
    slight, halves = words.any_of(*SMALL_OPTIMIZERS), words.any_of("bfloat16", "float16", "half")
    spreads = words.any_of("device_map") if one_process(job) else ()
    may = replace(
        kept,
        adapted=kept.adapted or (adapted if freezes else 0.0),
        weight_bits=kept.weight_bits or (4 if quantises else 0),
        sharding=Sharding.OFFLOAD if offloads else Sharding.FULL if shards else kept.sharding,
        recompute=1.0 if words.any_of("gradient_checkpointing_enable", "gradient_checkpointing") else kept.recompute,
        optimizer_bytes=0.0 if slight else kept.optimizer_bytes,
        laid_over=instance.workers if spreads else kept.laid_over,
        autocast=kept.autocast and not (halves and words.any_of(*TYPE_FLAGS)),
    )
    named = (*quantises, *freezes, *shards, *offloads, *slight, *spreads, *halves, "gradient_checkpointing")
    return kept, None if may == kept else may, f"the script names {', '.join(dict.fromkeys(named[:3]))}"


def batch_name(job: JobSpec) -> str:
    """The hyperparameter that says a worker's batch; empty where the script has it in its code, and no argument for it."""
    taken = options(job)
    names = (*(taken.names if taken is not None else ()), *job.hyperparameters)
    spelled = {name.replace("-", "_"): name for name in names}
    in_code = taken is None and BATCH[0] in facts_of(job, {}).arguments
    return next((spelled[each] for each in BATCH if each in spelled), "" if in_code else BATCH[0])


def with_batch(job: JobSpec, batch: int, accumulation: int) -> JobSpec:
    """The job with another batch of a worker and another accumulation, in the words that it uses."""
    kept = next((each for each in ACCUMULATION if each in job.hyperparameters), ACCUMULATION[0])
    changes: dict[str, str | int | float | bool] = {batch_name(job) or BATCH[0]: batch}
    if accumulation != 1 or kept in job.hyperparameters:
        changes[kept] = accumulation
    return job.replace(hyperparameters={**job.hyperparameters, **changes})
