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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see: each name where it is defined
    from .account.policies.policy import Policies, policies
    from .bridge.launchers.launches import Hole, Launch, Launchers
    from .bridge.recorder.inside import recording
    from .core._entry import scripts_folder
    from .core.errors import (
        CloudError,
        EmulatorError,
        InvalidJob,
        JobFailed,
        LaunchUnknown,
        NotConfigured,
        SmTrnError,
        UnknownName,
    )
    from .core.jobfile.files import dump_job, load_jobs
    from .core.logs.events import LogEvent
    from .core.logs.metrics import MetricLog
    from .core.logs.saved import SavedLog
    from .core.pricing.book import Price, PriceBook
    from .core.pricing.cost import JobCost
    from .core.pricing.requests import RequestCost
    from .core.render import render
    from .core.render.calls import EstimatorCall
    from .core.render.differences import Diff
    from .core.render.from_request import parse_request
    from .core.session.budget import OverBudget
    from .core.session.connection import estimator
    from .core.session.jobfiles import read_jobs
    from .core.session.launches import LaunchInterrupted, PartialLaunch
    from .core.session.log_reader import read_log
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
        TensorBoard,
    )
    from .core.specs.debugging import DebugHook, DebugRule, Profiling, TensorCollection
    from .core.specs.destination import Destination
    from .core.specs.framework import (
        Container,
        HuggingFace,
        HuggingFaceNeuronX,
        NeuronX,
        PyTorch,
        Registry,
        RegistryAccess,
        TrainingCompiler,
    )
    from .core.specs.guard import Guard
    from .core.specs.job import Git, JobSpec, Script
    from .core.specs.kept import Kept
    from .core.specs.metrics import EVALUATION_METRICS, TRAINER_METRICS, MetricRule
    from .core.specs.neuron import NeuronOptions
    from .core.specs.problems import Problem, Problems, Severity
    from .core.specs.record import JobRecord
    from .core.specs.services import Experiment, Mlflow, ModelPackage, Serverless
    from .core.specs.snapshot import JobSnapshot, JobStatus
    from .core.specs.sweeps import grid
    from .core.strategies.ddp import PyTorchDDP
    from .core.strategies.mpi import MPI
    from .core.strategies.single import SingleProcess
    from .core.strategies.smddp import SMDataParallel
    from .core.strategies.smp import SMModelParallel
    from .core.strategies.smp_v2 import SMModelParallelV2
    from .core.strategies.torchrun import TorchDistributed
    from .core.strategies.xla import PyTorchXLA
    from .diagnosis.causes.cause import Cause, Confidence, Diagnosis
    from .diagnosis.causes.source import why
    from .emulator.rehearsal import Rehearsal
    from .forecast.jobs.calibration import Calibration, read_calibration
    from .forecast.jobs.estimate import estimate
    from .forecast.jobs.facts import MissingFact
    from .forecast.jobs.value import Estimate
    from .forecast.planning import Limits, Plan, plan
    from .hosting.endpoints import Endpoint, Transform
    from .report import Comparison, Fleet
    from .report.comparing import calibrate, compare, diff
    from .rules import check
    from .wiring import Session, TrainingJob, connect, read_launchers, rehearse

from .core import __version__

_HOME = {
    ".core._entry": ("scripts_folder",),
    ".diagnosis.causes.cause": ("Cause", "Confidence", "Diagnosis"),
    ".diagnosis.causes.source": ("why",),
    ".account.policies.policy": ("Policies", "policies"),
    ".core.errors": (
        "CloudError",
        "EmulatorError",
        "InvalidJob",
        "JobFailed",
        "LaunchUnknown",
        "NotConfigured",
        "SmTrnError",
        "UnknownName",
    ),
    ".forecast.jobs": ("Calibration", "Estimate", "MissingFact", "estimate", "read_calibration"),
    ".core.jobfile": ("dump_job", "load_jobs"),
    ".bridge.launchers": ("Hole", "Launch", "Launchers"),
    ".core.logs": ("LogEvent", "MetricLog", "SavedLog"),
    ".forecast.planning": ("Limits", "Plan", "plan"),
    ".core.pricing": ("JobCost", "Price", "PriceBook", "RequestCost"),
    ".core.render": ("Diff", "EstimatorCall", "parse_request", "render"),
    ".bridge.recorder": ("recording",),
    ".report": ("Comparison", "Fleet"),
    ".core.session.budget": ("OverBudget",),
    ".core.session.connection": ("estimator",),
    ".core.session.jobfiles": ("read_jobs",),
    ".core.session.launches": ("LaunchInterrupted", "PartialLaunch"),
    ".emulator.rehearsal": ("Rehearsal",),
    ".report.comparing": ("calibrate", "compare", "diff"),
    ".hosting.endpoints": ("Endpoint", "Transform"),
    ".core.session.log_reader": ("read_log",),
    ".core.specs": (
        "EVALUATION_METRICS",
        "SERVERLESS",
        "TRAINER_METRICS",
        "Channel",
        "Checkpoint",
        "Compute",
        "Container",
        "Dataset",
        "DebugHook",
        "DebugRule",
        "Destination",
        "Experiment",
        "FileSystem",
        "FileSystemKind",
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
        "MetricRule",
        "Mlflow",
        "ModelPackage",
        "Network",
        "NeuronOptions",
        "NeuronX",
        "Output",
        "Placement",
        "Problem",
        "Problems",
        "Profiling",
        "PyTorch",
        "Registry",
        "RegistryAccess",
        "S3Kind",
        "Script",
        "Serverless",
        "Severity",
        "Spot",
        "Spread",
        "TensorBoard",
        "TensorCollection",
        "TrainingCompiler",
        "UltraServer",
    ),
    ".core.specs.sweeps": ("grid",),
    ".rules": ("check",),
    ".wiring": ("Session", "TrainingJob", "connect", "read_launchers", "rehearse"),
    ".core.strategies": (
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
    "SERVERLESS",
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
    "Dataset",
    "DebugHook",
    "DebugRule",
    "Destination",
    "Diagnosis",
    "Diff",
    "EmulatorError",
    "Endpoint",
    "Estimate",
    "EstimatorCall",
    "Experiment",
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
    "InstancePreference",
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
    "Mlflow",
    "ModelPackage",
    "Network",
    "NeuronOptions",
    "NeuronX",
    "NotConfigured",
    "Output",
    "OverBudget",
    "PartialLaunch",
    "Placement",
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
    "Registry",
    "RegistryAccess",
    "Rehearsal",
    "RequestCost",
    "S3Kind",
    "SMDataParallel",
    "SMModelParallel",
    "SMModelParallelV2",
    "SavedLog",
    "Script",
    "Serverless",
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
    "UltraServer",
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


if not TYPE_CHECKING:  # to a type checker an unknown name is a mistake

    def __getattr__(name: str) -> Any:
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(HOMES[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
