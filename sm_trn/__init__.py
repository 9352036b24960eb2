"""sm_trn: check a training job offline, rehearse it here, launch it unchanged, compare what it cost.

    import sm_trn as st

Names are loaded when they are first used: importing the package loads neither boto3 nor pandas nor torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Eager, because the folder has the function's name: loaded later, the module would take the function's place.
from .render import render

if TYPE_CHECKING:
    from .errors import CloudError, EmulatorError, InvalidJob, JobFailed, NotConfigured, SmTrnError, UnknownName
    from .preflight import check
    from .pricing import JobCost, Price, PriceBook
    from .render import EstimatorCall
    from .report import Comparison
    from .session import PartialLaunch, Session, TrainingJob, compare, connect, estimator
    from .specs import (
        EVALUATION_METRICS,
        TRAINER_METRICS,
        Compute,
        Destination,
        HuggingFace,
        JobRecord,
        JobSnapshot,
        JobSpec,
        JobStatus,
        MetricRule,
        NeuronX,
        Problem,
        PyTorch,
        Script,
        Severity,
        Spot,
        TrainingCompiler,
    )
    from .strategies import PyTorchXLA, SingleProcess, SMDataParallel, TorchDistributed

__version__ = "0.1.0"

_HOME = {
    ".errors": ("CloudError", "EmulatorError", "InvalidJob", "JobFailed", "NotConfigured", "SmTrnError", "UnknownName"),
    ".preflight": ("check",),
    ".pricing": ("JobCost", "Price", "PriceBook"),
    ".render": ("EstimatorCall",),
    ".report": ("Comparison",),
    ".session": ("PartialLaunch", "Session", "TrainingJob", "compare", "connect", "estimator"),
    ".specs": (
        "EVALUATION_METRICS",
        "TRAINER_METRICS",
        "Compute",
        "Destination",
        "HuggingFace",
        "JobRecord",
        "JobSnapshot",
        "JobSpec",
        "JobStatus",
        "MetricRule",
        "NeuronX",
        "Problem",
        "PyTorch",
        "Script",
        "Severity",
        "Spot",
        "TrainingCompiler",
    ),
    ".strategies": ("PyTorchXLA", "SMDataParallel", "SingleProcess", "TorchDistributed"),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "EVALUATION_METRICS",
    "TRAINER_METRICS",
    "CloudError",
    "Comparison",
    "Compute",
    "Destination",
    "EmulatorError",
    "EstimatorCall",
    "HuggingFace",
    "InvalidJob",
    "JobCost",
    "JobFailed",
    "JobRecord",
    "JobSnapshot",
    "JobSpec",
    "JobStatus",
    "MetricRule",
    "NeuronX",
    "NotConfigured",
    "PartialLaunch",
    "Price",
    "PriceBook",
    "Problem",
    "PyTorch",
    "PyTorchXLA",
    "SMDataParallel",
    "Script",
    "Session",
    "Severity",
    "SingleProcess",
    "SmTrnError",
    "Spot",
    "TorchDistributed",
    "TrainingCompiler",
    "TrainingJob",
    "UnknownName",
    "__version__",
    "check",
    "compare",
    "connect",
    "estimator",
    "render",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
