"""What is asked for: one training job as a value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from .compute import Compute, Spot
from .framework import Framework, TrainingCompiler
from .launch import NOTHING, Distribution
from .metrics import TRAINER_METRICS, MetricRule
from .value import suggesting

HyperValue: TypeAlias = str | int | float | bool


@suggesting
@dataclass(frozen=True, slots=True)
class Script:
    """The entry point. Without ``source_dir`` it is one of the shipped scripts; with it, a file inside that folder."""

    entry: str
    _: KW_ONLY
    source_dir: str | None = None


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """A training job. Immutable; change it with ``replace``. Send it with ``Session.submit``.

    ``inputs`` maps channel names to S3 URIs or local folders (uploaded at submit). ``hyperparameters`` reach the script
    as command-line arguments, JSON-encoded on the way exactly as SDK v2 does. ``image_uri`` overrides the container that
    ``framework`` would select.
    """

    name: str
    script: Script
    framework: Framework
    compute: Compute
    distribution: Distribution | None = None
    hyperparameters: Mapping[str, HyperValue] = field(default_factory=lambda: NOTHING)
    inputs: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    compiler: TrainingCompiler | None = None
    spot: Spot | None = None
    max_run_s: int = 86_400
    metrics: tuple[MetricRule, ...] = TRAINER_METRICS
    environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    tags: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    image_uri: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("name: got '', wanted a job name")
        if self.max_run_s < 1:
            raise ValueError(f"max_run_s: got {self.max_run_s!r}, wanted at least 1")
        for name in ("hyperparameters", "inputs", "environment", "tags"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        object.__setattr__(self, "metrics", tuple(self.metrics))

    def replace(self, **changes: Any) -> JobSpec:
        """A copy with ``changes``; an unknown field is a TypeError with a suggestion."""
        return dataclasses.replace(self, **changes)

    @property
    def compiled(self) -> bool:
        return self.compiler is not None and self.compiler.enabled
