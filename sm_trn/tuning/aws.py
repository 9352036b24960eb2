"""Tuning jobs through boto3: against AWS, or against anything that speaks its API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, TypeVar

import boto3

from ..core.aws.backend import AGAIN_S, NOT_YET_S, make_client, same_content
from ..core.aws.errors import as_cloud_error, trouble, unanswered
from ..core.errors import CloudError, LaunchUnknown
from ..core.fields import Tree
from ..core.ports import Clock, Trouble
from ..core.specs.snapshot import EMULATED_ACCOUNT, parse_time
from ..core.specs.tuning import Goal

PAGE: Final = 100  # API reference, ListTrainingJobsForHyperParameterTuningJob, MaxResults
CREATE: Final = "CreateHyperParameterTuningJob"
TAKEN: Final = "ResourceInUse"
T = TypeVar("T")
ENDED = ("Completed", "Failed", "Stopped")  # HyperParameterTuningJobStatus and TrainingJobStatus
# TrainingJobStatusCounters of training jobs that have ended; a retryable error is tried again.
ENDED_COUNTS = ("Completed", "NonRetryableError", "Stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A training job of a search. ``values`` are the tuned hyperparameters in the service's own texts.

    ``objective`` is None until the job has printed it.
    """

    name: str
    status: str
    values: Mapping[str, str]
    objective: float | None = None
    reason: str = ""
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningSnapshot:
    """A tuning job at one time; ``status`` is AWS's word. ``counts`` are training jobs by their state, ``most`` is how many there
    can be.
    """

    name: str
    arn: str
    status: str
    metric: str
    goal: Goal
    counts: Mapping[str, int]
    most: int | None = None
    best: Trial | None = None
    reason: str = ""

    @property
    def terminal(self) -> bool:
        """Return True if the search is over."""
        return self.status in ENDED

    @property
    def ended(self) -> int:
        """How many training jobs are over."""
        return sum(self.counts.get(word, 0) for word in ENDED_COUNTS)

    @property
    def emulated(self) -> bool:
        """Return True if it ran on this machine, and cost nothing."""
        return f":{EMULATED_ACCOUNT}:" in self.arn


class Boto3Tuning:
    """Tuning jobs through a boto3 session. With a ``clock``, "not found" is asked again while a job is new; without one –
    the emulator knows a job at once – it is believed. Its client is made when it is needed.
    """

    def __init__(self, session: boto3.Session, clock: Clock | None = None) -> None:
        self._session = session
        self._clock = clock
        self._made_at: dict[str, float] = {}

    @cached_property
    def _sagemaker(self) -> Any:
        return make_client(self._session, "sagemaker")

    def create(self, request: Tree) -> str:
        """Send the request; returns the ARN. A job that was made although its answer was lost is recognised, by its name and its
        whole content; a foreign one of that name is not. Raises CloudError, LaunchUnknown.
        """
        name = str(request["HyperParameterTuningJobName"])
        self._note(name)
        try:
            with as_cloud_error(CREATE, name):
                return str(self._sagemaker.create_hyper_parameter_tuning_job(**request)["HyperParameterTuningJobArn"])
        except CloudError as error:
            if error.code != TAKEN and not unanswered(error):
                raise
            self._note(name)
            return self._made(request, name, error)

    def _made(self, request: Tree, name: str, failure: CloudError) -> str:
        """The ARN of the job that a create without an answer made all the same. Raises ``failure`` when it made none."""
        try:
            answer = self._described(name)
        except CloudError as error:
            if _not_found(error) and failure.code != TAKEN:
                raise failure from failure.__cause__
            raise LaunchUnknown(
                f"{failure}; whether the tuning job was made could not be found out either: it may run, and be billed. Before you "
                f"launch it again: sm-trn tune {name}",
                name=name,
                code=failure.code,
                operation=CREATE,
            ) from error
        if not same_content(request, answer):
            raise failure
        return str(answer["HyperParameterTuningJobArn"])

    def fetch(self, name: str) -> TuningSnapshot:
        """The tuning job as it is now."""
        with as_cloud_error("DescribeHyperParameterTuningJob", name):
            return parse_tuning(self._described(name))

    def exists(self, name: str) -> bool:
        """Return True if there is a tuning job of this name. Raises CloudError where that cannot be found out."""
        try:
            self._described(name)
        except CloudError as error:
            if _not_found(error):
                return False
            raise
        return True

    def _described(self, name: str) -> Tree:
        def ask() -> Tree:
            with as_cloud_error("DescribeHyperParameterTuningJob", name):
                return dict(self._sagemaker.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName=name))

        return self._while_new(name, ask)

    def fetch_trials(self, name: str) -> Iterator[Trial]:
        """The training jobs in the order in which they were started, a hundred a call."""
        token: str | None = ""
        while token is not None:
            with as_cloud_error("ListTrainingJobsForHyperParameterTuningJob", name):
                page = self._sagemaker.list_training_jobs_for_hyper_parameter_tuning_job(
                    HyperParameterTuningJobName=name,
                    MaxResults=PAGE,
                    SortBy="CreationTime",
                    SortOrder="Ascending",
                    **({"NextToken": token} if token else {}),
                )
                trials = [parse_trial(row) for row in page["TrainingJobSummaries"]]
            yield from trials
            token = page.get("NextToken")

    def stop(self, name: str) -> None:
        """Ask the tuning job to stop, and with it the training jobs that run."""

        def ask() -> None:
            with as_cloud_error("StopHyperParameterTuningJob", name):
                self._sagemaker.stop_hyper_parameter_tuning_job(HyperParameterTuningJobName=name)

        self._while_new(name, ask)

    def _note(self, name: str) -> None:
        if self._clock is not None:
            self._made_at[name] = self._clock.now()

    def _while_new(self, name: str, ask: Callable[[], T]) -> T:
        """The answer; one that does not know a new job yet is asked for again."""
        while True:
            try:
                return ask()
            except CloudError as error:
                since = self._made_at.get(name)
                if self._clock is None or since is None or not _not_found(error):
                    raise
                if self._clock.now() - since >= NOT_YET_S:
                    raise
            self._clock.sleep(AGAIN_S)


def _not_found(error: CloudError) -> bool:
    """Return True if there is no such tuning job: the service says it with a code of its own, or in words."""
    if error.code == "ResourceNotFound" or trouble(error) is Trouble.NOT_FOUND:
        return True
    return error.code == "ValidationException" and "could not find" in str(error).lower()


def parse_tuning(answer: Tree) -> TuningSnapshot:
    """A DescribeHyperParameterTuningJob answer as a value. Raises KeyError for one without a name or a status."""
    config = answer["HyperParameterTuningJobConfig"]
    objective = config.get("HyperParameterTuningJobObjective") or _first_objective(answer)
    best = answer.get("BestTrainingJob") or {}
    return TuningSnapshot(
        name=str(answer["HyperParameterTuningJobName"]),
        arn=str(answer["HyperParameterTuningJobArn"]),
        status=str(answer["HyperParameterTuningJobStatus"]),
        metric=str(objective.get("MetricName", "")),
        goal=Goal(objective.get("Type", Goal.MAXIMIZE.value)),
        counts=dict(answer["TrainingJobStatusCounters"]),
        most=config["ResourceLimits"].get("MaxNumberOfTrainingJobs"),
        best=parse_trial(best) if best else None,
        reason=str(answer.get("FailureReason") or ""),
    )


def _first_objective(answer: Tree) -> Tree:
    """Of several definitions each has its own; the best job is chosen by the first one's goal."""
    definitions = answer.get("TrainingJobDefinitions") or [{}]
    objective: Tree = definitions[0].get("TuningObjective") or {}
    return objective


def parse_trial(row: Tree) -> Trial:
    """A row of ListTrainingJobsForHyperParameterTuningJob, which BestTrainingJob is too. Raises KeyError for one without a name."""
    final = row.get("FinalHyperParameterTuningJobObjectiveMetric") or {}
    return Trial(
        name=str(row["TrainingJobName"]),
        status=str(row["TrainingJobStatus"]),
        values=dict(row["TunedHyperParameters"]),
        objective=final.get("Value"),
        reason=str(row.get("FailureReason") or ""),
        started=parse_time(row.get("TrainingStartTime")),
        ended=parse_time(row.get("TrainingEndTime")),
    )
