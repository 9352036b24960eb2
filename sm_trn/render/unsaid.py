"""Kept parts as the targets see them that cannot say one: which would be lost, and which only spell a default. Must not know a target."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from ..specs import JobSpec, Kept

# Parts that mean what every SDK's own default means: what is measured, how a value is spelled, what a log level is.
_OWN_WAY: Final = (
    "/ProfilerConfig",
    "/AlgorithmSpecification/EnableSageMakerMetricsTimeSeries",
    "/HyperParameters/sagemaker_job_name",
    "/HyperParameters/sagemaker_region",
    "/HyperParameters/sagemaker_container_log_level",
)
_DEFAULTS: Final = ('"GZIP"', '"None"', '""', "false")
_SHOWN = 8


def parts(job: JobSpec) -> tuple[list[Kept], list[Kept]]:
    """Kept parts that would be lost, and those that a default stands for."""
    harmless = [part for part in job.kept if _harmless(part)]
    return [part for part in job.kept if part not in harmless], harmless


def listed(kept: Iterable[Kept]) -> str:
    """The places of the parts, in words."""
    places = [part.at.lstrip("/") for part in kept]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return ", ".join(places[:_SHOWN]) + more


def _harmless(part: Kept) -> bool:
    if part.at.startswith(_OWN_WAY) or (part.instead_of is None and part.sent in _DEFAULTS):
        return True
    if part.at.endswith("/S3DataDistributionType") or part.at == "/StoppingCondition/MaxRuntimeInSeconds":
        return part.sent is None
    spelled = part.at.startswith("/HyperParameters/") and part.sent is not None and part.instead_of is not None
    return spelled and _value(part.sent) == _value(part.instead_of)


def _value(text: str | None) -> Any:
    """A hyperparameter's value, whose text is itself JSON, in JSON."""
    inner = json.loads(text or "null")
    try:
        return json.loads(inner)
    except (TypeError, ValueError, RecursionError):
        return inner
