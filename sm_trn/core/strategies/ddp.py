"""PyTorch DDP through MPI, the launcher of Hugging Face containers before torchrun."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ..catalog import compiler
from ..catalog.instances import find_instance, find_instances
from ..specs.compute import Accelerator
from ..specs.framework import HuggingFace
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan, Library, Runner
from ..specs.problems import Change, Field, Named, Problem
from ..specs.value import suggesting
from .rules import RULES


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class PyTorchDDP:
    """``distribution={"pytorchddp": {"enabled": True}}``.

    >>> st.PyTorchDDP().name
    'pytorchddp'
    """

    custom_mpi_options: str = ""
    name: ClassVar[str] = "pytorchddp"
    image_family: ClassVar[str | None] = None

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        other = next(
            (row for row in find_instances(job.compute.instances) if row.accelerator is not Accelerator.CUDA), None
        )
        if other is not None:
            yield RULES["DIST003"].problem(
                Field("distribution"),
                f"{self.name!r} needs CUDA instances",
                got=f"{other.name!r} ({other.accelerator.name})",
                wanted="a CUDA instance",
                fix=Change(distribution=Named("TorchDistributed")),
                evidence="SageMaker SDK 2.257.7, validate_distribution_for_instance_type",
            )
        elif not isinstance(job.framework, HuggingFace):
            torchrun = compiler.has_torchrun(job.framework.pytorch)
            yield RULES["DIST014"].problem(
                Field("distribution"),
                "SDK v2 rewrites pytorchddp into smdistributed.dataparallel for its PyTorch estimator, without a word",
                got=f"{self.name!r} with {type(job.framework).__name__}",
                wanted="HuggingFace, or another distribution",
                fix=Change(distribution=Named("TorchDistributed"))
                if torchrun
                else Change("which is what the SDK sends", distribution=Named("SMDataParallel")),
            )

    @classmethod
    def recognise(cls, sent: Mapping[str, Json]) -> PyTorchDDP | None:
        """Its MPI options are in no request: the SDK drops them."""
        return cls() if sent.get("sagemaker_pytorch_ddp_enabled") is True else None

    def plan(self, job: JobSpec) -> LaunchPlan:
        instance = find_instance(job.compute.instances[0])
        options: dict[str, Json] = {"enabled": True}
        if self.custom_mpi_options:
            options["custom_mpi_options"] = self.custom_mpi_options
        toolkit: dict[str, Json] = {"sagemaker_pytorch_ddp_enabled": True}
        if job.compute.instance:
            toolkit["sagemaker_instance_type"] = job.compute.instance
        return LaunchPlan(
            runner=Runner.MPI,
            workers_per_host=instance.workers if instance else 1,
            library=Library.PYTORCH_DDP,
            mpi_options=self.custom_mpi_options,
            toolkit=MappingProxyType(toolkit),
            estimator=MappingProxyType({"pytorchddp": MappingProxyType(options)}),
        )
