"""The training jobs: a job is a value, and the registry changes it through the engine only and saves each change."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from ..api.shapes import Body
from ..errors import AwsError, validation
from ..state.registry import Registry
from ..state.store import Store
from ..telemetry.metrics import FinalMetric
from . import engine
from .engine import Event, JobState

KIND: Final = "training-job"  # as in its ARN


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A request as it was sent, and what became of it."""

    name: str
    arn: str
    request: Body
    state: JobState
    tags: Mapping[str, str]
    metrics: tuple[FinalMetric, ...] = ()
    model_uri: str | None = None
    kind: str = KIND

    @property
    def created(self) -> float:
        return self.state.created

    @property
    def modified(self) -> float:
        return self.state.modified

    @property
    def status(self) -> str:
        return self.state.status


def dump(job: Job) -> str:
    """Return the document for the store; ``load(dump(job)) == job``."""
    return json.dumps(asdict(job))


def load(text: str) -> Job:
    document = json.loads(text)
    metrics = tuple(FinalMetric(**each) for each in document["metrics"])
    return Job(**{**document, "state": engine.load(document["state"]), "metrics": metrics})


class Jobs(Registry[Job]):
    """All training jobs, by name."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        super().__init__(store, map(load, store.records(KIND).values()), dump, clock)

    def get(self, name: str) -> Job:
        """Return a job. Raises AwsError, as the service does, where there is none."""
        job = self.find(KIND, name)
        if job is None:
            raise validation("Requested resource not found.")
        return job

    def all(self) -> list[Job]:
        """Return the jobs in order of creation."""
        return self.of_kind(KIND)

    def add(self, job: Job) -> None:
        """Keep a new job. Raises AwsError for a name that a job has already."""
        with self._lock:
            if self.find(KIND, job.name) is not None:
                raise AwsError(
                    "ResourceInUse",
                    "Training job names must be unique within an AWS account and region, and a training job with this "
                    f"name already exists ({job.arn})",
                )
            self._save(job)

    def apply(self, name: str, event: Event, *, reason: str = "") -> JobState:
        """Advance a job, save it, and return its state after the event."""
        with self._lock:
            job = self.get(name)
            state = engine.advance(job.state, event, self.now(), reason=reason)
            if state is not job.state:
                self._save(replace(job, state=state))
            return state

    def change(self, name: str, **changes: Any) -> None:
        """Replace the tags, metrics or model_uri of a job."""
        with self._lock:
            self._save(replace(self.get(name), **changes))

    def fail_unfinished(self) -> list[str]:
        """Fail the jobs that ran when the emulator was killed; return the names of those that had not begun, which wait again."""
        waiting = [job.name for job in self.all() if job.state.waiting]
        for job in self.all():
            if job.name not in waiting:
                reason = (
                    f"InternalServerError: the emulator was killed while the job was in {job.state.secondary}; "
                    "the job's processes were ended with it. Please try again."
                )
                self.apply(job.name, Event.FAIL, reason=reason)
        return waiting


@dataclass(slots=True)
class Control:
    """Orders to a running job from outside. ``wake`` is set with every change."""

    wake: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False
    shutdown: bool = False
    interrupt: bool = False
    notice: bool = True

    def wait(self, timeout: float) -> None:
        self.wake.wait(max(0.0, timeout))
        self.wake.clear()
