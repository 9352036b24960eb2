"""Render targets: one file each, one line here. A renderer returns plain data and never sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..errors import InvalidJob, UnknownName
from ..specs.destination import Destination
from ..specs.job import JobSpec, expect_spec
from ..specs.problems import Problem, Severity
from ..specs.value import suggestion
from . import local, local_problems, model_v2, request, sdk_v2, sdk_v3, sdk_v3_problems, training_job_v3
from .calls import EstimatorCall
from .differences import Diff, Difference, diff
from .from_describe import OWN_TAGS, as_request, destination_of
from .from_request import parse_request
from .local import LocalHost, LocalRun


def _of_training_job_v3(job: JobSpec) -> Iterable[Problem]:
    try:
        sent = request.render(job, Destination())
    except UnknownName:
        return ()  # no image: there is no request at all
    return (*request.problems(job), *training_job_v3.problems(job, sent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A way to render a job, and what of a job it cannot say."""

    render: Callable[[JobSpec, Destination], Any]
    problems: Callable[[JobSpec], Iterable[Problem]] = lambda _job: ()


TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "request": Target(render=request.render, problems=request.problems),
        "estimator-v2": Target(render=sdk_v2.render, problems=sdk_v2.problems),
        "model-trainer-v3": Target(render=sdk_v3.render, problems=sdk_v3_problems.problems),
        "training-job-v3": Target(
            render=lambda job, at: training_job_v3.call(request.render(job, at)),
            problems=_of_training_job_v3,
        ),
        "model-v2": Target(render=model_v2.render, problems=model_v2.problems),
        "local": Target(render=local.render, problems=local_problems.problems),
    }
)


def render(job: JobSpec, target: str = "request", *, at: Destination | None = None) -> Any:
    """Render a job as it would be sent: ``request`` is the CreateTrainingJob dict, the SDKs' targets an EstimatorCall (``model-v2`` that of
    the model which the job leaves, on ``at.host``), ``local``
    a LocalRun. Each prints as what it is.

    Without ``at``, role, bucket and account are visible placeholders. Raises UnknownName for an unknown target, or when
    the catalogue has no image for the job; InvalidJob when the target cannot say what the job asks for.

    >>> st.render(job)["StoppingCondition"]
    {'MaxRuntimeInSeconds': 86400}
    >>> st.render(job, "estimator-v2").cls
    'sagemaker.pytorch.PyTorch'
    """
    refused = tuple(problem for problem in problems(job, target) if problem.severity is Severity.ERROR)
    if refused:
        raise InvalidJob(f"{job.name} as {target!r}", refused)
    return TARGETS[target].render(job, at or Destination())


def problems(job: JobSpec, target: str) -> list[Problem]:
    """Return what ``target`` cannot express of ``job``, expresses differently, or leaves out. Errors keep ``render`` from rendering it.

    These are not faults of the job: another target may say it all. Raises UnknownName for an unknown target.
    """
    expect_spec(job)
    if target not in TARGETS:
        raise UnknownName(f"target: got {target!r}, wanted one of {', '.join(TARGETS)}{suggestion(target, TARGETS)}")
    return list(TARGETS[target].problems(job))


__all__ = [
    "OWN_TAGS",
    "TARGETS",
    "Diff",
    "Difference",
    "EstimatorCall",
    "LocalHost",
    "LocalRun",
    "Target",
    "as_request",
    "destination_of",
    "diff",
    "parse_request",
    "problems",
    "render",
]
