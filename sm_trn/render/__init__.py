"""Render targets: one file each, one line here. A renderer returns plain data and never sends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..errors import UnknownName
from ..specs import Destination, JobSpec, suggestion
from . import request, sdk_v2
from .sdk_v2 import EstimatorCall

TARGETS: Mapping[str, Callable[[JobSpec, Destination], Any]] = MappingProxyType(
    {
        "request": request.render,
        "estimator-v2": sdk_v2.render,
    }
)


def render(job: JobSpec, target: str = "request", *, at: Destination | None = None) -> Any:
    """What would be sent: ``request`` is the CreateTrainingJob dict, ``estimator-v2`` an EstimatorCall.

    Without ``at``, role, bucket and account are visible placeholders. Raises UnknownName for an unknown target, or when
    the catalogue has no image for the job.
    """
    if target not in TARGETS:
        raise UnknownName(f"target: got {target!r}, wanted one of {', '.join(TARGETS)}{suggestion(target, TARGETS)}")
    return TARGETS[target](job, at or Destination())


__all__ = ["TARGETS", "EstimatorCall", "render"]
