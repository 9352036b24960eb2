"""torchrun: one worker per GPU or NeuronCore, on GPUs and on Trainium."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ..catalog import compiler
from ..catalog.instances import find_instance, find_instances
from ..specs.compute import Accelerator, InstanceType
from ..specs.framework import HuggingFaceNeuronX, NeuronX
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan, Runner
from ..specs.problems import Advice, AnyOf, Change, Field, Named, Problem
from ..specs.value import suggesting
from .rules import RULES

ESTIMATOR = MappingProxyType({"torch_distributed": MappingProxyType({"enabled": True})})


# Physical cores that are one logical NeuronCore, 1 or 2; Trainium2 and newer have 2 unless it is set. Source: AWS Neuron 2.33.1,
# nki/get-started/about/lnc, 2026-09-25, and compiler/error-codes/EVRF066.
LNC = "NEURON_LOGICAL_NC_CONFIG"


def _workers(job: JobSpec, instance: InstanceType) -> int:
    """A worker on each GPU or logical NeuronCore; the catalogue counts the cores of Trainium2 at LNC=2."""
    return instance.workers * (2 if instance.chip == "Trainium2" and job.variables.get(LNC) == "1" else 1)


# Counts that the NeuronCores of a trn1 can be grouped in. Source: the Trainium tutorial on AWS re:Post, 2022.
NEURON_WORKERS = (1, 2, 8, 32)


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class TorchDistributed:
    """``distribution={"torch_distributed": {"enabled": True}}``. ``workers_per_host`` None: every GPU or NeuronCore.

    >>> st.TorchDistributed(workers_per_host=8).workers_per_host
    8
    """

    workers_per_host: int | None = None
    name: ClassVar[str] = "torch_distributed"
    image_family: ClassVar[str | None] = None

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        rows = find_instances(job.compute.instances)
        if rows and all(row.accelerator is Accelerator.CPU for row in rows):
            yield RULES["DIST002"].problem(
                Field("distribution"),
                f"{self.name!r} starts workers on GPU and Trainium instances only",
                got=", ".join(f"{row.name!r} ({row.accelerator.name})" for row in rows),
                wanted="a CUDA or NEURON instance",
                fix=Change(distribution=None),
            )
        yield from self._version_problems(job, rows)
        for row in rows:
            yield from self._worker_problems(job, row)
        slow = [row for row in rows if not row.efa]
        if job.compute.hosts > 1 and slow:
            yield RULES["DIST011"].problem(
                Field("compute"),
                f"{slow[0].name!r} has no EFA; gradients of {job.compute.hosts} hosts go over plain TCP",
                got=f"{slow[0].network_gbps or 'unknown'} Gbit/s without EFA",
                wanted="an instance with EFA, or one host",
                fix=Advice("use one instance, or the family's largest size"),
                evidence=slow[0].source,
            )

    def _version_problems(self, job: JobSpec, rows: tuple[InstanceType, ...]) -> Iterator[Problem]:
        on_gpu = any(row.accelerator is Accelerator.CUDA for row in rows)
        if not on_gpu or job.image_uri or isinstance(job.framework, (NeuronX, HuggingFaceNeuronX)):
            return
        if compiler.has_torchrun(job.framework.pytorch):
            return
        floor = ".".join(str(part) for part in compiler.TORCHRUN_GPU_FLOOR)
        smddp = all(row.name in (*compiler.SMDDP_INSTANCES, *compiler.SMDDP_LEGACY) for row in rows)
        yield RULES["DIST010"].problem(
            Field("distribution"),
            f"{self.name!r} is not in GPU containers before PyTorch {floor}",
            got=f"pytorch {job.framework.pytorch!r}",
            wanted=f"{floor}.1 or newer",
            fix=AnyOf(
                f"choose a framework with PyTorch {floor}.1 or newer",
                *([Change(distribution=Named("SMDataParallel"))] if smddp else []),
            ),
        )

    def _worker_problems(self, job: JobSpec, instance: InstanceType) -> Iterator[Problem]:
        asked = self.workers_per_host
        if asked is None:
            return
        most = _workers(job, instance)
        legal, wanted = list(range(1, most + 1)), f"1 to {most}"
        if instance.chip == "Trainium1":
            legal = [count for count in NEURON_WORKERS if count <= most]
            wanted = ", ".join(map(str, legal))
        elif instance.accelerator is Accelerator.NEURON:
            wanted += f", one a logical NeuronCore (LNC={2 * instance.workers // most})"
        if asked not in legal:
            yield RULES["DIST016"].problem(
                Field("distribution.workers_per_host"),
                f"{instance.name!r} cannot run this many workers",
                got=str(asked),
                wanted=wanted,
                fix=Change(workers_per_host=max((count for count in legal if count <= asked), default=1)),
                evidence=instance.source,
            )

    @classmethod
    def recognise(cls, sent: Mapping[str, Json]) -> TorchDistributed | None:
        if sent.get("sagemaker_torch_distributed_enabled") is not True:
            return None
        workers = sent.get("sagemaker_mpi_num_of_processes_per_host")
        return cls(workers_per_host=workers if type(workers) is int else None)

    def plan(self, job: JobSpec) -> LaunchPlan:
        instance = find_instance(job.compute.instances[0])
        toolkit: dict[str, Json] = {"sagemaker_torch_distributed_enabled": True}
        if job.compute.instance:  # the SDK names no instance type for groups
            toolkit["sagemaker_instance_type"] = job.compute.instance
        beside = (
            {} if self.workers_per_host is None else {"sagemaker_mpi_num_of_processes_per_host": self.workers_per_host}
        )
        return LaunchPlan(
            runner=Runner.TORCHRUN,
            workers_per_host=self.workers_per_host or (_workers(job, instance) if instance else 1),
            named_workers=self.workers_per_host is not None,
            toolkit=MappingProxyType(toolkit | beside),
            estimator=ESTIMATOR,
            beside=MappingProxyType(beside),
        )
