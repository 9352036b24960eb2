"""MEM rules: does what training keeps of a model fit into an accelerator's memory?

What is counted is the least that the job can need: weights, gradients and optimizer state, without activations. A model that is not
refused may still be too large for its batch. What shards, freezes or shrinks the
state is read from the arguments; where the script decides, or cannot be read, the answer is a warning that says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...core.catalog.instances import find_instance
from ...core.preflight import reading, source
from ...core.preflight.distribution import next_to
from ...core.specs.compute import Accelerator, InstanceType
from ...core.specs.framework import NeuronOptions
from ...core.specs.job import JobSpec
from ...core.specs.problems import Advice, AnyOf, Change, Field, Problem, Severity, rules_of
from ...core.strategies import plan
from ...core.strategies.smp import SMModelParallel
from ...core.strategies.smp_v2 import SMModelParallelV2
from ..architectures import Architecture, find_model, in_folder
from ..method import (
    ADAMW_BYTES,
    ADAPTER_FLAGS,
    ADAPTS,
    FREEZES,
    HALVES,
    OFFLOADS,
    QUANTISES,
    SHARDS,
    SMALL_OPTIMIZERS,
    SPREADS,
    deepspeed,
    deepspeed_file,
    half,
    mixed_by_deepspeed,
    offloads,
    only_evaluates,
    optimizer_bytes,
    quantised,
    said,
    zero_stage,
)

GIB = 2**30
TENSOR_FLAGS = ("tensor_parallel_size", "tensor_parallel_degree")
PIPELINE_FLAGS = ("pipeline_parallel_size", "pipeline_parallel_degree")
_STARTS = ("subprocess", "Popen", "system", "execv", "execvp")
_RULES = rules_of(__package__)
MEM001 = _RULES["MEM001"]
MEM002 = _RULES["MEM002"]
MEM003 = _RULES["MEM003"]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a job keeps of each parameter, in bytes, and over how many workers each part is spread."""

    weights: float = 4
    gradients: float = 4
    optimizer: float = 8
    weights_over: int = 1
    gradients_over: int = 1
    optimizer_over: int = 1

    def gib(self, parameters: float) -> float:
        """GiB on one worker."""
        mine = self.weights / self.weights_over + self.gradients / self.gradients_over
        return parameters * (mine + self.optimizer / self.optimizer_over) / GIB


def accelerator_memory(job: JobSpec) -> Iterator[Problem]:
    """MEM001: weights, gradients and optimizer state alone exceed a worker's memory.

    For a job whose memory cannot be estimated, and for one that no batch fits.
    """
    instance, size = _instance(job), _size(job)
    elsewhere = isinstance(job.distribution, (SMModelParallel, SMModelParallelV2))  # they partition by themselves
    if instance is None or size is None or elsewhere or not instance.accelerator_memory_gib:
        return
    room = instance.accelerator_memory_gib / instance.workers
    state, tensor, pipeline = state_of(job), _number(job, TENSOR_FLAGS), _number(job, PIPELINE_FLAGS)
    need = state.gib(size.parameters / (tensor * pipeline))
    if need <= room:
        return
    unsure = _cannot_tell(job, instance, size)
    if unsure is None:
        return
    fitting = next((each for each in _divisors(size.heads) if tensor < each <= instance.workers
                    and state_of(job, tensor=each).gib(size.parameters / (each * pipeline)) <= room), None)  # fmt: skip
    yield MEM001.problem(
        Field("compute.instance"),
        f"{size.parameters / 1e9:.2f} B parameters do not fit into one worker's memory, before any activation",
        consequence=f"cannot tell whether the script shards or shrinks them: {unsure}" if unsure else "",
        severity=Severity.WARNING if unsure else Severity.ERROR,
        got=f"{need:.1f} GiB of {_parts(state)} per worker",
        wanted=f"at most {room:.1f} GiB on {instance.name}",
        fix=Change(neuron=NeuronOptions(tensor_parallel=fitting))
        if fitting and instance.accelerator is Accelerator.NEURON
        else Advice("use LoRA, a sharded optimizer, or a larger instance"),
    )


def beyond_estimates(job: JobSpec) -> bool:
    """Whether the job keeps something else than the estimates count: they know AdamW, training, and files that can be read."""
    unread = deepspeed_file(job) is not None and not deepspeed(job)
    return unread or only_evaluates(job) or _optimizer_bytes(job, 4) < ADAMW_BYTES


def script_decides(job: JobSpec) -> str | None:
    """What of the script may shrink or share what training keeps: in words, empty where nothing does, None where something surely does."""
    if source.elsewhere(job) and job.neuron is None:
        return "the source is not on this machine"
    found = reading.words(job)
    if found is None:
        return ""
    if _trains_elsewhere(found):
        return None
    named = found.any_of(*QUANTISES, *ADAPTS, *SHARDS, *SPREADS, *OFFLOADS)
    if any(word not in found.undecided for word in named):
        return None
    named += found.any_of(*FREEZES, *SMALL_OPTIMIZERS)
    return f"the script names {', '.join(named[:3])}" if named else ""


def _trains_elsewhere(found: reading.Words) -> bool:
    """Whether a source starts other programs and trains nothing itself: what those keep in memory is not known."""
    trains = any(word == "backward" or word.lower().endswith("trainer") for word in found.all)
    return bool(found.any_of(*_STARTS)) and not trains


def host_memory(job: JobSpec) -> Iterator[Problem]:
    """MEM002: every worker of a host loads the weights into host memory at once, unless the script loads in waves."""
    instance, size = _instance(job), _size(job)
    if instance is None or size is None or quantised(job) or offloads(job):
        return
    workers, bytes_each = plan(job).workers_per_host, 2 if half(job) else 4
    need = size.parameters * bytes_each * workers / GIB
    if need > instance.memory_gib and not _loads_lean(job):
        yield MEM002.problem(
            Field("compute.instance"),
            _loading(workers, bytes_each),
            got=f"{need:,.0f} GiB",
            wanted=f"at most {instance.memory_gib:,} GiB on {instance.name}",
            fix=AnyOf(
                "load in waves (num_local_ranks_per_step)",
                Change("with low_cpu_mem_usage in the script", neuron=NeuronOptions(malloc_arena_max=64)),
            )
            if instance.accelerator is Accelerator.NEURON
            else Advice("use a larger instance, or load 16-bit weights with low_cpu_mem_usage"),
        )


def _loads_lean(job: JobSpec) -> bool:
    found = reading.words(job)
    return bool(found and found.any_of("device_map", "low_cpu_mem_usage", "init_empty_weights", "meta"))


def _loading(workers: int, bytes_each: int) -> str:
    kind = "16-bit" if bytes_each == 2 else "float32"
    if workers == 1:
        return f"{kind} weights alone exceed the host's memory"
    return f"{workers} workers that load {kind} weights at once exceed the host's memory"


def whole_heads(job: JobSpec) -> Iterator[Problem]:
    """MEM003: a tensor-parallel worker owns whole attention heads."""
    size = _size(job)
    if job.neuron is None or size is None or not size.heads % job.neuron.tensor_parallel:
        return
    asked = job.neuron.tensor_parallel
    near = next_to(asked, _divisors(size.heads))
    yield MEM003.problem(
        Field("neuron.tensor_parallel"),
        "the attention heads do not divide over the tensor-parallel workers",
        got=f"{size.heads} heads over {asked}",
        wanted=f"a divisor of {size.heads}, such as {' or '.join(map(str, near))}",
        fix=Change(tensor_parallel=near[-1]),
    )


def state_of(job: JobSpec, *, tensor: int | None = None) -> State:
    """What the job's own arguments say that it keeps."""
    weights = 2 if half(job) else 4
    everyone = plan(job).workers_per_host * job.compute.hosts
    optimizer = _optimizer_bytes(job, weights)
    if only_evaluates(job):
        return State(weights=weights, gradients=0, optimizer=0)
    if quantised(job) or any(said(job, flag) for flag in ADAPTER_FLAGS):
        bytes_each = {"4": 0.5, "8": 1}.get(quantised(job), 2)  # the base model's; the adapters are a hundredth of it
        over = everyone if _sharding(job, everyone)[0] > 1 else 1
        return State(weights=bytes_each, gradients=0, optimizer=0, weights_over=over)
    if offloads(job):
        return State(weights=0, gradients=0, optimizer=0)
    if job.neuron is not None and job.neuron.zero_1:
        replicas = everyone // ((tensor or _number(job, TENSOR_FLAGS)) * _number(job, PIPELINE_FLAGS))
        # bfloat16 weights and gradients, and float32 master weights beside the moments
        return State(weights=2, gradients=2, optimizer=12, optimizer_over=max(1, replicas))
    spread = _sharding(job, everyone)
    if mixed_by_deepspeed(job):
        weights, optimizer = 2, 12  # 16-bit weights and gradients; float32 master weights beside the moments
    return State(
        weights=weights, gradients=weights, optimizer=optimizer, weights_over=spread[0], gradients_over=spread[1], optimizer_over=spread[2]
    )  # fmt: skip


def _parts(state: State) -> str:
    if not state.gradients:
        return "weights"
    return "weights, gradients and AdamW state" if state.optimizer >= 4 else "weights, gradients and optimizer state"


def _sharding(job: JobSpec, everyone: int) -> tuple[int, int, int]:
    """Over how many workers weights, gradients and optimizer state are spread: FSDP's and DeepSpeed's own words."""
    fsdp = str(job.arguments.get("fsdp") or "").replace(",", " ").split()
    host = plan(job).workers_per_host
    if "hybrid_shard" in fsdp or "hybrid_shard_zero2" in fsdp:
        return host, host, host
    if "shard_grad_op" in fsdp:
        return 1, everyone, everyone
    if fsdp and fsdp != ["False"]:
        return everyone, everyone, everyone
    stage = zero_stage(job)
    return tuple(everyone if stage >= least else 1 for least in (3, 2, 1))  # type: ignore[return-value]  # three of them


def _cannot_tell(job: JobSpec, instance: InstanceType, size: Architecture) -> str | None:
    """Why the script may need less than the arguments say: in words, empty where it cannot, None where it surely does."""
    if source.elsewhere(job) and job.neuron is None:  # Neuron options say themselves how a model is shared among cores
        return "the source is not on this machine"
    named = deepspeed_file(job)
    if named is not None and not deepspeed(job):
        return f"{named!r} cannot be read"
    found = reading.words(job)
    if found is None:
        return ""  # a shipped script, whose flags say all, or none that is there
    if (
        not _trains_elsewhere(found)
        and _least(job, found, instance).gib(size.parameters) > instance.accelerator_memory_gib / instance.workers
    ):
        return ""
    sure = found.any_of(*QUANTISES, *ADAPTS, *SHARDS, *SPREADS, *OFFLOADS)
    if _trains_elsewhere(found) or any(word not in found.undecided for word in sure):
        return None
    return f"the script names {', '.join((*sure, *found.any_of(*FREEZES, *HALVES, *SMALL_OPTIMIZERS))[:3])}"


def _least(job: JobSpec, found: reading.Words, instance: InstanceType) -> State:
    """What is left when the script does all that it names."""
    everyone = plan(job).workers_per_host * job.compute.hosts
    over = everyone if found.any_of(*SHARDS) else instance.workers if found.any_of(*SPREADS) else 1
    if found.any_of(*OFFLOADS):
        return State(weights=0, gradients=0, optimizer=0)
    if found.any_of(*QUANTISES):
        return State(weights=0.5, gradients=0, optimizer=0, weights_over=over)
    weights = 2 if half(job) or found.any_of(*HALVES, *ADAPTS) else 4
    if found.any_of(*ADAPTS, *FREEZES):
        return State(weights=weights, gradients=0, optimizer=0, weights_over=over)
    optimizer = 0 if found.any_of(*SMALL_OPTIMIZERS) else _optimizer_bytes(job, weights)
    return State(
        weights=weights, gradients=weights, optimizer=optimizer, weights_over=over, gradients_over=over, optimizer_over=over
    )  # fmt: skip


def _optimizer_bytes(job: JobSpec, weights: int) -> float:
    """AdamW's two moments are as wide as the weights; others have what their papers say."""
    found = optimizer_bytes(job)
    return found if found != ADAMW_BYTES else 2 * weights


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def _number(job: JobSpec, flags: tuple[str, ...]) -> int:
    found = next((job.arguments[flag] for flag in flags if flag in job.arguments), 1)
    return int(found) if str(found).isdigit() and int(found) > 0 else 1


def _instance(job: JobSpec) -> InstanceType | None:
    """The one instance type of the job; of several groups nobody here knows which trains."""
    return find_instance(job.compute.instances[0]) if len(job.compute.instances) == 1 else None


def _size(job: JobSpec) -> Architecture | None:
    named = (
        name for name in source.models_named(job) if not name.startswith("tiny-")
    )  # those that the shipped scripts make
    shapes = (in_folder(name) or find_model(name) for name in named)
    return next((shape for shape in shapes if isinstance(shape, Architecture) and not shape.generic), None)


RULES = (host_memory, whole_heads)  # accelerator_memory is asked by estimates.py, where no estimate can answer
