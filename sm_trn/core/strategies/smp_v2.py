"""SageMaker's model-parallel library, version 2: on top of PyTorch FSDP, started by torchrun, in images of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ..catalog.instances import find_instance
from ..specs.compute import Compute
from ..specs.framework import PyTorch
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan, Library, Runner
from ..specs.problems import Change, Field, Problem
from ..specs.value import fits, suggesting
from .rules import RULES

INSTANCES = ("ml.p4d.24xlarge", "ml.p4de.24xlarge", "ml.p5.48xlarge")
_LIBRARY = frozenset({"mp_parameters", "sagemaker_distributed_dataparallel_enabled"})  # plain torchrun sends neither
GUIDE = "SageMaker developer guide, model-parallel-v2"


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class SMModelParallelV2:
    """``torch_distributed`` with ``smdistributed.modelparallel``. A parameter that is None is not sent.

    >>> dict(st.specs.SMModelParallelV2(tensor_parallel_degree=8).parameters())
    {'tensor_parallel_degree': 8}
    """

    hybrid_shard_degree: int | None = None
    tensor_parallel_degree: int | None = None
    context_parallel_degree: int | None = None
    expert_parallel_degree: int | None = None
    activation_loading_horizon: int | None = None
    sm_activation_offloading: bool | None = None
    fsdp_cache_flush_warnings: bool | None = None
    allow_empty_shards: bool | None = None
    random_seed: int | None = None
    name: ClassVar[str] = "smdistributed.modelparallel.v2"
    image_family: ClassVar[str | None] = "pytorch-smp"

    def parameters(self) -> Mapping[str, Json]:
        """``mp_parameters``: what was set."""
        return {
            field.name: value for field in dataclasses.fields(self) if (value := getattr(self, field.name)) is not None
        }

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        if not isinstance(job.framework, PyTorch):
            yield RULES["DIST019"].problem(
                Field("framework"),
                "version 2 of the model-parallel library comes in PyTorch images of its own",
                got=type(job.framework).__name__,
                wanted="PyTorch",
                fix=Change(framework=PyTorch("2.4.1", python="py311")),
            )
        elsewhere = [name for name in job.compute.instances if name not in INSTANCES]
        if elsewhere:
            yield RULES["DIST004"].problem(
                Field("compute.instance"),
                "version 2 of the model-parallel library does not run on this instance",
                got=", ".join(map(repr, elsewhere)),
                wanted=" or ".join(INSTANCES),
                fix=Change(compute=Compute("ml.p4d.24xlarge", count=job.compute.hosts)),
                evidence=GUIDE,
            )

    @classmethod
    def recognise(cls, sent: Mapping[str, Json]) -> SMModelParallelV2 | None:
        if sent.get("sagemaker_torch_distributed_enabled") is not True or not _LIBRARY & set(sent):
            return None
        parameters = sent.get("mp_parameters")
        given: Mapping[Any, Any] = parameters if isinstance(parameters, Mapping) else {}
        return cls(**{name: value for name, value in given.items() if fits(cls, name, value)})

    def plan(self, job: JobSpec) -> LaunchPlan:
        instance = find_instance(job.compute.instances[0])
        parameters = MappingProxyType(dict(self.parameters()))
        options: Mapping[str, Json] = MappingProxyType({"enabled": True, "parameters": parameters})
        return LaunchPlan(
            runner=Runner.TORCHRUN,
            workers_per_host=instance.workers if instance else 1,
            library=Library.SMP_V2,
            parameters=parameters,
            toolkit=MappingProxyType(
                {
                    **({"mp_parameters": dict(parameters)} if parameters else {}),
                    "sagemaker_distributed_dataparallel_enabled": False,
                    "sagemaker_instance_type": job.compute.instance or None,
                    "sagemaker_torch_distributed_enabled": True,
                }
            ),
            estimator=MappingProxyType(
                {
                    "torch_distributed": MappingProxyType({"enabled": True}),
                    "smdistributed": MappingProxyType({"modelparallel": options}),
                }
            ),
        )
