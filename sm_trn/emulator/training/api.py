"""These functions answer SageMaker's operations on training jobs.

It checks, records and asks the supervisor to start, stop or interrupt; it must not know HTTP nor run anything itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...specs.snapshot import EMULATED_ACCOUNT
from ..api import shapes
from ..api.tags import Tagged
from ..errors import AwsError, validation
from ..options import EMULATED_TAG, SUBSTITUTED_TAG, Options
from . import engine, rules
from .describe import describe
from .job import Job
from .jobs import Jobs
from .listing import list_jobs, search
from .plan import plan_of
from .update import updated
from .warm_pool import pool_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..s3.object_store import ObjectStore

_SEARCHABLE = "TrainingJob"


class Supervisor(Protocol):
    """Whoever runs the jobs."""

    def start(self, name: str) -> None: ...
    def stop(self, name: str) -> None: ...
    def interrupt(self, name: str, *, notice: bool) -> None: ...


class TrainingApi:
    """The operations on training jobs, and the emulator's own on them. Every one raises AwsError."""

    def __init__(self, jobs: Jobs, objects: ObjectStore, supervisor: Supervisor, options: Options, region: str) -> None:
        self._jobs = jobs
        self._objects = objects
        self._supervisor = supervisor
        self._options = options
        self._region = region

    def interrupt(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take a spot job's capacity away, with or without notice: the emulator's own control."""
        job = self._jobs.get(str(body.get("TrainingJobName")))
        if not job.state.spot:
            raise validation(f"{job.name!r} is no managed spot job; only those can be interrupted")
        if job.state.secondary != "Training":
            raise validation(f"{job.name!r} is in {job.state.secondary}; only a job in Training can be interrupted")
        self._supervisor.interrupt(job.name, notice=bool(body.get("Notice", True)))
        return {}

    def create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        rules.check_request(body, self._has_objects, self._region)
        name = body["TrainingJobName"]
        arn = f"arn:aws:sagemaker:{self._region}:{EMULATED_ACCOUNT}:training-job/{name.lower()}"
        tags = {tag["Key"]: tag["Value"] for tag in body.get("Tags", ())} | {EMULATED_TAG: "true"}
        substituted = plan_of(body, self._options).substituted
        if substituted:
            tags[SUBSTITUTED_TAG] = substituted
        state = engine.begin(self._jobs.now(), spot=bool(body.get("EnableManagedSpotTraining")))
        request = {key: value for key, value in body.items() if key != "Tags"}
        self._jobs.add(Job(name=name, arn=arn, request=request, state=state, tags=tags))
        self._supervisor.start(name)
        return {"TrainingJobArn": arn}

    def _has_objects(self, bucket: str, prefix: str) -> bool:
        self._objects.ready.wait()
        return bool(self._objects.keys(bucket, prefix))

    def _render(self, job: Job) -> dict[str, Any]:
        return describe(job, self._jobs.now(), self._options.spot_discount)

    def _found(self, job: Job) -> dict[str, Any]:
        """What Search says of a job: a describe answer without the members that its shape lacks."""
        members = shapes.service_model().shape_for("TrainingJob").members
        return {name: value for name, value in self._render(job).items() if name in members}

    def describe(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._render(self._jobs.get(body["TrainingJobName"]))

    def listed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return list_jobs(self._jobs.all(), body, self._jobs.now())

    def search(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Search among training jobs; None for a search among other resources."""
        return search(self._jobs.all(), body, self._found) if body["Resource"] == _SEARCHABLE else None

    def stop(self, body: Mapping[str, Any]) -> dict[str, Any]:
        job = self._jobs.get(body["TrainingJobName"])
        if job.state.terminal:
            raise validation(f"The request was rejected because the training job is in status {job.state.status}.")
        self._supervisor.stop(job.name)
        return {}

    def update(self, body: Mapping[str, Any]) -> dict[str, Any]:
        job = self._jobs.get(body["TrainingJobName"])
        request, pool_end = updated(job, body, self._jobs.now())
        self._jobs.update(job.name, request, pool_end=pool_end)
        return {"TrainingJobArn": job.arn}

    def delete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        job = self._jobs.get(body["TrainingJobName"])
        if not job.state.terminal:
            raise AwsError(
                "ResourceInUse", f"The request was rejected because the training job is in status {job.state.status}."
            )
        pool = pool_of(job, self._jobs.now())
        if pool is not None and pool.status == "Available":
            raise AwsError(
                "ResourceInUse",
                "The request was rejected because the training job retains an Available warm pool; set its "
                "KeepAlivePeriodInSeconds to 0 first.",
            )
        self._jobs.drop(job.name)
        return {}

    def tagged(self, arn: str) -> Tagged | None:
        """Return the tags of a training job; None for the ARN of anything else."""
        if ":training-job/" not in arn:
            return None
        job = self._jobs.by_arn(arn)
        if job is None:
            raise validation(f"Could not find training job {arn!r}")
        return Tagged(job.tags, lambda tags: self._jobs.change(job.name, tags=tags))
