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
    XLA_SPAWN = "xla_spawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """How the workers of a job are started.

    ``toolkit`` holds hyperparameters for the training toolkit in the container (before JSON encoding); ``estimator`` is
    the same wish as SDK v2's ``distribution=`` argument.
    """

    runner: Runner
    workers_per_host: int
    toolkit: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    estimator: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@runtime_checkable
class Distribution(Protocol):
    """A strategy: one file in ``sm_trn/strategies`` and one line in its registry."""

    @property
    def name(self) -> str: ...

    def problems(self, job: JobSpec) -> Iterator[Problem]: ...

    def plan(self, job: JobSpec) -> LaunchPlan: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a spec is sent: what the account and the moment add to it. Defaults make a preview, not a launchable job."""

    role: str = "arn:aws:iam::111122223333:role/service-role/YOUR-ROLE"
    region: str = "us-west-2"
    bucket: str = "YOUR-BUCKET"
    job_name: str | None = None
    source_uri: str | None = None

    def named(self, job: JobSpec) -> str:
        return self.job_name or job.name

    def source(self, job: JobSpec) -> str:
        return self.source_uri or f"s3://{self.bucket}/{self.named(job)}/source/sourcedir.tar.gz"
