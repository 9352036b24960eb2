"""Train Hugging Face and PyTorch scripts on Amazon SageMaker, and know the cost before and after.

    import sm_trn as st

    job = st.JobSpec(...)                       # one training job, as a value
    st.check(job)                               # its problems, found without an account
    st.estimate(job)                            # its time and cost, before the launch
    st.render(job, "request")                   # the exact CreateTrainingJob request
    session = st.connect("emulator")            # this machine; "aws" is the account
    session.wait([session.submit(job)])         # the same job on both

Names are loaded when they are first used: importing the package loads neither boto3 nor pandas nor torch.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see: each name where it is defined
    from ._entry import scripts_folder
    from .causes.cause import Cause, Confidence, Diagnosis
    from .causes.source import why
    from .errors import (
        CloudError,
        EmulatorError,
        InvalidJob,
        JobFailed,
        LaunchUnknown,
        NotConfigured,
        SmTrnError,
        UnknownName,
    )
    from .estimation.jobs.calibration import Calibration, read_calibration
    from .estimation.jobs.estimate import estimate
    from .estimation.jobs.facts import MissingFact
    from .estimation.jobs.value import Estimate
    from .jobfile.files import dump_job, load_jobs
    from .launchers.launches import Hole, Launch, Launchers
    from .launchers.read import read_launchers
    from .logs.events import LogEvent
    from .logs.metrics import MetricLog
    from .logs.saved import SavedLog
    from .planning import Limits, Plan, plan
    from .preflight import check
    from .pricing.book import Price, PriceBook
    from .pricing.cost import JobCost
    from .pricing.requests import RequestCost
    from .recorder.inside import recording
    from .render import render
    from .render.calls import EstimatorCall
    from .render.differences import Diff
    from .render.from_request import parse_request
    from .render.policy import Policies, policies
    from .report import Comparison, Fleet
    from .session.budget import OverBudget
    from .session.comparison import calibrate, compare, diff
    from .session.connection import connect, estimator
    from .session.endpoints import Endpoint, Transform
    from .session.handles import Session, TrainingJob
    from .session.jobfiles import read_jobs
    from .session.launches import LaunchInterrupted, PartialLaunch
    from .session.log_reader import read_log
    from .session.rehearsal import Rehearsal, rehearse
    from .specs.compute import Compute, InstanceGroup, Spot
    from .specs.data import (
        Channel,
        Checkpoint,
        FileSystem,
        FileSystemKind,
        InputMode,
        Network,
        Output,
        S3Kind,
        Spread,
        TensorBoard,
    )
    from .specs.debugging import DebugHook, DebugRule, Profiling, TensorCollection
    from .specs.destination import Destination
    from .specs.framework import Container, HuggingFace, HuggingFaceNeuronX, NeuronX, PyTorch, TrainingCompiler
    from .specs.guard import Guard
    from .specs.job import Git, JobSpec, Script
    from .specs.kept import Kept
    from .specs.metrics import EVALUATION_METRICS, TRAINER_METRICS, MetricRule
    from .specs.neuron import NeuronOptions
    from .specs.problems import Problem, Problems, Severity
    from .specs.record import JobRecord
    from .specs.snapshot import JobSnapshot, JobStatus
    from .specs.sweeps import grid
    from .strategies.ddp import PyTorchDDP
    from .strategies.mpi import MPI
    from .strategies.single import SingleProcess
    from .strategies.smddp import SMDataParallel
    from .strategies.smp import SMModelParallel
    from .strategies.smp_v2 import SMModelParallelV2
    from .strategies.torchrun import TorchDistributed
    from .strategies.xla import PyTorchXLA

__version__ = "0.1.0"

_HOME = {
    "._entry": ("scripts_folder",),
    ".causes.cause": ("Cause", "Confidence", "Diagnosis"),
    ".causes.source": ("why",),
    ".errors": (
        "CloudError",
        "EmulatorError",
        "InvalidJob",
        "JobFailed",
        "LaunchUnknown",
        "NotConfigured",
        "SmTrnError",
        "UnknownName",
    ),
    ".estimation.jobs": ("Calibration", "Estimate", "MissingFact", "estimate", "read_calibration"),
    ".jobfile": ("dump_job", "load_jobs"),
    ".launchers": ("Hole", "Launch", "Launchers", "read_launchers"),
    ".logs": ("LogEvent", "MetricLog", "SavedLog"),
    ".planning": ("Limits", "Plan", "plan"),
    ".preflight": ("check",),
    ".pricing": ("JobCost", "Price", "PriceBook", "RequestCost"),
    ".render": ("Diff", "EstimatorCall", "Policies", "parse_request", "policies"),
    ".recorder": ("recording",),
    ".report": ("Comparison", "Fleet"),
    ".session": (
        "LaunchInterrupted",
        "OverBudget",
        "PartialLaunch",
        "Rehearsal",
        "Session",
        "TrainingJob",
        "calibrate",
        "compare",
        "connect",
        "diff",
        "estimator",
        "read_jobs",
        "rehearse",
    ),
    ".session.endpoints": ("Endpoint", "Transform"),
    ".session.log_reader": ("read_log",),
    ".specs": (
        "EVALUATION_METRICS",
        "TRAINER_METRICS",
        "Channel",
        "Checkpoint",
        "Compute",
        "Container",
        "DebugHook",
        "DebugRule",
        "Destination",
        "FileSystem",
        "FileSystemKind",
        "Git",
        "Guard",
        "HuggingFace",
        "HuggingFaceNeuronX",
        "InputMode",
        "InstanceGroup",
        "JobRecord",
        "JobSnapshot",
        "JobSpec",
        "JobStatus",
        "Kept",
        "MetricRule",
        "Network",
        "NeuronOptions",
        "NeuronX",
        "Output",
        "Problem",
        "Problems",
        "Profiling",
        "PyTorch",
        "S3Kind",
        "Script",
        "Severity",
        "Spot",
        "Spread",
        "TensorBoard",
        "TensorCollection",
        "TrainingCompiler",
    ),
    ".specs.sweeps": ("grid",),
    ".strategies": (
        "MPI",
        "PyTorchDDP",
        "PyTorchXLA",
        "SMDataParallel",
        "SMModelParallel",
        "SMModelParallelV2",
        "SingleProcess",
        "TorchDistributed",
    ),
}
HOMES = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "EVALUATION_METRICS",
    "MPI",
    "TRAINER_METRICS",
    "Calibration",
    "Cause",
    "Channel",
    "Checkpoint",
    "CloudError",
    "Comparison",
    "Compute",
    "Confidence",
    "Container",
    "DebugHook",
    "DebugRule",
    "Destination",
    "Diagnosis",
    "Diff",
    "EmulatorError",
    "Endpoint",
    "Estimate",
    "EstimatorCall",
    "FileSystem",
    "FileSystemKind",
    "Fleet",
    "Git",
    "Guard",
    "Hole",
    "HuggingFace",
    "HuggingFaceNeuronX",
    "InputMode",
    "InstanceGroup",
    "InvalidJob",
    "JobCost",
    "JobFailed",
    "JobRecord",
    "JobSnapshot",
    "JobSpec",
    "JobStatus",
    "Kept",
    "Launch",
    "LaunchInterrupted",
    "LaunchUnknown",
    "Launchers",
    "Limits",
    "LogEvent",
    "MetricLog",
    "MetricRule",
    "MissingFact",
    "Network",
    "NeuronOptions",
    "NeuronX",
    "NotConfigured",
    "Output",
    "OverBudget",
    "PartialLaunch",
    "Plan",
    "Policies",
    "Price",
    "PriceBook",
    "Problem",
    "Problems",
    "Profiling",
    "PyTorch",
    "PyTorchDDP",
    "PyTorchXLA",
    "Rehearsal",
    "RequestCost",
    "S3Kind",
    "SMDataParallel",
    "SMModelParallel",
    "SMModelParallelV2",
    "SavedLog",
    "Script",
    "Session",
    "Severity",
    "SingleProcess",
    "SmTrnError",
    "Spot",
    "Spread",
    "TensorBoard",
    "TensorCollection",
    "TorchDistributed",
    "TrainingCompiler",
    "TrainingJob",
    "Transform",
    "UnknownName",
    "__version__",
    "calibrate",
    "check",
    "compare",
    "connect",
    "diff",
    "dump_job",
    "estimate",
    "estimator",
    "grid",
    "load_jobs",
    "parse_request",
    "plan",
    "policies",
    "read_calibration",
    "read_jobs",
    "read_launchers",
    "read_log",
    "recording",
    "rehearse",
    "render",
    "scripts_folder",
    "why",
]


class _Package(ModuleType):
    """``render`` is the function: its module, which the folder gives the same name, never takes its place when it is loaded."""

    @property
    def render(self) -> Any:
        return import_module(".render", __name__).render

    @render.setter
    def render(self, module: ModuleType) -> None:
        """The import system's own note that the module is there."""


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # to a type checker an unknown name is a mistake

    def __getattr__(name: str) -> Any:
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(HOMES[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
