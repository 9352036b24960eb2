"""Distribution strategies: one file each, one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..specs import Distribution, JobSpec, LaunchPlan
from .single import SingleProcess
from .smddp import SMDataParallel
from .torchrun import TorchDistributed
from .xla import PyTorchXLA

STRATEGIES: Mapping[str, type[Distribution]] = MappingProxyType(
    {
        SingleProcess.name: SingleProcess,
        TorchDistributed.name: TorchDistributed,
        SMDataParallel.name: SMDataParallel,
        PyTorchXLA.name: PyTorchXLA,
    }
)


def strategy(job: JobSpec) -> Distribution:
    """The job's strategy; none named is one process per host."""
    return job.distribution or SingleProcess()


def plan(job: JobSpec) -> LaunchPlan:
    """How the job's workers are started."""
    return strategy(job).plan(job)


__all__ = ["STRATEGIES", "PyTorchXLA", "SMDataParallel", "SingleProcess", "TorchDistributed", "plan", "strategy"]
