"""The rules of ``check`` that estimate: does what training keeps fit a worker's memory and its host's, and does the job end in time?

MEM001 refuses a model whose weights, gradients and optimizer state alone are too large, by all that the job and its source say; where the
script may shrink them it warns and names the word that leaves it open. EST001 and EST002 are warnings alone: an estimate is no measurement.
Where a fact is missing nothing is said: ``sm-trn estimate`` asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..core import preflight
from ..core.catalog.instances import find_instance
from ..core.preflight import JobRule, reading, source
from ..core.preflight.distribution import next_to
from ..core.specs.compute import Accelerator
from ..core.specs.framework import NeuronOptions
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, AnyOf, Change, Field, Problem, Severity, rules_of
from ..core.strategies import plan
from ..core.strategies.smp import SMModelParallel
from ..core.strategies.smp_v2 import SMModelParallelV2
from ..images.rules import RULES as OF_IMAGES
from ..scripts import RULES as OF_SCRIPTS

if TYPE_CHECKING:
    from .configure import Configured
    from .facts import Facts

_RULES = rules_of(__package__)
TOO_LONG = "fewer steps, or more and faster machines: SageMaker ends a job after 28 days"
_STARTS = ("subprocess", "Popen", "system", "execv", "execvp")


def estimated(job: JobSpec) -> Iterator[Problem]:
    """MEM001, EST002, EST001: what the job keeps of its model, its batch, and its time limit. Of memory one of them speaks."""
    from .configure import configure  # noqa: PLC0415 - its tables load when a job is checked, not before
    from .facts import MissingFact, facts_of  # noqa: PLC0415

    if isinstance(job.distribution, (SMModelParallel, SMModelParallelV2)):
        return  # the library partitions the model by itself
    facts = facts_of(job, {})
    try:
        facts.model()
        configured, batch_known = configure(facts), True
    except MissingFact as missing:
        if missing.fact not in {"batch", "length"}:
            return
        try:  # the state of a model is the same for every batch
            configured, batch_known = configure(facts_of(job, {"batch": 1, "length": 128})), False
        except MissingFact:
            return
    state = list(_state(job, configured))
    yield from state
    if state or not batch_known:
        return
    batch = list(_batch(job, configured))
    yield from batch
    if not batch:
        yield from _time(job, facts, configured)


def _unsure(job: JobSpec, configured: Configured) -> str:
    """Why the script may keep less than the job says: empty where it cannot."""
    if source.elsewhere(job) and job.neuron is None:  # Neuron options say themselves how a model is shared among cores
        return "the source is not on this machine"
    return configured.why if configured.may is not None else ""


def _state(job: JobSpec, configured: Configured) -> Iterator[Problem]:
    """MEM001."""
    from .configuration import Configuration, Sharding  # noqa: PLC0415 - as above
    from .memory import memory  # noqa: PLC0415

    def too_large(c: Configuration) -> bool:
        if c.adapters:  # frozen weights may be loaded in 16 bits
            c = replace(c, precision="bf16", autocast=False)
        return c.sharding is not Sharding.OFFLOAD and memory(c).state > c.chip.usable_gib

    c, words = configured.configuration, reading.words(job)
    trains = words is not None and any(word == "backward" or word.lower().endswith("trainer") for word in words.all)
    if not too_large(c) or (words is not None and words.any_of(*_STARTS) and not trains):
        return  # a source that starts other programs and trains nothing itself: what those keep is not known
    unsure = _unsure(job, configured)
    if configured.may is not None and too_large(configured.may) and not source.elsewhere(job):
        unsure = ""
    heads = getattr(c.model, "heads", 1)
    sizes = [each for each in range(c.tensor + 1, c.workers_per_host + 1) if heads % each == 0]
    fits = next((n for n in sizes if not too_large(replace(c, tensor=n, data=max(1, c.workers // n)))), None)
    neuron = fits is not None and c.neuron
    yield _RULES["MEM001"].problem(
        Field("compute.instance"),
        f"{c.model.parameters / 1e9:.2f} B parameters do not fit into one worker's memory, before any activation",
        consequence=f"cannot tell whether the script shards or shrinks them: {unsure}" if unsure else "",
        severity=Severity.WARNING if unsure else Severity.ERROR,
        got=f"{memory(c).state:.1f} GiB of weights, gradients and optimizer state per worker",
        wanted=f"at most {c.chip.usable_gib:.1f} GiB on {job.compute.instances[0]}",
        fix=Change(neuron=NeuronOptions(tensor_parallel=fits or 1)) if neuron
        else Advice("use LoRA, a sharded optimizer, or a larger instance"),
    )  # fmt: skip


def _batch(job: JobSpec, configured: Configured) -> Iterator[Problem]:
    """EST002: the batch is well beyond the largest that should fit."""
    from .configure import batch_name  # noqa: PLC0415 - as above
    from .memory import largest_batch, memory, surely_too_large  # noqa: PLC0415

    c, may = configured.configuration, configured.may
    if not surely_too_large(c) or c.forward_only:
        return
    unsure = _unsure(job, configured) if may is None or not surely_too_large(may) else ""
    name, most, instance = batch_name(job), largest_batch(c), job.compute.instances[0]
    fix: Change | Advice = Advice("16-bit weights, quantised weights, a shorter length, or a larger instance")
    wanted = f"at most {c.chip.usable_gib:.1f} GiB on {instance}"
    if most:
        fix = Change(**{name: most}) if name else Advice(f"a batch of {most} in the script")
        wanted = f"about {most}, which fits {c.chip.usable_gib:.1f} GiB on {instance}"
    yield _RULES["EST002"].problem(
        Field(f"hyperparameters.{name}" if name else "script"),
        f"a batch of {c.micro_batch:g} is estimated to need {memory(c).total:.1f} GiB of one worker's memory",
        consequence=f"cannot tell whether the script shards or shrinks what it keeps: {unsure}" if unsure else "",
        got=f"{c.micro_batch:g}",
        wanted=wanted,
        fix=fix,
    )


def _time(job: JobSpec, facts: Facts, configured: Configured) -> Iterator[Problem]:
    """EST001: the time limit is below the estimate's upper end."""
    from .estimate import billable, enough_s, span  # noqa: PLC0415 - as above
    from .facts import MissingFact  # noqa: PLC0415

    try:
        seconds = billable(facts, configured)
    except MissingFact:
        return
    if seconds is None or seconds.p90 <= job.max_run_s:
        return
    limit = enough_s(seconds)
    yield _RULES["EST001"].problem(
        Field("max_run_s"),
        f"the job is estimated to take {span(seconds.p50)}, up to {span(seconds.p90)}",
        got=f"{job.max_run_s:,} s",
        wanted=f"at least {math.ceil(seconds.p90):,} s",
        fix=Advice(TOO_LONG) if limit is None else Change(max_run_s=limit),
    )


def _parameters_and_heads(job: JobSpec) -> tuple[float, int] | None:
    """Of the first model that the job names and the tables know; not of those that the shipped scripts make."""
    from .models import Architecture, find_model, in_folder  # noqa: PLC0415 - as above

    names = (name for name in reading.models(job) if not name.startswith("tiny-"))
    shapes = (in_folder(name) or find_model(name) for name in names)
    shape = next((each for each in shapes if isinstance(each, Architecture) and not each.generic), None)
    return None if shape is None else (shape.parameters, shape.heads)


def host_memory(job: JobSpec) -> Iterator[Problem]:
    """MEM002: every worker of a host loads the weights into host memory at once, unless the script loads in waves."""
    size, names = _parameters_and_heads(job), job.compute.instances
    instance = find_instance(names[0]) if len(names) == 1 else None
    words = reading.words(job)
    if instance is None or size is None or any("load_in_" in name for name in job.arguments):
        return
    if words is not None and words.any_of(
        "device_map", "low_cpu_mem_usage", "init_empty_weights", "meta", "load_in_4bit", "load_in_8bit"
    ):
        return
    dtypes = {str(job.arguments.get(name)).removeprefix("torch.") for name in ("torch_dtype", "dtype")}
    half = bool(dtypes & {"bfloat16", "float16", "bf16", "fp16", "half"})
    workers = plan(job).workers_per_host
    need = size[0] * (2 if half else 4) * workers / 2**30
    if need <= instance.memory_gib:
        return
    kind = "16-bit" if half else "float32"
    waves = AnyOf(
        "load in waves (num_local_ranks_per_step)",
        Change("with low_cpu_mem_usage in the script", neuron=NeuronOptions(malloc_arena_max=64)),
    )
    larger = Advice("use a larger instance, or load 16-bit weights with low_cpu_mem_usage")
    yield _RULES["MEM002"].problem(
        Field("compute.instance"),
        f"{kind} weights alone exceed the host's memory"
        if workers == 1
        else f"{workers} workers that load {kind} weights at once exceed the host's memory",
        got=f"{need:,.0f} GiB",
        wanted=f"at most {instance.memory_gib:,} GiB on {instance.name}",
        fix=waves if instance.accelerator is Accelerator.NEURON else larger,
    )


def whole_heads(job: JobSpec) -> Iterator[Problem]:
    """MEM003: a tensor-parallel worker owns whole attention heads."""
    size = _parameters_and_heads(job)
    if job.neuron is None or size is None or not size[1] % job.neuron.tensor_parallel:
        return
    heads, workers = size[1], job.neuron.tensor_parallel
    near = next_to(workers, [each for each in range(1, heads + 1) if heads % each == 0])
    yield _RULES["MEM003"].problem(
        Field("neuron.tensor_parallel"),
        "the attention heads do not divide over the tensor-parallel workers",
        got=f"{heads} heads over {workers}",
        wanted=f"a divisor of {heads}, such as {' or '.join(map(str, near))}",
        fix=Change(tensor_parallel=near[-1]),
    )


RULES: tuple[JobRule, ...] = (host_memory, whole_heads, estimated)
ALL_RULES: tuple[JobRule, ...] = (*preflight.RULES, *OF_SCRIPTS, *OF_IMAGES, *RULES)
