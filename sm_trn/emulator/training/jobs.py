"""The registry keeps the training jobs of a region, changes them only through the engine, and saves each at every change.

It must not know HTTP, nor how a job is run.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import AwsError, not_found
from . import engine
from .engine import Event, JobState
from .job import Job, dump, load
from .warm_pool import matches, pool_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..state.store import Store
    from ..telemetry.metrics import FinalMetric


class Jobs:
    """All jobs, by name. Every method is atomic."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._jobs = {job.name: job for job in map(load, store.jobs())}

    def now(self) -> float:
        return self._clock()

    def get(self, name: str) -> Job:
        """Raises the service's own fault when there is no such job."""
        with self._lock:
            if name not in self._jobs:
                raise not_found()
            return self._jobs[name]

    def has(self, name: str) -> bool:
        with self._lock:
            return name in self._jobs

    def by_arn(self, arn: str) -> Job | None:
        with self._lock:
            return next((job for job in self._jobs.values() if job.arn == arn), None)

    def all(self) -> list[Job]:
        """In order of creation."""
        with self._lock:
            return sorted(self._jobs.values(), key=lambda job: (job.state.created, job.name))

    def add(self, job: Job) -> None:
        with self._lock:
            if job.name in self._jobs:
                raise AwsError(
                    "ResourceInUse",
                    "Training job names must be unique within an AWS account and region, and a training job with this "
                    f"name already exists ({job.arn})",
                )
            self._save(job)

    def drop(self, name: str) -> None:
        with self._lock:
            self._jobs.pop(name, None)
            self._store.drop_job(name)

    def apply(self, name: str, event: Event, *, reason: str = "") -> JobState:
        """Advance a job and save it; the state after the event."""
        with self._lock:
            job = self._jobs[name]
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
            job = self._jobs[name]
            self._save(
                replace(
                    job,
                    tags=job.tags if tags is None else dict(tags),
                    metrics=job.metrics if metrics is None else metrics,
                    model_uri=model_uri or job.model_uri,
                )
            )

    def update(self, name: str, request: Mapping[str, Any], *, pool_end: float | None = None) -> None:
        """Change what was asked, and say when."""
        with self._lock:
            job = self._jobs[name]
            state = replace(job.state, modified=max(self._clock(), job.state.modified))
            self._save(replace(job, request=request, state=state, pool_end=job.pool_end or pool_end))

    def claim_pool(self, name: str) -> str | None:
        """Give the job the oldest warm pool that fits it; the name of the job that kept it."""
        with self._lock:
            now, wanted = self._clock(), self._jobs[name].request
            for job in self.all():
                pool = pool_of(job, now)
                if job.name != name and pool and pool.status == "Available" and matches(job.request, wanted):
                    self._save(replace(job, pool_end=now, reused_by=name))
                    return job.name
            return None

    def fail_unfinished(self) -> list[str]:
        """After a restart: no job can still be running. Names of those that were."""
        left = [job for job in self.all() if not job.state.terminal]
        for job in left:
            reason = (
                f"InternalServerError: the emulator was killed while the job was in {job.state.secondary}; "
                "the job's processes were ended with it. Please try again."
            )
            self.apply(job.name, Event.FAIL, reason=reason)
        return [job.name for job in left]

    def _save(self, job: Job) -> None:
        self._store.save_job(job.name, dump(job))
        self._jobs[job.name] = job
