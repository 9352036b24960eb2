"""SageMaker's data-parallel library: one worker per GPU, started through MPI, on A100 instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ..catalog import compiler
from ..catalog.instances import find_instance, find_instances
from ..specs.compute import Accelerator, Compute
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan, Library, Runner
from ..specs.problems import AnyOf, Change, Field, Named, Problem
from ..specs.value import suggesting
from .rules import RULES

GUIDE = "SageMaker developer guide, distributed-data-parallel-support"


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class SMDataParallel:
    """``distribution={"smdistributed": {"dataparallel": {"enabled": True}}}``.

    >>> st.SMDataParallel(custom_mpi_options="-x NCCL_DEBUG=INFO").name
    'smdistributed.dataparallel'
    """

    custom_mpi_options: str = ""
    name: ClassVar[str] = "smdistributed.dataparallel"
    image_family: ClassVar[str | None] = None

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        other = next(
            (row for row in find_instances(job.compute.instances) if row.accelerator is not Accelerator.CUDA), None
        )
        legacy = [name for name in job.compute.instances if name in compiler.SMDDP_LEGACY]
        if other is not None:
            yield RULES["DIST003"].problem(
                Field("distribution"),
                f"{self.name!r} needs CUDA instances",
                got=f"{other.name!r} ({other.accelerator.name})",
                wanted=" or ".join(compiler.SMDDP_INSTANCES),
                fix=Change(distribution=Named("TorchDistributed")),
                evidence=GUIDE,
            )
        elif legacy:
            yield RULES["DIST005"].problem(
                Field("compute.instance"),
                f"AWS has stopped developing {self.name!r} for this instance",
                got=", ".join(map(repr, legacy)),
                wanted=" or ".join(compiler.SMDDP_INSTANCES),
                fix=AnyOf(
                    Change(compute=Compute("ml.p4d.24xlarge", count=job.compute.hosts)),
                    Change("on a newer PyTorch", distribution=Named("TorchDistributed")),
                ),
            )
        if job.compute.hosts == 1:
            yield RULES["DIST012"].problem(
                Field("compute.count"),
                f"on one host {self.name!r} is no faster than NCCL",
                got="1 instance",
                wanted="2 or more",
            )

    @classmethod
    def recognise(cls, sent: Mapping[str, Json]) -> SMDataParallel | None:
        if sent.get("sagemaker_distributed_dataparallel_enabled") is not True:
            return None
        return cls(custom_mpi_options=str(sent.get("sagemaker_distributed_dataparallel_custom_mpi_options") or ""))

    def plan(self, job: JobSpec) -> LaunchPlan:
        instance = find_instance(job.compute.instances[0])
        options: dict[str, Json] = {"enabled": True}
        if self.custom_mpi_options:
            options["custom_mpi_options"] = self.custom_mpi_options
        return LaunchPlan(
            runner=Runner.SMDDP,
            workers_per_host=instance.workers if instance else 1,
            library=Library.SMDDP,
            mpi_options=self.custom_mpi_options,
            toolkit=MappingProxyType(
                {
                    "sagemaker_distributed_dataparallel_enabled": True,
                    "sagemaker_instance_type": job.compute.instance or None,
                    "sagemaker_distributed_dataparallel_custom_mpi_options": self.custom_mpi_options,
                }
            ),
            estimator=MappingProxyType(
                {"smdistributed": MappingProxyType({"dataparallel": MappingProxyType(options)})}
            ),
        )
