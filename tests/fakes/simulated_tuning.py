"""Tuning jobs on a virtual clock: as many training jobs at a time as are allowed, each with its story. What is answered is botocore's
model of SageMaker and its API text (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateHyperParameterTuningJob.html).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

ARN = "arn:aws:sagemaker:us-west-2:123456789012:hyper-parameter-tuning-job"


class Services(Protocol):
    """The training jobs that a search adds to."""

    clock: Any
    jobs: dict[str, Any]

    def start(self, name: str, created: float, request: Mapping[str, Any]) -> None: ...


@dataclass
class Search:
    """A tuning job. Training job ``n`` starts when a place is free, and its objective is ``1 / (n + 1)``."""

    request: Mapping[str, Any]
    created: float
    children: list[str] = field(default_factory=list)
    stopped: float | None = None

    @property
    def name(self) -> str:
        return str(self.request["HyperParameterTuningJobName"])

    @property
    def config(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.request["HyperParameterTuningJobConfig"]
        return found


class Tuning:
    """Answers by operation. ``created`` counts the tuning jobs that were made, by name."""

    def __init__(self, service: Services, refusal: type[Exception]) -> None:
        self._service = service
        self._refusal = refusal
        self.jobs: dict[str, Search] = {}
        self.created: Counter[str] = Counter()
        self.lag_s = 0.0  # an answer does not know a tuning job that is so young

    def answers(self, operation: str) -> bool:
        return "HyperParameterTuningJob" in operation

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "CreateHyperParameterTuningJob": self._create,
            "DescribeHyperParameterTuningJob": self._describe,
            "ListTrainingJobsForHyperParameterTuningJob": self._trials,
            "StopHyperParameterTuningJob": self._stop,
        }[operation](body)

    def _create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        name = body["HyperParameterTuningJobName"]
        if name in self.jobs:
            raise self._refusal("ResourceInUse", "Tuning job names must be unique within an AWS account and region.")
        request = {key: value for key, value in body.items() if key != "Tags"}
        self.jobs[name] = Search(request, self._service.clock.now())
        self.created[name] += 1
        return {"HyperParameterTuningJobArn": self._arn(name)}

    def _arn(self, name: str) -> str:
        return f"{ARN}/{name}"

    def _found(self, body: Mapping[str, Any]) -> Search:
        found = self.jobs.get(body["HyperParameterTuningJobName"])
        if found is None or self._service.clock.now() - found.created < self.lag_s:
            raise self._refusal("ValidationException", "Could not find hyperparameter tuning job.")
        self._go_on(found)
        return found

    def _go_on(self, search: Search) -> None:
        """Start the training jobs for which there has been a place by now."""
        now = self._service.clock.now()
        limits = search.config["ResourceLimits"]
        while len(search.children) < limits["MaxNumberOfTrainingJobs"]:
            number = len(search.children)
            wave = number - limits["MaxParallelTrainingJobs"]
            start = search.created if wave < 0 else self._service.jobs[search.children[wave]].end
            if start > now or (search.stopped is not None and start >= search.stopped):
                return
            name = f"{search.name}-{number + 1:03d}-{number:08x}"
            self._service.start(name, start, self._trained(search, number))
            search.children.append(name)

    def _trained(self, search: Search, number: int) -> dict[str, Any]:
        definition = search.request["TrainingJobDefinition"]
        cluster = definition["HyperParameterTuningResourceConfig"]
        tuned = self._values(search, number)
        return {
            **{name: definition[name] for name in ("AlgorithmSpecification", "OutputDataConfig", "StoppingCondition", "RoleArn")},
            "ResourceConfig": cluster,
            "HyperParameters": {**definition["StaticHyperParameters"], **tuned, "_tuning_objective_metric": self._metric(search)},
        }  # fmt: skip

    def _metric(self, search: Search) -> str:
        return str(search.config["HyperParameterTuningJobObjective"]["MetricName"])

    def _values(self, search: Search, number: int) -> dict[str, str]:
        ranges = search.config["ParameterRanges"]
        share = (number + 1) / search.config["ResourceLimits"]["MaxNumberOfTrainingJobs"]
        values = {
            each["Name"]: each["Values"][number % len(each["Values"])] for each in ranges["CategoricalParameterRanges"]
        }
        for kind in ("ContinuousParameterRanges", "IntegerParameterRanges"):
            for each in ranges[kind]:
                low, high = float(each["MinValue"]), float(each["MaxValue"])
                value = low + (high - low) * share
                values[each["Name"]] = str(round(value)) if kind.startswith("Integer") else str(value)
        return values

    def _row(self, search: Search, number: int) -> dict[str, Any]:
        job = self._service.jobs[search.children[number]]
        listed = job.listed(self._service.clock.now())
        kept = ("TrainingJobName", "TrainingJobArn", "CreationTime", "TrainingJobStatus", "TrainingEndTime")
        row = {name: listed[name] for name in kept if name in listed}
        row["TunedHyperParameters"] = self._values(search, number)
        if row["TrainingJobStatus"] == "Completed":
            objective = search.config["HyperParameterTuningJobObjective"]
            row["FinalHyperParameterTuningJobObjectiveMetric"] = {**objective, "Value": 1 / (number + 1)}
        return row

    def _describe(self, body: Mapping[str, Any]) -> dict[str, Any]:
        search = self._found(body)
        rows = [self._row(search, number) for number in range(len(search.children))]
        states = Counter(row["TrainingJobStatus"] for row in rows)
        counts = {"Completed": states["Completed"], "InProgress": states["InProgress"] + states["Stopping"]}
        counts |= {"RetryableError": 0, "NonRetryableError": states["Failed"], "Stopped": states["Stopped"]}
        whole = len(rows) == search.config["ResourceLimits"]["MaxNumberOfTrainingJobs"]
        over = not counts["InProgress"] and (whole or search.stopped is not None)
        ended = "Completed" if search.stopped is None else "Stopped"
        going = "InProgress" if search.stopped is None else "Stopping"
        scored = [row for row in rows if "FinalHyperParameterTuningJobObjectiveMetric" in row]
        sign = 1 if search.config["HyperParameterTuningJobObjective"]["Type"] == "Maximize" else -1
        best = max(
            scored, key=lambda row: sign * row["FinalHyperParameterTuningJobObjectiveMetric"]["Value"], default=None
        )
        definition = search.request["TrainingJobDefinition"]
        static = {**definition["StaticHyperParameters"], "_tuning_objective_metric": self._metric(search)}
        return {
            **search.request,
            "TrainingJobDefinition": {  # SDK v2's attach reads both (sagemaker/tuner.py, _prepare_estimator)
                **definition,
                "StaticHyperParameters": static,
                "ResourceConfig": definition["HyperParameterTuningResourceConfig"],
            },
            "HyperParameterTuningJobArn": self._arn(search.name),
            "HyperParameterTuningJobStatus": ended if over else going,
            "CreationTime": search.created,
            "TrainingJobStatusCounters": counts,
            "ObjectiveStatusCounters": {"Succeeded": len(scored), "Pending": 0, "Failed": 0},
            **({"BestTrainingJob": best} if best is not None else {}),
        }

    def _trials(self, body: Mapping[str, Any]) -> dict[str, Any]:
        search = self._found(body)
        start, size = int(body.get("NextToken") or 0), body.get("MaxResults", 10)
        end = min(len(search.children), start + size)
        more = {"NextToken": str(end)} if end < len(search.children) else {}
        return {"TrainingJobSummaries": [self._row(search, number) for number in range(start, end)], **more}

    def _stop(self, body: Mapping[str, Any]) -> dict[str, Any]:
        search, now = self._found(body), self._service.clock.now()
        search.stopped = search.stopped or now
        for name in search.children:
            job = self._service.jobs[name]
            if job.end > now:
                job.stopped = job.stopped or now
        return {}
