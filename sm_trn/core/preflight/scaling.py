"""SCALE rules: how large a step is once every worker takes its share, and what that means for the learning rate."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog import compiler
from ..specs.job import JobSpec
from ..specs.problems import Advice, Field, Problem, rules_of
from ..strategies import plan
from ..strategies.smp import SMModelParallel
from ..strategies.smp_v2 import SMModelParallelV2
from . import source

BATCH_FLAGS = ("per_device_train_batch_size", "batch_size", "train_batch_size")

_RULES = rules_of(__package__)
SCALE001 = _RULES["SCALE001"]
SCALE002 = _RULES["SCALE002"]


def global_batch(job: JobSpec) -> Iterator[Problem]:
    """SCALE001: a batch is per worker; the learning rate acts on the batch of all of them together."""
    batch, rate = _batch(job), _number(job, "learning_rate")
    replicas = _replicas(job)
    if batch is None or rate is None or replicas < 2:
        return
    steps = int(_number(job, "gradient_accumulation_steps") or 1)
    accumulated = f" × {steps} accumulated" if steps > 1 else ""
    yield SCALE001.problem(
        Field("hyperparameters.learning_rate"),
        f"the learning rate acts on {batch * replicas * steps} samples a step",
        got=f"{rate:g} for {batch} per worker × {replicas} workers{accumulated}",
        fix=Advice("scale it with the batch of all workers: twice the samples a step, twice the rate, with warm-up"),
    )


def compiled_batch(job: JobSpec) -> Iterator[Problem]:
    """SCALE002: compiled training needs less memory; the gain comes from the larger batch that then fits."""
    batch, name = _batch(job), _model(job)
    if not job.compiled or batch is None or name is None:
        return
    tested = [row for row in compiler.tested_batches() if row.model == name]
    here = [row for row in tested if row.instance == job.compute.instance] or tested
    row = min(here, key=lambda each: each.compiled_batch, default=None)  # the promise that is safest to make
    if row is None or batch >= row.compiled_batch or (row.batch is not None and batch > row.batch):
        return
    without = f", {row.batch} without" if row.batch else ""
    yield SCALE002.problem(
        Field("hyperparameters"),
        f"with the compiler a larger batch fits: AWS tried {row.compiled_batch} for {row.model!r}{without}",
        got=f"{batch} per worker",
        wanted=f"measured on {row.instance} in {row.precision} with {row.sequence} tokens, PyTorch {row.pytorch}",
        fix=Advice("use a larger batch, and scale the learning rate with it"),
    )


def _replicas(job: JobSpec) -> int:
    """Workers that each take a batch of their own; 1 where the library decides that by itself."""
    if isinstance(job.distribution, (SMModelParallel, SMModelParallelV2)):
        return 1
    shared = job.neuron.tensor_parallel * job.neuron.pipeline_parallel if job.neuron else 1
    return plan(job).workers_per_host * job.compute.hosts // shared


def _batch(job: JobSpec) -> int | None:
    found = next((value for flag in BATCH_FLAGS if (value := _number(job, flag)) is not None), None)
    return int(found) if found is not None and found >= 1 else None


def _model(job: JobSpec) -> str | None:
    return next((name.rsplit("/", 1)[-1] for name in source.models_named(job)), None)


def _number(job: JobSpec, flag: str) -> float | None:
    """The argument as a finite number: people write them as text too."""
    value = job.arguments.get(flag)
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None  # NaN and infinities compare false


RULES = (global_batch, compiled_batch)
