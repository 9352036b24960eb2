"""SageMaker training jobs through boto3: against AWS, or against anything that speaks its API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import boto3
from botocore.config import Config

from ..errors import CloudError, LaunchUnknown
from ..ports import OTHER_ACCOUNT, Clock, JobPage, JobQuery, Trouble
from ..specs.snapshot import JobSnapshot, parse_snapshot
from .errors import as_cloud_error, trouble, unanswered
from .renewal import RenewableSession

# Standard mode backs off with jitter and knows AWS's throttling codes; nothing retries around it.
CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 10}, connect_timeout=10, read_timeout=60)
# For so long after a job's creation "not found" is an answer that is not up to date, and asked again. SageMaker gives no figure
# for how soon every answer knows of a new job. A minute is long for it, and cheaper than a job that runs and nobody knows of.
NOT_YET_S, AGAIN_S = 60.0, 2.0
T = TypeVar("T")
PAGE = 100  # https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ListTrainingJobs.html, MaxResults


def make_client(session: boto3.Session, service: str) -> Any:
    """A client with the package's retry rules."""
    return session.client(service, config=CONFIG)


class Boto3Backend:
    """The ``Backend`` port over a boto3 session. With a ``clock``, "not found" is asked again while a job is new; without one
    – the emulator knows a job at once – it is believed.
    """

    def __init__(self, session: boto3.Session, clock: Clock | None = None) -> None:
        self._session = session
        self._clock = clock
        self._new: dict[str, float] = {}  # when jobs that are new were made, on our clock
        self._sagemaker = make_client(session, "sagemaker")
        self._accounts: dict[str, str] = {}  # of the jobs that were seen
        self._heard: float | None = None
        self._sagemaker.meta.events.register("after-call.sagemaker", self._note_time)

    def create_job(self, request: Mapping[str, Any]) -> str:
        """Send the request; returns the ARN. A job that was made although its answer was lost is recognised, by its name
        and its whole content; a foreign job of that name is not. Raises LaunchUnknown when nobody can say whether it was made.
        """
        name = request["TrainingJobName"]
        if self._clock is not None:
            self._new[name] = self._clock.now()
        try:
            with as_cloud_error("CreateTrainingJob", name):
                return _arn(self._sagemaker.create_training_job(**request))
        except CloudError as error:
            if error.code != "ResourceInUse" and not unanswered(error):
                raise
            if self._clock is not None:
                self._new[name] = self._clock.now()  # the last attempt may have made it
            return self._made(request, error)

    def _made(self, request: Mapping[str, Any], failure: CloudError) -> str:
        """The ARN of the job that a create without an answer made all the same. Raises ``failure`` when it made none."""
        name = request["TrainingJobName"]
        try:
            snapshot = self.fetch_snapshot(name)
        except CloudError as error:
            if trouble(error) is Trouble.NOT_FOUND and failure.code != "ResourceInUse":
                raise failure from failure.__cause__
            raise LaunchUnknown(
                f"{failure}; whether the job was made could not be found out either: it may run, and be billed. Before you "
                f"launch it again: sm-trn list {name}",
                name=name,
                code=failure.code,
            ) from error
        if not same_content(request, snapshot.raw):
            raise failure
        return snapshot.arn

    def fetch_snapshot(self, name: str) -> JobSnapshot:
        def ask() -> JobSnapshot:
            with as_cloud_error("DescribeTrainingJob", name):
                answer = self._sagemaker.describe_training_job(TrainingJobName=name)
                return parse_snapshot({key: value for key, value in answer.items() if key != "ResponseMetadata"})

        snapshot = self._while_new(name, ask)
        self._note_account(snapshot)
        self._note_new(snapshot)
        return snapshot

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
            page = JobPage(tuple(map(parse_snapshot, answer["TrainingJobSummaries"])), answer.get("NextToken"))
        for job in page.jobs:
            self._note_account(job)
        return page

    def search_page(self, query: JobQuery, token: str | None = None) -> JobPage:
        """One page of Search, newest first: whole jobs with their tags (``raw["Tags"]``), a hundred a call – but from an index
        that is not always up to date. The query's name and creation times are looked at.
        https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_Search.html
        """
        wanted = (
            ("TrainingJobName", "Contains", query.containing),
            ("CreationTime", "GreaterThanOrEqualTo", query.created_after),
            ("CreationTime", "LessThanOrEqualTo", query.created_before),
        )
        filters = [
            {
                "Name": name,
                "Operator": operator,
                "Value": value if isinstance(value, str) else f"{value:%Y-%m-%dT%H:%M:%S}",
            }
            for name, operator, value in wanted
            if value
        ]
        with as_cloud_error("Search", query.containing or "all jobs"):
            answer = self._sagemaker.search(
                Resource="TrainingJob",
                SortBy="CreationTime",
                SortOrder="Descending",
                MaxResults=PAGE,
                **({"SearchExpression": {"Filters": filters}} if filters else {}),
                **({"NextToken": token} if token else {}),
            )
            return JobPage(
                tuple(parse_snapshot(found["TrainingJob"]) for found in answer["Results"]), answer.get("NextToken")
            )

    def fetch_tags(self, arn: str) -> Mapping[str, str]:
        def ask() -> dict[str, str]:
            with as_cloud_error("ListTags", arn):
                pages = self._sagemaker.get_paginator("list_tags").paginate(ResourceArn=arn)
                return {tag["Key"]: tag["Value"] for page in pages for tag in page["Tags"]}

        return self._while_new(arn.rsplit("/", 1)[-1], ask)

    def stop_job(self, name: str) -> None:
        def ask() -> None:
            with as_cloud_error("StopTrainingJob", name):
                self._sagemaker.stop_training_job(TrainingJobName=name)

        self._while_new(name, ask)

    def service_time(self) -> float | None:
        """The Date of the service's newest answer."""
        return self._heard

    def trouble(self, error: CloudError) -> Trouble | None:
        return trouble(error)

    def renew(self) -> bool:
        return isinstance(self._session, RenewableSession) and self._session.renew()

    def _while_new(self, name: str, ask: Callable[[], T]) -> T:
        """The answer; one that does not know a new job yet is asked for again. Where a job that was seen is not found by another
        account's login, that is said."""
        while True:
            try:
                return ask()
            except CloudError as error:
                if trouble(error) is not Trouble.NOT_FOUND:
                    raise
                if self._clock is None or abs(self._clock.now() - self._new.get(name, -NOT_YET_S)) >= NOT_YET_S:
                    self._check_login(name, error)
                    raise
            self._clock.sleep(AGAIN_S)

    def _check_login(self, name: str, failure: CloudError) -> None:
        """Raise CloudError where the login that did not find the job is of another account. An endpoint without STS says nothing."""
        if name not in self._accounts:
            return
        try:
            with as_cloud_error("GetCallerIdentity", "your credentials"):
                mine = str(make_client(self._session, "sts").get_caller_identity()["Account"])
        except CloudError as error:
            if trouble(error) in {None, Trouble.NOT_FOUND}:
                return
            raise
        if mine != self._accounts[name]:
            raise _other_account(name, self._accounts[name], mine) from failure

    def _note_account(self, job: JobSnapshot) -> None:
        """Keep the account of a job. Raises CloudError for the job of another account that has the name of one that was seen."""
        if job.account != self._accounts.setdefault(job.name, job.account):
            raise _other_account(job.name, self._accounts[job.name], job.account)

    def _note_new(self, job: JobSnapshot) -> None:
        """A job that somebody else has just made is new, too. Its age is told by the service's own clock."""
        if self._clock is None or job.created is None or job.name in self._new:
            return
        now = self._clock.now()
        age_s = max(0.0, (self._heard or now) - job.created.timestamp())
        if age_s < NOT_YET_S:
            self._new[job.name] = now - age_s

    def _note_time(self, http_response: Any, **_event: Any) -> None:
        date = http_response.headers.get("Date")
        if date:
            self._heard = parsedate_to_datetime(date).timestamp()


def _other_account(name: str, wanted: str, got: str) -> CloudError:
    return CloudError(
        f"Your AWS login is of account {got}, and {name} is a job of account {wanted}; log in to that account. The job goes on",
        operation="GetCallerIdentity",
        code=OTHER_ACCOUNT,
    )


def _arn(answer: Mapping[str, Any]) -> str:
    """The ARN of a create's answer. Raises KeyError, ValueError for an answer that has none."""
    arn = answer["TrainingJobArn"]
    if not isinstance(arn, str) or not arn.startswith("arn:"):
        raise ValueError(f"no ARN: {arn!r}")
    return arn


# Describe does not give tags back, and writes the other four in its own words.
NOT_ECHOED = frozenset(
    {"Tags", "ProfilerConfig", "DebugHookConfig", "DebugRuleConfigurations", "ProfilerRuleConfigurations"}
)


def same_content(request: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    """Return True if a DescribeTrainingJob answer holds every field of the request. Fields that the service adds are ignored."""
    return all(_holds(answer.get(name), value) for name, value in request.items() if name not in NOT_ECHOED)


def _holds(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        found = got if isinstance(got, Mapping) else {}
        return all(_holds(found.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        rows = got if isinstance(got, Sequence) and not isinstance(got, str) else ()
        return len(rows) == len(wanted) and all(map(_holds, rows, wanted))
    return bool(got == wanted) or (not got and not wanted)  # an empty text or False may be left out
