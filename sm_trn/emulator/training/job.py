"""A job is a value, and this module turns it into the document that is stored, and back.

It must not know where the document is kept, nor how a job is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..telemetry.metrics import FinalMetric
from . import engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .engine import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A request as it was sent, and what became of it. ``pool_end`` is when its warm pool ended before its time."""

    name: str
    arn: str
    request: Mapping[str, Any]
    state: JobState
    tags: Mapping[str, str]
    metrics: tuple[FinalMetric, ...] = ()
    model_uri: str | None = None
    pool_end: float | None = None
    reused_by: str | None = None


def dump(job: Job) -> dict[str, Any]:
    """Return plain data for the store; ``load(dump(job)) == job``."""
    return {
        "name": job.name,
        "arn": job.arn,
        "request": job.request,
        "state": engine.dump(job.state),
        "tags": job.tags,
        "metrics": [[metric.name, metric.value, metric.timestamp] for metric in job.metrics],
        "model_uri": job.model_uri,
        "pool_end": job.pool_end,
        "reused_by": job.reused_by,
    }


def load(document: Mapping[str, Any]) -> Job:
    metrics = tuple(FinalMetric(name=n, value=v, timestamp=t) for n, v, t in document["metrics"])
    return Job(**{**document, "state": engine.load(document["state"]), "metrics": metrics})
