"""One account and region, or the emulator: launching, attaching, and the one poller that watches any number of jobs."""

from __future__ import annotations

import dataclasses
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any, TextIO

from .. import _entry
from ..errors import CloudError, InvalidJob, SmTrnError, UnknownName
from ..logs import points
from ..ports import Backend, Clock, LogCursor, LogSource, Storage
from ..preflight import check
from ..pricing import Price, PriceBook, ceiling, snapshot_book
from ..render import render
from ..specs import Destination, JobSnapshot, JobSpec, MetricPoint, Problem, Severity, Usd
from .attaching import remember
from .jobs import TrainingJob
from .pace import SystemClock, next_delay

if TYPE_CHECKING:
    import boto3

    from ..report import WatchRow

LAUNCHERS = 4  # CreateTrainingJob takes about one a second per account; more threads would only be throttled


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
        from .. import report  # noqa: PLC0415 - pandas and matplotlib stay out of `import sm_trn`

        display = report.display_for(stream or sys.stdout) if progress else None
        readers = [_Points(job) for job in jobs]
        latest: dict[str, JobSnapshot] = {}
        try:
            for latest in self._sweeps(jobs):
                if display is not None:
                    rows = [reader.row(report.WatchRow, latest[reader.name]) for reader in readers]
                    display.show(rows, datetime.fromtimestamp(self.clock.now(), tz=timezone.utc))
        finally:
            if display is not None:
                display.close()
        return [latest[job.name] for job in jobs]

    def check(self, job: JobSpec) -> list[Problem]:
        """``check``, and what only the account can say: quota, role, bucket, image. Starts nothing.

        On the emulator just ``check``: its account has no quotas and needs no images.
        """
        offline = check(job)
        if self.emulated or self.boto_session is None:
            return offline
        from ..aws import online_problems  # noqa: PLC0415 - `import sm_trn` loads no boto3

        asked = online_problems(self.boto_session, job, role=self.role, bucket=self.bucket, region=self.region)
        return sorted([*offline, *asked], key=lambda problem: list(Severity).index(problem.severity))

    def refresh_price(self, instance: str) -> tuple[Price, ...]:
        """The newest training prices of the AWS Price List for ``instance`` in this region. Raises CloudError."""
        from ..aws import fetch_prices  # noqa: PLC0415 - `import sm_trn` loads no boto3

        return tuple(fetch_prices(self.boto_session, instance, self.region))

    def price(self, instance: str, *, at: date | str | None = None) -> Price | None:
        return self.prices.find(instance, self.region, at=at)

    def ceiling(self, job: JobSpec) -> Usd | None:
        """The most that the job can cost, in USD; None without a price, or on the emulator."""
        return None if self.emulated else ceiling(job, self.price(job.compute.instance))

    def _request(self, job: JobSpec) -> dict[str, Any]:
        source, tags = self._source(job)
        inputs = {
            name: dataclasses.replace(channel, uri=self.storage.put_input(channel.uri))
            for name, channel in job.channels.items()
        }
        placed = job.replace(inputs=inputs, tags={**job.tags, **tags})
        at = Destination(
            role=self.role,
            region=self.region,
            bucket=self.bucket,
            job_name=unique_name(job.name, self.clock.now()),
            source_uri=source,
        )
        request: dict[str, Any] = render(placed, "request", at=at)
        remember(self.storage, job, request)
        return request

    def _source(self, job: JobSpec) -> tuple[str | None, dict[str, str]]:
        """Where the source lies in S3, and the tags that say where it is from."""
        if job.script is None:
            return None, {}
        git = job.script.git
        if git is None:
            return self.storage.put_source(job.script.source_dir or str(_entry.scripts_folder())), {}
        from ..aws import checkout  # noqa: PLC0415 - `import sm_trn` loads no boto3

        pinned = checkout(git)
        try:
            folder = pinned.folder / (job.script.source_dir or ".")
            if (
                not folder.resolve().is_relative_to(pinned.folder.resolve())
                or not (folder / job.script.entry).is_file()
            ):
                path = f"{job.script.source_dir or '.'}/{job.script.entry}"
                raise UnknownName(f"script: got {path!r}, wanted a file of {git.repo} at {pinned.commit}")
            return self.storage.put_source(str(folder)), {"sm_trn:git": f"{git.repo}@{pinned.commit}"[:256]}
        finally:
            shutil.rmtree(pinned.folder, ignore_errors=True)

    def _create(self, job: JobSpec, request: dict[str, Any]) -> TrainingJob | SmTrnError:
        try:
            self.backend.create_job(request)
        except SmTrnError as error:
            return error
        return TrainingJob(name=request["TrainingJobName"], session=self, spec=job)

    def _sweeps(self, jobs: Sequence[TrainingJob]) -> Iterator[dict[str, JobSnapshot]]:
        """Look at every unfinished job, yield all of them, pause; until all have ended."""
        known: dict[str, JobSnapshot] = {}
        attempt = 0
        while True:
            for job in jobs:
                if job.name not in known or not known[job.name].terminal:
                    known[job.name] = job.snapshot()
            yield dict(known)
            running = [snapshot for snapshot in known.values() if not snapshot.terminal]
            if not running:
                return
            self.clock.sleep(min(next_delay(snapshot, attempt) for snapshot in running))
            attempt += 1


class _Points:
    """The numbers of one job's log, read on from where the last look ended."""

    def __init__(self, job: TrainingJob) -> None:
        self.name = job.name
        self._job = job
        self._cursor = LogCursor()
        self._found: list[MetricPoint] = []

    def row(self, cls: type[WatchRow], snapshot: JobSnapshot) -> WatchRow:
        """What a display shows of the job now; reads the log on."""
        events, self._cursor = self._job.session.logs.fetch_events(self.name, self._cursor)
        self._found.extend(points(events))
        total = next((int(point.value) for point in self._found if point.name == "total_steps"), None)
        return cls(
            snapshot=snapshot,
            label=self._job.label,
            points=tuple(self._found),
            price=self._job.session.price(snapshot.instance),
            total_steps=total,
        )


def _refuse(job: JobSpec, ignore: Sequence[str]) -> None:
    errors = [problem for problem in check(job) if problem.severity is Severity.ERROR and problem.id not in ignore]
    if errors:
        raise InvalidJob(job.name, tuple(errors))
