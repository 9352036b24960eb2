"""MEM rules: does what training keeps of a model fit into an accelerator's memory?

AdamW keeps 16 bytes per parameter: weights, gradients and two moments in float32, or the bfloat16 pair with float32
master weights. Activations come on top and are not counted, so a model that is refused does not fit, and one that is
not may still be too large for its batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog import find_instance
from ..catalog.models import ModelSize, model_size
from ..specs import Accelerator, InstanceType, JobSpec, Problem, Severity
from ..strategies import SMModelParallel, SMModelParallelV2

GIB = 2**30
STATE_BYTES, OPTIMIZER_BYTES = 16, 12  # per parameter; the second is what ZeRO-1 spreads over the data-parallel workers
MODEL_FLAGS = ("model", "model_name_or_path", "model_id", "model_name")
LOW_RANK_FLAGS = ("use_lora", "lora_r", "lora_rank", "use_peft")
TENSOR_SIZES = (2, 4, 8, 16, 32)


def state_gib(size: ModelSize, *, tensor: int, pipeline: int, sharded_over: int) -> float:
    """GiB of weights, gradients and optimizer state on one worker."""
    mine = size.parameters / (tensor * pipeline)
    kept = STATE_BYTES - OPTIMIZER_BYTES + OPTIMIZER_BYTES / sharded_over
    return mine * kept / GIB


def accelerator_memory(job: JobSpec) -> Iterator[Problem]:
    """MEM001: weights, gradients and optimizer state alone exceed a worker's memory."""
    instance = find_instance(job.compute.instance)
    size = _size(job)
    elsewhere = isinstance(job.distribution, (SMModelParallel, SMModelParallelV2))  # they partition by themselves
    low_rank = any(job.arguments.get(flag) for flag in LOW_RANK_FLAGS)
    if instance is None or size is None or elsewhere or low_rank or not instance.accelerator_memory_gib:
        return
    tensor, pipeline = (job.neuron.tensor_parallel, job.neuron.pipeline_parallel) if job.neuron else (1, 1)
    room = instance.accelerator_memory_gib / instance.workers
    need = _need(job, instance, size, tensor=tensor, pipeline=pipeline)
    if need <= room:
        return
    fitting = next((each for each in TENSOR_SIZES if each > tensor and size.heads % each == 0
                    and each <= instance.workers and _need(job, instance, size, tensor=each, pipeline=pipeline) <= room), None)  # fmt: skip
    yield Problem(
        id="MEM001",
        severity=Severity.ERROR,
        where="compute.instance",
        what=f"{size.parameters / 1e9:.2f} B parameters do not fit into one worker's memory, before any activation",
        got=f"{need:.1f} GiB of weights, gradients and AdamW state per worker",
        wanted=f"at most {room:.1f} GiB on {instance.name}",
        fix=f"NeuronOptions(tensor_parallel={fitting})"
        if fitting and instance.accelerator is Accelerator.NEURON
        else "LoRA, a sharded optimizer, or a larger instance",
        evidence="16 bytes per parameter: AdamW with float32 state",
    )


def host_memory(job: JobSpec) -> Iterator[Problem]:
    """MEM002: every worker of a host loads the weights into host memory at once, unless the script loads in waves."""
    instance, size = find_instance(job.compute.instance), _size(job)
    if instance is None or size is None:
        return
    need = size.parameters * 4 * instance.workers / GIB
    if need > instance.memory_gib:
        yield Problem(
            id="MEM002",
            severity=Severity.WARNING,
            where="compute.instance",
            what=f"{instance.workers} workers that load float32 weights at once exceed the host's memory",
            got=f"{need:,.0f} GiB",
            wanted=f"at most {instance.memory_gib:,} GiB on {instance.name}",
            fix="load in waves (num_local_ranks_per_step), or NeuronOptions(malloc_arena_max=64) and low_cpu_mem_usage",
            evidence="optimum-neuron issue 22",
        )


def whole_heads(job: JobSpec) -> Iterator[Problem]:
    """MEM003: a tensor-parallel worker owns whole attention heads."""
    size = _size(job)
    if job.neuron is None or size is None or not size.heads % job.neuron.tensor_parallel:
        return
    yield Problem(
        id="MEM003",
        severity=Severity.ERROR,
        where="neuron.tensor_parallel",
        what="the attention heads do not divide over the tensor-parallel workers",
        got=f"{size.heads} heads over {job.neuron.tensor_parallel}",
        wanted=f"a divisor of {size.heads}",
        fix=f"tensor_parallel={max(each for each in (1, *TENSOR_SIZES) if size.heads % each == 0)}",
        evidence="neuronx-distributed: each worker owns whole heads",
    )


def _need(job: JobSpec, instance: InstanceType, size: ModelSize, *, tensor: int, pipeline: int) -> float:
    workers = instance.workers * job.compute.hosts
    sharded = max(1, workers // (tensor * pipeline)) if job.neuron is not None and job.neuron.zero_1 else 1
    return state_gib(size, tensor=tensor, pipeline=pipeline, sharded_over=sharded)


def _size(job: JobSpec) -> ModelSize | None:
    names = (str(job.arguments[flag]) for flag in MODEL_FLAGS if flag in job.arguments)
    return next((size for name in names if (size := model_size(name)) is not None), None)


RULES = (accelerator_memory, host_memory, whole_heads)
