"""Plain MPI: mpirun starts the workers; the script, or a library such as Horovod, does the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ..catalog.instances import find_instance, find_instances
from ..specs.compute import Accelerator, InstanceType
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan, Runner
from ..specs.problems import Change, Field, Named, Problem
from ..specs.value import suggesting
from .rules import RULES


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class MPI:
    """``distribution={"mpi": {"enabled": True, …}}``. ``processes_per_host`` None: one per GPU.

    >>> st.MPI(processes_per_host=8).name
    'mpi'
    """

    processes_per_host: int | None = None
    custom_mpi_options: str = ""
    name: ClassVar[str] = "mpi"
    image_family: ClassVar[str | None] = None

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        for instance in find_instances(job.compute.instances):
            yield from self._problems_on(instance)

    def _problems_on(self, instance: InstanceType) -> Iterator[Problem]:
        processes = self.processes_per_host
        if instance.accelerator is Accelerator.NEURON:
            yield RULES["DIST007"].problem(
                Field("distribution"),
                "Trainium takes no distribution but torch_distributed",
                got=f"{self.name!r} on {instance.name!r}",
                wanted="'torch_distributed'",
                fix=Change(distribution=Named("TorchDistributed")),
            )
        elif processes is not None and instance.chips and processes > instance.chips:
            yield RULES["DIST015"].problem(
                Field("distribution.processes_per_host"),
                "more processes than accelerators: the container refuses to start them",
                got=str(processes),
                wanted=f"at most {instance.chips} on {instance.name}",
                fix=Change(processes_per_host=instance.chips),
                evidence="aws/amazon-sagemaker-examples issue 2023",
            )
        elif processes is not None and processes < instance.chips:
            yield RULES["DIST023"].problem(
                Field("distribution.processes_per_host"),
                f"{instance.chips - processes} of {instance.chips} GPUs would be idle",
                got=f"{processes} processes on {instance.name!r}",
                wanted="a process for each GPU",
                fix=Change(processes_per_host=instance.chips),
                evidence="sagemaker-training 5.1.4, mpi.py: as many processes as it is told",
            )

    @classmethod
    def recognise(cls, sent: Mapping[str, Json]) -> MPI | None:
        if sent.get("sagemaker_mpi_enabled") is not True:
            return None
        processes = sent.get("sagemaker_mpi_num_of_processes_per_host")
        return cls(
            processes_per_host=processes if type(processes) is int else None,
            custom_mpi_options=str(sent.get("sagemaker_mpi_custom_mpi_options") or ""),
        )

    def plan(self, job: JobSpec) -> LaunchPlan:
        instance = find_instance(job.compute.instances[0])
        processes = self.processes_per_host or (instance.chips if instance and instance.chips else 1)
        options: dict[str, Json] = {"enabled": True, "processes_per_host": processes}
        if self.custom_mpi_options:
            options["custom_mpi_options"] = self.custom_mpi_options
        return LaunchPlan(
            runner=Runner.MPI,
            workers_per_host=processes,
            named_workers=self.processes_per_host is not None,
            mpi_options=self.custom_mpi_options,
            toolkit=MappingProxyType(
                {
                    "sagemaker_mpi_enabled": True,
                    "sagemaker_mpi_num_of_processes_per_host": processes,
                    "sagemaker_mpi_custom_mpi_options": self.custom_mpi_options,
                }
            ),
            estimator=MappingProxyType({"mpi": MappingProxyType(options)}),
        )
