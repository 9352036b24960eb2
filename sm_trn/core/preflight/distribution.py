"""DIST and SCALE rules: how workers are started, the strategy's own list, Neuron's parallel sizes, and the size of a step."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..catalog import compiler, images
from ..catalog.instances import find_instance, find_instances
from ..specs.compute import Accelerator, Compute
from ..specs.framework import Container, HuggingFace, NeuronOptions, TorchNeuron
from ..specs.job import JobSpec
from ..specs.launch import Library
from ..specs.problems import Advice, AnyOf, Change, Field, Problem, Severity, rules_of
from ..strategies import GROUPS_HYPERPARAMETER, plan, strategy
from ..strategies.rules import RULES as OF_STRATEGIES
from ..strategies.single import SingleProcess
from ..strategies.smddp import SMDataParallel
from ..strategies.smp import SMModelParallel
from ..strategies.smp_v2 import SMModelParallelV2
from ..strategies.torchrun import TorchDistributed
from . import reading, source

# A script that names one of these starts workers itself, or has a library that does.
LAUNCHERS = (
    "torchrun", "torch.distributed.launch", "torch.distributed.run", "nproc_per_node", "accelerate", "notebook_launcher", "deepspeed",
    "mpirun", "horovod", "spawn", "ray", "lightning", "pytorch_lightning",
)  # fmt: skip
# … joins the hosts by what SageMaker tells it of them, or by a rank of its own.
JOINS_HOSTS = (
    *LAUNCHERS,
    "SM_HOSTS",
    "SM_CURRENT_HOST",
    "SM_RESOURCE_CONFIG",
    "resourceconfig",
    "MASTER_ADDR",
    "world_size",
    "TF_CONFIG",
)
# … or drives several accelerators from one process.
DRIVES_SEVERAL = (
    *LAUNCHERS, "device_map", "DataParallel", "MirroredStrategy", "max_memory", "tensor_parallel_size", "SM_NUM_GPUS", "device_count",
    "n_gpu",
)  # fmt: skip
TRAINS = ("backward", "Trainer", "SFTTrainer", "optimizer", "fit")
SERVES = ("merge_and_unload", "trace", "generate")
GUIDE = "SageMaker developer guide, distributed-data-parallel-support"

BATCH_FLAGS = ("per_device_train_batch_size", "batch_size", "train_batch_size")

_RULES = rules_of(__package__)


def distribution(job: JobSpec) -> Iterator[Problem]:
    """DIST002 and up: what the chosen strategy says of this job, or of the only group that it has."""
    if len(job.compute.groups) == 1:
        (group,) = job.compute.groups
        compute = dataclasses.replace(job.compute, groups=(), instance=group.instance, count=group.count)
        job = job.replace(compute=compute)
    yield from strategy(job).problems(job)


def groups(job: JobSpec) -> Iterator[Problem]:
    """DIST025: one group is launched, and SDK v2 wants its name; the container would launch each group by itself."""
    chosen = strategy(job)
    names = [group.name for group in job.compute.groups]
    kept_groups = job.keeps(f"/HyperParameters/{GROUPS_HYPERPARAMETER}")
    alone = len(names) == 1 and not isinstance(
        chosen, SMModelParallelV2
    )  # which takes none: _distribution_configuration
    if not names or alone or kept_groups or isinstance(chosen, SingleProcess):
        return
    yield _RULES["DIST025"].problem(
        Field("distribution"),
        f"{chosen.name!r} cannot be started on these instance groups",
        got=f"{len(names)} groups: {', '.join(names)}",
        wanted="one instance type" if len(names) == 1 else "one group, or no distribution",
        fix=AnyOf(
            Change(compute=Compute("ml.p4d.24xlarge", count=job.compute.hosts)),
            Change("and a script that starts its own workers", distribution=None),
        ),
        evidence="SageMaker SDK 2.257.7, validate_distribution",
    )


def newer_cuda(job: JobSpec) -> Iterator[Problem]:
    """DIST024: the libraries that start through MPI were built for CUDA 11; the SDK refuses the image when the job is sent."""
    image = job.image_uri or ""
    if "2.0.1-gpu-py310-cu121" not in image or plan(job).library not in {Library.SMDDP, Library.SMP}:
        return
    yield _RULES["DIST024"].problem(
        Field("image_uri"),
        f"{strategy(job).name!r} does not run in this image: its CUDA is newer than the library's",
        got=repr(image),
        wanted="an image of CUDA 11",
        fix=AnyOf("leave image_uri out", Change(distribution=TorchDistributed())),
        evidence="SageMaker SDK 2.257.7, Framework.UNSUPPORTED_DLC_IMAGE_FOR_SM_PARALLELISM",
    )


def hosts_apart(job: JobSpec) -> Iterator[Problem]:
    """DIST008: without a distribution the toolkit starts one process a host, and none of them knows of the others."""
    if job.compute.hosts < 2 or not one_process(job):
        return
    words = reading.words(job)
    if words is not None and words.any_of(*JOINS_HOSTS):
        return
    yield _RULES["DIST008"].problem(
        Field("distribution"),
        "each host would train a separate model" + (", unless the script joins them" if source.elsewhere(job) else ""),
        severity=Severity.INFO if source.elsewhere(job) else Severity.WARNING,
        got=f"no distribution on {job.compute.hosts} instances",
        wanted="a distribution, or one instance",
        fix=AnyOf(Change(distribution=TorchDistributed()), "use one instance"),
    )


def idle_accelerators(job: JobSpec) -> Iterator[Problem]:
    """DIST009: without a distribution the toolkit starts one process, which trains on one accelerator unless it does more itself."""
    instance = find_instance(job.compute.instances[0])
    if instance is None or instance.workers < 2 or job.compute.hosts > 1 or not one_process(job):
        return
    words = reading.words(job)
    if words is not None and (words.any_of(*DRIVES_SEVERAL) or _only_serves(words)):
        return
    trainer = words is not None and words.any_of("Trainer") and instance.accelerator is Accelerator.CUDA
    alone = f"one process would use one of {instance.workers} accelerators of {job.compute.instances[0]!r}"
    yield _RULES["DIST009"].problem(
        Field("distribution"),
        f"Trainer would drive {instance.workers} GPUs from one process, which is slower than a worker for each"
        if trainer
        else alone + (", unless the script starts more" if source.elsewhere(job) else ""),
        severity=Severity.INFO if source.elsewhere(job) else Severity.WARNING,
        got="no distribution",
        wanted="a distribution that starts one worker each",
        fix=Change(distribution=TorchDistributed()),
        evidence="transformers, Trainer: several GPUs in one process are torch.nn.DataParallel" if trainer else "",
    )


def without_smddp(job: JobSpec) -> Iterator[Problem]:
    """DIST004: the library runs on A100 instances only. Its launcher starts workers elsewhere too, for torch's own DDP.

    SDK v2 writes the same request for ``pytorchddp`` with its PyTorch estimator, so a request alone does not tell the two apart.
    """
    instance = find_instance(job.compute.instances[0])
    if not isinstance(job.distribution, SMDataParallel) or (
        instance is not None and instance.accelerator is not Accelerator.CUDA
    ):
        return
    elsewhere = [
        name for name in job.compute.instances if name not in (*compiler.SMDDP_INSTANCES, *compiler.SMDDP_LEGACY)
    ]
    if not elsewhere:
        return
    torchs_own = _uses_torchs_own(job)
    yield OF_STRATEGIES["DIST004"].problem(
        Field("compute.instance"),
        f"{SMDataParallel.name!r} does not run on this instance",
        consequence=f"{torchs_own}, only its launcher is used"
        if torchs_own
        else "the SDKs would send the job all the same",
        severity=Severity.WARNING if torchs_own else Severity.ERROR,
        got=", ".join(map(repr, elsewhere)),
        wanted=" or ".join(compiler.SMDDP_INSTANCES),
        fix=AnyOf(
            Change(compute=Compute("ml.p4d.24xlarge", count=job.compute.hosts)), Change(distribution=TorchDistributed())
        ),
        evidence=GUIDE,
    )


def images_without_smddp(job: JobSpec) -> Iterator[Problem]:
    """DIST006: the library is part of the container, and AWS builds it into no new one."""
    row = images.choose(job) if isinstance(job.distribution, SMDataParallel) and not job.image_uri else None
    cuda = all(each.accelerator is Accelerator.CUDA for each in find_instances(job.compute.instances))
    if row is None or not cuda or row.pytorch in compiler.SMDDP_PYTORCH:
        return
    yield OF_STRATEGIES["DIST006"].problem(
        Field("framework"),
        f"{SMDataParallel.name!r} is not in the container of this PyTorch version",
        got=f"pytorch {job.framework.pytorch!r}",
        wanted=", ".join(compiler.SMDDP_PYTORCH),
        fix=AnyOf("choose a version of the list", Change(distribution=TorchDistributed())),
    )


def _uses_torchs_own(job: JobSpec) -> str:
    """Why the job may run without the library, in words; empty when it cannot."""
    if isinstance(job.framework, HuggingFace):
        return ""  # its Trainer takes the library as soon as the toolkit says that it is on
    words = reading.words(job)
    if words is None:
        return "if the script uses torch's own DDP" if source.elsewhere(job) else ""
    if words.any_of("smdistributed", "smddp"):
        return ""
    ddp = words.any_of("DistributedDataParallel", "init_process_group", "Trainer", "Accelerator", "accelerate")
    return "the script names torch's own DDP" if ddp else ""


def one_process(job: JobSpec) -> bool:
    """Return True if the toolkit starts one process a host: for a Python script in a framework's image, without a distribution.

    An image or a shell script of one's own, and SDK v3's driver, start what they like.
    """
    script = job.script
    own_program = script is None or not script.entry.endswith(".py") or job.own_entrypoint
    alone = job.distribution is None or isinstance(job.distribution, SingleProcess)
    return alone and not own_program and not job.compiled and not isinstance(job.framework, Container)


def _only_serves(words: reading.Words) -> bool:
    return bool(words.any_of(*SERVES)) and not words.any_of(*TRAINS)


def parallel_sizes(job: JobSpec) -> Iterator[Problem]:
    """DIST020: tensor × pipeline parallel workers share one replica, so they divide all workers."""
    if job.neuron is None:
        return
    degree, pipeline = job.neuron.tensor_parallel, job.neuron.pipeline_parallel
    workers = plan(job).workers_per_host * job.compute.hosts
    if workers % (degree * pipeline):
        stages = pipeline if workers % pipeline == 0 else 1
        legal = [size for size in range(1, workers + 1) if workers % (size * stages) == 0]
        near = [degree] if degree in legal else next_to(degree, legal)
        yield _RULES["DIST020"].problem(
            Field("neuron.tensor_parallel"),
            "tensor × pipeline parallel workers do not divide all workers",
            got=f"{degree} × {pipeline} of {workers} workers",
            wanted=f"a product that divides {workers}",
            fix=Change(tensor_parallel=near[-1], pipeline_parallel=stages),
        )


def no_neuron_cores(job: JobSpec) -> Iterator[Problem]:
    """DIST021: elsewhere, and in TorchNeuron, nothing reads these options, or the script stops at an argument that it does not know."""
    if isinstance(job.framework, TorchNeuron) and job.neuron and (job.neuron.arguments() or job.neuron.precompile):
        yield _RULES["DIST021"].problem(
            Field("neuron"),
            "TorchNeuron has neither optimum-neuron's parallel sizes nor neuron_parallel_compile (AWS Neuron 2.33.0, 2026-10-19)",
            got=", ".join([*job.neuron.arguments(), *["precompile"] * job.neuron.precompile]),
            wanted="the script's own FSDP, DTensor or DDP",
            fix=Change(neuron=None),
            evidence="AWS Neuron 2.33.0, torch/guides/torch-distributed, 2026-10-15",
        )
        return
    rows = [row for name in job.compute.instances if (row := find_instance(name)) is not None]
    if job.neuron in {None, NeuronOptions()} or not rows or any(row.accelerator is Accelerator.NEURON for row in rows):
        return
    yield _RULES["DIST021"].problem(
        Field("neuron"),
        "Neuron options mean nothing without NeuronCores",
        got=", ".join(f"{row.name!r} ({row.accelerator.name})" for row in rows),
        wanted="a Trainium instance",
        fix=AnyOf("leave neuron out", Change(compute=Compute("ml.trn1.32xlarge", count=job.compute.hosts))),
    )


def lost_compilation(job: JobSpec) -> Iterator[Problem]:
    """DIST022: a job that only compiles leaves nothing behind unless its cache lies in S3."""
    if job.neuron is not None and job.neuron.precompile and not job.neuron.cache_s3_uri:
        yield _RULES["DIST022"].problem(
            Field("neuron.precompile"),
            "what is compiled ahead would end with the machine",
            got="cache_s3_uri is not set",
            wanted="a cache in S3 that the training job names too",
            fix=Change(cache_s3_uri="s3://your-bucket/neuron-cache"),
        )


def next_to(degree: int, legal: list[int]) -> list[int]:
    """The legal numbers right below and above ``asked``; the one that shares a model among more workers comes last."""
    below, above = [each for each in legal if each < degree], [each for each in legal if each > degree]
    return below[-1:] + above[:1]


def global_batch(job: JobSpec) -> Iterator[Problem]:
    """SCALE001: a batch is per worker; the learning rate acts on the batch of all of them together."""
    batch, rate = _batch(job), _number(job, "learning_rate")
    replicas = _replicas(job)
    if batch is None or rate is None or replicas < 2:
        return
    steps = int(_number(job, "gradient_accumulation_steps") or 1)
    accumulated = f" × {steps} accumulated" if steps > 1 else ""
    yield _RULES["SCALE001"].problem(
        Field("hyperparameters.learning_rate"),
        f"the learning rate acts on {batch * replicas * steps} samples a step",
        got=f"{rate:g} for {batch} per worker × {replicas} workers{accumulated}",
        fix=Advice("scale it with the batch of all workers: twice the samples a step, twice the rate, with warm-up"),
    )


def _replicas(job: JobSpec) -> int:
    """Workers that each take a batch of their own; 1 where the library decides that by itself."""
    if isinstance(job.distribution, (SMModelParallel, SMModelParallelV2)):
        return 1
    shared = job.neuron.tensor_parallel * job.neuron.pipeline_parallel if job.neuron else 1
    return plan(job).workers_per_host * job.compute.hosts // shared


def _batch(job: JobSpec) -> int | None:
    size = next((value for flag in BATCH_FLAGS if (value := _number(job, flag)) is not None), None)
    return int(size) if size is not None and size >= 1 else None


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


RULES = (
    distribution,
    groups,
    newer_cuda,
    hosts_apart,
    idle_accelerators,
    without_smddp,
    images_without_smddp,
    parallel_sizes,
    no_neuron_cores,
    lost_compilation,
    global_batch,
)
