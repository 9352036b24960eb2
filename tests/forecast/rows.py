"""Published measurements as configurations: a row of a table, in the fields that tables have, read or refused with a reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sm_trn.core.catalog.chips import Chip, find_chip
from sm_trn.core.catalog.instances import find_instance, instances
from sm_trn.core.specs.compute import InstanceType
from sm_trn.core.specs.json import Object
from sm_trn.forecast.architectures import STAND_IN, Architecture, ImageModel, Model, find_model
from sm_trn.forecast.configuration import Configuration, Head, Recompute, Sharding, Style
from sm_trn.forecast.method import OPTIMIZER_BYTES

from .accelerators import accelerator, as_built
from .fields import Refusal, number, text, whole
from .units import Unit, unit_of

SQUAD_LENGTH, GLUE_LENGTH = 384, 128  # max_seq_length of the recipes
BINNED = 0.66  # mean length of NVIDIA's binned pre-training batches over their limit: bins of 64 of the launch scripts
DIFFUSION_BATCH = 2048  # global batch of the published diffusion recipe


@dataclass(frozen=True, slots=True)
class Measurement:
    """A row read: how it was trained, what it measured, and how seconds of a step become its unit."""

    configuration: Configuration
    group: str
    published: float
    unit: Unit
    doubt: float = 1.0  # times the width of the interval: what the row does not say

    def value(self, seconds: float) -> float:
        """The row's unit from seconds of an optimizer step."""
        unit = self.unit
        return unit.factor / seconds if unit.rate else unit.factor * seconds + unit.plus

    def seconds(self, value: float) -> float:
        """Seconds of a step from the row's unit."""
        unit = self.unit
        return unit.factor / value if unit.rate else max(value - unit.plus, 1e-3) / unit.factor


def read(row: Object) -> Measurement | Refusal:
    """A row as a measurement, or why it cannot be one.

    Fields: model, params, task, seq_len, per_device_batch, global_batch, precision, instance, instance_note, instances, devices, metric,
    value, unit, distribution, framework, source, date, notes.
    """
    model = find_model(text(row, "model"), number(row, "params"))
    if model is None:
        return Refusal(f"no shape is known for model {text(row, 'model')[:60]!r}: give its size, or a config.json")
    published = number(row, "value")
    if published is None:
        return Refusal("the row has no value")
    place = _place(row)
    if isinstance(place, Refusal):
        return place
    built = _configure(row, model, place)
    if isinstance(built, Refusal):
        return built
    configuration, doubt = built
    unit = unit_of(row, configuration)
    if isinstance(unit, Refusal):
        return unit
    return Measurement(configuration, group_of(row), published, unit, doubt * unit.doubt)


def group_of(row: Object) -> str:
    """Repository × model: what one measurement campaign is. All commits of a table are one."""
    source = text(row, "source")
    place = re.sub(r"^github:", "", source)
    repository = re.split(r"[@:\s]", place)[0] if source.startswith("github:") else place.split(":")[0]
    model = find_model(text(row, "model"), number(row, "params"))
    return f"{repository or 'unknown'} | {model.name if model else text(row, 'model')}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a row was measured: ``workers`` in all, over ``hosts``."""

    chip: Chip
    instance: InstanceType | None
    hosts: int
    workers: int


def _place(row: Object) -> _Place | Refusal:
    named = text(row, "instance").strip()
    instance = find_instance(named) or find_instance(f"ml.{named}")
    notes = [text(row, name) for name in ("instance_note", "notes", "framework")]
    chip = find_chip(instance.chip) if instance is not None else None
    found = chip or accelerator(named, *notes)
    if isinstance(found, Refusal):
        return found
    chip = as_built(found, " ".join((named, *notes)))
    hosts = whole(row, "instances") or 1
    asked = whole(row, "devices")
    each = instance.workers if instance is not None else min(8, asked or 8)
    workers = asked or hosts * max(each, 1)
    if instance is None:
        instance = next(
            (one for one in instances().values() if one.chip == chip.name and one.workers >= min(each, 8)), None
        )
    if hosts == 1 and workers > max(each, 16):
        hosts = -(-workers // max(each, 1))
    return _Place(chip, instance, hosts, workers)


def _precision(row: Object, chip: Chip, release: float) -> tuple[str, bool, float] | Refusal:  # noqa: PLR0911 - a ladder of what tables write
    """The matrix units' precision, whether weights stay 32-bit beside it, and how much doubt that leaves."""
    said = text(row, "precision").lower()
    if re.search(r"fp-?8|float8", said):
        return "fp8", False, 1.0
    if "tf32" in said:
        return "tf32", True, 1.0
    if re.search(r"bf-?16|bfloat", said):
        pure = bool(re.search(r"true|pure|sr|master", said)) and "amp" not in said
        return ("bf16" if chip.bf16 else "fp16"), not pure, 1.0
    if re.search(r"fp-?16|float16|half|amp|mixed|o[12]\b|^16", said):
        return "fp16", "true" not in said, 1.0
    if re.search(r"fp-?32|float32|single|^32", said):
        # PyTorch multiplied in TF32 on Ampere by default from 1.7 to 1.11; NVIDIA's containers still do.
        framework = text(row, "framework").lower()
        ngc = "ngc" in framework or 2020.5 < release < 2022.5
        return ("tf32" if chip.tf32 and ngc and chip.generation != "trainium1" else "fp32"), True, 1.3
    if _weight_bits(said):
        return ("bf16" if chip.bf16 else "fp16"), False, 1.2
    if said:
        return Refusal(f"precision {said[:40]!r} is not known")
    modern = release > 2022.9
    return ("bf16" if chip.bf16 and modern else "fp16" if modern else "fp32"), True, 2.0


def _weight_bits(words: str) -> int:
    """Bits of quantised frozen weights. An optimizer of 8 bits quantises its own state alone."""
    of_weights = re.sub(
        r"(adamw?|lion|optimi[sz]er)[\W_]?8.?bit|8.?bit[\W_](paged[\W_])?(adamw?|lion|optimi[sz]er)", "", words
    )
    if re.search(r"qlora|\b(nf|fp|int)4\b|4.?bit|gptq", of_weights):
        return 4
    return 8 if re.search(r"\bint8\b|8.?bit", of_weights) else 0


def _method(row: Object) -> tuple[bool, int] | Refusal:
    """Whether adapters are trained, and the bits of quantised weights. A method of another name may compute anything."""
    said = text(row, "method").lower()
    if said and not re.search(r"full|lora|adapter|peft|sft|pre-?train|fine-?tun", said):
        return Refusal(f"method {said[:40]!r} is not known")
    optimizer = text(row, "optimizer").lower()
    if optimizer and not re.search("adam|" + "|".join(OPTIMIZER_BYTES), optimizer):
        return Refusal(f"optimizer {optimizer[:40]!r} is not known")
    words = " ".join(text(row, name) for name in ("distribution", "notes", "task", "framework", "precision")).lower()
    unlike = re.search(r"\b(dpo|orpo|kto|ppo|grpo|rlhf|dora|ia3|distil\w*ation|prefix.tuning|prompt.tuning)\b", words)
    if unlike:
        return Refusal(f"method {unlike[0]!r} is not known")
    words = f"{words} {said}"
    return "lora" in words or "adapter" in words, _weight_bits(words)


def _adapted(words: str) -> float:
    """The share of a layer's seven products that adapters are said to be at; all of them where none is named."""
    return len(set(re.findall(r"(q|k|v|o|gate|up|down)_proj", words))) / 7 or 1.0


def _release(row: Object) -> float:
    found = re.match(r"(\d{4})(?:-(\d{1,2}))?", text(row, "date"))
    if not found:
        return 2023.5
    month = int(found[2] or 7)
    return int(found[1]) + (month - 0.5) / 12 if month <= 12 else int(found[1]) + 0.5


def _software(row: Object, chip: Chip, model: Model, release: float) -> tuple[Style, str, bool]:  # noqa: PLR0911 - a ladder of what tables write
    """How operations become kernels, the family, and whether attention writes its scores."""
    words = " ".join(text(row, name) for name in ("framework", "distribution", "source", "notes", "precision")).lower()
    decoder = isinstance(model, Architecture) and model.causal
    if chip.generation.startswith("trainium"):
        far = re.search(r"tp\s*=?\s*\d|\btp\d|nxd|neuronx.distributed|optimum.neuron|nemo.megatron", words)
        return Style.NEURON, "neuronx-distributed" if far else "neuron-xla", False
    flash = "flash" in words or "sdpa" in words
    compiled = re.search(r"torch\.?compile|\bcompile\b|\bxla\b|training compiler|inductor", words)
    if re.search(r"composer|llm-foundry|mosaic", words) and "transformers" not in words:
        return Style.FUSED, "composer", flash or decoder
    if "torchtitan" in words or "torchtune" in words:
        return Style.FUSED if compiled or "fp8" in words else Style.EAGER, "torchtitan", True
    if "nemo" in words:
        return Style.FUSED, "nemo", True
    if re.search(r"megatron|axlearn|maxtext|paxml|\bjax\b|\bt5x\b|fused kernels", words):
        return Style.FUSED, "megatron", flash or release > 2022.9
    if re.search(r"tensorflow|\btf2?\b", words) and "pytorch" not in words.replace("deep-learning-pytorch", ""):
        return Style.COMPILED, "tensorflow", False
    if re.search(r"\bngc\b|nvidia/deeplearningexamples|apex|dali", words):
        # Of the recipes' transformers BERT alone has layers with fused kernels; BART and Transformer-XL are written operation by operation.
        fused = isinstance(model, ImageModel) or model.kind == "encoder"
        return Style.TUNED if fused else Style.EAGER, "ngc", flash
    modern = decoder and release > 2023.95  # transformers 4.36 made PyTorch's own fused attention the default
    if "deepspeed" in words or "zero-3" in words:
        return Style.EAGER, "deepspeed", flash or modern
    if compiled:
        return Style.COMPILED, "other", flash or modern
    return (
        Style.EAGER,
        "transformers" if re.search("transformers|trainer|accelerate|peft|trl", words) else "other",
        flash or modern,
    )


def _lengths(row: Object, model: Model) -> tuple[float, float] | None:  # noqa: PLR0911 - a ladder of what tables write
    """Tokens that go in, and those of a decoder beside an encoder; None where the row does not say."""
    said, task = text(row, "seq_len").lower(), f"{text(row, 'task')} {text(row, 'notes')}".lower()
    if isinstance(model, ImageModel):
        return float(model.resolution**2), 0.0
    image = re.search(r"(\d{2,4})\s*[x×]\s*(\d{2,4})", f"{said} {task}")
    if model.kind == "vision":
        patch = re.search(r"/(14|16|32)\b", text(row, "model"))
        side = int(image[1]) if image else 384 if "384" in text(row, "model") else 224
        return (side / int(patch[1] if patch else 16)) ** 2 + 1, 0.0
    if model.kind == "speech":
        return number(row, "seq_len") or 750.0, 0.0
    numbers = [float(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", said)]
    both = model.kind == "encoder-decoder"
    if not numbers:
        if "squad" in task:
            return SQUAD_LENGTH, 0.0
        if re.search(r"mrpc|sst|mnli|glue|qqp|cola|qnli", task):
            return GLUE_LENGTH, 0.0
        if both and "whisper" in model.name:
            return 1500.0, 64.0
        return None
    first = numbers[0] * (1024 if re.fullmatch(r"\d+k", said) else 1)
    if not both:
        return first, 0.0
    if "whisper" in model.name:
        return 1500.0, numbers[-1] if numbers[-1] < 449 else 64.0
    if len(numbers) > 1:
        return first, numbers[1]
    return first, first if re.search(r"pre-?train", task) else first / 4


_DEGREES = {
    "tensor": r"\btp\s*=?\s*(\d+)|(\d+)\s*x?\s*nc\(tp\)|(\d+)-way tensor",
    "pipeline": r"\bpp\s*=?\s*(\d+)",
    "context": r"\bcp\s*=?\s*(\d+)",
}


def _degree(words: str, kind: str) -> int:
    found = re.search(_DEGREES[kind], words)
    if not found:
        return 1
    return max(1, int(next(each for each in found.groups() if each)))


def _configure(row: Object, model: Model, place: _Place) -> tuple[Configuration, float] | Refusal:
    chip, hosts, workers = place.chip, place.hosts, place.workers
    release = _release(row)
    computed, method = _precision(row, chip, release), _method(row)
    if isinstance(computed, Refusal):
        return computed
    if isinstance(method, Refusal):
        return method
    (precision, autocast, doubt), (adapters, weight_bits) = computed, method
    style, family, flash = _software(row, chip, model, release)
    lengths = _lengths(row, model)
    if lengths is None:
        return Refusal("the row does not say how long its sequences are")
    sequence, target = (min(each, 1e7) for each in lengths)
    sequence = max(sequence, 1.0)
    words = f"{text(row, 'distribution')} {text(row, 'notes')} {text(row, 'task')} {text(row, 'framework')}".lower()
    task = text(row, "task").lower()
    tensor, pipeline, context = (_degree(words, kind) for kind in ("tensor", "pipeline", "context"))
    tensor = min(tensor, workers)
    pipeline = min(pipeline, max(1, workers // tensor))
    context = min(context, max(1, workers // tensor // pipeline))
    data = max(1, workers // (tensor * pipeline * context))
    sharding = _sharding(words, family, chip)
    batch = _batches(row, words, model, family, data)
    if isinstance(batch, Refusal):
        return batch
    micro, steps = batch
    configuration = Configuration(
        model=model,
        chip=chip,
        precision=precision,
        style=style,
        family=family,
        sequence=sequence,
        target=target,
        micro_batch=micro,
        micro_steps=steps,
        data=data,
        tensor=tensor,
        pipeline=pipeline,
        context=context,
        workers_per_host=max(1, min(workers, -(-workers // hosts))),
        hosts=hosts,
        network_gbps=_network(row, place.instance),
        sharding=sharding,
        companion=1 / 3 if model.name.startswith("electra") and "pre" in task else 0.0,
        recompute=_recompute(words, model, family, chip),
        head=_head(task, model, family),
        adapters=adapters or weight_bits > 0,
        weight_bits=weight_bits,
        unpacked="gptq" in words,
        adapted=_adapted(words),
        autocast=autocast,
        flash=flash,
        forward_only="inference" in task or "forward only" in task,
        interleaved=family in {"nemo", "megatron"} and pipeline > 1,
        release=release,
    )
    if _binned(row, configuration, task):
        configuration = replace(configuration, sequence=sequence * BINNED)
    generic = isinstance(model, Architecture) and model.generic
    return configuration, doubt * (STAND_IN if generic else 1.0)


def _binned(row: Object, c: Configuration, task: str) -> bool:
    """Whether batches are made of sequences of like length, so that the limit is not what is computed."""
    source = text(row, "source").lower()
    recipe = "deeplearningexamples:pytorch/languagemodeling/b" in source and c.sequence == 512 and "pre" in task
    return recipe or ("binned" in text(row, "notes").lower() and not c.target)


def _network(row: Object, instance: InstanceType | None) -> float:
    """Gbit/s of a host. A row may be of another machine with the same chip: then its note decides."""
    note = f"{text(row, 'instance_note')} {text(row, 'notes')}".lower()
    said = re.search(r"([\d,]+)\s*g(?:bit|bps)", note)
    if said:
        return float(said[1].replace(",", ""))
    if "infiniband" in note and "a100" in note:
        return 1600.0
    own = instance.network_gbps if instance is not None else None
    return own or 100.0


def _sharding(words: str, family: str, chip: Chip) -> Sharding:
    if "offload" in words and "no offload" not in words:
        return Sharding.OFFLOAD
    if re.search(r"zero-?\s?3|full_shard|fsdp", words) and "shard_grad_op" not in words:
        return Sharding.FULL
    if re.search(r"zero-?\s?2|shard_grad_op", words):
        return Sharding.GRADIENTS
    if re.search(r"zero-?\s?1", words) or family in {"nemo", "neuronx-distributed"}:
        return Sharding.OPTIMIZER
    del chip
    return Sharding.NONE


def _recompute(words: str, model: Model, family: str, chip: Chip) -> Recompute:  # noqa: PLR0911 - a ladder of what tables write
    if re.search(
        r"checkpointing (false|off|no)|no (activation )?checkpoint|without (activation )?checkpoint|no recomp", words
    ):
        return Recompute.NONE
    if "selective" in words:
        return Recompute.ALTERNATE if family == "torchtitan" else Recompute.SELECTIVE
    if re.search(r"checkpointing|recomput|\bac\b", words):
        return Recompute.FULL
    large = isinstance(model, Architecture) and model.causal and model.parameters > 6e9
    if family == "torchtitan" and "torchtune" not in words:
        return Recompute.ALTERNATE
    if chip.generation.startswith("trainium") and large:
        return Recompute.SELECTIVE if "llama" in model.name else Recompute.FULL
    if family == "deepspeed" and model.parameters > 2e9:
        return Recompute.FULL
    return Recompute.NONE


def _head(task: str, model: Model, family: str) -> Head:
    if isinstance(model, ImageModel):
        return Head.LABEL
    if model.causal or model.kind == "encoder-decoder":
        return Head.TOKENS
    if re.search(r"pre-?train|mlm|masked|language model", task):
        return Head.MASKED if family in {"ngc", "tensorflow", "neuron-xla"} else Head.TOKENS
    return Head.LABEL


def _batches(row: Object, words: str, model: Model, family: str, data: int) -> tuple[float, float] | Refusal:
    """Samples of a micro-step, and micro-steps of an optimizer step."""
    micro, all_of_them = number(row, "per_device_batch"), number(row, "global_batch")
    said = re.search(r"accumulat\w*\D{0,12}?(\d+)", words)
    steps = float(said[1]) if said else None
    if all_of_them is None and model.name.startswith("stable-diffusion") and family == "composer":
        all_of_them = DIFFUSION_BATCH
    if micro is None and all_of_them is not None:
        micro = max(1.0, all_of_them / data / (steps or 1))
    micro = None if micro is None else max(1.0, micro)
    if micro is None:
        return Refusal("the row does not say its batch")
    if all_of_them is None:
        return micro, steps or 1.0
    if all_of_them < micro * data * 0.99 and steps is None:  # the batch of a device cannot be more than its share
        micro = max(1.0, all_of_them / data)
    if steps is None or micro * steps * data > all_of_them * 1.01:
        steps = max(1.0, all_of_them / (micro * data))
    return micro, steps
