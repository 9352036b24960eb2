"""The grid of a plan: the job on every machine, with every batch that keeps its global batch, in a form that fits the machine."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...core.catalog.chips import find_chip
from ...core.catalog.instances import instances
from ...core.preflight import reading
from ...core.specs.compute import Accelerator, InstanceType, Spot
from ...core.specs.framework import HuggingFace, HuggingFaceNeuronX, NeuronX, PyTorch
from ...core.specs.job import JobSpec
from ...core.strategies.single import SingleProcess
from ...core.strategies.smddp import SMDataParallel
from ...core.strategies.torchrun import TorchDistributed
from ...core.strategies.xla import PyTorchXLA
from ..jobs.configure import with_batch

COUNTS = (1, 2, 4)
# What a script runs in on the other kind of accelerator: images of the catalogue.
ON_NEURON = NeuronX("2.9.0")
HUGGING_FACE_ON_NEURON = HuggingFaceNeuronX("4.55.4", pytorch="2.8.0")
ON_CUDA = PyTorch("2.13.0", python="py312")
XLA = ("torch_xla", "optimum.neuron", "neuronx_distributed")  # modules of scripts that are written for NeuronCores too


@dataclass(frozen=True, slots=True)
class Place:
    """One instance type, how many, and how they are paid."""

    instance: InstanceType
    count: int
    spot: Spot | None

    @property
    def name(self) -> str:
        """``ml.p4d.24xlarge × 2 spot``."""
        return f"{self.instance.name} × {self.count}{' spot' if self.spot is not None else ''}"


def places(only: Sequence[str], counts: Sequence[int], spots: Sequence[Spot | None]) -> Iterator[Place]:
    """Every machine of the catalogue that trains and has an accelerator, by the patterns of ``only``."""
    for instance in instances().values():
        if not instance.trains or instance.accelerator is Accelerator.CPU or find_chip(instance.chip) is None:
            continue
        if only and not any(fnmatch.fnmatch(instance.name, pattern) for pattern in only):
            continue
        for count in counts:
            for spot in spots:
                yield Place(instance, count, spot)


def moved(job: JobSpec, place: Place, *, runs_on_xla: bool = False) -> JobSpec | str:
    """The job on other machines, in words that fit them; or why it cannot go there. ``runs_on_xla``: its script runs on NeuronCores
    and on GPUs."""
    compute = job.compute
    if compute.groups:
        return "instance groups are not planned"
    base = job.replace(
        compute=type(compute)(
            place.instance.name,
            count=place.count,
            volume_gb=compute.volume_gb,
            volume_kms_key=compute.volume_kms_key,
            keep_alive_s=compute.keep_alive_s,
        ),
        spot=place.spot,
    )
    neuron = place.instance.accelerator is Accelerator.NEURON
    if neuron == on_neuron(job):
        return _distributed(base, place)
    if not (runs_on_xla or portable(job)):
        return "another kind of accelerator: the job's own script may not run there"
    if neuron:
        hugging = isinstance(job.framework, HuggingFace) and not shipped(job)
        framework = HUGGING_FACE_ON_NEURON if hugging else ON_NEURON
        return _distributed(
            base.replace(framework=framework, compiler=None, image_uri=None, distribution=TorchDistributed()), place
        )
    return _distributed(
        base.replace(framework=ON_CUDA, neuron=None, image_uri=None, distribution=TorchDistributed()), place
    )


def on_neuron(job: JobSpec) -> bool:
    """Whether the job's own container is for NeuronCores."""
    return isinstance(job.framework, (NeuronX, HuggingFaceNeuronX))


def shipped(job: JobSpec) -> bool:
    """Whether the job runs one of the package's scripts, which run on both kinds of accelerator."""
    return job.script is not None and job.script.source_dir is None and job.script.git is None


def portable(job: JobSpec) -> bool:
    """Whether the job's script runs on both kinds of accelerator, as far as it says so: a shipped one, or one that names XLA."""
    found = None if shipped(job) else reading.words(job)
    return shipped(job) or (found is not None and bool(found.any_of(*XLA)))


def _distributed(job: JobSpec, place: Place) -> JobSpec:
    """With a distribution that starts a worker on each accelerator of each machine."""
    workers = place.instance.workers * place.count
    chosen = job.distribution
    if workers > 1 and (chosen is None or isinstance(chosen, SingleProcess)):
        return job.replace(distribution=TorchDistributed())
    if workers == 1 and isinstance(chosen, (SMDataParallel, TorchDistributed, PyTorchXLA)) and not job.compiled:
        return job.replace(distribution=SingleProcess())
    if isinstance(chosen, SMDataParallel) and not place.instance.name.startswith("ml.p4d"):
        return job.replace(
            distribution=TorchDistributed() if isinstance(job.framework, (PyTorch, HuggingFace)) else chosen
        )
    return job


def batches(job: JobSpec, whole: float, replicas: int, largest: int) -> Iterator[JobSpec]:
    """The job with every batch of a worker, largest first, that keeps the global batch and fits the memory."""
    share = round(whole) / replicas
    if share < 1 or share != int(share):
        return
    for batch in range(min(largest, int(share)), 0, -1):
        if int(share) % batch == 0:
            yield with_batch(job, batch, int(share) // batch)
