"""The tuner gives each tuning job a thread, which starts training jobs and waits for them, as many at a time as it may."""

from __future__ import annotations

import secrets
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..errors import AwsError
from ..state.quota import reason_of
from .api import KIND, training_request
from .request import TuningRequest, definitions_of
from .search import Search, grid_size
from .trials import Trial, Trials, trials_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..state.resources import Resource, Resources
    from ..training.api import TrainingApi
    from ..training.job import Job
    from ..training.jobs import Jobs

_LOOK_S: Final = 0.2  # between two looks at the training jobs, which are in this process
_MONTH_S: Final = 28 * 86_400
ValuesOf = Callable[
    [str, str], "Sequence[float]"
]  # every value of a metric so far, by the names of its job and of itself


@dataclass(slots=True)
class _Entry:
    wake: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False
    heard: set[str] = field(default_factory=set)  # training jobs of whose end the search was told


class JobTuner:
    """The tuning jobs of this process that are not over."""

    def __init__(
        self, resources: Resources, jobs: Jobs, training: TrainingApi, values_of: ValuesOf, root: Path
    ) -> None:
        self._resources = resources
        self._jobs = jobs
        self._training = training
        self._values_of = values_of
        self._root = root
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def check(self, request: TuningRequest) -> None:
        """Raise the AwsError that a training job of each definition would meet."""
        for number in range(len(definitions_of(request))):
            self._training.check(training_request(request, number, "of-a-tuning-job"))

    def start(self, name: str) -> None:
        with self._lock:
            entry = self._entries[name] = _Entry()
        threading.Thread(target=self._run, args=(name, entry), name=f"tuning {name}", daemon=True).start()

    def stop(self, name: str) -> None:
        """The job is Stopping when this returns."""
        with self._lock:
            entry = self._entries.get(name)
        if entry is not None:
            self._resources.change(KIND, name, status="Stopping")
            entry.stopped = True
            entry.wake.set()

    def restore(self) -> None:
        self._resources.end_cut_off(KIND)

    def shutdown(self) -> None:
        """No training job is started any more; those that run are their supervisor's to end."""
        with self._lock:
            names = list(self._entries)
        for name in names:
            self.stop(name)

    def _run(self, name: str, entry: _Entry) -> None:
        try:
            self._search(name, entry)
        except AwsError as error:
            self._resources.end(KIND, name, "Failed", f"ClientError: {error.message}")
        except Exception as error:  # noqa: BLE001 - the last line of defence: whoever waits must hear of it
            traceback.print_exc()
            self._resources.end(KIND, name, "Failed", reason_of(error, self._root))
        finally:
            with self._lock:
                self._entries.pop(name, None)

    def _search(self, name: str, entry: _Entry) -> None:
        resource = self._resources.get(KIND, name)
        request: TuningRequest = resource.request
        limits = request["HyperParameterTuningJobConfig"]["ResourceLimits"]
        searches = [Search(request, number) for number in range(len(definitions_of(request)))]
        until = time.monotonic() + limits.get("MaxRuntimeInSeconds", _MONTH_S)
        most = _most(request)
        while True:
            resource = self._resources.get(KIND, name)
            trials = Trials(resource, self._jobs)
            running, started = trials.running(), len(trials_of(resource))
            done = entry.stopped or time.monotonic() >= until or _enough(request, trials)
            self._learn(searches, trials, entry)
            if done or started >= most:
                if not running:
                    break
                for job in running if done else ():
                    self._stop_job(job)
            elif len(running) < limits["MaxParallelTrainingJobs"]:
                self._try(resource, started, searches)
                continue
            entry.wake.wait(_LOOK_S)
            entry.wake.clear()
        self._conclude(name, entry, trials)

    def _learn(self, searches: Sequence[Search], trials: Trials, entry: _Entry) -> None:
        """Tell the searches how their training jobs do, and stop those that they give up."""
        for trial, job in trials.rows:
            search = searches[trial["definition"]]
            if job.name in entry.heard:
                continue
            if job.state.terminal:
                entry.heard.add(job.name)
                search.ended(job.name, trials.last(trial, job), stopped=job.status == "Stopped")
            elif search.hopeless(job.name, self._values_of(job.name, trials.metric(trial))):
                self._stop_job(job)

    def _stop_job(self, job: Job) -> None:
        if job.state.status != "Stopping":
            self._training.stop({"TrainingJobName": job.name})

    def _try(self, resource: Resource, number: int, searches: Sequence[Search]) -> None:
        """Start the next training job. Its name is the tuning job's, a number and eight random letters, as at the service."""
        request: TuningRequest = resource.request
        name = f"{resource.name}-{number + 1:03d}-{secrets.token_hex(4)}"
        at = number % len(searches)
        chosen, values = searches[at].values()
        made = training_request(request, number, name)
        made["HyperParameters"] = {**made["HyperParameters"], **values}
        made["TuningJobArn"] = resource.arn
        self._training.create(made)
        searches[at].started(name, chosen)
        trial: Trial = {"name": name, "definition": at, "values": values}
        self._resources.change(KIND, resource.name, facts={**resource.facts, "trials": [*trials_of(resource), trial]})

    def _conclude(self, name: str, entry: _Entry, trials: Trials) -> None:
        jobs = [job for _, job in trials.rows]
        if entry.stopped:
            self._resources.end(KIND, name, "Stopped")
        elif jobs and all(job.status == "Failed" for job in jobs):
            self._resources.end(
                KIND, name, "Failed", "All training jobs of the tuning job failed; each of them says why."
            )
        else:
            self._resources.end(KIND, name, "Completed")


def _enough(request: TuningRequest, trials: Trials) -> bool:
    """Whether what was found ends the search: a value that is good enough, or too many jobs without a better one."""
    criteria = request["HyperParameterTuningJobConfig"].get("TuningJobCompletionCriteria") or {}
    target = criteria.get("TargetObjectiveMetricValue")
    worse = (criteria.get("BestObjectiveNotImproving") or {}).get("MaxNumberOfTrainingJobsNotImproving")
    return (target is not None and trials.reached(target)) or (worse is not None and trials.not_improved() >= worse)


def _most(request: TuningRequest) -> int:
    """How many training jobs are started: what is asked, a grid's own number, or one where nothing says it."""
    config = request["HyperParameterTuningJobConfig"]
    asked = config["ResourceLimits"].get("MaxNumberOfTrainingJobs")
    if asked is not None:
        return asked
    grid = sum(grid_size(each["HyperParameterRanges"]) for each in definitions_of(request))
    return grid if config["Strategy"] == "Grid" else 1
