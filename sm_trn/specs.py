"""The values of which a job is made: those of the first level of ``sm_trn``, and the rarer ones."""

from __future__ import annotations

from .core.specs import EVALUATION_METRICS, TRAINER_METRICS
from .core.specs.compute import (
    SERVERLESS,
    Compute,
    InstanceGroup,
    InstancePreference,
    Placement,
    Spot,
    UltraServer,
)
from .core.specs.data import (
    Channel,
    Checkpoint,
    Dataset,
    FileSystem,
    FileSystemKind,
    InputMode,
    Network,
    Output,
    S3Kind,
    Spread,
)
from .core.specs.destination import Destination
from .core.specs.framework import (
    Container,
    HuggingFace,
    HuggingFaceNeuronX,
    NeuronOptions,
    NeuronX,
    PyTorch,
    TorchNeuron,
    TrainingCompiler,
)
from .core.specs.guard import Guard
from .core.specs.job import Git, JobSpec, Script
from .core.specs.kept import Kept
from .core.specs.metrics import MetricRule
from .core.specs.problems import Problem, Problems, Severity
from .core.specs.services import Queue, Retry, RetryRule
from .core.specs.tuning import (
    Categorical,
    Completion,
    Continuous,
    Goal,
    Hyperband,
    Integer,
    Objective,
    Scale,
    Strategy,
    Sweep,
    WarmStart,
    WarmStartKind,
)
from .core.strategies.ddp import PyTorchDDP
from .core.strategies.mpi import MPI
from .core.strategies.single import SingleProcess
from .core.strategies.smddp import SMDataParallel
from .core.strategies.smp import SMModelParallel
from .core.strategies.smp_v2 import SMModelParallelV2
from .core.strategies.torchrun import TorchDistributed
from .core.strategies.xla import PyTorchXLA

__all__ = [
    "EVALUATION_METRICS",
    "MPI",
    "SERVERLESS",
    "TRAINER_METRICS",
    "Categorical",
    "Channel",
    "Checkpoint",
    "Completion",
    "Compute",
    "Container",
    "Continuous",
    "Dataset",
    "Destination",
    "FileSystem",
    "FileSystemKind",
    "Git",
    "Goal",
    "Guard",
    "HuggingFace",
    "HuggingFaceNeuronX",
    "Hyperband",
    "InputMode",
    "InstanceGroup",
    "InstancePreference",
    "Integer",
    "JobSpec",
    "Kept",
    "MetricRule",
    "Network",
    "NeuronOptions",
    "NeuronX",
    "Objective",
    "Output",
    "Placement",
    "Problem",
    "Problems",
    "PyTorch",
    "PyTorchDDP",
    "PyTorchXLA",
    "Queue",
    "Retry",
    "RetryRule",
    "S3Kind",
    "SMDataParallel",
    "SMModelParallel",
    "SMModelParallelV2",
    "Scale",
    "Script",
    "Severity",
    "SingleProcess",
    "Spot",
    "Spread",
    "Strategy",
    "Sweep",
    "TorchDistributed",
    "TorchNeuron",
    "TrainingCompiler",
    "UltraServer",
    "WarmStart",
    "WarmStartKind",
]
