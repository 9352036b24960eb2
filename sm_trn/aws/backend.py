"""SageMaker training jobs through boto3: against AWS, or against anything that speaks its API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config

from ..errors import CloudError
from ..specs import JobSnapshot, parse_snapshot
from .errors import as_cloud_error

# Standard mode backs off with jitter and knows AWS's throttling codes; nothing retries around it.
CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 10}, connect_timeout=10, read_timeout=60)


def make_client(session: boto3.Session, service: str) -> Any:
    """A client with the package's retry rules."""
    return session.client(service, config=CONFIG)


class Boto3Backend:
    """The ``Backend`` port over a boto3 session."""

    def __init__(self, session: boto3.Session) -> None:
        self._sagemaker = make_client(session, "sagemaker")

    def create_job(self, request: Mapping[str, Any]) -> str:
        """Send the request; returns the ARN. A create whose answer was lost and that was sent again is recognised."""
        name = request["TrainingJobName"]
        try:
            with as_cloud_error("CreateTrainingJob", name):
                return str(self._sagemaker.create_training_job(**request)["TrainingJobArn"])
        except CloudError as error:
            if error.code != "ResourceInUse":
                raise
            found = self.fetch_snapshot(name)  # names are unique per submit, so this one is ours
            if found.hyperparameters != dict(request.get("HyperParameters", {})):
                raise
            return found.arn

    def fetch_snapshot(self, name: str) -> JobSnapshot:
        with as_cloud_error("DescribeTrainingJob", name):
            answer = self._sagemaker.describe_training_job(TrainingJobName=name)
        return parse_snapshot({key: value for key, value in answer.items() if key != "ResponseMetadata"})

    def fetch_tags(self, arn: str) -> Mapping[str, str]:
        with as_cloud_error("ListTags", arn):
            pages = self._sagemaker.get_paginator("list_tags").paginate(ResourceArn=arn)
            return {tag["Key"]: tag["Value"] for page in pages for tag in page["Tags"]}

    def fetch_names(self, *, containing: str = "", limit: int = 50) -> tuple[str, ...]:
        """Names of jobs, newest first."""
        filters = {"NameContains": containing} if containing else {}
        with as_cloud_error("ListTrainingJobs", containing or "all jobs"):
            pages = self._sagemaker.get_paginator("list_training_jobs").paginate(
                SortBy="CreationTime", SortOrder="Descending", PaginationConfig={"MaxItems": limit}, **filters
            )
            return tuple(item["TrainingJobName"] for page in pages for item in page["TrainingJobSummaries"])

    def stop_job(self, name: str) -> None:
        with as_cloud_error("StopTrainingJob", name):
            self._sagemaker.stop_training_job(TrainingJobName=name)
