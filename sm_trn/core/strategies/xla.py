"""PyTorch/XLA's own launcher on GPUs, which exists in Training Compiler containers only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ..catalog.instances import find_instance, find_instances
from ..specs.compute import Accelerator
from ..specs.framework import TrainingCompiler
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan, Runner
from ..specs.problems import AnyOf, Change, Field, Named, Problem
from ..specs.value import suggesting
from .rules import RULES


@suggesting
@dataclass(frozen=True, slots=True)
class PyTorchXLA:
    """``distribution={"pytorchxla": {"enabled": True}}``; goes with ``compiler=TrainingCompiler()``.

    >>> st.PyTorchXLA().name
    'pytorchxla'
    """

    name: ClassVar[str] = "pytorchxla"
    image_family: ClassVar[str | None] = None

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        neuron = next(
            (row for row in find_instances(job.compute.instances) if row.accelerator is Accelerator.NEURON), None
        )
        if neuron is not None:
            yield RULES["DIST007"].problem(
                Field("distribution"),
                "Trainium takes no distribution but torch_distributed",
                got=f"{self.name!r} on {neuron.name!r}",
                wanted="'torch_distributed'",
                fix=Change(distribution=Named("TorchDistributed")),
            )
        elif not job.compiled:
            yield RULES["DIST013"].problem(
                Field("compiler"),
                f"{self.name!r} is the launcher of Training Compiler containers only",
                got="no compiler",
                wanted="TrainingCompiler()",
                fix=AnyOf(Change(compiler=TrainingCompiler()), Change(distribution=Named("TorchDistributed"))),
            )

    @classmethod
    def recognise(cls, sent: Mapping[str, Json]) -> PyTorchXLA | None:
        return cls() if sent.get("sagemaker_pytorch_xla_multi_worker_enabled") is True else None

    def plan(self, job: JobSpec) -> LaunchPlan:
        instance = find_instance(job.compute.instance)
        return LaunchPlan(
            runner=Runner.XLA_SPAWN,
            workers_per_host=instance.workers if instance else 1,
            toolkit=MappingProxyType({"sagemaker_pytorch_xla_multi_worker_enabled": True}),
            estimator=MappingProxyType({"pytorchxla": MappingProxyType({"enabled": True})}),
        )
