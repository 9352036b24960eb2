# Made from sm_trn/__init__.py: python .github/documents.py
from . import errors as errors
from . import results as results
from . import specs as specs
from .account.policies.policy import policies as policies
from .bridge.launchers import import_launcher as import_launcher
from .capacity.fallback import fallback as fallback
from .core._entry import scripts_folder as scripts_folder
from .core.errors import SmTrnError as SmTrnError
from .core.jobfile.files import dump_job as dump_job
from .core.jobfile.files import load_jobs as load_jobs
from .core.logs.saved import read_log as read_log
from .core.render import render as render
from .core.render.from_request import parse_request as parse_request
from .core.session.connection import estimator as estimator
from .core.session.jobfiles import read_jobs as read_jobs
from .core.specs import TRAINER_METRICS as TRAINER_METRICS
from .core.specs.compute import Compute as Compute
from .core.specs.compute import Spot as Spot
from .core.specs.data import Channel as Channel
from .core.specs.data import Checkpoint as Checkpoint
from .core.specs.data import FileSystem as FileSystem
from .core.specs.data import Network as Network
from .core.specs.data import Output as Output
from .core.specs.framework import Container as Container
from .core.specs.framework import HuggingFace as HuggingFace
from .core.specs.framework import NeuronX as NeuronX
from .core.specs.framework import PyTorch as PyTorch
from .core.specs.framework import TorchNeuron as TorchNeuron
from .core.specs.framework import TrainingCompiler as TrainingCompiler
from .core.specs.guard import Guard as Guard
from .core.specs.job import JobSpec as JobSpec
from .core.specs.job import Script as Script
from .core.specs.metrics import MetricRule as MetricRule
from .core.specs.problems import Severity as Severity
from .core.specs.services import Queue as Queue
from .core.specs.snapshot import JobStatus as JobStatus
from .core.specs.sweeps import grid as grid
from .core.specs.tuning import Sweep as Sweep
from .core.strategies.ddp import PyTorchDDP as PyTorchDDP
from .core.strategies.mpi import MPI as MPI
from .core.strategies.smddp import SMDataParallel as SMDataParallel
from .core.strategies.smp import SMModelParallel as SMModelParallel
from .core.strategies.torchrun import TorchDistributed as TorchDistributed
from .core.strategies.xla import PyTorchXLA as PyTorchXLA
from .diagnosis.causes.source import why as why
from .forecast.estimate import estimate as estimate
from .forecast.plan import Limits as Limits
from .forecast.plan import plan as plan
from .report.comparing import diff as diff
from .report.comparison.compare import compare as compare
from .rules import check as check
from .tuning.studies import tune as tune
from .wiring import Session as Session
from .wiring import TrainingJob as TrainingJob
from .wiring import connect as connect
from .wiring import rehearse as rehearse

__version__: str
HOMES: dict[str, str]
__all__ = [
    "MPI",
    "TRAINER_METRICS",
    "Channel",
    "Checkpoint",
    "Compute",
    "Container",
    "FileSystem",
    "Guard",
    "HuggingFace",
    "JobSpec",
    "JobStatus",
    "Limits",
    "MetricRule",
    "Network",
    "NeuronX",
    "Output",
    "PyTorch",
    "PyTorchDDP",
    "PyTorchXLA",
    "Queue",
    "SMDataParallel",
    "SMModelParallel",
    "Script",
    "Session",
    "Severity",
    "SmTrnError",
    "Spot",
    "Sweep",
    "TorchDistributed",
    "TorchNeuron",
    "TrainingCompiler",
    "TrainingJob",
    "__version__",
    "check",
    "compare",
    "connect",
    "diff",
    "dump_job",
    "errors",
    "estimate",
    "estimator",
    "fallback",
    "grid",
    "import_launcher",
    "load_jobs",
    "parse_request",
    "plan",
    "policies",
    "read_jobs",
    "read_log",
    "rehearse",
    "render",
    "results",
    "scripts_folder",
    "specs",
    "tune",
    "why",
]
