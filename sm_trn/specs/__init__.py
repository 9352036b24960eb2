"""Values: what is asked for, what came back, what is wrong. No I/O, no clock."""

from .compute import Accelerator, Compute, InstanceType, Spot
from .framework import Framework, HuggingFace, NeuronX, PyTorch, TrainingCompiler
from .job import HyperValue, JobSpec, Script
from .launch import Destination, Distribution, LaunchPlan, Runner
from .metrics import EVALUATION_METRICS, TRAINER_METRICS, MetricPoint, MetricRule
from .problems import Problem, Severity
from .record import JobRecord, Origin, dump_record, parse_record, record
from .snapshot import EMULATED_ACCOUNT, JobSnapshot, JobStatus, Transition, parse_snapshot, parse_time
from .units import InstanceSeconds, Usd, WallSeconds, instance_seconds
from .value import suggestion

__all__ = [
    "EMULATED_ACCOUNT",
    "EVALUATION_METRICS",
    "TRAINER_METRICS",
    "Accelerator",
    "Compute",
    "Destination",
    "Distribution",
    "Framework",
    "HuggingFace",
    "HyperValue",
    "InstanceSeconds",
    "InstanceType",
    "JobRecord",
    "JobSnapshot",
    "JobSpec",
    "JobStatus",
    "LaunchPlan",
    "MetricPoint",
    "MetricRule",
    "NeuronX",
    "Origin",
    "Problem",
    "PyTorch",
    "Runner",
    "Script",
    "Severity",
    "Spot",
    "TrainingCompiler",
    "Transition",
    "Usd",
    "WallSeconds",
    "dump_record",
    "instance_seconds",
    "parse_record",
    "parse_snapshot",
    "parse_time",
    "record",
    "suggestion",
]
