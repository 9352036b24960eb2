"""The two live handles: a session, which is an account and region or the emulator, and one of its jobs. Each makes the other,
so they stand together; the work is done by modules that know neither. The parts add their methods in ``sm_trn.wiring``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, TextIO, cast

from typing_extensions import Self, TypeVar

from ..catalog import limits
from ..errors import CloudError, InvalidJob, JobFailed, SmTrnError, UnknownName
from ..formatting.cards import HasCard
from ..jobfile.files import dump_job
from ..logs.events import LogEvent, printable
from ..logs.metrics import MetricLog
from ..logs.selection import LogFilter
from ..ports import JobQuery, Storage, StoredObjects, Trouble
from ..preflight import RULES, JobRule, check
from ..preflight.spot import resuming
from ..pricing.book import Price
from ..pricing.cost import JobCost, ceiling, job_cost
from ..render import request as target
from ..render.differences import Diff, diff
from ..specs.destination import Destination, spec_key
from ..specs.job import JobSpec, specs_of
from ..specs.metrics import MetricPoint
from ..specs.problems import Problem, Problems, Severity
from ..specs.record import JobRecord, record
from ..specs.snapshot import JobSnapshot, JobStatus
from ..specs.units import Usd, WallSeconds
from ..specs.value import misfit
from ..status import Verdict, ending, limit_of, status_look
from .attachment import Attached, fetch_attached, once
from .budget import as_usd, refuse_over
from .cloud import Cloud
from .details import fetch_details, fetch_tags, listed, resembling
from .launches import Staging, launch_all, unique_names
from .log_files import save_log
from .log_reader import JobLog
from .observers import Observer, StatusLines
from .waits import Wait, poller_for, stop_each, stop_one

Notice = Callable[[str], None]
GIT_TAG = "sm_trn:git"  # a note of the job: repository@commit
SECRETS_RULE = "SCRIPT011"  # whoever waives it wants the secret-looking files in the source


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, init=False)
class TrainingJob(HasCard):
    """A live handle of one job, by its full name; made by ``submit`` or ``attach``.

    ``changes`` is what a resubmitted job asks for that its original did not.
    """

    name: str
    session: Session[Any] = dataclasses.field(repr=False)
    changes: Diff | None = dataclasses.field(repr=False, compare=False)
    _asked: JobSpec | None = dataclasses.field(repr=False, compare=False)
    _memory: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    def __init__(
        self, *, name: str, session: Session[Any], spec: JobSpec | None = None, changes: Diff | None = None
    ) -> None:
        fields = {"name": name, "session": session, "changes": changes, "_asked": spec, "_memory": {}}
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    @property
    def label(self) -> str:
        return self._asked.name if self._asked is not None else self.name

    @property
    def asked(self) -> JobSpec | None:
        """The spec that this handle submitted, None when it was attached. Unlike ``spec`` it asks nobody."""
        return self._asked

    @property
    def spec(self) -> JobSpec:
        """The job's spec: as submitted by this handle, else read from the service once. Raises CloudError.

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
        """Return the objects at the job's checkpoint URI now; None when it has none, or may not be looked at."""
        place = self.spec.checkpoints
        return self.session.storage.fetch_objects(place.s3_uri) if place is not None else None

    def resubmit(self, spec: JobSpec | None = None, *, name: str | None = None, ignore: Sequence[str] = ()) -> Self:
        """Launch the job once more, or ``spec``, which is usually ``job.spec.replace(…)``: same role, same source unless the
        script is another. What differs is in the new job's ``changes``. Raises as ``submit``.
        """
        before = self._attached()
        job = spec or before.spec
        if job.script == self.spec.script:
            job = job.replace(script=before.spec.script)  # what ran, though the folder may have changed since
        job = job.replace(name=name) if name is not None else job
        role = before.at.role or self.session.role
        changes = diff(before.spec, job)  # before anything runs whose name an error here would lose
        made = dataclasses.replace(self.session, role=role).submit(job, ignore=ignore)
        changes = dataclasses.replace(changes, before=self.name, after=made.name)
        return type(self)(name=made.name, session=self.session, spec=job, changes=changes)

    def resume(self, *, ignore: Sequence[str] = ()) -> Self:
        """Launch a stopped or failed job again, to go on from its checkpoints: the same spec, the same place for them.

        Raises InvalidJob when the job has not ended, or has no checkpoints to go on from; otherwise as ``submit``.
        """
        stored = self.checkpoints()
        problems = resuming(self.spec, self.snapshot(), None if stored is None else stored.count)
        refused = tuple(problem for problem in problems if problem.id not in ignore)
        if refused:
            raise InvalidJob(self.name, refused)
        return self.resubmit(ignore=ignore)

    @property
    def _log(self) -> JobLog:
        return JobLog(cloud=self.session, name=self.name, asked=self._asked)

    def _attached(self) -> Attached:
        return once(self._memory, "attached", lambda: fetch_attached(self.session, self.name))

    def snapshot(self) -> JobSnapshot:
        """The job as it is now: one DescribeTrainingJob."""
        return self.session.backend.fetch_snapshot(self.name)

    def watch(self, *, notice: Notice | None = None) -> Iterator[JobSnapshot]:
        """Snapshots until the job has ended; the last one is terminal, unless the job was deleted.

        ``notice`` hears what is no snapshot: that the login expired, that the service does not answer.
        """
        for records in poller_for(self.session, (self,), notice or _ignored).sweeps([self.name]):
            if self.name in records:
                yield records[self.name]

    def wait(
        self,
        *,
        progress: bool = True,
        stream: TextIO | None = None,
        max_usd: Usd | float | None = None,
        usd_per_hour: Usd | float | None = None,
    ) -> JobSnapshot:
        """Wait until the job has ended, with live progress. Raises JobFailed when it failed, with the script's own exception
        and AWS's reason, and when a limit of time stopped it. ``max_usd`` and ``usd_per_hour`` are those of ``Session.wait``.
        """
        (final,) = self.session.wait(
            [self], progress=progress, stream=stream, max_usd=max_usd, usd_per_hour=usd_per_hour
        )
        if final.status is JobStatus.FAILED or limit_of(final):
            message = f"{self._failure(final)}\nNext: sm-trn logs {self.name}"
            raise JobFailed(message, operation="TrainingJob", code=final.status_word)
        return final

    def ending(self, final: JobSnapshot) -> Verdict | None:
        """How the job ended, for the exit codes of commands: by its last snapshot alone. None while it goes on."""
        return ending(final)

    def _failure(self, final: JobSnapshot) -> str:
        """The script's exception first: the service's text quotes the toolkit, which cuts it up."""
        if limit_of(final):
            return f"{self.name} was {status_look(final).word} before its script ended"
        texts = [text for text in (self._log.exception(), printable(final.failure_reason)) if text]
        return f"{self.name} failed: " + ("\n".join(texts) or "no reason given")

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

    @property
    def billable_s(self) -> WallSeconds | None:
        """``BillableTimeInSeconds``: wall seconds per instance, None before the service knows them."""
        return self.snapshot().billable_s

    def cost(self, *, at: date | str | None = None, price: Price | None = None) -> JobCost | None:
        """Return the job's cost at the newest price, at that of a day, or at a given one. None: unbilled, unpriced or emulated."""
        now = self.snapshot()
        return job_cost(now, price or self.session.price_of(now.machines, at=at))

    def stop(self, *, wait: bool = False) -> JobSnapshot:
        """Ask the job to stop; its script gets SIGTERM, and what it saves is kept. A job that has ended is left alone."""
        now = self.snapshot()
        if not now.terminal and now.status is not JobStatus.STOPPING:
            stop_one(self.session.backend, self.name)
        return self.session.wait([self], progress=False)[0] if wait else self.snapshot()

    def record(self) -> JobRecord:
        """The job's story as a value: its snapshot and the numbers of its log."""
        now = self.snapshot()
        points = self._log.metric_log().points
        return record(now, points, label=self.label, workload=Path(now.program).stem)


J_co = TypeVar("J_co", bound=TrainingJob, default=TrainingJob, covariant=True)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Session(Cloud, Generic[J_co]):
    """One account and region – or the emulator – with everything that a job needs. Made by ``connect``.

    ``job_class`` is the class of the handles that it makes, ``rules`` is what ``check`` looks for.
    """

    job_class: ClassVar[type[TrainingJob]] = TrainingJob
    rules: ClassVar[Sequence[JobRule]] = RULES

    def submit(self, job: JobSpec, *, ignore: Sequence[str] = (), max_usd: Usd | float | None = None) -> J_co:
        """Check, upload, create. Raises InvalidJob with every error of ``check``; ``ignore`` waives some by id.

        ``max_usd`` refuses, with OverBudget, what may cost more: max_run_s × instances × price. An emulated job costs nothing.
        """
        return self.submit_all([job], ignore=ignore, max_usd=max_usd)[0]

    def submit_all(
        self,
        jobs: Iterable[JobSpec],
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
        notice: Notice | None = None,
    ) -> list[J_co]:
        """Launch several jobs; sources and data that are shared go up once. All specs are checked before anything starts,
        and so is ``max_usd``: the most that all of them together may cost. ``sm_trn.toml`` may allow less.
        ``notice`` hears each job's name before it is created.

        Raises InvalidJob, OverBudget, CloudError, or – when some jobs did start, or may have – PartialLaunch, and for Ctrl-C
        LaunchInterrupted: both hold the jobs, and name each.
        """
        specs = self._launchable(jobs)
        names = unique_names([spec.name for spec in specs], self.clock.now())
        return self._launch(dict(zip(names, specs, strict=True)), (), ignore=ignore, max_usd=max_usd, notice=notice)

    def _launchable(self, jobs: Iterable[JobSpec]) -> list[JobSpec]:
        """The jobs as a team launches them. Raises UnknownName for one of a queue, InvalidJob."""
        specs = specs_of(jobs)
        queued = [spec for spec in specs if spec.queue is not None]
        if queued:
            raise UnknownName(
                f"{queued[0].name}: got a job of a queue and a launch that starts at once, wanted one: submit(job, queue=job.queue) "
                "puts it into its queue, job.replace(queue=None) starts it now. Nothing was started"
            )
        return self.allowed(specs)

    def _launch(
        self,
        by_name: Mapping[str, JobSpec],
        started: Collection[str],
        *,
        ignore: Sequence[str],
        max_usd: Usd | float | None,
        notice: Notice | None,
    ) -> list[J_co]:
        """Launch jobs under the names that they have in ``asked``, but for those that ``started`` before."""
        requests = self.requests_of(list(by_name.values()), list(by_name), ignore=ignore, max_usd=max_usd)
        launch_all(
            [request for request in requests if request["TrainingJobName"] not in started],
            lambda request: remember(self.storage, by_name[request["TrainingJobName"]], request),
            self.backend.create_job,
            handle=lambda name: self._job(name, by_name[name]),
            clock=self.clock,
            paced=not self.emulated,
            notice=notice or _ignored,
        )
        return [self._job(name, spec) for name, spec in by_name.items()]

    def requests_of(
        self,
        specs: Sequence[JobSpec],
        names: Sequence[str],
        *,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
    ) -> list[dict[str, Any]]:
        """The requests of jobs under these names, checked, and with sources and data in S3. Raises InvalidJob, OverBudget, CloudError."""
        limit = None if max_usd is None else as_usd(max_usd)
        for spec in specs:
            errors = self.refused(spec, ignore)
            if errors:
                raise InvalidJob(spec.name, errors)
        if limit is not None and not self.emulated:
            refuse_over(limit, specs, self.price_of)
        staging = Staging(storage=self.storage, allow_secrets=SECRETS_RULE in ignore)
        requests = []
        for spec, name in zip(specs, names, strict=True):
            job, source = staging.place(spec)
            at = Destination(role=self.role, region=self.region, bucket=self.bucket, job_name=name, source_uri=source)
            requests.append(target.render(job, at))
        return requests

    def _job(self, name: str, spec: JobSpec | None = None) -> J_co:
        """A handle of a job of this session."""
        return cast("J_co", self.job_class(name=name, session=self, spec=spec))

    def attach(self, name: str) -> J_co:
        """A handle for any existing job, by name or ARN, by the unique beginning of its name, or by ``@last``, the newest. Raises
        CloudError when there is none, UnknownName for what no job can be called, and where several begin so."""
        if not isinstance(name, str):
            raise TypeError(f"name: {misfit(name, 'a text')}")
        short = name.rsplit("/", 1)[-1]
        short = self._meant(short) if short.startswith("@") else short
        if not limits.matches("TrainingJobName", short):
            raise UnknownName(
                f"job: got {name!r}, wanted the name or the ARN of a job, or @last: a name has letters, digits and hyphens; "
                "sm-trn list shows them. "
                "A job file is read by sm-trn check, estimate, launch and render"
            )
        try:
            self.backend.fetch_snapshot(short)
        except CloudError as error:
            if self.backend.trouble(error) is not Trouble.NOT_FOUND:
                raise
            with contextlib.suppress(CloudError):  # who may not list jobs names them in full
                if (full_name := self._meant(short)) != short:
                    return self._job(full_name)
            raise CloudError(
                f"job: got {name!r}, wanted a job in {self.region}{resembling(self.backend, short)}; sm-trn list shows them",
                operation=error.operation,
                code=error.code,
            ) from error.__cause__
        return self._job(short)

    def jobs(self, containing: str = "", *, tag: tuple[str, str] | None = None, limit: int = 20) -> list[J_co]:
        """Existing jobs, newest first; with a ``tag`` those that have it among the newest thousand. Raises CloudError."""
        _expect_limit(limit)
        if tag is not None and not (isinstance(tag, (tuple, list)) and len(tag) == 2):
            raise TypeError("tag: " + misfit(tag, "a key and a value, such as ('team', 'nlp')"))
        query = JobQuery(containing=containing)
        snapshots = list(itertools.islice(listed(self.backend, query), limit if tag is None else 1000))
        if tag is not None:
            snapshots = fetch_details(self.backend, query, snapshots)
            tags = fetch_tags(self.backend, snapshots)
            snapshots = [job for job, own in zip(snapshots, tags, strict=True) if own.get(tag[0]) == tag[1]]
        return [self._job(job.name) for job in snapshots[:limit]]

    def snapshots(self, containing: str = "", *, limit: int = 20) -> list[JobSnapshot]:
        """Existing jobs as they are now, newest first: many in few calls. Raises CloudError."""
        _expect_limit(limit)
        query = JobQuery(containing=containing)
        return fetch_details(self.backend, query, list(itertools.islice(listed(self.backend, query), limit)))

    def stop_all(
        self,
        jobs: Iterable[TrainingJob] | None = None,
        *,
        containing: str | None = None,
        tag: tuple[str, str] | None = None,
    ) -> list[J_co]:
        """Ask jobs to stop: those given, or those that run and have ``containing`` in their name and the ``tag``; with
        ``containing=""``, all that run here. Returns those that were asked; ended ones are left alone.

        Raises ValueError when nothing says which; CloudError, after all the others were asked, for those that could not be.
        """
        if jobs is None:
            jobs = self.running(containing=containing, tag=tag)
        given = list(jobs)
        stopping = stop_each(self.backend, [job.name for job in given])
        return [cast("J_co", job) for job in given if job.name in stopping]

    def running(self, *, containing: str | None = None, tag: tuple[str, str] | None = None) -> list[J_co]:
        """Jobs that have not ended, newest first: whose name has ``containing`` in it, and that have the ``tag``.

        Raises ValueError when neither is given: ``containing=""`` means all.
        """
        if containing is None and tag is None:
            raise ValueError(
                "running: got neither containing nor tag, wanted one; containing='' means every job that runs"
            )
        query = JobQuery(containing=containing or "", status=JobStatus.IN_PROGRESS.value)
        snapshots = list(listed(self.backend, query))
        if tag is not None:
            tags = fetch_tags(self.backend, snapshots)
            snapshots = [job for job, own in zip(snapshots, tags, strict=True) if own.get(tag[0]) == tag[1]]
        return [self._job(job.name) for job in snapshots]

    def wait(
        self,
        jobs: Sequence[TrainingJob],
        *,
        progress: bool = True,
        stream: TextIO | None = None,
        max_usd: Usd | float | None = None,
        usd_per_hour: Usd | float | None = None,
        notice: Notice | None = None,
        observers: Sequence[Observer] | None = None,
    ) -> list[JobSnapshot]:
        """Wait for all of them with one poller; each change of a status is a line on ``stream``, unless ``progress`` is False.

        Returns the final snapshots in the order given; a failed job does not end the wait for the others, nor does a
        throttle, a lost connection or a login that expired: ``notice`` (else the display) is told, and it goes on.
        Ctrl-C stops the watching only: the jobs run on.

        Once all of them together have been billed ``max_usd``, those that still run are asked to stop, and save.
        ``usd_per_hour`` stands for every price; without it an emulated job costs nothing. Raises CloudError, when all have
        ended, for jobs that could not be asked to stop. ``observers`` see every look at the jobs, instead of those lines.
        """
        if observers is None:
            observers = (StatusLines(stream or sys.stdout),) if progress else ()
        return Wait(session=self, jobs=tuple(jobs), notify=notice, observers=observers).run(
            max_usd=None if max_usd is None else as_usd(max_usd),
            usd_per_hour=None if usd_per_hour is None else as_usd(usd_per_hour),
        )

    def check(self, job: JobSpec) -> Problems:
        """``check``, and what only the account can say: quota, role, bucket, image. Starts nothing.

        On the emulator just ``check``: its account has no quotas and needs no images.
        """
        offline = check(job, rules=self.rules)
        if self.emulated or self.account is None:
            return offline
        return Problems(
            sorted([*offline, *self.account.problems(job)], key=lambda problem: list(Severity).index(problem.severity))
        )

    def ceiling(self, job: JobSpec) -> Usd | None:
        """The most that the job can cost, in USD; None without a price, or on the emulator."""
        return None if self.emulated else ceiling(job, self.price_of(job.compute.machines))

    def allowed(self, specs: list[JobSpec]) -> list[JobSpec]:
        """The jobs as a team launches them: its policy may refuse them, or give them a guard. The core alone knows none."""
        return specs

    def _meant(self, word: str) -> str:
        """The name that ``word`` begins, or ``word``. The core alone knows whole names."""
        return word

    def refused(self, job: JobSpec, ignore: Sequence[str] = ()) -> tuple[Problem, ...]:
        """The errors of ``check`` for which ``submit`` would not launch the job, but for those that ``ignore`` waives by id."""
        problems = check(job, rules=self.rules)
        return tuple(each for each in problems if each.severity is Severity.ERROR and each.id not in ignore)


def _expect_limit(limit: int) -> None:
    if not isinstance(limit, int) or limit < 0:
        raise ValueError(f"limit: got {limit!r}, wanted a whole number from 0")


def _ignored(_text: str) -> None:
    """Nobody asked to be told."""


def remember(storage: Storage, job: JobSpec, request: Mapping[str, Any]) -> None:
    """Write the spec of a job that is about to be created, so that a failure to write starts nothing. Raises CloudError.

    A branch is written as the commit it was pinned to. A distribution outside the registry has no file: nothing is written,
    and attach derives the spec from the request.
    """
    tags = {tag["Key"]: tag["Value"] for tag in request.get("Tags", ())}
    try:
        text = dump_job(_pinned(job, tags.get(GIT_TAG, "")), "json")
    except SmTrnError:
        return
    storage.put_text(spec_key(str(request["TrainingJobName"])), text)


def _pinned(job: JobSpec, note: str) -> JobSpec:
    script = job.script
    if script is None or script.git is None or not note.startswith(f"{script.git.repo}@"):
        return job
    commit = note.removeprefix(f"{script.git.repo}@")
    return job.replace(
        script=dataclasses.replace(script, git=dataclasses.replace(script.git, branch=None, commit=commit))
    )
