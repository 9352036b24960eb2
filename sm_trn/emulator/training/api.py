"""These functions answer SageMaker's operations on training jobs.

It checks, records and asks the supervisor to start, stop or interrupt; it must not know HTTP nor run anything itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..api import shapes
from ..api.search import Row, search
from ..api.tags import Tagged, tag_list, tags_of
from ..errors import AwsError, validation
from ..options import EMULATED_ACCOUNT, SUBSTITUTED_TAG, Options
from . import engine, rules
from .describe import describe, list_jobs
from .job import KIND, Job
from .jobs import Jobs
from .plan import plan_of

if TYPE_CHECKING:
    from ..api.shapes import Body
    from ..objects import Objects

_SEARCHABLE = "TrainingJob"


class Supervisor(Protocol):
    """Whoever runs the jobs is asked by these names."""

    def start(self, name: str) -> None: ...
    def stop(self, name: str) -> None: ...
    def interrupt(self, name: str, *, notice: bool) -> None: ...


class TrainingApi:
    """The operations on training jobs, and the emulator's own on them. Every one raises AwsError."""

    def __init__(self, jobs: Jobs, objects: Objects, supervisor: Supervisor, options: Options, region: str) -> None:
        self._jobs = jobs
        self._objects = objects
        self._supervisor = supervisor
        self._options = options
        self._region = region

    def interrupt(self, name: str, *, notice: bool) -> None:
        """Take a spot job's capacity away, with or without notice: the emulator's own control. Raises AwsError."""
        job = self._jobs.get(name)
        if not job.state.spot:
            raise validation(f"{job.name!r} is no managed spot job; only those can be interrupted")
        if job.state.secondary != "Training":
            raise validation(f"{job.name!r} is in {job.state.secondary}; only a job in Training can be interrupted")
        self._supervisor.interrupt(job.name, notice=notice)

    def check(self, body: Body) -> None:
        """Raise the AwsError that the request would meet."""
        self._objects.ready.wait()
        rules.check_request(body, lambda bucket, prefix: bool(self._objects.keys(bucket, prefix)), self._region)

    def create(self, body: Body) -> dict[str, str]:
        self.check(body)
        name = body["TrainingJobName"]
        arn = f"arn:aws:sagemaker:{self._region}:{EMULATED_ACCOUNT}:{KIND}/{name.lower()}"
        tags = tags_of(body.pop("Tags", []))
        substituted = plan_of(body, self._options).substituted
        if substituted:
            tags[SUBSTITUTED_TAG] = substituted
        state = engine.begin(self._jobs.now(), spot=bool(body.get("EnableManagedSpotTraining")))
        self._objects.save()  # the job's source and data: while it waits it survives a kill
        self._jobs.add(Job(name=name, arn=arn, request=body, state=state, tags=tags))
        self._supervisor.start(name)
        return {"TrainingJobArn": arn}

    def describe(self, body: Body) -> dict[str, Any]:
        return self._described(self._jobs.get(body["TrainingJobName"]))

    def _described(self, job: Job) -> dict[str, Any]:
        return describe(job, self._jobs.now(), self._options.spot_discount)

    def listed(self, body: Body) -> dict[str, Any]:
        return list_jobs(self._jobs.all(), body)

    def search(self, body: Body) -> dict[str, Any] | None:
        """Search among training jobs: a row has the members that the model gives it, fewer than a describe answer. None for a search
        among other things, which is moto's."""
        if body["Resource"] != _SEARCHABLE:
            return None
        members = shapes.service_model().shape_for(_SEARCHABLE).members
        rows = [
            Row(
                job.name,
                {name: value for name, value in self._described(job).items() if name in members},
                job.tags,
                {metric.name: metric.value for metric in reversed(job.metrics)},
            )
            for job in self._jobs.all()
        ]
        found, more = search(rows, body, members)
        return {"Results": [{_SEARCHABLE: {**row.document, "Tags": tag_list(row.tags)}} for row in found], **more}

    def stop(self, body: Body) -> dict[str, str]:
        """Answer StopTrainingJob. Raises AwsError for a job that has ended."""
        job = self._jobs.get(body["TrainingJobName"])
        if job.state.terminal:
            raise validation(f"The request was rejected because the training job is in status {job.status}.")
        self._supervisor.stop(job.name)
        return {}

    def delete(self, body: Body) -> dict[str, str]:
        """Answer DeleteTrainingJob. Raises AwsError for a job that still runs."""
        job = self._jobs.get(body["TrainingJobName"])
        if not job.state.terminal:
            raise AwsError(
                "ResourceInUse", f"The request was rejected because the training job is in status {job.status}."
            )
        self._jobs.drop(job.name)
        return {}

    def tagged(self, arn: str) -> Tagged | None:
        """Return the tags of a training job; None for the ARN of anything else. Raises AwsError where it has no job."""
        if f":{KIND}/" not in arn:
            return None
        job = self._jobs.by_arn(arn)
        if job is None:
            raise validation(f"Could not find training job {arn!r}")
        return Tagged(job.tags, lambda tags: self._jobs.change(job.name, tags=tags))
