"""What a search needs of the cloud, as a protocol, and what the service answers, as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ..core.fields import Tree
from ..core.specs.snapshot import EMULATED_ACCOUNT
from ..core.specs.tuning import Goal

ENDED = ("Completed", "Failed", "Stopped")  # HyperParameterTuningJobStatus and TrainingJobStatus
# TrainingJobStatusCounters of training jobs that have ended; a retryable error is tried again.
ENDED_COUNTS = ("Completed", "NonRetryableError", "Stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A training job of a search. ``values`` are the tuned hyperparameters in the service's own texts.

    ``objective`` is None until the job has printed it.
    """

    name: str
    status: str
    values: Mapping[str, str]
    objective: float | None = None
    reason: str = ""
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningSnapshot:
    """A tuning job at one time; ``status`` is AWS's word. ``counts`` are training jobs by their state, ``most`` is how many there
    can be.
    """

    name: str
    arn: str
    status: str
    metric: str
    goal: Goal
    counts: Mapping[str, int]
    most: int | None = None
    best: Trial | None = None
    reason: str = ""

    @property
    def terminal(self) -> bool:
        """Whether the search is over."""
        return self.status in ENDED

    @property
    def ended(self) -> int:
        """How many training jobs are over."""
        return sum(self.counts.get(word, 0) for word in ENDED_COUNTS)

    @property
    def emulated(self) -> bool:
        """Whether it ran on this machine, and cost nothing."""
        return f":{EMULATED_ACCOUNT}:" in self.arn


class TuningService(Protocol):
    """Tuning jobs. Every method raises CloudError; ``create`` raises LaunchUnknown when nobody can say whether the job was made.

    ``create`` of a request that was sent before, word for word, is the same job: its name makes it one.
    """

    def create(self, request: Tree) -> str: ...

    def fetch(self, name: str) -> TuningSnapshot: ...

    def exists(self, name: str) -> bool: ...

    def fetch_trials(self, name: str) -> Iterator[Trial]: ...

    def stop(self, name: str) -> None: ...
