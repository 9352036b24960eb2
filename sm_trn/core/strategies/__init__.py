"""Distribution strategies: one file each, one line here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from ..catalog import limits
from ..catalog.instances import find_instance
from ..specs.compute import Accelerator
from ..specs.framework import HuggingFace
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
        found = strategy_class.recognise(sent)
        if found is not None:
            yield found


def profiled(job: JobSpec, region: str = "") -> bool:
    """Whether SageMaker's profiler runs: where it was asked for, the region has it, and there are no NeuronCores."""
    return (job.profiler or job.profiling is not None) and region not in limits.NO_DEBUGGER and not _on_neuron(job)


def debugged(job: JobSpec, region: str = "") -> bool:
    """Whether SageMaker's debugger hook runs, where the profiler could.

    SDK v2's PyTorch estimator drops it from jobs that have a local checkpoint path, whatever image the script runs in.
    """
    checkpointed = job.checkpoints is not None and job.checkpoints.local_path is not None
    dropped = checkpointed and job.script is not None and not isinstance(job.framework, HuggingFace)
    asked = job.debugger or job.debug_hook is not None
    return asked and region not in limits.NO_DEBUGGER and not _on_neuron(job) and not dropped


def _on_neuron(job: JobSpec) -> bool:
    rows = (find_instance(name) for name in job.compute.instances)
    return any(row is not None and row.accelerator is Accelerator.NEURON for row in rows)
