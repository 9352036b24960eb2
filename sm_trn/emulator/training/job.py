"""A job is a value, and this module turns it into the document that is stored, and back."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Final

from ..telemetry.metrics import FinalMetric
from . import engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..api.shapes import Body
    from .engine import JobState


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

    @property
    def kind(self) -> str:
        return KIND

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
    plain = {name: getattr(job, name) for name in Job.__dataclass_fields__}
    return json.dumps(plain | {"state": engine.dump(job.state), "metrics": [astuple(each) for each in job.metrics]})


def load(text: str) -> Job:
    """Read what ``dump`` made, now or in an earlier version."""
    document = json.loads(text)
    metrics = tuple(FinalMetric(name=n, value=v, timestamp=t) for n, v, t in document["metrics"])
    return Job(**{**document, "state": engine.load(document["state"]), "metrics": metrics})
