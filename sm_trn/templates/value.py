"""What a person asks for, and the project that comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..core.specs.job import JobSpec
from .template import Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person wants. ``script`` is a file of their own; ``budget_usd`` the most that the job may cost; ``examples`` how many
    there are, where the data lies in S3."""

    data: str
    template: str | None = None
    model: str | None = None
    budget_usd: float | None = None
    deadline_s: float | None = None
    name: str | None = None
    script: Path | None = None
    instance: str | None = None
    examples: float | None = None
    region: str = "us-west-2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What ``init`` writes, and the sentences that say why. ``job`` names its script and data from the working directory."""

    template: Template
    job: JobSpec
    requirements: tuple[str, ...]
    reasons: tuple[str, ...]
    others: tuple[str, ...]
    asked: Asked
    most_usd: float | None = None
