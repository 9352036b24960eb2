"""The registry keeps the training jobs of a region, changes them only through the engine, and saves each at every change.

Beside it stands what the running jobs share beyond every container, and what each is told from outside.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..container.context import RunContext
from ..errors import AwsError, not_found
from ..state.registry import Registry
from . import engine
from .engine import Event, JobState
from .job import KIND, Job, dump, load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..state.store import Store
    from ..telemetry.log_store import LogLines
    from ..telemetry.metric_store import MetricStore
    from ..telemetry.metrics import FinalMetric


class Jobs(Registry[Job]):
    """It keeps all training jobs of a region, by name."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        found = (load(text) for text in store.records(KIND))
        super().__init__(
            found,
            lambda job: store.save_record(KIND, job.name, dump(job)),
            lambda job: store.drop_record(KIND, job.name),
            clock,
        )

    def get(self, name: str) -> Job:
        """Return a job. Raises AwsError, as the service does, when there is no such job."""
        found = self.find(KIND, name)
        if found is None:
            raise not_found()
        return found

    def has(self, name: str) -> bool:
        return self.find(KIND, name) is not None

    def all(self) -> list[Job]:
        """Return the jobs in order of creation."""
        return self.of_kind(KIND)

    def add(self, job: Job) -> None:
        """Raises AwsError for a name that a job has already."""
        with self._lock:
            if self.has(job.name):
                raise AwsError(
                    "ResourceInUse",
                    "Training job names must be unique within an AWS account and region, and a training job with this "
                    f"name already exists ({job.arn})",
                )
            self._save(job)

    def drop(self, name: str) -> None:
        self.remove(KIND, name)

    def apply(self, name: str, event: Event, *, reason: str = "") -> JobState:
        """Advance a job and save it; the state after the event."""
        with self._lock:
            job = self.get(name)
            state = engine.advance(job.state, event, self._clock(), reason=reason)
            if state is not job.state:
                self._save(replace(job, state=state))
            return state

    def change(
        self,
        name: str,
        *,
        tags: Mapping[str, str] | None = None,
        metrics: tuple[FinalMetric, ...] | None = None,
        model_uri: str | None = None,
    ) -> None:
        with self._lock:
            job = self.get(name)
            self._save(
                replace(
                    job,
                    tags=job.tags if tags is None else dict(tags),
                    metrics=job.metrics if metrics is None else metrics,
                    model_uri=model_uri or job.model_uri,
                )
            )

    def fail_unfinished(self) -> list[str]:
        """After a restart no job can still be running: fail those that were. Those that had not begun wait again; their names."""
        waiting = [job.name for job in self.all() if job.state.waiting]
        for job in self.all():
            if job.state.waiting:
                continue
            reason = (
                f"InternalServerError: the emulator was killed while the job was in {job.state.secondary}; "
                "the job's processes were ended with it. Please try again."
            )
            self.apply(job.name, Event.FAIL, reason=reason)
        return waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingContext(RunContext):
    """The context of a region, and the registries that its training jobs report to."""

    jobs: Jobs
    lines: LogLines
    metrics: MetricStore


@dataclass(slots=True)
class Control:
    """This is what a job is told from outside. ``wake`` is set with every change."""

    wake: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False
    shutdown: bool = False
    interrupt: bool = False
    notice: bool = True

    def wait(self, timeout: float) -> None:
        self.wake.wait(max(0.0, timeout))
        self.wake.clear()
