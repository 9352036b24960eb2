"""The two live handles: a session, which is an account and region or the emulator, and one of its jobs. Each makes the other,
so they stand together; the work is done by modules that know neither.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from ...diagnosis.guard.live import guards_of, replayed
from ...diagnosis.guard.watch import Alarm, JobWatch
from ...hosting import endpoints
from ...hosting.deployment import Trained
from ...hosting.endpoints import DeployOptions, Endpoint, Endpoints, Transform, TransformOptions, fetch_endpoints
from ...report.fleets.search import MOST, Search, fetch_fleet
from ..catalog import limits
from ..errors import CloudError, InvalidJob, JobFailed, UnknownName
from ..logs.events import LogEvent, printable
from ..logs.metrics import MetricLog
from ..logs.selection import LogFilter
from ..ports import JobQuery, LogCursor, StoredObjects, Trouble
from ..preflight import check
from ..preflight.resuming import resuming
from ..pricing.book import Price
from ..pricing.cost import JobCost, ceiling, job_cost
from ..render import render
from ..render.differences import Diff, diff
from ..specs import record
from ..specs.destination import Destination
from ..specs.guard import Guard
from ..specs.job import JobSpec
from ..specs.metrics import MetricPoint
from ..specs.problems import Problems, Severity
from ..specs.record import JobRecord
from ..specs.snapshot import JobSnapshot, JobStatus
from ..specs.units import Usd, WallSeconds
from .attachment import Attached, fetch_attached, once, remember
from .budget import as_usd, refuse_over
from .cloud import Cloud
from .details import fetch_details, fetch_tags, listed, resembling
from .launches import Staging, launch_all, unique_names
from .log_files import save_log
from .log_reader import JobLog
from .stops import stop_each, stop_one
from .waits import Wait, poller_for

if TYPE_CHECKING:
    import pandas as pd

    from ...diagnosis.causes.cause import Diagnosis
    from ...report.fleets.fleet import Fleet

Notice = Callable[[str], None]
SECRETS_RULE = "SCRIPT011"  # whoever waives it wants the secret-looking files in the source
MetricView = Literal["all", "train", "eval", "summary", "final"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, init=False)
class TrainingJob:
    """A live handle of one job, by its full name; made by ``submit`` or ``attach``.

    ``changes`` is what a resubmitted job asks for that its original did not.
    """

    name: str
    session: Session = dataclasses.field(repr=False)
    changes: Diff | None = dataclasses.field(repr=False, compare=False)
    _asked: JobSpec | None = dataclasses.field(repr=False, compare=False)
    _memory: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    def __init__(
        self, *, name: str, session: Session, spec: JobSpec | None = None, changes: Diff | None = None
    ) -> None:
        fields = {"name": name, "session": session, "changes": changes, "_asked": spec, "_memory": {}}
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def _repr_html_(self) -> str:
        """For a notebook; asks the service nothing."""
        from ...report.cards.handles import job_card  # noqa: PLC0415 - only a notebook asks
        from ..formatting.numbers import instances  # noqa: PLC0415 - as above

        compute = self._asked.compute if self._asked is not None else None
        machine = instances(" + ".join(compute.instances), compute.hosts) if compute is not None else ""
        return job_card(
            self.name,
            machine=f"for {machine}" if machine and self.session.emulated else machine,
            emulated=self.session.emulated,
            steps=(".wait() watches it", ".snapshot() asks once", ".logs() reads it", ".stop() ends it"),
        )

    @property
    def label(self) -> str:
        return self._asked.name if self._asked is not None else self.name

    @property
    def asked(self) -> JobSpec | None:
        """The spec that this handle submitted, None when it was attached. Unlike ``spec`` it asks nobody."""
        return self._asked

    @property
    def spec(self) -> JobSpec:
        """What was asked: as submitted by this handle, else read from the service once. Raises CloudError.

        ``render(job.spec, at=job.destination())`` is ``job.request()``.
        """
        return self._asked if self._asked is not None else self._attached().spec

    def request(self) -> Mapping[str, Any]:
        """The CreateTrainingJob request behind the job, with its tags: what the service added is left out."""
        return self._attached().request

    def destination(self) -> Destination:
        """Where the job went: role, region, bucket, name, source."""
        return self._attached().at

    def checkpoints(self) -> StoredObjects | None:
        """What lies in the job's checkpoint place now; None when it has none, or may not be looked at."""
        place = self.spec.checkpoints
        return self.session.storage.fetch_objects(place.s3_uri) if place is not None else None

    def resubmit(
        self, spec: JobSpec | None = None, *, name: str | None = None, ignore: Sequence[str] = ()
    ) -> TrainingJob:
        """Launch the job once more, or ``spec``, which is usually ``job.spec.replace(…)``: same role, same source unless the
        script is another. What differs is in the new job's ``changes``. Raises as ``submit``.
        """
        before = self._attached()
        asked = spec or before.spec
        if asked.script == self.spec.script:
            asked = asked.replace(script=before.spec.script)  # what ran, though the folder may have changed since
        asked = asked.replace(name=name) if name is not None else asked
        role = before.at.role or self.session.role
        changes = diff(before.spec, asked)  # before anything runs whose name an error here would lose
        made = dataclasses.replace(self.session, role=role).submit(asked, ignore=ignore)
        changes = dataclasses.replace(changes, before=self.name, after=made.name)
        return TrainingJob(name=made.name, session=self.session, spec=asked, changes=changes)

    def resume(self, *, ignore: Sequence[str] = ()) -> TrainingJob:
        """Launch a stopped or failed job again, to go on from its checkpoints: the same spec, the same place for them.

        Raises InvalidJob when the job has not ended, or has no checkpoints to go on from; otherwise as ``submit``.
        """
        stored = self.checkpoints()
        found = resuming(self.spec, self.snapshot(), None if stored is None else stored.count)
        refused = tuple(problem for problem in found if problem.id not in ignore)
        if refused:
            raise InvalidJob(self.name, refused)
        return self.resubmit(ignore=ignore)

    @property
    def _log(self) -> JobLog:
        return JobLog(cloud=self.session, name=self.name, asked=self._asked)

    def _trained(self) -> Trained:
        return Trained(label=self.label, spec=self.spec, now=self.snapshot())

    def _attached(self) -> Attached:
        return once(self._memory, "attached", lambda: fetch_attached(self.session, self.name))

    def snapshot(self) -> JobSnapshot:
        """The job as it is now: one DescribeTrainingJob."""
        return self.session.backend.fetch_snapshot(self.name)

    def watch(
        self, *, notice: Callable[[str], None] | None = None, guard: Guard | None = None
    ) -> Iterator[JobSnapshot]:
        """Snapshots until the job has ended; the last one is terminal, unless the job was deleted.

        ``notice`` hears what is no snapshot: that the login expired, that the service does not answer, what ``guard`` finds.
        """
        told = notice or _ignored
        guards = guards_of(self.session, (self,), guard, {})
        poller = poller_for(self.session, (self,), told)
        for known in poller.sweeps([self.name]):
            if self.name in known:
                yield known[self.name]
            if guards is not None and not poller.failing:
                guards.read(self._log, known)
                guards.look(known, poller.service_now(), told)

    def wait(
        self,
        *,
        progress: bool = True,
        stream: TextIO | None = None,
        max_usd: Usd | float | None = None,
        usd_per_hour: Usd | float | None = None,
        guard: Guard | None = None,
    ) -> JobSnapshot:
        """Wait until the job has ended, with live progress. Raises JobFailed when it failed, with the script's own
        exception, its cause and AWS's reason.

        ``max_usd``, ``usd_per_hour`` and ``guard`` are those of ``Session.wait``.
        """
        (final,) = self.session.wait(
            [self], progress=progress, stream=stream, max_usd=max_usd, usd_per_hour=usd_per_hour, guard=guard
        )
        if final.status is JobStatus.FAILED:
            raise self._failed(final)
        return final

    def guarded(self, guard: Guard) -> tuple[JobWatch, tuple[Alarm, ...]]:
        """Hold the job against ``guard`` once, from its whole log: what it has heard, and what is wrong now. Acts on nothing.
        Raises CloudError."""
        parts = (part.events for part in self._log.batches(LogCursor(), follow=False))
        return replayed(self.session, guard, self.snapshot(), parts)

    def why(self) -> Diagnosis:
        """Return why the job failed, stopped or hangs: its cause, what followed, what to change – as a change of ``spec`` where it
        is one. Nothing is changed. Raises CloudError.
        """
        from ...diagnosis.causes.diagnose import stalled  # noqa: PLC0415 - most jobs go well

        now = self.snapshot()
        found = self._log.diagnosis(now)
        if found.cause is not None or now.terminal:
            return found
        _, alarms = self.guarded(Guard())
        return stalled(found, alarms[0].what, alarms[0].since_s) if alarms else found

    def _failed(self, final: JobSnapshot) -> JobFailed:
        from ...report.why import cause_line  # noqa: PLC0415 - only a failure needs the words

        found = self._log.diagnosis(final)
        exception = self._log.exception()
        cause = cause_line(found)
        lines = [
            f"{self.name} failed: {_why(exception, printable(final.failure_reason))}",
            *([f"Cause: {cause}"] if cause else []),
            f"Next: sm-trn why {self.name}",
        ]
        return JobFailed("\n".join(lines), operation="TrainingJob", code="Failed", diagnosis=found)

    def logs(
        self,
        *,
        follow: bool = False,
        host: str | None = None,
        rank: int | None = None,
        matching: str | None = None,
        since: str | datetime | None = None,
        tail: int | None = None,
        script: bool = False,
    ) -> Iterator[LogEvent]:
        """The lines of every host in time order; with ``follow`` also those to come, until the job has ended.

        ``matching`` is a regular expression, ``rank`` the worker as its launcher names it, ``since`` an age (``5m``), a time
        or ISO text. ``tail`` is a number of last lines; ``script`` leaves out what the training toolkit says. Raises
        SmTrnError for an expression that is wrong or would not end, CloudError.
        """
        wanted = LogFilter(host=host, rank=rank, matching=matching)
        return self._log.events(follow=follow, wanted=wanted, since=since, tail=tail, script=script)

    def save_logs(self, target: str | Path, *, follow: bool = False) -> tuple[Path, ...]:
        """Download the log to a file, or – when ``target`` is a folder or ends with a slash – to one file a host.

        Called again it goes on where it ended. ``st.read_log`` reads the files. Raises SmTrnError when something else is there.
        """
        by_host = str(target).endswith("/") or Path(target).is_dir()
        return save_log(self._log, Path(target), by_host=by_host, follow=follow)

    def metric_log(self) -> MetricLog:
        """Every line with numbers: ``train``, ``eval``, ``summary`` and ``points`` of one reading of the log."""
        return self._log.metric_log()

    def points(self) -> list[MetricPoint]:
        """Every number in the job's log: of dict lines, and of the job's own metric definitions."""
        return list(self.metric_log().points)

    def metrics(self, *, view: MetricView = "all") -> pd.DataFrame:
        """The same as a tidy frame: step, epoch, host, name, value, time.

        ``train``, ``eval``, ``summary``: one row a printed line, one column a number. ``final``: what the service itself kept
        (FinalMetricDataList) as ``value`` beside ``log_value``, what the same expression finds in the log – the two differ
        where the expression stops before an exponent. Raises UnknownName for another view.
        """
        from ...report.metrics import final_frame, lines_frame, metrics_frame  # noqa: PLC0415 - pandas stays out of `import sm_trn`

        if view == "all":
            return metrics_frame(self.points())
        if view == "final":
            return final_frame(self._log.final_rows())
        if view not in {"train", "eval", "summary"}:
            raise UnknownName(f"view: got {view!r}, wanted 'all', 'train', 'eval', 'summary' or 'final'")
        return lines_frame(self.metric_log().view(view))

    def utilization(self) -> pd.DataFrame:
        """CPUUtilization, GPUUtilization, … in percent by host and time, as CloudWatch measured them; the columns of
        ``metrics()``, no rows where there is nothing. Raises CloudError."""
        from ...report.metrics import metrics_frame  # noqa: PLC0415 - pandas stays out of `import sm_trn`

        return metrics_frame(self._log.utilization())

    @property
    def billable_s(self) -> WallSeconds | None:
        """``BillableTimeInSeconds``: wall seconds per instance, None before the service knows them."""
        return self.snapshot().billable_s

    def cost(self, *, at: date | str | None = None, price: Price | None = None) -> JobCost | None:
        """What the job cost at the newest price, at that of a day, or at a given one. None: unbilled, unpriced or emulated."""
        now = self.snapshot()
        return job_cost(now, price or self.session.price_of(now.machines, at=at))

    def stop(self, *, wait: bool = False) -> JobSnapshot:
        """Ask the job to stop; its script gets SIGTERM, and what it saves is kept. A job that has ended is left alone."""
        now = self.snapshot()
        if not now.terminal and now.status is not JobStatus.STOPPING:
            stop_one(self.session.backend, self.name)
        return self.session.wait([self], progress=False)[0] if wait else self.snapshot()

    def deploy(
        self,
        instance: str,
        *,
        count: int = 1,
        code: str | None = None,
        image_uri: str | None = None,
        environment: Mapping[str, str] | None = None,
        max_hours: float | None = None,
        wait: bool = True,
    ) -> Endpoint:
        """An endpoint that answers with the job's model, on ``count`` instances; billed until it is deleted.

        ``code`` is an inference.py, or a folder with one; without it the artefact's own is used, else the shipped one for a
        classifier that a shipped script has trained. ``max_hours`` is a tag: ``endpoints().delete_overdue()`` goes by it.
        Raises InvalidJob with all that keeps the artefact from being hosted, UnknownName where no image fits, CloudError.
        """
        how = DeployOptions(
            instance=instance,
            count=count,
            code=code,
            image_uri=image_uri,
            environment=environment,
            max_hours=max_hours,
            wait=wait,
        )
        return endpoints.deploy(self.session, self._trained(), how)

    def transform(  # noqa: PLR0913 - what a transform can be told, each by name
        self,
        inputs: str,
        instance: str,
        *,
        output: str | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        by_line: bool = True,
        count: int = 1,
        code: str | None = None,
        image_uri: str | None = None,
        wait: bool = True,
    ) -> Transform:
        """Batch transform: every object under ``inputs`` (an S3 prefix, or a local file or folder) through the job's model.

        ``by_line`` sends each line by itself and writes the answers line by line; the answers to ``x`` are ``<output>/x.out``.
        The instances are billed while it runs. Raises as ``deploy``.
        """
        how = TransformOptions(
            inputs=inputs,
            instance=instance,
            output=output,
            content_type=content_type,
            accept=accept,
            by_line=by_line,
            count=count,
            code=code,
            image_uri=image_uri,
            wait=wait,
        )
        return endpoints.transform(self.session, self._trained(), how)

    def record(self) -> JobRecord:
        """The job's story as a value: its snapshot and the numbers of its log; of a failed one also its cause, as a note."""
        now = self.snapshot()
        story = record(now, self.points(), label=self.label, workload=Path(now.program).stem)
        if now.status is not JobStatus.FAILED:
            return story
        from ...report.why import cause_line  # noqa: PLC0415 - only a failure needs the words

        cause = cause_line(self._log.diagnosis(now))
        return dataclasses.replace(story, notes=(f"failed: {cause}",)) if cause else story


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Session(Cloud):
    """One account and region – or the emulator – with everything that a job needs. Made by ``connect``."""

    def submit(
        self,
        job: JobSpec,
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
        guard: Guard | None = None,
    ) -> TrainingJob:
        """Check, upload, create. Raises InvalidJob with every error of ``check``; ``ignore`` waives some by id. ``guard`` is put
        into the spec: whoever waits for the job watches for it.

        ``max_usd`` refuses, with OverBudget, what may cost more: max_run_s × instances × price. An emulated job costs nothing.
        """
        asked = job if guard is None else job.replace(guard=guard)
        return self.submit_all([asked], ignore=ignore, max_usd=max_usd)[0]

    def submit_all(
        self, jobs: Iterable[JobSpec], *, ignore: Sequence[str] = (), max_usd: Usd | float | None = None
    ) -> list[TrainingJob]:
        """Launch several jobs; sources and data that are shared go up once. All specs are checked before anything starts,
        and so is ``max_usd``: the most that all of them together may cost.

        Raises InvalidJob, OverBudget, CloudError, or – when some jobs did start, or may have – PartialLaunch, and for Ctrl-C
        LaunchInterrupted: both hold the jobs, and name each.
        """
        specs = [jobs] if isinstance(jobs, JobSpec) else list(jobs)
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
        """A handle for any existing job, by name or ARN. Raises CloudError when there is none, UnknownName for what no job
        can be called."""
        short = name.rsplit("/", 1)[-1]
        if not limits.matches("TrainingJobName", short):
            raise UnknownName(
                f"job: got {name!r}, wanted the name or the ARN of a job: letters, digits and hyphens; sm-trn list shows them. "
                "A job file is read by sm-trn check, launch and render"
            )
        try:
            self.backend.fetch_snapshot(short)
        except CloudError as error:
            if self.backend.trouble(error) is not Trouble.NOT_FOUND:
                raise
            raise CloudError(
                f"job: got {name!r}, wanted a job in {self.region}{resembling(self.backend, short)}; sm-trn list shows them",
                operation=error.operation,
                code=error.code,
            ) from error.__cause__
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
        guard: Guard | None = None,
    ) -> list[JobSnapshot]:
        """Wait for all of them with one poller; shows a live table in a notebook or terminal, lines elsewhere.

        Returns the final snapshots in the order given; a failed job does not end the wait for the others, nor does a
        throttle, a lost connection or a login that expired: ``notice`` (else the display) is told, and it goes on.
        Ctrl-C stops the watching only: the jobs run on.

        Once all of them together have been billed ``max_usd``, those that still run are asked to stop, and save.
        ``usd_per_hour`` stands for every price; without it an emulated job costs nothing. Raises CloudError, when all have
        ended, for jobs that could not be asked to stop.

        ``guard`` watches each job for stalls, wrong numbers and more (``Guard``), instead of the guard in its spec. Without either,
        a wait on AWS with ``progress`` tells of them and does nothing. A guard whose ``act`` is ``resume`` starts a job that it
        stopped again, once; the snapshot returned is then the new job's.
        """
        guards = guards_of(self, jobs, guard, {} if self.emulated or not progress else {"": Guard()})
        final = Wait(session=self, jobs=tuple(jobs), told=notice, guards=guards).run(
            stream=(stream or sys.stdout) if progress else None,
            max_usd=None if max_usd is None else as_usd(max_usd),
            usd_per_hour=None if usd_per_hour is None else as_usd(usd_per_hour),
        )
        again = [job for job in jobs if guards is not None and job.name in guards.resumable]
        if not again:
            return final
        made = dict(filter(None, (self._resumed(job, notice) for job in again)))
        limits_of = (
            {job.name: dataclasses.replace(guards.guards[name], act="stop") for name, job in made.items()}
            if guards
            else {}
        )
        ended = self._wait_again(list(made.values()), limits_of, notice, stream if progress else None)
        later = dict(zip(made, ended, strict=True))
        return [later.get(snapshot.name, snapshot) for snapshot in final]

    @staticmethod
    def _resumed(job: TrainingJob, notice: Notice | None) -> tuple[str, TrainingJob] | None:
        """The new job of one that a guard stopped; None, and words, where there is nothing to go on from."""
        try:
            return job.name, job.resume()
        except InvalidJob as error:
            (notice or _ignored)(f"{job.name} is not started again: {error}")
            return None

    def _wait_again(
        self, jobs: Sequence[TrainingJob], limits_of: Mapping[str, Guard], notice: Notice | None, stream: TextIO | None
    ) -> list[JobSnapshot]:
        """Wait for jobs that a guard has started again."""
        guards = guards_of(self, jobs, None, limits_of)
        return Wait(session=self, jobs=tuple(jobs), told=notice, guards=guards).run(stream=stream)

    def endpoints(self) -> Endpoints:
        """Every endpoint of this account and region, with what it costs an hour, newest first. Raises CloudError."""
        return fetch_endpoints(self)

    def endpoint(self, name: str) -> Endpoint:
        """A handle for an existing endpoint. Raises CloudError when there is none."""
        self.hosts.fetch_endpoint(name)
        return Endpoint(name=name, session=self)

    def check(self, job: JobSpec) -> Problems:
        """``check``, and what only the account can say: quota, role, bucket, image. Starts nothing.

        On the emulator just ``check``: its account has no quotas and needs no images.
        """
        offline = check(job)
        if self.emulated or self.account is None:
            return offline
        return Problems(
            sorted([*offline, *self.account.problems(job)], key=lambda problem: list(Severity).index(problem.severity))
        )

    def refresh_price(self, instance: str) -> tuple[Price, ...]:
        """The newest training prices of the AWS Price List for ``instance`` in this region. Raises CloudError."""
        return tuple(self.account.fetch_prices(instance)) if self.account is not None else ()

    def ceiling(self, job: JobSpec) -> Usd | None:
        """The most that the job can cost, in USD; None without a price, or on the emulator."""
        return None if self.emulated else ceiling(job, self.price_of(job.compute.machines))

    def _request(self, job: JobSpec, name: str, staging: Staging) -> dict[str, Any]:
        placed, source = staging.place(job)
        at = Destination(role=self.role, region=self.region, bucket=self.bucket, job_name=name, source_uri=source)
        request: dict[str, Any] = render(placed, "request", at=at)
        return request


def _why(exception: str, reason: str) -> str:
    """The script's exception first: the service's text quotes the toolkit, which cuts it up."""
    return "\n".join(each for each in (exception, reason) if each) or "no reason given"


def _refuse(job: JobSpec, ignore: Sequence[str]) -> None:
    errors = [problem for problem in check(job) if problem.severity is Severity.ERROR and problem.id not in ignore]
    if errors:
        raise InvalidJob(job.name, tuple(errors))


def _ignored(_text: str) -> None:
    """Nobody asked to be told."""
