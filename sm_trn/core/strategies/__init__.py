"""Distribution strategies: one file each, one line here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from ..specs.job import Distribution, JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan
from .ddp import PyTorchDDP
from .mpi import MPI
from .single import SingleProcess
from .smddp import SMDataParallel
from .smp import SMModelParallel
from .smp_v2 import SMModelParallelV2
from .torchrun import TorchDistributed
from .xla import PyTorchXLA

STRATEGIES: Mapping[str, type[Distribution]] = MappingProxyType(
    {
        SingleProcess.name: SingleProcess,
        TorchDistributed.name: TorchDistributed,
        SMDataParallel.name: SMDataParallel,
        PyTorchXLA.name: PyTorchXLA,
        PyTorchDDP.name: PyTorchDDP,
        MPI.name: MPI,
        SMModelParallel.name: SMModelParallel,
        SMModelParallelV2.name: SMModelParallelV2,
    }
)

# The groups that MPI or smdistributed starts its workers on, for the toolkit in the container.
GROUPS_HYPERPARAMETER: Final = "sagemaker_distribution_instance_groups"


def strategy(job: JobSpec) -> Distribution:
    """The job's strategy; none named is one process per host."""
    return job.distribution or SingleProcess()


def plan(job: JobSpec) -> LaunchPlan:
    """How the job's workers are started."""
    return strategy(job).plan(job)


def recognise(sent: Mapping[str, Json]) -> Iterator[Distribution]:
    """Every strategy that may have written these decoded hyperparameters, by what each says of itself."""
    for strategy_class in STRATEGIES.values():
        match = strategy_class.recognise(sent)
        if match is not None:
            yield match
