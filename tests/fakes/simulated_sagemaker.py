"""Training jobs and their logs on a virtual clock: what the services would answer, from scripts of what happens. No network.

Knows SageMaker's, CloudWatch Logs' and a little of S3's answers. It must not know who asks, nor fail by itself: ``Wire`` does.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakes.simulated_batch import Batch
from fakes.simulated_hosting import Hosting
from fakes.simulated_tuning import Tuning

ACCOUNT, REGION = "123456789012", "us-west-2"
NOT_FOUND = "Requested resource not found."


class VirtualClock:
    """The ``Clock`` port: sleeping costs nothing, and what was to happen meanwhile happens."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start
        self._actions: list[tuple[float, Callable[[], None]]] = []
        self._lock = threading.RLock()

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._now += max(0.0, seconds)
            due = sorted((entry for entry in self._actions if entry[0] <= self._now), key=lambda entry: entry[0])
            self._actions = [entry for entry in self._actions if entry[0] > self._now]
        for _, action in due:
            action()

    def at(self, moment: float, action: Callable[[], None]) -> None:
        self._actions.append((moment, action))


class Refusal(Exception):  # noqa: N818 - an answer of the service
    """An error answer."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happens to a job: phases with their seconds, the end, and per host its lines at seconds after the creation."""

    phases: tuple[tuple[str, float], ...] = (
        ("Starting", 90.0),
        ("Downloading", 50.0),
        ("Training", 440.0),
        ("Uploading", 20.0),
    )
    outcome: str = "Completed"
    reason: str = ""
    lines: Mapping[str, tuple[tuple[float, str], ...]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return sum(length for _, length in self.phases)


@dataclass
class SimulatedJob:
    name: str
    created: float
    story: Story
    request: Mapping[str, Any]
    tags: list[dict[str, str]] = field(default_factory=list)
    stopped: float | None = None
    _row: dict[str, Any] = field(default_factory=dict)
    _row_until: float = 0.0

    @property
    def arn(self) -> str:
        return f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-job/{self.name}"

    @property
    def end(self) -> float:
        natural = self.created + self.story.seconds
        return natural if self.stopped is None else min(natural, self.stopped + 30.0)

    def transitions(self, now: float) -> list[dict[str, Any]]:
        rows, start = [], self.created
        for phase, length in self.story.phases:
            if start > now or start >= self.end:
                break
            stop = min(start + length, self.end)
            rows.append(
                {"Status": phase, "StartTime": start, "StatusMessage": phase}
                | ({"EndTime": stop} if stop <= now else {})
            )
            start = stop
        if self.end <= now:
            rows.append({"Status": self.outcome, "StartTime": self.end, "EndTime": self.end, "StatusMessage": ""})
        return rows

    @property
    def outcome(self) -> str:
        return (
            "Stopped"
            if self.stopped is not None and self.end < self.created + self.story.seconds
            else self.story.outcome
        )

    def row(self, now: float) -> dict[str, Any]:
        """``listed``, worked out once a phase. Virtual time does not go back."""
        if now >= self._row_until:
            rows = self.transitions(now)
            left = sum(length for _, length in self.story.phases[: len(rows)])
            self._row, self._row_until = self.listed(now), self.created + left if now < self.end else float("inf")
        return self._row

    def listed(self, now: float) -> dict[str, Any]:
        rows = self.transitions(now)
        over = self.end <= now
        stopping = self.stopped is not None and self.stopped <= now and not over
        modified = max([rows[-1]["StartTime"], *([self.stopped] if stopping and self.stopped else [])])
        return {
            "TrainingJobName": self.name,
            "TrainingJobArn": self.arn,
            "CreationTime": self.created,
            "LastModifiedTime": modified,
            "TrainingJobStatus": self.outcome if over else "Stopping" if stopping else "InProgress",
            "SecondaryStatus": rows[-1]["Status"],
        } | ({"TrainingEndTime": self.end} if over else {})

    def described(self, now: float) -> dict[str, Any]:
        rows = self.transitions(now)
        begun = next((row["StartTime"] for row in rows if row["Status"] == "Downloading"), None)
        answer = {**self.request, **self.listed(now), "SecondaryStatusTransitions": rows}
        if begun is not None:
            answer["TrainingStartTime"] = begun
        if self.end <= now and begun is not None:
            answer |= {"BillableTimeInSeconds": int(self.end - begun), "TrainingTimeInSeconds": int(self.end - begun)}
        place = self.request.get("OutputDataConfig", {}).get("S3OutputPath")
        if self.end <= now and self.outcome == "Completed" and place:
            artefact = f"{place.rstrip('/')}/{self.name}/output/model.tar.gz"
            answer["ModelArtifacts"] = {"S3ModelArtifacts": artefact}
        if self.end <= now and self.outcome == "Failed":
            answer["FailureReason"] = self.story.reason
        return answer


class Service:
    """Answers by operation. ``counts`` says how often each was asked for."""

    def __init__(self, clock: VirtualClock, story_of: Callable[[str], Story] = lambda _name: Story()) -> None:
        self.clock = clock
        self.story_of = story_of
        self.story_of_request: Callable[[Mapping[str, Any]], Story] | None = (
            None  # in its place, where what happens depends on it
        )
        self.jobs: dict[str, SimulatedJob] = {}
        self.objects: dict[str, bytes] = {}
        self.hosting = Hosting(clock.now, Refusal)
        self.batch = Batch(clock.now, Refusal)
        self.tuning = Tuning(self, Refusal)
        self.counts: Counter[str] = Counter()
        self.created: Counter[str] = Counter()
        self.page_events = 10_000
        self.list_lag_s = 0.0  # a list shows what was so long ago
        self.search_lag_s = 0.0
        self.late: dict[str, float] = {}  # and of these jobs, what was so much longer ago
        self.unaware: Callable[[SimulatedJob], bool] = lambda _job: False  # whether an answer does not know a job yet
        self._newest_first: list[SimulatedJob] = []
        self._lock = threading.RLock()

    def add(self, name: str, *, created: float, story: Story | None = None) -> SimulatedJob:
        request = {
            "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30},
            "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
            "AlgorithmSpecification": {"TrainingImage": "an-image", "TrainingInputMode": "File"},
        }
        job = SimulatedJob(name, created, story or self.story_of(name), request)
        self.jobs[name] = job
        return job

    def start(self, name: str, created: float, request: Mapping[str, Any]) -> None:
        """A training job that a service starts."""
        self.jobs[name] = SimulatedJob(name, created, self.story_of(name), request)

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self.hosting.answers(operation):
                return self.hosting.answer(operation, body)
            if self.batch.answers(operation):
                return self.batch.answer(operation, body)
            if self.tuning.answers(operation):
                return self.tuning.answer(operation, body)
            return {
                "CreateTrainingJob": self._create,
                "DescribeTrainingJob": lambda body: self._job(body).described(self.clock.now()),
                "ListTrainingJobs": self._list,
                "Search": self._search,
                "StopTrainingJob": self._stop,
                "ListTags": lambda body: {"Tags": self._tags(body["ResourceArn"])},
                "DescribeLogStreams": self._streams,
                "GetLogEvents": self._events,
            }[operation](body)

    def _job(self, body: Mapping[str, Any]) -> SimulatedJob:
        job = self.jobs.get(body["TrainingJobName"])
        if job is None or self.unaware(job):
            raise Refusal("ValidationException", NOT_FOUND)
        return job

    def _tags(self, arn: str) -> list[dict[str, str]]:
        if ":training-job/" not in arn:
            return self.hosting.tags(arn)
        return self._job({"TrainingJobName": arn.rsplit("/", 1)[-1]}).tags

    def _create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        name = body["TrainingJobName"]
        if name in self.jobs:
            raise Refusal("ResourceInUse", "Training job names must be unique within an AWS account and region.")
        request = {key: value for key, value in body.items() if key != "Tags"}
        story = self.story_of(name) if self.story_of_request is None else self.story_of_request(request)
        self.jobs[name] = SimulatedJob(name, self.clock.now(), story, request, list(body.get("Tags", ())))
        self.created[name] += 1
        return {"TrainingJobArn": self.jobs[name].arn}

    def _stop(self, body: Mapping[str, Any]) -> dict[str, Any]:
        job = self._job(body)
        if job.end <= self.clock.now():
            raise Refusal(
                "ValidationException", f"The request was rejected because the training job is in status {job.outcome}."
            )
        job.stopped = job.stopped or self.clock.now()
        job._row_until = 0.0
        self.clock.at(job.end, lambda: setattr(job, "_row_until", 0.0))
        return {}

    def _newest(self) -> list[SimulatedJob]:
        """All jobs, newest first: sorted once, and again when there are more."""
        if len(self._newest_first) != len(self.jobs):
            self._newest_first = sorted(self.jobs.values(), key=lambda job: (-job.created, job.name))
        return self._newest_first

    def _list(self, body: Mapping[str, Any]) -> dict[str, Any]:
        now = self.clock.now() - self.list_lag_s
        containing = body.get("NameContains", "").lower()
        after = body.get("LastModifiedTimeAfter")

        def row_of(job: SimulatedJob) -> dict[str, Any] | None:
            seen = now - self.late.get(job.name, 0.0)
            if job.created > seen or containing not in job.name.lower():
                return None
            row = job.row(seen)
            return row if after is None or row["LastModifiedTime"] > after else None

        page, token = _page_of(self._newest(), row_of, body)
        wanted = body.get("StatusEquals")
        shown = [row for row in page if wanted is None or row["TrainingJobStatus"] == wanted]
        return {"TrainingJobSummaries": shown} | token

    def _search(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Whole jobs with their tags, as an index knew them ``search_lag_s`` ago."""
        now = self.clock.now() - self.search_lag_s
        named = [
            part["Value"] for part in body.get("SearchExpression", {}).get("Filters", ()) if "Name" in part["Name"]
        ]

        def result_of(job: SimulatedJob) -> dict[str, Any] | None:
            if job.created > now or not all(part in job.name for part in named):
                return None
            return {"TrainingJob": {**job.described(now), "Tags": job.tags}}

        page, token = _page_of(self._newest(), result_of, body)
        return {"Results": page} | token

    def _lines(self, job: SimulatedJob, host: str) -> list[tuple[float, str]]:
        now = min(self.clock.now(), job.end)
        return [(job.created + at, text) for at, text in job.story.lines.get(host, ()) if job.created + at <= now]

    def _streams(self, body: Mapping[str, Any]) -> dict[str, Any]:
        name = body["logStreamNamePrefix"].split("/")[0]
        job = self.jobs.get(name)
        names = (
            [f"{name}/{host}-{int(job.created)}" for host in job.story.lines if self._lines(job, host)] if job else []
        )
        page, token = _page(sorted(names), body.get("nextToken"), 50)
        streams = [{"logStreamName": stream} for stream in page]
        return {"logStreams": streams} | ({"nextToken": token["NextToken"]} if token else {})

    def _events(self, body: Mapping[str, Any]) -> dict[str, Any]:
        name, stream = body["logStreamName"].split("/")
        lines = self._lines(self.jobs[name], stream.rpartition("-")[0])
        start = int(body["nextToken"].removeprefix("f/")) if "nextToken" in body else 0
        page = lines[start : start + min(self.page_events, body.get("limit", 10_000))]
        events = [{"timestamp": int(at * 1000), "message": text, "ingestionTime": int(at * 1000)} for at, text in page]
        return {"events": events, "nextForwardToken": f"f/{start + len(page)}", "nextBackwardToken": f"b/{start}"}


def _page(rows: Iterable[Any], token: str | None, size: int) -> tuple[list[Any], dict[str, str]]:
    found = list(rows)
    start = int(token) if token else 0
    page = found[start : start + size]
    return page, {"NextToken": str(start + size)} if start + size < len(found) else {}


def _page_of(
    jobs: Sequence[SimulatedJob], row_of: Callable[[SimulatedJob], dict[str, Any] | None], body: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The next page of those jobs that have a row. Its token is the place of the first job that it leaves out."""
    page: list[dict[str, Any]] = []
    for place in range(int(body.get("NextToken") or 0), len(jobs)):
        row = row_of(jobs[place])
        if row is None:
            continue
        if len(page) == body.get("MaxResults", 10):
            return page, {"NextToken": str(place)}
        page.append(row)
    return page, {}
