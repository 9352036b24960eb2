"""SageMaker's model-parallel library, version 1: partitions of a model over MPI processes. Archived by AWS in 2023."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ..catalog import compiler
from ..catalog.instances import find_instance, find_instances
from ..specs.compute import Accelerator, Compute, InstanceType
from ..specs.framework import NeuronOptions
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan, Library, Runner
from ..specs.problems import AnyOf, Change, Field, Named, Problem, Rule
from ..specs.value import fits, suggesting
from .rules import RULES

_OWN = frozenset({"processes_per_host", "custom_mpi_options"})
_LIBRARY = frozenset({"mp_parameters", "sagemaker_distributed_dataparallel_enabled"})  # plain MPI sends neither
GUIDE = "SageMaker developer guide, model-parallel (v1)"
PLACEMENTS = ("spread", "cluster", "DPT", "DTP", "PDT", "PTD", "TDP", "TPD")


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class SMModelParallel:
    """``smdistributed.modelparallel`` with the MPI that it cannot do without. A parameter that is None is not sent.

    >>> dict(st.SMModelParallel(partitions=2, microbatches=4).parameters())
    {'partitions': 2, 'microbatches': 4}
    """

    partitions: int | None = None
    microbatches: int | None = None
    active_microbatches: int | None = None
    pipeline: str | None = None
    pipeline_parallel_degree: int | None = None
    tensor_parallel_degree: int | None = None
    placement_strategy: str | None = None
    optimize: str | None = None
    auto_partition: bool | None = None
    default_partition: int | None = None
    memory_weight: float | None = None
    contiguous: bool | None = None
    load_partition: bool | None = None
    partition_file: str | None = None
    deterministic_server: bool | None = None
    ddp: bool | None = None
    ddp_port: int | None = None
    ddp_dist_backend: str | None = None
    horovod: bool | None = None
    shard_optimizer_state: bool | None = None
    sharded_data_parallel_degree: int | None = None
    prescaled_batch: bool | None = None
    fp16: bool | None = None
    bf16: bool | None = None
    offload_activations: bool | None = None
    activation_loading_horizon: int | None = None
    skip_tracing: bool | None = None
    fp16_params: bool | None = None
    processes_per_host: int | None = None
    custom_mpi_options: str = ""
    name: ClassVar[str] = "smdistributed.modelparallel"
    image_family: ClassVar[str | None] = None

    def parameters(self) -> Mapping[str, Json]:
        """``mp_parameters``: what was set."""
        fields = (field.name for field in dataclasses.fields(self) if field.name not in _OWN)
        return {name: value for name in fields if (value := getattr(self, name)) is not None}

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        for instance in find_instances(job.compute.instances):
            yield from self._problems_on(instance, job)
        for name, legal in (
            ("pipeline", ("simple", "interleaved", "_only_forward")),
            ("placement_strategy", PLACEMENTS),
            ("optimize", ("speed", "memory")),
        ):
            value = getattr(self, name)
            if value is not None and value not in legal:
                yield _error(
                    RULES["DIST017"],
                    f"{name} has no such value",
                    got=repr(value),
                    wanted=" or ".join(map(repr, legal)),
                    fix=Change(**{name: legal[0]}),
                    where=f"distribution.{name}",
                )
        yield from self._numbers(job)
        yield from self._together()
        yield RULES["DIST018"].problem(
            Field("distribution"),
            "version 1 of the model-parallel library was archived in 2023-12",
            consequence="version 2 needs PyTorch 2",
            got=f"pytorch {job.framework.pytorch!r}",
            fix=Change("with a newer framework", distribution=Named("SMModelParallelV2")),
        )

    def _problems_on(self, instance: InstanceType, job: JobSpec) -> Iterator[Problem]:
        processes = self._processes(job)
        if instance.accelerator is not Accelerator.CUDA:
            yield _error(
                RULES["DIST003"],
                f"{self.name!r} needs CUDA instances",
                got=f"{instance.name!r} ({instance.accelerator.name})",
                wanted="ml.p4d.24xlarge or another CUDA instance",
                fix=AnyOf(
                    Change(neuron=NeuronOptions(tensor_parallel=8)),
                    Change("without tensor parallelism", distribution=Named("TorchDistributed")),
                ),
            )
        elif processes > instance.chips:
            yield _error(
                RULES["DIST015"],
                "more processes than accelerators: the container refuses to start them",
                got=str(processes),
                wanted=f"at most {instance.chips} on {instance.name}",
                fix=Change(processes_per_host=instance.chips),
                where="distribution.processes_per_host",
            )
        elif processes < instance.chips:
            yield RULES["DIST023"].problem(
                Field("distribution.processes_per_host"),
                f"{instance.chips - processes} of {instance.chips} GPUs would be idle",
                got=f"{processes} processes on {instance.name!r}",
                wanted="a process for each GPU",
                fix=Change(processes_per_host=instance.chips),
                evidence=GUIDE,
            )
        if instance.family in compiler.SMP_V2_FAMILIES:
            yield _error(
                RULES["DIST004"],
                f"{self.name!r} does not run on this instance",
                got=repr(instance.name),
                wanted="ml.p4d.24xlarge",
                fix=AnyOf(
                    Change(compute=Compute("ml.p4d.24xlarge", count=job.compute.hosts)),
                    Change(distribution=Named("SMModelParallelV2")),
                ),
                where="compute.instance",
            )

    def _numbers(self, job: JobSpec) -> Iterator[Problem]:
        parts, weight, default = self.partitions, self.memory_weight, self.default_partition
        processes = self._processes(job) * job.compute.hosts
        for name in ("partitions", "microbatches", "active_microbatches"):
            value = getattr(self, name)
            if value is not None and value < 1:
                fix = Change(**{name: 1})
                yield _number(f"{name} counts from 1", str(value), "at least 1", fix, f"distribution.{name}")
        if parts and parts > 0 and processes % parts:
            got, fix = f"{parts} of {processes} processes", Change(partitions=2)
            yield _number(
                "the partitions do not divide the processes", got, "a divisor", fix, "distribution.partitions"
            )
        if weight is not None and not 0 <= weight <= 1:
            yield _number("memory_weight is a share", str(weight), "0 to 1", Change(memory_weight=0.8))
        if default is not None and default >= (parts or 1):
            wanted, fix = f"below {parts or 1}", Change(default_partition=0)
            yield _number("default_partition is not one of the partitions", str(default), wanted, fix)
        if self.ddp_port is not None and self.ddp_port < 0:
            yield _number("not a port", str(self.ddp_port), "0 or more", Change(ddp_port=None))

    def _together(self) -> Iterator[Problem]:
        """Yield problems of options that exclude or need another one."""
        if self.ddp and self.horovod:
            yield _number("ddp and horovod exclude one another", "both", "one of them", Change(horovod=None))
        if self.auto_partition is False and self.default_partition is None:
            what = "without auto_partition a default_partition is needed"
            yield _number(what, "none", "0 or more", Change(default_partition=0))
        if not self.ddp and (self.ddp_port is not None or self.ddp_dist_backend is not None):
            yield _number("ddp_port and ddp_dist_backend need ddp", "ddp not set", "ddp=True", Change(ddp=True))

    def _processes(self, job: JobSpec) -> int:
        instance = find_instance(job.compute.instances[0])
        return self.processes_per_host or (instance.chips if instance and instance.chips else 1)

    @classmethod
    def recognise(cls, sent: Mapping[str, Json]) -> SMModelParallel | None:
        if sent.get("sagemaker_mpi_enabled") is not True or not _LIBRARY & set(sent):
            return None
        parameters, processes = sent.get("mp_parameters"), sent.get("sagemaker_mpi_num_of_processes_per_host")
        given: Mapping[Any, Any] = parameters if isinstance(parameters, Mapping) else {}
        return cls(
            **{name: value for name, value in given.items() if name not in _OWN and fits(cls, name, value)},
            processes_per_host=processes if type(processes) is int else None,
            custom_mpi_options=str(sent.get("sagemaker_mpi_custom_mpi_options") or ""),
        )

    def plan(self, job: JobSpec) -> LaunchPlan:
        processes = self._processes(job)
        mpi: dict[str, Json] = {"enabled": True, "processes_per_host": processes}
        if self.custom_mpi_options:
            mpi["custom_mpi_options"] = self.custom_mpi_options
        parameters = MappingProxyType(dict(self.parameters()))
        options: Mapping[str, Json] = MappingProxyType({"enabled": True, "parameters": parameters})
        return LaunchPlan(
            runner=Runner.MPI,
            workers_per_host=processes,
            named_workers=self.processes_per_host is not None,
            library=Library.SMP,
            parameters=parameters,
            mpi_options=self.custom_mpi_options,
            toolkit=MappingProxyType(
                {
                    "sagemaker_mpi_enabled": True,
                    "sagemaker_mpi_num_of_processes_per_host": processes,
                    "sagemaker_mpi_custom_mpi_options": self.custom_mpi_options,
                    **({"mp_parameters": dict(parameters)} if parameters else {}),
                    "sagemaker_distributed_dataparallel_enabled": False,
                    "sagemaker_instance_type": job.compute.instance or None,
                }
            ),
            estimator=MappingProxyType(
                {"smdistributed": MappingProxyType({"modelparallel": options}), "mpi": MappingProxyType(mpi)}
            ),
        )


def _error(
    rule: Rule, what: str, *, got: str, wanted: str, fix: Change | AnyOf, where: str = "distribution"
) -> Problem:
    return rule.problem(Field(where), what, got=got, wanted=wanted, fix=fix, evidence=GUIDE)


def _number(what: str, got: str, wanted: str, fix: Change, where: str = "distribution") -> Problem:
    return _error(RULES["DIST017"], what, got=got, wanted=wanted, fix=fix, where=where)
