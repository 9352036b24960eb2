"""torchrun: one worker per GPU or NeuronCore, on GPUs and on Trainium."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ..catalog import compiler, find_instance
from ..specs import Accelerator, JobSpec, LaunchPlan, NeuronX, Problem, Runner, Severity

ESTIMATOR = MappingProxyType({"torch_distributed": MappingProxyType({"enabled": True})})


@dataclass(frozen=True, slots=True)
class TorchDistributed:
    """``distribution={"torch_distributed": {"enabled": True}}``."""

    name: ClassVar[str] = "torch_distributed"

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        instance = find_instance(job.compute.instance)
        if instance is None:
            return
        if instance.accelerator is Accelerator.CPU:
            yield Problem(
                id="DIST002",
                severity=Severity.ERROR,
                where="distribution",
                what=f"{self.name!r} starts workers on GPU and Trainium instances only",
                got=f"{instance.name!r} ({instance.accelerator.name})",
                wanted="a CUDA or NEURON instance",
                fix="distribution=None",
                evidence="SageMaker SDK 2.257.7, validate_torch_distributed_distribution",
            )
        version = tuple(int(part) for part in job.framework.pytorch.split(".")[:2] if part.isdigit())
        on_gpu = instance.accelerator is Accelerator.CUDA and not isinstance(job.framework, NeuronX)
        if on_gpu and not job.image_uri and version < compiler.TORCHRUN_GPU_FLOOR:
            floor = ".".join(str(part) for part in compiler.TORCHRUN_GPU_FLOOR)
            yield Problem(
                id="DIST010",
                severity=Severity.ERROR,
                where="distribution",
                what=f"{self.name!r} is not in GPU containers before PyTorch {floor}",
                got=f"pytorch {job.framework.pytorch!r}",
                wanted=f"{floor}.1 or newer",
                fix="a newer framework, or SMDataParallel()",
                evidence="SageMaker SDK 2.257.7, TORCH_DISTRIBUTED_GPU_SUPPORTED_FRAMEWORK_VERSIONS",
            )
        if job.compute.count > 1 and not instance.efa:
            yield Problem(
                id="DIST011",
                severity=Severity.WARNING,
                where="compute",
                what=f"{instance.name!r} has no EFA; gradients of {job.compute.count} hosts go over plain TCP",
                got=f"{instance.network_gbps:g} Gbit/s without EFA",
                wanted="an instance with EFA, or one host",
                fix="count=1, or the family's largest size",
                evidence=instance.source,
            )

    def plan(self, job: JobSpec) -> LaunchPlan:
        instance = find_instance(job.compute.instance)
        return LaunchPlan(
            runner=Runner.TORCHRUN,
            workers_per_host=instance.workers if instance else 1,
            toolkit=MappingProxyType(
                {"sagemaker_torch_distributed_enabled": True, "sagemaker_instance_type": job.compute.instance}
            ),
            estimator=ESTIMATOR,
        )
