"""SageMaker's training-job operations as functions from request to answer.

It checks, records and asks the supervisor to start, stop or interrupt; it must not know HTTP nor run anything itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...specs import EMULATED_ACCOUNT
from ..api import shapes
from ..api.tags import check_tags
from ..container.plan import plan_of
from ..errors import AwsFault, validation
from ..options import EMULATED_TAG, SUBSTITUTED_TAG, Options
from . import engine, rules
from .describe import describe
from .job import Job
from .jobs import Jobs
from .listing import list_jobs, search
from .update import updated
from .warm_pool import pool_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..s3.object_store import Objects

_SEARCHABLE = "TrainingJob"


class Supervisor(Protocol):
    """Whoever runs the jobs."""

    def start(self, name: str) -> None: ...
    def stop(self, name: str) -> None: ...
    def interrupt(self, name: str, *, notice: bool) -> None: ...


class TrainingApi:
    """The operations we own; ``answer`` returns None for those that are somebody else's."""

    def __init__(self, jobs: Jobs, objects: Objects, supervisor: Supervisor, options: Options, region: str) -> None:
        self._jobs = jobs
        self._objects = objects
        self._supervisor = supervisor
        self._options = options
        self._region = region
        self._operations: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "CreateTrainingJob": self._create,
            "DescribeTrainingJob": self._describe,
            "ListTrainingJobs": lambda body: list_jobs(jobs.all(), body, jobs.now()),
            "StopTrainingJob": self._stop,
            "UpdateTrainingJob": self._update,
            "DeleteTrainingJob": self._delete,
        }
        self._tagging: Mapping[str, Callable[[Job, Mapping[str, Any]], dict[str, Any]]] = {
            "AddTags": self._add_tags,
            "ListTags": _list_tags,
            "DeleteTags": self._delete_tags,
        }

    @property
    def operations(self) -> frozenset[str]:
        """Every operation this answers, if only for training jobs."""
        return frozenset({*self._operations, *self._tagging, "Search"})

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer, None when the operation is not ours; raises AwsFault."""
        if operation in self._operations:
            shapes.check(operation, body)
            return self._operations[operation](shapes.known(operation, body))
        if operation in self._tagging:
            shapes.check(operation, body)
            return self._tag(operation, body)
        if operation == "Search":
            shapes.check(operation, body)
            return search(self._jobs.all(), body, self._found) if body["Resource"] == _SEARCHABLE else None
        return None

    def interrupt(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The emulator's own control: take a spot job's capacity away, with or without notice."""
        job = self._jobs.get(str(body.get("TrainingJobName")))
        if not job.state.spot:
            raise validation(f"{job.name!r} is no managed spot job; only those can be interrupted")
        if job.state.secondary != "Training":
            raise validation(f"{job.name!r} is in {job.state.secondary}; only a job in Training can be interrupted")
        self._supervisor.interrupt(job.name, notice=bool(body.get("Notice", True)))
        return {}

    def _create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        check_tags(body)
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

    def _describe(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._render(self._jobs.get(body["TrainingJobName"]))

    def _stop(self, body: Mapping[str, Any]) -> dict[str, Any]:
        job = self._jobs.get(body["TrainingJobName"])
        if job.state.terminal:
            raise validation(f"The request was rejected because the training job is in status {job.state.status}.")
        self._supervisor.stop(job.name)
        return {}

    def _update(self, body: Mapping[str, Any]) -> dict[str, Any]:
        job = self._jobs.get(body["TrainingJobName"])
        request, pool_end = updated(job, body, self._jobs.now())
        self._jobs.update(job.name, request, pool_end=pool_end)
        return {"TrainingJobArn": job.arn}

    def _delete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        job = self._jobs.get(body["TrainingJobName"])
        if not job.state.terminal:
            raise AwsFault(
                "ResourceInUse", f"The request was rejected because the training job is in status {job.state.status}."
            )
        pool = pool_of(job, self._jobs.now())
        if pool is not None and pool.status == "Available":
            raise AwsFault(
                "ResourceInUse",
                "The request was rejected because the training job retains an Available warm pool; set its "
                "KeepAlivePeriodInSeconds to 0 first.",
            )
        self._jobs.drop(job.name)
        return {}

    def _tag(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """None for the tags of anything that is no training job."""
        arn = str(body["ResourceArn"])
        if ":training-job/" not in arn:
            return None
        job = self._jobs.by_arn(arn)
        if job is None:
            raise validation(f"Could not find training job {arn!r}")
        return self._tagging[operation](job, body)

    def _add_tags(self, job: Job, body: Mapping[str, Any]) -> dict[str, Any]:
        check_tags(body, job.tags)
        tags = {**job.tags, **{tag["Key"]: tag["Value"] for tag in body["Tags"]}, EMULATED_TAG: "true"}
        self._jobs.change(job.name, tags=tags)
        return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}

    def _delete_tags(self, job: Job, body: Mapping[str, Any]) -> dict[str, Any]:
        kept = (EMULATED_TAG, SUBSTITUTED_TAG)  # what marks a rehearsal must not be lost
        gone = [key for key in body["TagKeys"] if key not in kept]
        self._jobs.change(job.name, tags={key: value for key, value in job.tags.items() if key not in gone})
        return {}


def _list_tags(job: Job, _body: Mapping[str, Any]) -> dict[str, Any]:
    return {"Tags": [{"Key": key, "Value": value} for key, value in sorted(job.tags.items())]}
