"""One account and region, or the emulator: launching, attaching, waiting, stopping."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import InvalidJob
from ..ports import Backend, Clock, JobQuery, LogSource, Storage
from ..preflight import check
from ..pricing import Price, PriceBook, ceiling, snapshot_book
from ..render import render
from ..specs import Destination, JobSnapshot, JobSpec, JobStatus, Problems, Severity, Usd
from .attaching import remember
from .budget import as_usd, refuse_over
from .deploying import hosting_of
from .details import fetch_details, fetch_tags
from .endpoints import Endpoint, Endpoints, fetch_endpoints
from .fleets import MOST, Search, fetch_fleet
from .jobs import TrainingJob
from .launching import Staging, launch_all, unique_names
from .pace import SystemClock
from .pages import listed
from .stopping import stop_each
from .waiting import Wait

if TYPE_CHECKING:
    import boto3

    from ..report import Fleet

Notice = Callable[[str], None]
SECRETS_RULE = "SCRIPT011"  # whoever waives it wants the secret-looking files in the source


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

    def submit(self, job: JobSpec, *, ignore: Sequence[str] = (), max_usd: Usd | float | None = None) -> TrainingJob:
        """Check, upload, create. Raises InvalidJob with every error of ``check``; ``ignore`` waives some by id.

        ``max_usd`` refuses, with OverBudget, what may cost more: max_run_s × instances × price. An emulated job costs nothing.
        """
        return self.submit_all([job], ignore=ignore, max_usd=max_usd)[0]

    def submit_all(
        self, jobs: Iterable[JobSpec], *, ignore: Sequence[str] = (), max_usd: Usd | float | None = None
    ) -> list[TrainingJob]:
        """Launch several jobs; sources and data that are shared go up once. All specs are checked before anything starts,
        and so is ``max_usd``: the most that all of them together may cost.

        Raises InvalidJob, OverBudget, CloudError, or – when some jobs did start, or may have – PartialLaunch, and for Ctrl-C
        LaunchInterrupted: both hold the jobs, and name each.
        """
        specs = list(jobs)
        for spec in specs:
            _refuse(spec, ignore)
        if max_usd is not None and not self.emulated:
            refuse_over(max_usd, specs, self.price_of)
        staging = Staging(storage=self.storage, allow_secrets=SECRETS_RULE in ignore)
        names = unique_names([spec.name for spec in specs], self.clock.now())
        requests = [self._request(spec, name, staging) for spec, name in zip(specs, names, strict=True)]
        asked = dict(zip(names, specs, strict=True))

        return launch_all(
            requests,
            lambda request: remember(self.storage, asked[request["TrainingJobName"]], request),
            self.backend.create_job,
            handle=lambda name: TrainingJob(name=name, session=self, spec=asked[name]),
            clock=self.clock,
            paced=not self.emulated,
        )

    def attach(self, name: str) -> TrainingJob:
        """A handle for any existing job, by name or ARN. Raises CloudError when there is none."""
        short = name.rsplit("/", 1)[-1]
        self.backend.fetch_snapshot(short)
        return TrainingJob(name=short, session=self)

    def jobs(self, containing: str = "", *, limit: int = 20) -> list[TrainingJob]:
        """Existing jobs, newest first."""
        found = listed(self.backend, JobQuery(containing=containing))
        return [TrainingJob(name=job.name, session=self) for job in itertools.islice(found, limit)]

    def snapshots(self, containing: str = "", *, limit: int = 20) -> list[JobSnapshot]:
        """Existing jobs as they are now, newest first: many in few calls. Raises CloudError."""
        query = JobQuery(containing=containing)
        return fetch_details(self.backend, query, list(itertools.islice(listed(self.backend, query), limit)))

    def stop_all(
        self,
        jobs: Iterable[TrainingJob] | None = None,
        *,
        containing: str | None = None,
        tag: tuple[str, str] | None = None,
    ) -> list[TrainingJob]:
        """Ask jobs to stop: those given, or those that run and have ``containing`` in their name and the ``tag``; with
        ``containing=""``, all that run here. Returns those that were asked; ended ones are left alone.

        Raises ValueError when nothing says which; CloudError, after all the others were asked, for those that could not be.
        """
        if jobs is None:
            jobs = self.running(containing=containing, tag=tag)
        given = list(jobs)
        asked = stop_each(self.backend, [job.name for job in given])
        return [job for job in given if job.name in asked]

    def running(self, *, containing: str | None = None, tag: tuple[str, str] | None = None) -> list[TrainingJob]:
        """Jobs that have not ended, newest first: whose name has ``containing`` in it, and that have the ``tag``.

        Raises ValueError when neither is given: ``containing=""`` means all.
        """
        if containing is None and tag is None:
            raise ValueError(
                "running: got neither containing nor tag, wanted one; containing='' means every job that runs"
            )
        query = JobQuery(containing=containing or "", status=JobStatus.IN_PROGRESS.value)
        found = list(listed(self.backend, query))
        if tag is not None:
            tags = fetch_tags(self.backend, found)
            found = [job for job, own in zip(found, tags, strict=True) if own.get(tag[0]) == tag[1]]
        return [TrainingJob(name=job.name, session=self) for job in found]

    def fleet(
        self,
        containing: str = "",
        *,
        tag: tuple[str, str] | None = None,
        after: date | str | None = None,
        before: date | str | None = None,
        tags: bool = False,
        at: date | str | None = None,
        limit: int = MOST,
    ) -> Fleet:
        """What jobs cost together: those with ``containing`` in their name, with the ``tag``, created ``after`` and ``before``.

        At most the ``limit`` newest; priced at the newest price, or that of a day. ``tags`` reads their tags too, for
        ``fleet.by("tag:KEY")``: a call a job more. Raises CloudError.
        """
        search = Search(containing=containing, tag=tag, after=after, before=before)
        return fetch_fleet(self, search, tags=tags, at=at, limit=limit)

    def wait(
        self,
        jobs: Sequence[TrainingJob],
        *,
        progress: bool = True,
        stream: TextIO | None = None,
        max_usd: Usd | float | None = None,
        usd_per_hour: Usd | float | None = None,
        notice: Notice | None = None,
    ) -> list[JobSnapshot]:
        """Wait for all of them with one poller; shows a live table in a notebook or terminal, lines elsewhere.

        Returns the final snapshots in the order given; a failed job does not end the wait for the others, nor does a
        throttle, a lost connection or a login that expired: ``notice`` (else the display) is told, and it goes on.
        Ctrl-C stops the watching only: the jobs run on.

        Once all of them together have been billed ``max_usd``, those that still run are asked to stop, and save.
        ``usd_per_hour`` stands for every price; without it an emulated job costs nothing.
        """
        return Wait(session=self, jobs=tuple(jobs), told=notice).run(
            stream=(stream or sys.stdout) if progress else None,
            max_usd=None if max_usd is None else as_usd(max_usd),
            usd_per_hour=None if usd_per_hour is None else as_usd(usd_per_hour),
        )

    def endpoints(self) -> Endpoints:
        """Every endpoint of this account and region, with what it costs an hour, newest first. Raises CloudError."""
        return fetch_endpoints(self)

    def endpoint(self, name: str) -> Endpoint:
        """A handle for an existing endpoint. Raises CloudError when there is none."""
        hosting_of(self).fetch_endpoint(name)
        return Endpoint(name=name, session=self)

    def check(self, job: JobSpec) -> Problems:
        """``check``, and what only the account can say: quota, role, bucket, image. Starts nothing.

        On the emulator just ``check``: its account has no quotas and needs no images.
        """
        offline = check(job)
        if self.emulated or self.boto_session is None:
            return offline
        from ..aws import online_problems  # noqa: PLC0415 - `import sm_trn` loads no boto3

        asked = online_problems(self.boto_session, job, role=self.role, bucket=self.bucket, region=self.region)
        return Problems(sorted([*offline, *asked], key=lambda problem: list(Severity).index(problem.severity)))

    def refresh_price(self, instance: str) -> tuple[Price, ...]:
        """The newest training prices of the AWS Price List for ``instance`` in this region. Raises CloudError."""
        from ..aws import fetch_prices  # noqa: PLC0415 - `import sm_trn` loads no boto3

        return tuple(fetch_prices(self.boto_session, instance, self.region))

    def price(self, instance: str, *, at: date | str | None = None) -> Price | None:
        return self.prices.find(instance, self.region, at=at)

    def price_of(self, machines: Iterable[tuple[str, int]], *, at: date | str | None = None) -> Price | None:
        """The price of one host of ``job.machines``, whatever types they are; None when one of them has none."""
        return self.prices.of(machines, self.region, at=at)

    def ceiling(self, job: JobSpec) -> Usd | None:
        """The most that the job can cost, in USD; None without a price, or on the emulator."""
        return None if self.emulated else ceiling(job, self.price_of(job.compute.machines))

    def _request(self, job: JobSpec, name: str, staging: Staging) -> dict[str, Any]:
        placed, source = staging.place(job)
        at = Destination(role=self.role, region=self.region, bucket=self.bucket, job_name=name, source_uri=source)
        request: dict[str, Any] = render(placed, "request", at=at)
        return request


def _refuse(job: JobSpec, ignore: Sequence[str]) -> None:
    errors = [problem for problem in check(job) if problem.severity is Severity.ERROR and problem.id not in ignore]
    if errors:
        raise InvalidJob(job.name, tuple(errors))
