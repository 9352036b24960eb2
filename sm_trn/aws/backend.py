"""SageMaker training jobs through boto3: against AWS, or against anything that speaks its API."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import boto3
from botocore.config import Config

from ..errors import CloudError
from ..ports import JobPage, JobQuery, Trouble
from ..specs import JobSnapshot, parse_snapshot
from .echo import same_content
from .errors import as_cloud_error, trouble, unanswered
from .renewal import RenewableSession

# Standard mode backs off with jitter and knows AWS's throttling codes; nothing retries around it.
CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 10}, connect_timeout=10, read_timeout=60)
PAGE = 100  # https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ListTrainingJobs.html, MaxResults


def make_client(session: boto3.Session, service: str) -> Any:
    """A client with the package's retry rules."""
    return session.client(service, config=CONFIG)


class Boto3Backend:
    """The ``Backend`` port over a boto3 session."""

    def __init__(self, session: boto3.Session) -> None:
        self._session = session
        self._sagemaker = make_client(session, "sagemaker")
        self._heard: float | None = None
        self._sagemaker.meta.events.register("after-call.sagemaker", self._note_time)

    def create_job(self, request: Mapping[str, Any]) -> str:
        """Send the request; returns the ARN. A job that was made although its answer was lost is recognised, by its name
        and its whole content; a foreign job of that name is not.
        """
        name = request["TrainingJobName"]
        try:
            with as_cloud_error("CreateTrainingJob", name):
                return str(self._sagemaker.create_training_job(**request)["TrainingJobArn"])
        except CloudError as error:
            if error.code != "ResourceInUse" and not unanswered(error):
                raise
            found = self._made(request, error)
            if found is None:
                raise
            return found

    def _made(self, request: Mapping[str, Any], failure: CloudError) -> str | None:
        """The ARN of the job that a create without an answer made all the same; None when it made none."""
        name = request["TrainingJobName"]
        try:
            found = self.fetch_snapshot(name)
        except CloudError as error:
            if trouble(error) is Trouble.GONE:
                return None
            raise CloudError(
                f"{failure}; whether the job was made could not be found out either. Before you launch it again: "
                f"sm-trn describe {name}",
                operation="CreateTrainingJob",
                code=failure.code,
            ) from error
        return found.arn if same_content(request, found.raw) else None

    def fetch_snapshot(self, name: str) -> JobSnapshot:
        with as_cloud_error("DescribeTrainingJob", name):
            answer = self._sagemaker.describe_training_job(TrainingJobName=name)
        return parse_snapshot({key: value for key, value in answer.items() if key != "ResponseMetadata"})

    def fetch_page(self, query: JobQuery, token: str | None = None) -> JobPage:
        """One page of ListTrainingJobs, newest first. Its snapshots know what a list knows: status, phase and times."""
        filters = {
            "NameContains": query.containing,
            "LastModifiedTimeAfter": query.modified_after,
            "CreationTimeAfter": query.created_after,
            "CreationTimeBefore": query.created_before,
            "StatusEquals": query.status,
            "NextToken": token,
        }
        with as_cloud_error("ListTrainingJobs", query.containing or "all jobs"):
            answer = self._sagemaker.list_training_jobs(
                SortBy="CreationTime",
                SortOrder="Descending",
                MaxResults=PAGE,
                **{name: value for name, value in filters.items() if value},
            )
        return JobPage(tuple(map(parse_snapshot, answer["TrainingJobSummaries"])), answer.get("NextToken"))

    def fetch_tags(self, arn: str) -> Mapping[str, str]:
        with as_cloud_error("ListTags", arn):
            pages = self._sagemaker.get_paginator("list_tags").paginate(ResourceArn=arn)
            return {tag["Key"]: tag["Value"] for page in pages for tag in page["Tags"]}

    def stop_job(self, name: str) -> None:
        with as_cloud_error("StopTrainingJob", name):
            self._sagemaker.stop_training_job(TrainingJobName=name)

    def service_time(self) -> float | None:
        """The Date of the service's newest answer."""
        return self._heard

    def trouble(self, error: CloudError) -> Trouble | None:
        return trouble(error)

    def renew(self) -> bool:
        return isinstance(self._session, RenewableSession) and self._session.renew()

    def _note_time(self, http_response: Any, **_event: Any) -> None:
        date = http_response.headers.get("Date")
        if date:
            self._heard = parsedate_to_datetime(date).timestamp()
