"""Values: what is asked for, what came back, what is wrong. No I/O, no clock."""

from .compute import SERVERLESS, Accelerator, Compute, InstanceGroup, InstanceType, Spot
from .data import (
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
from .debugging import DebugHook, DebugRule, Profiling, TensorCollection
from .destination import Destination
from .framework import Container, Framework, HuggingFace, HuggingFaceNeuronX, NeuronX, PyTorch, TrainingCompiler
from .guard import Guard
from .job import Distribution, Git, HyperValue, JobSpec, Script
from .kept import Kept, json_text, pointer
from .launch import LaunchPlan, Library, Runner, complete
from .metrics import EVALUATION_METRICS, TRAINER_METRICS, MetricPoint, MetricRule
from .neuron import NeuronOptions
from .problems import Advice, Change, Field, Line, Named, Problem, Problems, Rule, Severity
from .record import JobRecord, Origin, dump_record, parse_record, record
from .snapshot import EMULATED_ACCOUNT, JobSnapshot, JobStatus, Transition, parse_snapshot, parse_time
from .units import InstanceSeconds, Usd, WallSeconds, instance_seconds
from .value import fits, suggesting, suggestion

__all__ = [
    "EMULATED_ACCOUNT",
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
    "DebugHook",
    "DebugRule",
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
    "HyperValue",
    "InputMode",
    "InstanceGroup",
    "InstanceSeconds",
    "InstanceType",
    "JobRecord",
    "JobSnapshot",
    "JobSpec",
    "JobStatus",
    "Kept",
    "LaunchPlan",
    "Library",
    "Line",
    "MetricPoint",
    "MetricRule",
    "Named",
    "Network",
    "NeuronOptions",
    "NeuronX",
    "Origin",
    "Output",
    "Problem",
    "Problems",
    "Profiling",
    "PyTorch",
    "Rule",
    "Runner",
    "S3Kind",
    "Script",
    "Severity",
    "Spot",
    "Spread",
    "TensorBoard",
    "TensorCollection",
    "TrainingCompiler",
    "Transition",
    "Usd",
    "WallSeconds",
    "complete",
    "dump_record",
    "fits",
    "instance_seconds",
    "json_text",
    "parse_record",
    "parse_snapshot",
    "parse_time",
    "pointer",
    "record",
    "suggesting",
    "suggestion",
]
