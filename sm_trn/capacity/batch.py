"""AWS Batch's service jobs through boto3: against AWS, or against anything that speaks its API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import boto3
from botocore.validate import ParamValidator

from ..core.aws.backend import AGAIN_S, NOT_YET_S, make_client
from ..core.aws.errors import as_cloud_error, unanswered
from ..core.errors import CloudError, InvalidJob, LaunchUnknown
from ..core.ports import Clock
from ..core.specs.json import Object

PAGE = 100  # https://docs.aws.amazon.com/batch/latest/APIReference/API_ListServiceJobs.html, maxResults


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One start of a queued job. ``training_job`` is the name of the training job that it made; times are epoch seconds."""

    training_job: str
    started: float | None = None
    stopped: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceJob:
    """A job in a queue of AWS Batch at one time. ``status`` is Batch's word; ``training_job`` is empty until it was started once.

    ``queue`` is the queue's ARN, and ``payload`` the request as it was queued; a list knows neither them nor the attempts.
    """

    id: str
    name: str
    status: str
    reason: str = ""
    queue: str = ""
    payload: str = ""
    training_job: str = ""
    share: str = ""
    priority: int | None = None
    created: float | None = None
    started: float | None = None
    stopped: float | None = None
    terminated: bool = False
    attempts: tuple[Attempt, ...] = ()

    @property
    def terminal(self) -> bool:
        """A status that Batch adds later is not terminal."""
        return self.status in {"SUCCEEDED", "FAILED"}


class Boto3Queues:
    """Training queues of AWS Batch through a boto3 session. With a ``clock``, a job whose answer was lost is looked for as long as a list
    may not know it yet; without one – the emulator knows a job at once – the first list is believed. Its client is made when it is needed.
    """

    def __init__(self, session: boto3.Session, clock: Clock | None = None) -> None:
        self._session = session
        self._clock = clock

    @cached_property
    def _batch(self) -> Any:
        return make_client(self._session, "batch")

    @cached_property
    def _training_shape(self) -> Any:
        client = make_client(self._session, "sagemaker")
        return client.meta.service_model.operation_model("CreateTrainingJob").input_shape

    def refuse(self, request: Object) -> None:
        """Hold a training request against the shape of CreateTrainingJob, as boto3 does where it sends one. Raises InvalidJob."""
        faults = ParamValidator().validate(dict(request), self._training_shape)
        if faults.has_errors():
            raise InvalidJob(str(request["TrainingJobName"]), tuple(faults.generate_report().splitlines()))

    def submit(self, job: Object) -> str:
        """Queue a job; returns its id. One that was queued although its answer was lost is recognised, by its name and its payload.

        Raises CloudError, or LaunchUnknown when nobody can say whether it was queued.
        """
        name = str(job["jobName"])
        try:
            with as_cloud_error("SubmitServiceJob", name):
                return str(self._batch.submit_service_job(**job)["jobId"])
        except CloudError as error:
            if not unanswered(error):
                raise
            return self._made(job, error)

    def _made(self, job: Object, failure: CloudError) -> str:
        """The id of the job that a submission without an answer made all the same. Raises ``failure`` when it made none."""
        queue, name = str(job["jobQueue"]), str(job["jobName"])
        try:
            found = self._looked_for(queue, name)
            payload = self.fetch(found.id).payload if found is not None else ""
        except CloudError as error:
            raise LaunchUnknown(
                f"{failure}; whether the job was queued could not be found out either: it may be, and run. Before you submit it "
                f"again: sm-trn list --queue {queue}",
                name=name,
                code=failure.code,
                operation="SubmitServiceJob",
            ) from error
        if found is None or json.loads(payload) != json.loads(str(job["serviceRequestPayload"])):
            raise failure
        return found.id

    def _looked_for(self, queue: str, name: str) -> ServiceJob | None:
        job = self.fetch_named(queue, name)
        if self._clock is None:
            return job
        until = self._clock.now() + NOT_YET_S
        while job is None and self._clock.now() < until:
            self._clock.sleep(AGAIN_S)
            job = self.fetch_named(queue, name)
        return job

    def fetch(self, job_id: str) -> ServiceJob:
        """The job of an id or an ARN, whole."""
        with as_cloud_error("DescribeServiceJob", job_id):
            return parse_service_job(self._batch.describe_service_job(jobId=job_id))

    def fetch_named(self, queue: str, name: str) -> ServiceJob | None:
        """The newest job of exactly this name, as a list knows it; None where the queue has none."""
        with as_cloud_error("ListServiceJobs", queue):
            pages = self._batch.get_paginator("list_service_jobs").paginate(
                jobQueue=queue, filters=[{"name": "JOB_NAME", "values": [name]}]
            )
            listed = (parse_service_job(row) for page in pages for row in page["jobSummaryList"])
            return next((job for job in listed if job.name == name), None)

    def fetch_all(self, queue: str, status: str = "") -> Iterator[ServiceJob]:
        """Jobs of a queue as a list knows them, newest first: of one status, or without one of all."""
        chosen: dict[str, object] = {"jobStatus": status}
        if not status:  # any filter makes Batch list jobs of every status
            chosen = {"filters": [{"name": "AFTER_CREATED_AT", "values": ["0"]}]}
        token = ""
        while True:
            with as_cloud_error("ListServiceJobs", queue):
                more = {"nextToken": token} if token else {}
                page = self._batch.list_service_jobs(jobQueue=queue, maxResults=PAGE, **chosen, **more)
                rows = [parse_service_job(row) for row in page["jobSummaryList"]]
            yield from rows
            token = page.get("nextToken") or ""
            if not token:
                return

    def fetch_front(self, queue: str) -> tuple[str, ...]:
        with as_cloud_error("GetJobQueueSnapshot", queue):
            front = self._batch.get_job_queue_snapshot(jobQueue=queue).get("frontOfQueue") or {}
            return tuple(job["jobArn"].rsplit("/", 1)[-1] for job in front.get("jobs", ()))

    def terminate(self, job_id: str, reason: str) -> None:
        with as_cloud_error("TerminateServiceJob", job_id):
            self._batch.terminate_service_job(jobId=job_id, reason=reason)


def parse_service_job(answer: Any) -> ServiceJob:
    """A describe answer, or a row of a list, as a value. Raises KeyError for one without an id or a status."""
    return ServiceJob(
        id=str(answer["jobId"]),
        name=str(answer["jobName"]),
        status=str(answer["status"]),
        reason=str(answer.get("statusReason") or ""),
        queue=str(answer.get("jobQueue") or ""),
        payload=str(answer.get("serviceRequestPayload") or ""),
        training_job=_training_job(answer.get("latestAttempt") or {}),
        share=str(answer.get("shareIdentifier") or answer.get("quotaShareName") or ""),
        priority=answer.get("schedulingPriority"),
        created=_seconds(answer.get("createdAt")),
        started=_seconds(answer.get("startedAt")),
        stopped=_seconds(answer.get("stoppedAt")),
        terminated=bool(answer.get("isTerminated")),
        attempts=tuple(
            Attempt(
                training_job=_training_job(each),
                started=_seconds(each.get("startedAt")),
                stopped=_seconds(each.get("stoppedAt")),
                reason=str(each.get("statusReason") or ""),
            )
            for each in answer.get("attempts") or ()
        ),
    )


def _training_job(attempt: Any) -> str:
    return str((attempt.get("serviceResourceId") or {}).get("value") or "").rsplit("/", 1)[-1]


def _seconds(milliseconds: int | None) -> float | None:
    return milliseconds / 1000 if milliseconds else None
