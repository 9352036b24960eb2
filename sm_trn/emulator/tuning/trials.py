"""A tuning job's training jobs, as its answers tell them: counted, ranked and one by one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from typing_extensions import TypedDict

from ..api.shapes import given
from .request import definitions_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..state.resources import Resource
    from ..training.job import Job
    from ..training.jobs import Jobs
    from .request import Objective

_COUNTED: Final = {"Completed": "Completed", "Failed": "NonRetryableError", "Stopped": "Stopped"}


class Trial(TypedDict):
    """What a tuning job keeps of each training job that it started."""

    name: str
    definition: int
    values: Mapping[str, str]


def trials_of(resource: Resource) -> Sequence[Trial]:
    """Return the training jobs that a tuning job started, in their order."""
    found: Sequence[Trial] = resource.facts.get("trials", ())
    return found


def score(job: Job, objective: Objective) -> float | None:
    """Return the objective's last value; None for a job that never printed it."""
    return next((metric.value for metric in job.metrics if metric.name == objective.get("MetricName")), None)


class Trials:
    """The training jobs of one tuning job, those that were deleted left out."""

    def __init__(self, resource: Resource, jobs: Jobs) -> None:
        self._resource = resource
        self._objectives = [each.get("TuningObjective", {}) for each in definitions_of(resource.request)]
        self._names = [each.get("DefinitionName") for each in definitions_of(resource.request)]
        self.rows: Final = [
            (trial, jobs.get(trial["name"])) for trial in trials_of(resource) if jobs.has(trial["name"])
        ]

    def running(self) -> list[Job]:
        return [job for _, job in self.rows if not job.state.terminal]

    def best(self) -> tuple[Trial, Job] | None:
        """Return the completed job with the best value; None before there is one."""
        ranked = [
            (value if objective.get("Type") == "Maximize" else -value, trial, job)
            for trial, job in self.rows
            for objective in (self._objectives[trial["definition"]],)
            for value in (score(job, objective),)
            if value is not None and value == value and job.status == "Completed"  # noqa: PLR0124 - NaN is no value
        ]
        return max(ranked, key=lambda row: row[0])[1:] if ranked else None

    def not_improved(self) -> int:
        """Return how many training jobs have completed since the best of them; 0 before there is one."""
        best = self.best()
        if best is None or best[1].state.ended is None:
            return 0
        since = best[1].state.ended
        return sum(job.status == "Completed" and (job.state.ended or 0) > since for _, job in self.rows)

    def metric(self, trial: Trial) -> str:
        """Return the name of the objective of a training job."""
        return str(self._objectives[trial["definition"]].get("MetricName", ""))

    def last(self, trial: Trial, job: Job) -> float | None:
        """Return the objective's value; None without one."""
        return score(job, self._objectives[trial["definition"]])

    def reached(self, target: float) -> bool:
        """Return whether the best value is at least as good as ``target``."""
        best = self.best()
        if best is None:
            return False
        objective = self._objectives[best[0]["definition"]]
        value = score(best[1], objective)
        if value is None:
            return False
        return value >= target if objective.get("Type") == "Maximize" else value <= target

    def counters(self) -> dict[str, dict[str, int]]:
        """Return both counters of a describe answer."""
        status = Counter(_COUNTED.get(job.status, "InProgress") for _, job in self.rows)
        objective = Counter(self._objective_status(trial, job) for trial, job in self.rows)
        kinds = ("Completed", "InProgress", "RetryableError", "NonRetryableError", "Stopped")
        return {
            "TrainingJobStatusCounters": {kind: status[kind] for kind in kinds},
            "ObjectiveStatusCounters": {kind: objective[kind] for kind in ("Succeeded", "Pending", "Failed")},
        }

    def summary(self, trial: Trial, job: Job) -> dict[str, object]:
        """Return a row of ListTrainingJobsForHyperParameterTuningJob, which BestTrainingJob is too."""
        objective = self._objectives[trial["definition"]]
        value = score(job, objective)
        final = None if value is None else {**objective, "Value": value}
        return given(
            TrainingJobDefinitionName=self._names[trial["definition"]],
            TrainingJobName=job.name,
            TrainingJobArn=job.arn,
            CreationTime=job.created,
            TrainingStartTime=job.state.started,
            TrainingEndTime=job.state.ended,
            TrainingJobStatus=job.status,
            TunedHyperParameters=dict(trial["values"]),
            FailureReason=job.state.failure_reason,
            FinalHyperParameterTuningJobObjectiveMetric=final,
            ObjectiveStatus=self._objective_status(trial, job),
        )

    def value(self, trial: Trial, job: Job) -> float:
        """Return the objective's value, to sort by. A trial without one sorts first."""
        found = self.last(trial, job)
        return float("-inf") if found is None else found

    def _objective_status(self, trial: Trial, job: Job) -> str:
        if not job.state.terminal:
            return "Pending"
        return "Failed" if score(job, self._objectives[trial["definition"]]) is None else "Succeeded"
