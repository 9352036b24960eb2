"""The narrow waist: what a strategy makes and a renderer reads."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .job import JobSpec
    from .problems import Problem

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Runner(enum.Enum):
    """The program in the container that starts the workers."""

    PYTHON = "python"
    TORCHRUN = "torchrun"
    SMDDP = "smddprun"
    MPI = "mpirun"
    XLA_SPAWN = "xla_spawn"


class Library(enum.Enum):
    """What of AWS's own the workers run on, beside the runner that starts them."""

    SMDDP = "smdistributed.dataparallel"
    SMP = "smdistributed.modelparallel"
    SMP_V2 = "smdistributed.modelparallel, version 2"
    PYTORCH_DDP = "pytorchddp"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """How the workers of a job are started: facts that a target reads, and the words of the two that name strategies.

    ``named_workers`` says that the user gave ``workers_per_host``. ``parameters`` are the library's own. ``toolkit`` holds
    hyperparameters for the training toolkit in the container (before JSON encoding); ``estimator`` is SDK v2's
    ``distribution=`` argument, and ``beside`` the part of ``toolkit`` that this argument cannot say. Only the targets whose
    words they are send them; nothing reads a fact out of them.
    """

    runner: Runner
    workers_per_host: int
    named_workers: bool = False
    library: Library | None = None
    parameters: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    mpi_options: str = ""
    toolkit: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    estimator: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    beside: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@runtime_checkable
class Distribution(Protocol):
    """A strategy: one file in ``sm_trn/strategies`` and one line in its registry.

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


def complete(protocol: type[Any]) -> tuple[str, ...]:
    """The names that a class needs to be what ``protocol`` describes."""
    return tuple(sorted(name for name in vars(protocol) if not name.startswith("_")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a spec is sent: what the account and the moment add to it. Defaults make a preview, not a launchable job.

    ``host`` is the instance type that answers with the trained model, for the targets that deploy it.

    >>> st.Destination(region="us-east-1", bucket="my-bucket").host
    'ml.c5.xlarge'
    """

    role: str = "arn:aws:iam::111122223333:role/service-role/YOUR-ROLE"
    region: str = "us-west-2"
    bucket: str = "YOUR-BUCKET"
    job_name: str | None = None
    source_uri: str | None = None
    host: str = "ml.c5.xlarge"

    def named(self, job: JobSpec) -> str:
        return self.job_name or job.name

    def source(self, job: JobSpec) -> str:
        asked = job.script.source_dir if job.script is not None else None
        there = asked if asked is not None and asked.startswith("s3://") else None
        return self.source_uri or there or f"s3://{self.bucket}/{self.named(job)}/source/sourcedir.tar.gz"
