"""A training job as a value, and the protocol of its distribution strategies."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from ..formatting.cards import HasCard
from .compute import Compute, Spot
from .data import Channel, Checkpoint, Dataset, FileSystem, Network, Output, Source
from .framework import Framework, NeuronOptions, TrainingCompiler
from .guard import Guard
from .json import NOTHING, frozen, thawed, value_at
from .kept import Kept
from .launch import LaunchPlan
from .metrics import TRAINER_METRICS, MetricRule
from .problems import Problem
from .services import Queue
from .value import misfit, suggesting

HyperValue: TypeAlias = str | int | float | bool


@suggesting
@dataclass(frozen=True, slots=True)
class Git:
    """A repository at a commit, or at the head of a branch: submit pins it and writes the commit into a tag.

    >>> st.specs.Git("https://github.com/huggingface/transformers.git", branch="v4.49.0").commit is None
    True
    """

    repo: str
    _: KW_ONLY
    branch: str | None = None
    commit: str | None = None


@suggesting
@dataclass(frozen=True, slots=True)
class Script:
    """The entry point. Without ``source_dir`` it is one of the shipped scripts; with it, a file inside that folder.

    With ``git``, ``source_dir`` is a folder of the repository. ``dependencies`` are files and folders that are packed beside it,
    each under its own name; of one whose path ends with a slash, what it holds. With ``git`` they are paths of the repository.

    >>> st.Script("train.py", source_dir="./src", dependencies=("../libs/shared",)).entry
    'train.py'
    """

    entry: str
    _: KW_ONLY
    source_dir: str | None = None
    git: Git | None = None
    dependencies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dependencies", tuple(self.dependencies))

    def moved(self, move: Callable[[str], str]) -> Script:
        """The script with its relative paths of this machine moved; a slash at the end of one stays."""
        if self.git is not None:
            return self
        folder = None if self.source_dir is None else _moved(self.source_dir, move)
        return dataclasses.replace(
            self, source_dir=folder, dependencies=tuple(_moved(p, move) for p in self.dependencies)
        )


def _moved(path: str, move: Callable[[str], str]) -> str:
    if "://" in path or path.startswith("/"):
        return path
    return f"{move(path.rstrip('/'))}/" if path.endswith("/") else move(path)


@runtime_checkable
class Distribution(Protocol):
    """A strategy: one file in ``sm_trn/core/strategies`` and one line in its registry.

    ``image_family`` names the table of images that the strategy's library lives in, when that is not the framework's own.
    """

    @property
    def name(self) -> str: ...

    @property
    def image_family(self) -> str | None: ...

    def problems(self, job: JobSpec) -> Iterator[Problem]: ...

    def plan(self, job: JobSpec) -> LaunchPlan: ...

    @classmethod
    def recognise(cls, sent: Mapping[str, Any]) -> Distribution | None:
        """The strategy that ``plan`` wrote these decoded hyperparameters for; None when they are not its own."""


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec(HasCard):
    """A training job. Immutable; change it with ``replace``. Send it with ``Session.submit``.

    ``name`` begins the job's unique name; without one it is the script's. SageMaker ends the job after ``max_run_s`` seconds.
    ``metrics`` find numbers in what the script prints. ``environment`` are variables of its containers, ``tags`` are the job's own,
    such as team and project.
    ``inputs`` maps channel names to S3 URIs, local folders (uploaded at submit) or file systems. ``hyperparameters`` reach the script
    as command-line arguments, JSON-encoded on the way exactly as SDK v2 does. ``image_uri`` overrides the container that
    ``framework`` would select. Without a ``script`` the image's own program runs, and reads its hyperparameters as plain texts.
    ``kept``: fields of an attached job's request that a spec has no word for. They are sent again unless you change the field.
    ``retries`` is how often the service starts the job again after its own internal errors.
    ``guard`` is what the job is watched for while somebody waits for it, ``queue`` the queue of AWS Batch that it waits in before it
    starts; they are no part of the request.
    ``extra`` holds members of the CreateTrainingJob request that no other field sets, in the request's own names. It is merged into
    the request: ``extra={"RemoteDebugConfig": {"EnableRemoteDebug": True}}`` opens the containers to Systems Manager. SageMaker's
    profiler and debugger are off unless ``extra`` sets their members.

    >>> job = st.JobSpec(
    ...     name="bert",
    ...     script=st.Script("train.py", source_dir="s3://bucket/source.tar.gz"),
    ...     framework=st.NeuronX("2.9.0"),
    ...     compute=st.Compute("ml.trn1.32xlarge"),
    ...     distribution=st.TorchDistributed(),
    ... )
    >>> job.replace(max_run_s=3600).max_run_s
    3600
    >>> st.render(job)["ResourceConfig"]["InstanceType"]
    'ml.trn1.32xlarge'
    """

    # What SageMaker SDK v2 and CreateTrainingJob call it, and how it is written here.
    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **dict.fromkeys(("max_wait_s", "max_wait", "use_spot_instances"), "spot=Spot(max_wait_s=…)"),
            "checkpoint_s3_uri": "spot=Spot(…, checkpoint_s3_uri=…), or checkpoint=Checkpoint(s3_uri=…)",
            "max_run": "max_run_s=…",
            **dict.fromkeys(
                ("instance", "instance_type", "instance_count", "volume_size"),
                "compute=Compute('ml.…', count=…)",
            ),
            **dict.fromkeys(("entry_point", "source_dir"), "script=Script('train.py', source_dir='./src')"),
            "dependencies": "script=Script(…, dependencies=('../libs/shared',))",
            **dict.fromkeys(("framework_version", "py_version"), "framework=PyTorch('2.6')"),
            **dict.fromkeys(
                ("transformers_version", "pytorch_version"),
                "framework=HuggingFace('4.49')",
            ),
            "compiler_config": "compiler=TrainingCompiler()",
            "metric_definitions": "metrics=(MetricRule('loss', r'loss: ([0-9.]+)'),)",
            "base_job_name": "name='…'",
            "output_path": "output=Output(s3_uri=…)",
            **dict.fromkeys(("subnets", "security_group_ids"), "network=Network(subnets=…, security_groups=…)"),
            "keep_alive_period_in_seconds": "compute=Compute(…, keep_alive_s=…)",
            "training_plan": "compute=Compute(…, training_plan=…)",
            "tensorboard_output_config": "extra={'TensorBoardOutputConfig': {'S3OutputPath': …}}",
            "debugger_hook_config": "extra={'DebugHookConfig': {'S3OutputPath': …}}",
            "rules": "extra={'DebugRuleConfigurations': […]}",
            "profiler_config": "extra={'ProfilerConfig': {'DisableProfiler': False, 'S3OutputPath': …}}",
            "enable_infra_check": "extra={'InfraCheckConfig': {'EnableInfraCheck': True}}",
            "enable_remote_debug": "extra={'RemoteDebugConfig': {'EnableRemoteDebug': True}}",
            "logMonitoringConfiguration": "guard=Guard(stall_s=…)",
            "container_entry_point": "extra={'AlgorithmSpecification': {'ContainerEntrypoint': ['python', 'train.py']}}",
            **dict.fromkeys(
                ("training_repository_access_mode", "training_repository_credentials_provider_arn"),
                "extra={'AlgorithmSpecification': {'TrainingImageConfig': {…}}}",
            ),
            "enable_session_tag_chaining": "extra={'SessionChainingConfig': {'EnableSessionTagChaining': True}}",
            "instance_placement_config": "compute=Compute(…, placement=Placement(…))",
            "experiment_config": "extra={'ExperimentConfig': {'ExperimentName': …}}",
            "role": "connect(role=…)",
            "queue_name": "queue=Queue('…')",
        }
    )
    WANTED: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "script": "Script('train.py', source_dir='./src')",
            "framework": "PyTorch('2.6'), HuggingFace(…), NeuronX(…), TorchNeuron('2.14') or Container()",
            "compute": "Compute('ml.trn1.32xlarge', count=1)",
            "distribution": "a strategy: TorchDistributed(), SMDataParallel(), SMModelParallel(…), PyTorchXLA(), MPI(…) or another",
            "hyperparameters": "a mapping of names to values, such as {'epochs': 3}",
            "inputs": "a mapping of channels to S3 URIs or local paths as texts, such as {'train': 's3://bucket/data'}",
            "compiler": "TrainingCompiler()",
            "spot": "Spot(max_wait_s=90_000, checkpoint_s3_uri='s3://bucket/checkpoints')",
            "guard": "Guard(stall_s=1200)",
            "queue": "Queue('training', priority=10)",
            "max_run_s": "whole seconds, such as 3600",
            "metrics": "a tuple of MetricRule('loss', r'loss: ([0-9.]+)')",
            "extra": "a mapping of CreateTrainingJob's members, such as {'RemoteDebugConfig': {'EnableRemoteDebug': True}}",
        }
    )

    name: str = ""
    script: Script | None = None
    framework: Framework
    compute: Compute
    distribution: Distribution | None = None
    hyperparameters: Mapping[str, HyperValue] = field(default_factory=lambda: NOTHING)
    inputs: Mapping[str, str | Channel | FileSystem | Dataset] = field(default_factory=lambda: NOTHING)
    compiler: TrainingCompiler | None = None
    spot: Spot | None = None
    max_run_s: int = 86_400
    metrics: tuple[MetricRule, ...] = TRAINER_METRICS
    environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    tags: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    image_uri: str | None = None
    checkpoint: Checkpoint | None = None
    output: Output = field(default_factory=Output)
    network: Network | None = None
    neuron: NeuronOptions | None = None
    retries: int | None = None
    guard: Guard | None = None
    queue: Queue | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    kept: tuple[Kept, ...] = ()

    def __post_init__(self) -> None:
        if not self.name and self.script is not None:
            stem = self.script.entry.rsplit("/", 1)[-1].rsplit(".", 1)[0]
            object.__setattr__(self, "name", re.sub(r"[^A-Za-z0-9]+", "-", stem).strip("-"))
        if not self.name:
            raise ValueError("name: got '', wanted a job name, or a script whose name the job gets")
        if self.max_run_s < 1:
            raise ValueError(f"max_run_s: got {self.max_run_s!r}, wanted at least 1")
        for name in ("hyperparameters", "inputs", "environment", "tags"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        for name in ("metrics", "kept"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        try:
            object.__setattr__(self, "extra", frozen(self.extra))
        except TypeError as error:
            raise TypeError(f"JobSpec.extra: {error}") from None

    def __repr__(self) -> str:
        """Show each field that is set on a line; of the environment only the names, because values may be secrets."""
        lines = []
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if value not in (each.default, NOTHING, Output()):
                shown = list(value) if each.name == "environment" else value
                lines.append(f"  {each.name}={thawed(shown) if isinstance(shown, Mapping) else shown!r}")
        return "\n".join(["JobSpec:", *lines])

    def replace(self, **changes: Any) -> JobSpec:
        """A copy with ``changes``; an unknown field is a TypeError with a suggestion."""
        return dataclasses.replace(self, **changes)

    @property
    def channels(self) -> Mapping[str, Channel]:
        """The inputs that are copied or streamed from S3 or this machine, each as a Channel."""
        return {
            name: value if isinstance(value, Channel) else _channel(value)
            for name, value in self.inputs.items()
            if not isinstance(value, (FileSystem, Dataset))
        }

    @property
    def file_systems(self) -> Mapping[str, FileSystem]:
        """The inputs that are mounted."""
        return {name: value for name, value in self.inputs.items() if isinstance(value, FileSystem)}

    @property
    def sources(self) -> Mapping[str, Source]:
        """All inputs in their order, none of them a plain text."""
        return {name: _channel(value) if isinstance(value, str) else value for name, value in self.inputs.items()}

    @property
    def arguments(self) -> Mapping[str, HyperValue]:
        """The script's arguments: those of the Neuron options, then the hyperparameters."""
        return {**self.neuron.arguments(), **self.hyperparameters} if self.neuron else self.hyperparameters

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment: the user's own wins over what the Neuron options set."""
        return {**(self.neuron.environment(self.compute.hosts) if self.neuron else {}), **self.environment}

    @property
    def checkpoints(self) -> Checkpoint | None:
        """Where checkpoints are kept, named by the spot or by the job itself."""
        if self.spot is not None and self.spot.checkpoint_s3_uri:
            return _checkpoint(self.spot.checkpoint_s3_uri, self.spot.checkpoint_local_path)
        return self.checkpoint

    def kept_at(self, at: str) -> Any:
        """The value that a kept part puts at the request's field ``at``; None where none does."""
        sent = next((part.sent for part in self.kept if part.at == at), None)
        return json.loads(sent) if sent is not None else None

    def keeps(self, at: str) -> bool:
        """Return True if a kept part is about the request's field ``at``, a part of it, or all around it."""
        return any(f"{part.at}/".startswith(f"{at}/") or f"{at}/".startswith(f"{part.at}/") for part in self.kept)

    def extra_at(self, path: str) -> Any:
        """The value that ``extra`` has at a path such as ``RemoteDebugConfig.EnableRemoteDebug``; None where it has none."""
        return value_at(self.extra, path)

    @property
    def own_entrypoint(self) -> bool:
        """Return True if the request names the program that the container starts, in place of the image's own."""
        entrypoint = "AlgorithmSpecification.ContainerEntrypoint"
        return bool(self.extra_at(entrypoint)) or self.keeps(f"/{entrypoint.replace('.', '/')}")

    @property
    def serverless(self) -> bool:
        """Return True for a job that the service runs on machines of its own choice, and bills by tokens."""
        return "ServerlessJobConfig" in self.extra

    @property
    def compiled(self) -> bool:
        return self.compiler is not None and self.compiler.enabled


@functools.lru_cache(maxsize=256)
def _channel(uri: str) -> Channel:
    return Channel(uri)


@functools.lru_cache(maxsize=256)
def _checkpoint(s3_uri: str, local_path: str | None) -> Checkpoint:
    return Checkpoint(s3_uri=s3_uri, local_path=local_path)


def specs_of(jobs: JobSpec | Iterable[JobSpec]) -> list[JobSpec]:
    """The specs of one job or of several. Raises TypeError where something else is among them."""
    if isinstance(jobs, JobSpec):
        return [jobs]
    if isinstance(jobs, (str, os.PathLike)) or not isinstance(jobs, Iterable):
        raise TypeError(f"jobs: {misfit(jobs, 'JobSpecs; st.read_jobs returns those of a file')}")
    specs = list(jobs)
    for job in specs:
        expect_spec(job)
    return specs


def expect_spec(job: object) -> None:
    """Refuse what is no JobSpec, and say how one comes from what was given. Raises TypeError."""
    if isinstance(job, JobSpec):
        return
    meant = "a JobSpec"
    if isinstance(job, (str, os.PathLike)):
        meant += f"; st.read_jobs({os.fspath(job)!r}) returns those of a file"
    elif isinstance(getattr(job, "spec", None), JobSpec):
        meant += "; this one's is .spec"
    elif isinstance(job, (list, tuple)):
        meant += ": one at a time"
    raise TypeError(f"job: {misfit(job, meant)}")
