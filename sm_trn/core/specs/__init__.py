"""Values: what is asked for, what came back, what is wrong. No I/O, no clock."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compute import (
        SERVERLESS,
        Accelerator,
        Compute,
        InstanceGroup,
        InstancePreference,
        Placement,
        Spot,
        UltraServer,
    )
    from .data import (
        Channel,
        Checkpoint,
        Dataset,
        FileSystem,
        FileSystemKind,
        InputMode,
        Network,
        Output,
        Source,
        Spread,
    )
    from .destination import Destination
    from .framework import (
        Container,
        Framework,
        HuggingFace,
        HuggingFaceNeuronX,
        NeuronOptions,
        NeuronX,
        PyTorch,
        TorchNeuron,
        TrainingCompiler,
    )
    from .guard import Guard
    from .job import Distribution, Git, JobSpec, Script
    from .kept import Kept, json_text
    from .launch import LaunchPlan, Runner
    from .metrics import EVALUATION_METRICS, TRAINER_METRICS, MetricPoint, MetricRule
    from .problems import Advice, Change, Field, Line, Named, Problem, Problems, Rule, Severity
    from .record import JobRecord, Origin, dump_record, parse_record
    from .services import Queue, Retry, RetryRule
    from .snapshot import JobSnapshot, JobStatus, parse_snapshot, parse_time
    from .units import WallSeconds

__all__ = [
    "EVALUATION_METRICS",
    "SERVERLESS",
    "TRAINER_METRICS",
    "Accelerator",
    "Advice",
    "Change",
    "Channel",
    "Checkpoint",
    "Compute",
    "Container",
    "Dataset",
    "Destination",
    "Distribution",
    "Field",
    "FileSystem",
    "FileSystemKind",
    "Framework",
    "Git",
    "Guard",
    "HuggingFace",
    "HuggingFaceNeuronX",
    "InputMode",
    "InstanceGroup",
    "InstancePreference",
    "JobRecord",
    "JobSnapshot",
    "JobSpec",
    "JobStatus",
    "Kept",
    "LaunchPlan",
    "Line",
    "MetricPoint",
    "MetricRule",
    "Named",
    "Network",
    "NeuronOptions",
    "NeuronX",
    "Origin",
    "Output",
    "Placement",
    "Problem",
    "Problems",
    "PyTorch",
    "Queue",
    "Retry",
    "RetryRule",
    "Rule",
    "Runner",
    "Script",
    "Severity",
    "Source",
    "Spot",
    "Spread",
    "TorchNeuron",
    "TrainingCompiler",
    "UltraServer",
    "WallSeconds",
    "dump_record",
    "json_text",
    "parse_record",
    "parse_snapshot",
    "parse_time",
]
_HOMES = [
    "compute",
    "data",
    "destination",
    "framework",
    "guard",
    "job",
    "kept",
    "launch",
    "metrics",
    "problems",
    "record",
    "services",
    "snapshot",
    "units",
]


def __getattr__(name: str) -> Any:
    """Load a name with the module that defines it: a check needs half of these modules, and each costs milliseconds."""
    if name in __all__:
        for module in (import_module(f"{__name__}.{home}") for home in _HOMES):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
