"""Target ``request``: the CreateTrainingJob request, the same, field by field, that SDK v2 would send, and what it no longer says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import assert_never

from .. import fields
from ..catalog.images import image_uri
from ..errors import UnknownName
from ..specs.compute import SERVERLESS
from ..specs.data import Channel
from ..specs.destination import Destination
from ..specs.framework import Container
from ..specs.job import JobSpec
from ..specs.json import Json, merged
from ..specs.kept import Kept
from ..specs.launch import LaunchPlan, Library, Runner
from ..specs.problems import Advice, Field, Problem, rules_of
from ..strategies import GROUPS_HYPERPARAMETER, plan
from . import passthrough
from .from_describe import CODE_CHANNEL, CODE_IN_CONTAINER
from .keeping import kept_parts, restored


def render(job: JobSpec, at: Destination) -> dict[str, Any]:
    """The request as a dict, kept parts and all. Raises UnknownName when no image fits the framework or the region."""
    request = typed(job, at)
    return restored(request, job.kept)[0] if job.kept else request


def typed(job: JobSpec, at: Destination) -> dict[str, Any]:
    """Return the request without the kept parts. Raises as ``render``."""
    request = merged(_without_extra(job, at), job.extra)
    for name in fields.WRITING:
        if name in job.extra and not request[name].get("DisableProfiler"):
            request[name].setdefault("S3OutputPath", request["OutputDataConfig"]["S3OutputPath"])
    return request


def _without_extra(job: JobSpec, at: Destination) -> dict[str, Any]:
    # An image's own program reads plain texts, the toolkit reads JSON: SDK v2 sends both so.
    if job.script is None:
        hyperparameters = {key: str(value) for key, value in job.arguments.items()}
    else:
        hyperparameters = encode({**job.arguments, **toolkit_hyperparameters(job, at)})
    machines = job.compute.instance != SERVERLESS  # a job without machines has no program of its own either
    request: dict[str, Any] = {
        "TrainingJobName": at.named(job),
        **({"AlgorithmSpecification": _algorithm(job, at)} if machines else {}),
        "RoleArn": at.role,
        "OutputDataConfig": {"S3OutputPath": f"s3://{at.bucket}/"},
        **({"HyperParameters": hyperparameters} if hyperparameters else {}),
    }
    channels = _channels(job, at)
    if channels:
        request["InputDataConfig"] = channels
    for name, value in fields.write(fields.JOB, job, "request").items():
        request[name] = {**request[name], **value} if name in request else value
    return request | ({"ProfilerConfig": {"DisableProfiler": True}} if machines else {})


def isolated(job: JobSpec) -> bool:
    """Return True if the containers have no network."""
    return job.network is not None and job.network.isolation


def encode(hyperparameters: Mapping[str, Json]) -> dict[str, str]:
    """Every value as JSON text, which is how SDK v2 sends it and how the toolkit in the container reads it."""
    return {str(key): json.dumps(value) for key, value in hyperparameters.items()}


def toolkit_hyperparameters(job: JobSpec, at: Destination) -> dict[str, Json]:
    """Return the training toolkit's own hyperparameters; none without a script."""
    if job.script is None:
        return {}
    launch = plan(job)
    own: dict[str, Json] = dict(launch.toolkit)
    if len(job.compute.groups) == 1 and _names_groups(launch):
        own[GROUPS_HYPERPARAMETER] = [group.name for group in job.compute.groups]
    if job.compiler is not None and job.compiled:
        own["sagemaker_training_compiler_enabled"] = True
        own["sagemaker_training_compiler_debug_mode"] = job.compiler.debug
    return own | {
        "sagemaker_submit_directory": CODE_IN_CONTAINER if isolated(job) else at.source(job),
        "sagemaker_program": job.script.entry,
        "sagemaker_container_log_level": 20,  # logging.INFO, as the SDK sends
        "sagemaker_job_name": at.named(job),
        "sagemaker_region": at.region,
    }


def _names_groups(launch: LaunchPlan) -> bool:
    """Return True if the toolkit is told the group that the workers are started on: by mpirun itself and for smdistributed."""
    match launch.library:
        case Library.SMDDP | Library.SMP | Library.SMP_V2:
            return True
        case Library.PYTORCH_DDP:
            return False
        case None:
            return launch.runner is Runner.MPI
    assert_never(launch.library)


def _algorithm(job: JobSpec, at: Destination) -> dict[str, Json]:
    program: dict[str, Json] = {"TrainingInputMode": "File", "EnableSageMakerMetricsTimeSeries": True}
    if isinstance(job.framework, Container) and not job.image_uri:
        named = {"AlgorithmName": job.framework.algorithm} if job.framework.algorithm else {}  # neither: IMG006
        return {**named, **program}
    return {"TrainingImage": image_uri(job, at.region), **program}


def _channels(job: JobSpec, at: Destination) -> list[Json]:
    """The job's inputs, and the source's own channel where the containers have no network."""
    sources = dict(job.sources)
    if isolated(job) and job.script is not None:
        sources[CODE_CHANNEL] = Channel(at.source(job))
    return [
        {"ChannelName": name, **fields.write(fields.table_of(source), source, "request")}
        for name, source in sources.items()
    ]


_ELSEWHERE = Destination(
    role="arn:aws:iam::111122223333:role/other", bucket="other", job_name="other", source_uri="s3://other/s"
)
_TOLD = "/HyperParameters/sagemaker_region"

_RULES = rules_of(__package__)


def problems(job: JobSpec) -> Iterator[Problem]:
    """TARGET150: a kept part gives way to what the spec says now."""
    lost = given_up(job)
    if lost:
        yield _RULES["TARGET150"].problem(
            Field("kept"),
            "the spec was changed where a part of the original request was kept: the change is sent, the kept part is not",
            got=passthrough.listed(lost),
            fix=Advice("nothing, if that is meant"),
        )


def given_up(job: JobSpec) -> tuple[Kept, ...]:
    """The kept parts that are not sent any more, wherever the job goes."""
    if not job.kept:
        return ()
    try:
        here, there = typed(job, Destination()), typed(job, _ELSEWHERE)
    except UnknownName:
        return ()  # no image: there is no request at all
    moving = {_TOLD, *(part.at for part in kept_parts(here, there))}
    return tuple(part for part in restored(here, job.kept)[1] if part.at not in moving)
