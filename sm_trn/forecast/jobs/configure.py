"""A job's spec as a configuration of the model of speed and memory."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypedDict

from ...core.catalog.chips import Chip, find_chip
from ...core.catalog.instances import find_instance
from ...core.preflight import reading, source
from ...core.preflight.distribution import one_process
from ...core.specs.compute import Accelerator, InstanceType
from ...core.specs.job import JobSpec
from ...core.strategies import plan
from ...core.strategies.smp import SMModelParallel
from ...core.strategies.smp_v2 import SMModelParallelV2
from ...scripts.arguments import options
from ...scripts.programs import programs
from ...scripts.syntax import called, constants, literal
from ..architectures import STAND_IN, Architecture, ImageModel, Model, generic, sizes_in
from ..configuration import Configuration, Head, Recompute, Style
from ..method import Method, method_of
from ..training import DECIDED_LATER, arguments_of
from .facts import ACCUMULATION, BATCH, MODEL, SHIPPED, TARGET, Facts, Known, MissingFact
from .images import Loaders, loaders_of
from .lengths import lengths, packs

# When a version of PyTorch came out, in years.
PYTORCH: Mapping[str, float] = MappingProxyType(
    {"1.6": 2020.6, "1.7": 2020.8, "1.8": 2021.2, "1.9": 2021.4, "1.10": 2021.8, "1.11": 2022.2, "1.12": 2022.5, "1.13": 2022.8,
     "2.0": 2023.2, "2.1": 2023.8, "2.2": 2024.1, "2.3": 2024.3, "2.4": 2024.6, "2.5": 2024.8, "2.6": 2025.1, "2.7": 2025.3, "2.8": 2025.6,
     "2.9": 2025.8, "2.10": 2026.1, "2.11": 2026.3, "2.12": 2026.5, "2.13": 2026.6}
)  # fmt: skip
_SIZES = ("per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_steps")
SDPA_SINCE = (4, 36)  # transformers: PyTorch's fused attention is the default of decoders and of BERT's newer classes
TF32_OFF = 2022.45  # PyTorch 1.12 turned TF32 off for products


@dataclass(frozen=True, slots=True)
class Configured:
    """The configuration of the longest batch, which memory follows from, and that of the average one, which time follows from.

    ``others`` are those that open facts allow besides; ``assumed`` says in words what nobody said. ``may`` is what the script may
    make of the first.
    """

    configuration: Configuration
    average: Configuration
    others: tuple[Configuration, ...]
    assumed: tuple[str, ...]
    doubt: float
    may: Configuration | None = None
    packed: bool = False  # texts are joined and cut into blocks
    loaders: Loaders | None = None  # None: no image files are loaded


class Spread(TypedDict):
    """The fields of a configuration that say how workers share its work."""

    data: int
    tensor: int
    pipeline: int
    workers_per_host: int
    driven: int
    laid_over: int


def facts_of(job: JobSpec, known: Known) -> Facts:
    """What the caller knows, what the job's arguments say, and what its script says itself."""
    script = job.script
    ours = script is not None and script.source_dir is None and script.git is None
    shipped = SHIPPED.get(script.entry, {}) if script is not None and ours else {}
    return Facts(job, known, {**shipped, **arguments_of(job)})


def configure(facts: Facts) -> Configured:
    """The configuration of a job. Raises MissingFact for what is neither said nor given."""
    job = facts.job
    instance, chip = machine(job)
    model = facts.model()
    batch, tokens = facts.batch(), lengths(facts, model)
    assumed = [*_of_script(facts), *([tokens.assumed] if tokens.assumed else [])]
    release = _release(job)
    precision, doubt = _precision(facts, chip, release, assumed)
    read = method_of(job)
    method = read.method
    style, family, flash = _software(facts, chip, model, release)
    spread = _spread(facts, instance, assumed)
    configuration = Configuration(
        model=model,
        chip=chip,
        precision=precision,
        style=style,
        family=family,
        sequence=tokens.longest,
        target=_target(facts, model, tokens.longest),
        micro_batch=batch,
        micro_steps=facts.accumulation(),
        **spread,
        hosts=job.compute.hosts,
        network_gbps=instance.network_gbps or 10.0,
        sharding=method.sharding,
        recompute=Recompute.FULL if method.recompute else Recompute.NONE,
        head=_head(facts, model),
        adapters=method.adapters,
        adapted=_adapted(job),
        weight_bits=method.weight_bits,
        optimizer_bytes=method.optimizer_bytes,
        half_states=method.half and not method.master and not chip.generation.startswith("trainium"),
        forward_only=method.evaluates_only,
        autocast=not _pure(facts, method),
        flash=flash if method.flash is None else method.flash,
        release=release,
    )
    average = dataclasses.replace(configuration, sequence=tokens.average, target=_target(facts, model, tokens.average))
    others = [
        dataclasses.replace(average, sequence=each) for each in (tokens.least, tokens.most) if each != tokens.average
    ]
    if isinstance(model, Architecture) and model.generic:
        named = facts.text(MODEL) or "the model"
        assumed.append(f"a plain decoder of {model.name}: the shape of {named} is not known")
        others += [dataclasses.replace(average, model=generic(each, named)) for each in sizes_in(named)]
        doubt *= STAND_IN
    if precision == "tf32" and "precision" not in facts.known:
        others += [dataclasses.replace(each, precision="fp32") for each in (average, *others)]
    may = _as(configuration, read.other) if read.other is not None else None
    if may is not None:
        others.append(_as(average, read.other or method))
        assumed.append(f"what the arguments say, for {read.why}, and what it does with them is decided when it runs")
    if isinstance(model, ImageModel) and tokens.least < tokens.longest:
        may = dataclasses.replace(may or configuration, sequence=tokens.least)
    loaders = loaders_of(job) if isinstance(model, ImageModel) else None
    if loaders is not None:
        assumed.append(loaders.assumed)
    words = reading.words(job)
    if (job.profiling is not None and job.profiling.parameters) or (words is not None and words.any_of("smdebug")):
        assumed.append(
            "profiling takes no time: that of the framework took longer than the training of two public jobs"
        )
    packed = packs(facts, model)
    return Configured(configuration, average, tuple(others), tuple(assumed), doubt, may, packed, loaders)


def _as(c: Configuration, method: Method) -> Configuration:
    """The configuration trained in another way."""
    return dataclasses.replace(
        c, sharding=method.sharding, recompute=Recompute.FULL if method.recompute else c.recompute, adapters=method.adapters,
        weight_bits=method.weight_bits, optimizer_bytes=method.optimizer_bytes,
    )  # fmt: skip


def _adapted(job: JobSpec) -> float:
    """The share of a decoder layer's seven products to which the source gives adapters; all, unless it writes their names out.

    Source: peft, constants.py: without names Llama and most others get them at q_proj and v_proj.
    """
    for _, text in programs(job):
        for call in source.calls(text):
            if called(call) == "LoraConfig" and call.keywords and all(word.arg for word in call.keywords):
                return _share(next((word.value for word in call.keywords if word.arg == "target_modules"), None), text)
    return 1.0


def _share(named: ast.expr | None, text: str) -> float:
    try:
        modules = ["q_proj", "v_proj"] if named is None else literal(named, constants(text))
    except ValueError:
        return 1.0
    listed = isinstance(modules, list) and all(str(each).endswith("_proj") for each in modules)
    return min(1.0, len(modules) / 7) if listed and modules else 1.0


def machine(job: JobSpec) -> tuple[InstanceType, Chip]:
    """The one instance type that trains, and its chip. Raises MissingFact."""
    names = job.compute.instances
    instance = find_instance(names[0]) if len(names) == 1 else None
    if instance is None:
        raise MissingFact(
            "instance",
            f"which machines train, got {' and '.join(names)}",
            "one instance type of sm-trn catalog instances",
        )
    chip = find_chip(instance.chip)
    if chip is None:
        raise MissingFact(
            "instance",
            f"how fast {instance.name} is: no accelerator of it is in the table",
            'an instance with an accelerator, such as instance = "ml.g5.xlarge"; jobs on CPUs are not estimated',
        )
    return instance, chip


def _of_script(facts: Facts) -> list[str]:
    """What of the size of the training no hyperparameter of that name says, and the script does, in words."""
    script, given = facts.job.script, facts.arguments
    told = [f"{name} = {given[name]}" for name in _SIZES if name in given and name not in facts.job.arguments]
    return (
        [f"{script.entry} trains with {', '.join(told)}"] if told and script is not None and script.source_dir else []
    )


def _spread(facts: Facts, instance: InstanceType, assumed: list[str]) -> Spread:
    """How the job's workers share the model and the data."""
    job = facts.job
    driven, laid_over = _by_one_process(job, instance)
    if driven > 1:
        how = f"Trainer drives {driven} GPUs from one process (torch.nn.DataParallel)"
        assumed.append(f"{how}, for the job has no distribution")
    if laid_over > 1:
        assumed.append(f"one process lays the model over {laid_over} GPUs, which compute one after another")
    per_host = max(1, plan(job).workers_per_host, driven)
    workers = per_host * job.compute.hosts
    tensor = min(workers, _degree(facts, "tensor"))
    pipeline = min(max(1, workers // tensor), _degree(facts, "pipeline"))
    return {
        "data": max(1, workers // (tensor * pipeline)),
        "tensor": tensor,
        "pipeline": pipeline,
        "workers_per_host": per_host,
        "driven": driven,
        "laid_over": laid_over,
    }


def _by_one_process(job: JobSpec, instance: InstanceType) -> tuple[int, int]:
    """GPUs that the one process of a job without a distribution drives at once, and GPUs over which it lays the model.

    Source: transformers, TrainingArguments.n_gpu and Trainer: several GPUs in one process are torch.nn.DataParallel, unless the model is
    laid over them by ``device_map``.
    """
    found = reading.words(job)
    if found is None or instance.accelerator is not Accelerator.CUDA or not one_process(job):
        return 1, 1
    if reading.keywords(job).get("device_map", frozenset()) & {"auto", "balanced", "sequential"}:
        return 1, instance.workers
    return (instance.workers, 1) if any(word.endswith("Trainer") for word in found.all) else (1, 1)


def _release(job: JobSpec) -> float:
    version = str(getattr(job.framework, "pytorch", "") or "")
    short = ".".join(version.split(".")[:2])
    return PYTORCH.get(short, 2024.5)


def _precision(facts: Facts, chip: Chip, release: float, assumed: list[str]) -> tuple[str, float]:  # noqa: PLR0911 - a ladder of what scripts write
    """The matrix units' precision, and how much wider the interval is for what is not said."""
    if "precision" in facts.known:
        asked = str(facts.known["precision"])
        if asked not in {"fp16", "bf16", "tf32", "fp32", "fp8"}:
            raise MissingFact(
                "precision", f"the precision {asked!r}", "precision='fp32', 'tf32', 'fp16', 'bf16' or 'fp8' in Python"
            )
        return asked, 1.0
    named = facts.text(
        ("torch_dtype", "dtype", "precision", "mixed_precision", "amp_dtype", "half_precision_backend")
    ).lower()
    environment = facts.job.variables
    cast = any(environment.get(name, "0") not in {"0", ""} for name in ("XLA_USE_BF16", "XLA_DOWNCAST_BF16"))
    if DECIDED_LATER in (facts.arguments.get("bf16"), facts.arguments.get("fp16")) and not chip.generation.startswith(
        "trainium"
    ):
        half = "fp16" if chip.bf16 is None else "bf16"
        assumed.append(f"{half}: the script takes 16 bits as the device allows")
        return half, 1.0
    if facts.said(("bf16",)) or "bf" in named or cast:
        return "bf16", 1.0
    if facts.said(("fp16", "amp")) or "16" in named:
        return "fp16", 1.0
    shipped = facts.job.script is not None and facts.job.script.source_dir is None
    if shipped and chip.bf16 is not None and "bf16" not in facts.arguments:
        assumed.append("bfloat16, as the shipped scripts compute where the device has it")
        return "bf16", 1.0
    if chip.generation.startswith("trainium"):
        assumed.append("float32 weights, multiplied in bfloat16 as the Neuron compiler does by default")
        return "fp32", 1.1
    if chip.tf32 is not None and (release < TF32_OFF or facts.said(("tf32",))):
        assumed.append(
            "float32, multiplied in TF32 as PyTorch before 1.12 does unless told otherwise: without it up to three times slower"
        )
        return "tf32", 1.2
    assumed.append("float32: no argument says bf16 or fp16")
    return "fp32", 1.2


def _pure(facts: Facts, method: Method) -> bool:
    """Whether weights themselves are 16-bit."""
    neuron = facts.job.neuron
    return method.half or (
        neuron is not None and (neuron.zero_1 or neuron.stochastic_rounding or neuron.tensor_parallel > 1)
    )


def _software(facts: Facts, chip: Chip, model: Model, release: float) -> tuple[Style, str, bool]:
    if chip.generation.startswith("trainium"):
        split = _degree(facts, "tensor") > 1 or (facts.job.neuron is not None and facts.job.neuron.zero_1)
        return Style.NEURON, "neuronx-distributed" if split else "neuron-xla", False
    compiled = facts.job.compiled or facts.said(("torch_compile",))
    transformers = str(getattr(facts.job.framework, "transformers", "") or "")
    version = tuple(int(part) for part in re.findall(r"\d+", transformers)[:2])
    asked = facts.text(("attn_implementation",)).lower()
    newer = version >= SDPA_SINCE if version else release > 2024.0
    flash = "eager" not in asked and (
        "flash" in asked or "sdpa" in asked or (newer and isinstance(model, Architecture) and model.causal)
    )
    flash = flash or facts.said(("flash_attention", "use_flash_attention", "use_flash_attention_2"))
    family = "deepspeed" if facts.text(("deepspeed",)) else "transformers"
    return Style.COMPILED if compiled else Style.EAGER, "other" if compiled else family, flash


def _degree(facts: Facts, kind: str) -> int:
    distribution = facts.job.distribution
    if isinstance(distribution, (SMModelParallel, SMModelParallelV2)):
        said = plan(facts.job).parameters
        value = said.get(f"{kind}_parallel_degree") or (said.get("partitions") if kind == "pipeline" else None)
        return int(value) if isinstance(value, int) and value > 0 else 1
    found = facts.number((f"{kind}_parallel_size", f"{kind}_parallel_degree"))
    return max(1, int(found or 1))


def _target(facts: Facts, model: Model, length: float) -> float:
    if isinstance(model, ImageModel) or model.kind != "encoder-decoder":
        return 0.0
    return facts.number(TARGET) or min(128.0, length)


def _head(facts: Facts, model: Model) -> Head:
    if isinstance(model, ImageModel):
        return Head.LABEL
    if model.causal or model.kind == "encoder-decoder":
        return Head.TOKENS if not re.search(r"classif|glue", facts.words()) else Head.LABEL
    return Head.TOKENS if re.search(r"mlm|language_model|pretrain", facts.words()) else Head.LABEL


def batch_name(job: JobSpec) -> str:
    """The hyperparameter that says a worker's batch; empty where the script has it in its code, and no argument for it."""
    taken = options(job)
    names = (*(taken.names if taken is not None else ()), *job.hyperparameters)
    spelled = {name.replace("-", "_"): name for name in names}
    in_code = taken is None and BATCH[0] in arguments_of(job)
    return next((spelled[each] for each in BATCH if each in spelled), "" if in_code else BATCH[0])


def with_batch(job: JobSpec, batch: int, accumulation: int) -> JobSpec:
    """The job with another batch of a worker and another accumulation, in the words that it uses."""
    name = batch_name(job) or BATCH[0]
    kept = next((each for each in ACCUMULATION if each in job.hyperparameters), ACCUMULATION[0])
    changes: dict[str, str | int | float | bool] = {name: batch}
    if accumulation != 1 or kept in job.hyperparameters:
        changes[kept] = accumulation
    return job.replace(hyperparameters={**job.hyperparameters, **changes})
