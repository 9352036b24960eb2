"""The door that notebooks use: ``connect``, jobs as live handles, comparison.

Composes the layers below; holds no rule of its own about requests, prices or logs.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from . import _entry
from .errors import CloudError, InvalidJob, JobFailed, NotConfigured, SmTrnError, UnknownName
from .logs import LogEvent, points
from .ports import Backend, Clock, LogCursor, LogSource, Storage
from .preflight import check
from .pricing import JobCost, Price, PriceBook, ceiling, job_cost, snapshot_book
from .render import render
from .specs import (
    Destination,
    JobRecord,
    JobSnapshot,
    JobSpec,
    JobStatus,
    MetricPoint,
    Severity,
    Usd,
    WallSeconds,
    parse_record,
    record,
    suggestion,
)

if TYPE_CHECKING:
    import boto3
    import pandas as pd

    from .report import Comparison

LAUNCHERS = 4  # CreateTrainingJob takes about one a second per account; more threads would only be throttled
EMULATED_PAUSE_S = 0.5
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 30.0


class SystemClock:
    """Wall time."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class PartialLaunch(CloudError):  # noqa: N818 - the vocabulary names it
    """Some jobs of a ``submit_all`` were launched and some were not; nothing is lost or launched twice."""

    def __init__(self, launched: tuple[TrainingJob, ...], failed: Mapping[str, Exception]) -> None:
        self.launched = launched
        self.failed = failed
        lines = [f"  launched {job.name}" for job in launched] + [
            f"  not launched {name}: {error}" for name, error in failed.items()
        ]
        super().__init__(
            "\n".join([f"{len(failed)} of {len(launched) + len(failed)} jobs were not launched", *lines]),
            operation="CreateTrainingJob",
        )


def next_delay(snapshot: JobSnapshot, attempt: int) -> float:
    """Seconds until a job is worth another look: short while it is young, never more than half a minute."""
    if snapshot.emulated:
        return EMULATED_PAUSE_S
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S + attempt)


def unique_name(base: str, now: float) -> str:
    """``base`` with the time and six random digits: legal, at most 63 characters, unique within a millisecond too."""
    stamp = datetime.fromtimestamp(now, tz=timezone.utc).strftime("%y%m%d-%H%M%S")
    return f"{base}-{stamp}-{secrets.token_hex(3)}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One account and region – or the emulator – with everything that a job needs. Made by ``connect``."""

    backend: Backend
    logs: LogSource
    storage: Storage
    role: str
    bucket: str
    region: str
    emulated: bool
    announcement: str
    boto_session: boto3.Session | None = dataclasses.field(default=None, repr=False)
    clock: Clock = dataclasses.field(default_factory=SystemClock, repr=False)
    prices: PriceBook = dataclasses.field(default_factory=snapshot_book, repr=False)

    def submit(self, job: JobSpec, *, ignore: Sequence[str] = ()) -> TrainingJob:
        """Check, upload, create. Raises InvalidJob with every error of ``check``; ``ignore`` waives some by id."""
        return self.submit_all([job], ignore=ignore)[0]

    def submit_all(self, jobs: Iterable[JobSpec], *, ignore: Sequence[str] = ()) -> list[TrainingJob]:
        """Launch several jobs; sources and data that are shared go up once. All specs are checked before anything starts.

        Raises InvalidJob, CloudError, or – when some jobs did start – PartialLaunch, which holds them.
        """
        specs = list(jobs)
        for spec in specs:
            _refuse(spec, ignore)
        requests = [self._request(spec) for spec in specs]
        with ThreadPoolExecutor(max_workers=LAUNCHERS) as pool:
            outcomes = list(pool.map(self._create, specs, requests))
        launched = [outcome for outcome in outcomes if isinstance(outcome, TrainingJob)]
        failed = {
            request["TrainingJobName"]: outcome
            for request, outcome in zip(requests, outcomes, strict=True)
            if isinstance(outcome, SmTrnError)
        }
        if failed and not launched and len(failed) == 1:
            raise next(iter(failed.values()))
        if failed:
            raise PartialLaunch(tuple(launched), failed)
        return launched

    def attach(self, name: str) -> TrainingJob:
        """A handle for any existing job, by name or ARN. Raises CloudError when there is none."""
        short = name.rsplit("/", 1)[-1]
        self.backend.fetch_snapshot(short)
        return TrainingJob(name=short, session=self)

    def jobs(self, containing: str = "", *, limit: int = 20) -> list[TrainingJob]:
        """Existing jobs, newest first."""
        return [
            TrainingJob(name=name, session=self)
            for name in self.backend.fetch_names(containing=containing, limit=limit)
        ]

    def wait(
        self, jobs: Sequence[TrainingJob], *, progress: bool = True, stream: TextIO | None = None
    ) -> list[JobSnapshot]:
        """Wait for all of them with one poller; shows a live table in a notebook or terminal, lines elsewhere.

        Returns the final snapshots in the order given; a failed job does not end the wait for the others.
        Ctrl-C stops the watching only: the jobs run on.
        """
        from . import report  # noqa: PLC0415 - pandas and matplotlib stay out of `import sm_trn`

        display = report.display_for(stream or sys.stdout) if progress else None
        try:
            latest: dict[str, JobSnapshot] = {}
            for snapshots, rows in self._sweeps(jobs, with_points=display is not None):
                latest = snapshots
                if display is not None:
                    display.show(rows, self._today())
            return [latest[job.name] for job in jobs]
        finally:
            if display is not None:
                display.close()

    def price(self, instance: str, *, at: date | str | None = None) -> Price | None:
        return self.prices.find(instance, self.region, at=at)

    def ceiling(self, job: JobSpec) -> Usd | None:
        """The most that the job can cost, in USD; None without a price, or on the emulator."""
        return None if self.emulated else ceiling(job, self.price(job.compute.instance))

    def _today(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), tz=timezone.utc)

    def _request(self, job: JobSpec) -> dict[str, Any]:
        source = self.storage.put_source(job.script.source_dir or str(_entry.scripts_folder()))
        placed = job.replace(inputs={name: self.storage.put_input(uri) for name, uri in job.inputs.items()})
        at = Destination(
            role=self.role,
            region=self.region,
            bucket=self.bucket,
            job_name=unique_name(job.name, self.clock.now()),
            source_uri=source,
        )
        request: dict[str, Any] = render(placed, "request", at=at)
        return request

    def _create(self, job: JobSpec, request: dict[str, Any]) -> TrainingJob | SmTrnError:
        try:
            self.backend.create_job(request)
        except SmTrnError as error:
            return error
        return TrainingJob(name=request["TrainingJobName"], session=self, spec=job)

    def _sweeps(
        self, jobs: Sequence[TrainingJob], *, with_points: bool
    ) -> Iterator[tuple[dict[str, JobSnapshot], list[Any]]]:
        """Look at every unfinished job, yield, pause; until all have ended."""
        from . import report  # noqa: PLC0415 - see wait

        known: dict[str, JobSnapshot] = {}
        readers = {job.name: _Points(job) for job in jobs}
        attempt = 0
        while True:
            for job in jobs:
                if job.name not in known or not known[job.name].terminal:
                    known[job.name] = job.snapshot()
                    if with_points:
                        readers[job.name].read()
            rows = [
                report.WatchRow(
                    snapshot=known[job.name],
                    label=job.label,
                    points=tuple(readers[job.name].found),
                    price=self.price(known[job.name].instance),
                    total_steps=readers[job.name].total_steps,
                )
                for job in jobs
            ]
            yield dict(known), rows
            running = [snapshot for snapshot in known.values() if not snapshot.terminal]
            if not running:
                return
            self.clock.sleep(min(next_delay(snapshot, attempt) for snapshot in running))
            attempt += 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A live handle of one job, by its full name; made by ``submit`` or ``attach``. ``spec`` is known after a submit."""

    name: str
    session: Session = dataclasses.field(repr=False)
    spec: JobSpec | None = dataclasses.field(default=None, repr=False)

    @property
    def label(self) -> str:
        return self.spec.name if self.spec is not None else self.name

    def snapshot(self) -> JobSnapshot:
        """The job as it is now: one DescribeTrainingJob."""
        return self.session.backend.fetch_snapshot(self.name)

    def watch(self) -> Iterator[JobSnapshot]:
        """Snapshots until the job has ended; the last one is terminal."""
        for snapshots, _ in self.session._sweeps([self], with_points=False):  # noqa: SLF001 - one poller for all
            yield snapshots[self.name]

    def wait(self, *, progress: bool = True, stream: TextIO | None = None) -> JobSnapshot:
        """Wait until the job has ended, with live progress. Raises JobFailed with AWS's reason when it failed."""
        final = self.session.wait([self], progress=progress, stream=stream)[0]
        if final.status is JobStatus.FAILED:
            raise JobFailed(
                f"{self.name} failed: {final.failure_reason or 'no reason given'}",
                operation="TrainingJob",
                code="Failed",
            )
        return final

    def logs(self, *, follow: bool = False) -> Iterator[LogEvent]:
        """The lines of every host in time order; with ``follow`` also those to come, until the job has ended."""
        cursor, attempt = LogCursor(), 0
        while True:
            last = self.snapshot() if follow else None
            events, cursor = self.session.logs.fetch_events(self.name, cursor)
            yield from events
            if last is None or last.terminal:
                return
            self.session.clock.sleep(min(next_delay(last, attempt), FIRST_PAUSE_S))
            attempt += 1

    def points(self) -> list[MetricPoint]:
        """Every number in the job's log."""
        return list(points(self.logs()))

    def metrics(self) -> pd.DataFrame:
        """The same as a tidy frame: step, epoch, host, name, value, time."""
        from .report import metrics_frame  # noqa: PLC0415 - pandas stays out of `import sm_trn`

        return metrics_frame(self.points())

    @property
    def billable_s(self) -> WallSeconds | None:
        """``BillableTimeInSeconds``: wall seconds per instance, None before the service knows them."""
        return self.snapshot().billable_s

    def cost(self, *, at: date | str | None = None, price: Price | None = None) -> JobCost | None:
        """What the job cost at the newest price, at that of a day, or at a given one. None: unbilled, unpriced or emulated."""
        now = self.snapshot()
        return job_cost(now, price or self.session.price(now.instance, at=at))

    def stop(self, *, wait: bool = False) -> JobSnapshot:
        """Ask the job to stop; its script gets SIGTERM, and what it saves is kept. A job that has ended is left alone."""
        now = self.snapshot()
        if not now.terminal and now.status is not JobStatus.STOPPING:
            self.session.backend.stop_job(self.name)
        return self.session.wait([self], progress=False)[0] if wait else self.snapshot()

    def record(self) -> JobRecord:
        """The job's story as a value: its snapshot and the numbers of its log."""
        workload = Path(self.spec.script.entry).stem if self.spec is not None else ""
        return record(self.snapshot(), self.points(), label=self.label, workload=workload)


class _Points:
    """The numbers of one job's log, read on from where the last look ended."""

    def __init__(self, job: TrainingJob) -> None:
        self._job = job
        self._cursor = LogCursor()
        self.found: list[MetricPoint] = []
        self.total_steps: int | None = None

    def read(self) -> None:
        events, self._cursor = self._job.session.logs.fetch_events(self._job.name, self._cursor)
        fresh = list(points(events))
        self.found.extend(fresh)
        for point in fresh:
            if point.name == "total_steps":
                self.total_steps = int(point.value)


def connect(
    backend: str | None = None,
    *,
    region: str | None = None,
    role: str | None = None,
    bucket: str | None = None,
    profile: str | None = None,
    state: str | Path | None = None,
) -> Session:
    """A session on AWS or on the emulator: ``backend`` ('aws' or 'emulator'), else ``SM_TRN_BACKEND``, else AWS when boto3
    finds credentials, else the emulator, which is started when it is not up.

    ``announcement`` says which it is and why. An AWS failure never turns into an emulated run. Raises NotConfigured when
    role, bucket or region cannot be found; UnknownName for another backend.
    """
    import boto3  # noqa: PLC0415 - `import sm_trn` loads no boto3

    from . import aws  # noqa: PLC0415 - see above

    chosen = backend or os.environ.get("SM_TRN_BACKEND")
    if chosen not in {None, "aws", "emulator"}:
        raise UnknownName(
            f"backend: got {chosen!r}, wanted 'aws' or 'emulator'{suggestion(str(chosen), ['aws', 'emulator'])}"
        )
    if chosen == "emulator":
        return _emulated(state, region, "chosen" if backend else "SM_TRN_BACKEND")
    boto_session = boto3.Session(profile_name=profile, region_name=region)
    if chosen is None and not aws.has_credentials(boto_session):
        return _emulated(state, region, "no AWS credentials were found")
    where = aws.find_region(boto_session, region)
    found_bucket = aws.find_bucket(boto_session, bucket, where)
    return Session(
        backend=aws.Boto3Backend(boto_session),
        logs=aws.CloudWatchLogs(boto_session),
        storage=aws.S3Storage(boto_session, found_bucket),
        role=aws.find_role(boto_session, role),
        bucket=found_bucket,
        region=where,
        emulated=False,
        announcement=f"AWS, {where}, s3://{found_bucket}",
        boto_session=boto_session,
    )


def _emulated(state: str | Path | None, region: str | None, why: str) -> Session:
    from . import aws, emulator  # noqa: PLC0415 - `import sm_trn` loads no boto3

    folder = Path(state) if state is not None else None
    endpoint = emulator.up(folder, region=region) if region else emulator.up(folder)
    boto_session = aws.EndpointSession(
        url=endpoint.url, access_key=endpoint.access_key, secret_key=endpoint.secret_key, region=endpoint.region
    )
    return Session(
        backend=aws.Boto3Backend(boto_session),
        logs=aws.CloudWatchLogs(boto_session),
        storage=aws.S3Storage(boto_session, endpoint.bucket),
        role=endpoint.role_arn,
        bucket=endpoint.bucket,
        region=endpoint.region,
        emulated=True,
        announcement=f"EMULATED on this machine ({why}), {endpoint.url}: seconds are this machine's, and there is no cost",
        boto_session=boto_session,
    )


def compare(
    jobs: Sequence[TrainingJob | JobRecord | str | Path],
    *,
    baseline: str | None = None,
    at: date | str | None = None,
    book: PriceBook | None = None,
) -> Comparison:
    """Live jobs, records, files of records, or names of published records side by side.

    ``at`` re-prices everything at that date. Raises UnknownName for a name that is none of these.
    """
    from . import report  # noqa: PLC0415 - pandas and matplotlib stay out of `import sm_trn`

    return report.compare([as_record(job) for job in jobs], baseline=baseline, at=at, book=book)


def as_record(job: TrainingJob | JobRecord | str | Path) -> JobRecord:
    """The record behind a handle, a file, or the name of a published pair (``published/bert-trn1``)."""
    from . import report  # noqa: PLC0415 - see compare

    if isinstance(job, JobRecord):
        return job
    if isinstance(job, TrainingJob):
        return job.record()
    published = report.published_record(str(job))
    if published is not None:
        return published
    path = Path(job)
    if not path.is_file():
        names = report.published_names()
        raise UnknownName(
            f"job: got {str(job)!r}, wanted a TrainingJob, the file of a saved record, or one of {', '.join(names)}{suggestion(str(job), names)}"
        )
    return parse_record(path.read_text("utf-8"), where=str(path))


def _refuse(job: JobSpec, ignore: Sequence[str]) -> None:
    errors = [problem for problem in check(job) if problem.severity is Severity.ERROR and problem.id not in ignore]
    if errors:
        raise InvalidJob(job.name, tuple(errors))


def estimator(
    job: JobSpec, *, role: str | None = None, bucket: str | None = None, session: Session | None = None
) -> Any:
    """SDK v2's own estimator object for ``job``: a ``sagemaker.pytorch.PyTorch`` or ``sagemaker.huggingface.HuggingFace``.

    ``role`` or ``session`` must be given. Raises NotConfigured without either, or without SDK v2.
    """
    from . import sdk  # noqa: PLC0415 - the SDK takes seconds to import

    if session is None and role is None:
        raise NotConfigured(
            "role: got nothing, wanted an IAM role ARN; estimator(job, role='arn:aws:iam::<account>:role/<name>')"
        )
    if session is None:
        return sdk.estimator(job, role=str(role), bucket=bucket)
    made = sdk.sdk_session(boto_session=session.boto_session, bucket=bucket or session.bucket)
    return sdk.estimator(job, role=role or session.role, bucket=bucket or session.bucket, session=made)
