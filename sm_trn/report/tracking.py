"""Jobs as runs of an MLflow server: settings, the curve, what it cost, the page. Nothing is logged twice.

The server is asked through MLflow's own client. What the script itself logs, to MLflow or elsewhere, is not touched.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..core.errors import NotConfigured, SmTrnError
from ..core.extras import extra
from ..core.formatting.table import finite, reasons, records
from ..core.preflight.secrets import holds_secret, is_named_secret
from ..core.preflight.source import TOOLKIT_PREFIX
from ..core.specs.metrics import MetricPoint
from ..core.specs.record import JobRecord
from ..core.specs.snapshot import JobSnapshot, JobStatus

if TYPE_CHECKING:
    from ..core.formatting.table import Table

IDENTITY: Final = "sm_trn.job"  # the tag by which a job's run is found again: its ARN, or a published record's name
EXPERIMENT: Final = "sm_trn"
PAGE: Final = "report"  # the folder of a run's artifacts that the page is in
# Limits of a call: https://mlflow.org/docs/latest/api_reference/rest-api.html#log-batch
METRICS_OF_A_CALL: Final = 1000
PARAMETERS_OF_A_CALL: Final = 100
LONGEST_VALUE: Final = 500  # characters of a parameter that servers of all releases take
ANSWERS_WITHIN_S: Final = 5.0
_NOT_IN_A_KEY: Final = re.compile(r"[^\w\-. /]")
_STATUS: Final = {JobStatus.COMPLETED: "FINISHED", JobStatus.FAILED: "FAILED", JobStatus.STOPPED: "KILLED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked:
    """A job as a run: how many numbers are ``new`` there, and the settings ``left_out`` because they look like secrets."""

    job: str
    experiment: str
    run_id: str
    new: int
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        secret = f"; left out, as they look like secrets: {', '.join(self.left_out)}" if self.left_out else ""
        return f"{self.job}: run {self.run_id} of experiment {self.experiment!r}, {self.new} new numbers{secret}"


class Report(Protocol):
    """One job's columns and page: a comparison of it alone."""

    def table(self) -> Table: ...

    def save(self, directory: str | Path) -> tuple[Path, ...]: ...


def track(jobs: Mapping[str, tuple[JobRecord, Report]], uri: str, *, experiment: str | None) -> tuple[Tracked, ...]:
    """Log jobs, by their labels, to the MLflow server at ``uri``, a run for each: see ``Comparison.track``.

    Raises NotConfigured where no server answers, MissingLibrary without MLflow's client, SmTrnError for what the server refuses.
    """
    with extra("mlflow", "Sending jobs to MLflow"):
        from mlflow.exceptions import MlflowException  # noqa: PLC0415 - only who tracks needs it
        from mlflow.tracking import MlflowClient  # noqa: PLC0415 - as above
    _expect_server(uri)
    client = MlflowClient(tracking_uri=uri)
    try:
        return tuple(_track_one(client, label, *job, experiment) for label, job in jobs.items())
    except MlflowException as error:
        raise SmTrnError(f"MLflow at {uri}: {error}") from error


def _expect_server(uri: str) -> None:
    """MLflow's client tries for minutes where nobody answers. Other places than servers of the web are its own affair."""
    if not uri.startswith(("http://", "https://")):
        return
    try:
        urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=ANSWERS_WITHIN_S).close()  # noqa: S310 - see above
    except urllib.error.HTTPError:
        return  # it answers, and may want a login that MLflow's client has
    except (OSError, ValueError) as error:
        raise NotConfigured(
            f"MLflow: got no answer from {uri} ({error}), wanted a tracking server; start one with 'mlflow server', "
            "or name another with --mlflow"
        ) from error


def _track_one(client: Any, label: str, record: JobRecord, report: Report, experiment: str | None) -> Tracked:
    asked = record.snapshot.raw.get("MlflowConfig", {}).get("MlflowExperimentName")
    name = experiment or asked or EXPERIMENT
    run = _run_of(client, label, record.snapshot, name)
    settings, left_out = _settings(record.snapshot)
    _log_settings(client, run, settings)
    metrics = [*_curve(record), *_summary(record.snapshot, report)]
    new = _log_metrics(client, run, metrics)
    for key, value in _tags(record, report).items():
        client.set_tag(run.info.run_id, key, value)
    with tempfile.TemporaryDirectory() as folder:
        report.save(folder)
        client.log_artifacts(run.info.run_id, folder, PAGE)
    status = _STATUS.get(record.snapshot.status) if record.snapshot.status is not None else None
    if status is not None:
        with contextlib.redirect_stdout(io.StringIO()):  # the client prints the run's address
            client.set_terminated(run.info.run_id, status, _milliseconds(record.snapshot.ended))
    return Tracked(job=label, experiment=name, run_id=run.info.run_id, new=new, left_out=left_out)


def _run_of(client: Any, label: str, job: JobSnapshot, experiment: str) -> Any:
    """The job's run, made where there is none."""
    found = client.get_experiment_by_name(experiment)
    number = client.create_experiment(experiment) if found is None else found.experiment_id
    identity = job.arn or job.name
    quoted = identity.replace("'", "")
    runs = client.search_runs([number], filter_string=f"tags.`{IDENTITY}` = '{quoted}'", max_results=1)
    if runs:
        return client.get_run(runs[0].info.run_id)
    begun = _milliseconds(job.started or job.created)
    return client.create_run(number, start_time=begun, run_name=label, tags={IDENTITY: quoted})


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def _settings(job: JobSnapshot) -> tuple[dict[str, str], tuple[str, ...]]:
    """A run's parameters, and the names of hyperparameters that look like secrets."""
    settings = {
        "machine.instance": job.instance,
        "machine.count": str(job.count),
        "machine.image": job.image or "",
        "machine.region": job.region,
        "machine.spot": str(job.spot),
        "machine.max_run_s": str(job.max_run_s or ""),
        "script": job.program,
    }
    left_out = []
    for name, text in job.hyperparameters.items():
        if name.startswith(TOOLKIT_PREFIX):
            continue
        value = _decoded(text)
        if is_named_secret(name, value) or holds_secret(value):
            left_out.append(name)
        else:
            settings[name] = value
    return {_key(name): value[:LONGEST_VALUE] for name, value in settings.items() if value}, tuple(left_out)


def _decoded(text: str) -> str:
    """A hyperparameter as the script sees it: the service holds JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _key(name: str) -> str:
    return _NOT_IN_A_KEY.sub("_", name)


def _log_settings(client: Any, run: Any, settings: Mapping[str, str]) -> None:
    """A parameter of a run is for ever: only those that it lacks are logged."""
    from mlflow.entities import Param  # noqa: PLC0415 - see track

    lacking = (Param(name, value) for name, value in settings.items() if name not in run.data.params)
    for part in _parts(lacking, PARAMETERS_OF_A_CALL):
        client.log_batch(run.info.run_id, params=part)


def _parts(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(items)
    while part := list(islice(left, size)):
        yield part


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as MLflow keeps it: its key, value, time in milliseconds, and step."""

    key: str
    value: float
    time_ms: int
    step: int


def _curve(record: JobRecord) -> Iterator[_Number]:
    """The numbers of the log. Of several hosts, those of the first have plain names."""
    begun = _milliseconds(record.snapshot.created) or 0
    first = min((point.host for point in record.points), default="")
    seen: dict[str, int] = {}
    for point in record.points:
        key = _key(point.name if point.host == first else f"{point.host}/{point.name}")
        place = seen[key] = seen.get(key, -1) + 1
        step = place if point.step is None else int(point.step)
        yield _Number(key, point.value, _time_of(point, begun), step)


def _time_of(point: MetricPoint, begun: int) -> int:
    return begun if point.time_s is None else int(point.time_s * 1000)


def _summary(job: JobSnapshot, report: Report) -> Iterator[_Number]:
    """The columns of the job's row in a comparison that are numbers. An emulated job has none of speed and cost there."""
    (row,) = records(report.table())
    at = _milliseconds(job.ended or job.modified or job.created) or 0
    for name, value in row.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and finite(value) is not None:
            yield _Number(_key(f"summary/{name}"), float(value), at, 0)


def _log_metrics(client: Any, run: Any, numbers: Iterable[_Number]) -> int:
    """Log the numbers that the run lacks. A summary that changed – a job that went on – is a new value of its metric."""
    from mlflow.entities import Metric  # noqa: PLC0415 - see track

    wanted = list(dict.fromkeys(numbers))
    there = {
        (metric.key, metric.step, metric.timestamp)
        for key in {number.key for number in wanted} & set(run.data.metrics)
        for metric in client.get_metric_history(run.info.run_id, key)
    }
    new = [number for number in wanted if (number.key, number.step, number.time_ms) not in there]
    for part in _parts((Metric(each.key, each.value, each.time_ms, each.step) for each in new), METRICS_OF_A_CALL):
        client.log_batch(run.info.run_id, metrics=part)
    return len(new)


def _tags(record: JobRecord, report: Report) -> dict[str, str]:
    """Where the numbers are from, and what kind of cost the run has: billed, or why there is none."""
    (missing,) = reasons(report.table())
    return {
        "sm_trn.status": record.snapshot.status_word,
        "sm_trn.origin": record.origin.value,
        "sm_trn.cost": missing.get("cost_usd", "billed"),
    }
