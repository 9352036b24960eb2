"""The live handle of one job. It knows its name and its session, and of the job only what cannot change: how it was made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from ..errors import InvalidJob, JobFailed, UnknownName
from ..logs import LogEvent, LogFilter, MetricLog, printable
from ..ports import StoredObjects
from ..preflight.resuming import resuming
from ..pricing import JobCost, Price, job_cost
from ..render import Diff, diff
from ..specs import Destination, JobRecord, JobSnapshot, JobSpec, JobStatus, MetricPoint, Usd, WallSeconds, record
from . import endpoints, reading
from .attaching import Attached, fetch_attached, once
from .endpoints import Endpoint, Transform
from .saving import save_log
from .stopping import stop_one

if TYPE_CHECKING:
    import pandas as pd

    from .session import Session

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
        from ..formatting.numbers import instances  # noqa: PLC0415 - as above
        from ..report.cards import job_card  # noqa: PLC0415 - only a notebook asks

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
        made = dataclasses.replace(self.session, role=role).submit(asked, ignore=ignore)
        changes = diff(before.spec, asked, names=(self.name, made.name))
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

    def _attached(self) -> Attached:
        return once(self._memory, "attached", lambda: fetch_attached(self.session, self.name))

    def snapshot(self) -> JobSnapshot:
        """The job as it is now: one DescribeTrainingJob."""
        return self.session.backend.fetch_snapshot(self.name)

    def watch(self, *, notice: Callable[[str], None] | None = None) -> Iterator[JobSnapshot]:
        """Snapshots until the job has ended; the last one is terminal, unless the job was deleted.

        ``notice`` hears what is no snapshot: that the login expired, that the service does not answer.
        """
        from .waiting import poller_for  # noqa: PLC0415 - it needs this class

        for known in poller_for(self.session, (self,), notice or _ignored).sweeps([self.name]):
            if self.name in known:
                yield known[self.name]

    def wait(
        self,
        *,
        progress: bool = True,
        stream: TextIO | None = None,
        max_usd: Usd | float | None = None,
        usd_per_hour: Usd | float | None = None,
    ) -> JobSnapshot:
        """Wait until the job has ended, with live progress. Raises JobFailed with AWS's reason when it failed.

        ``max_usd`` and ``usd_per_hour`` are those of ``Session.wait``: the job is asked to stop once it has cost so much.
        """
        final = self.session.wait([self], progress=progress, stream=stream, max_usd=max_usd, usd_per_hour=usd_per_hour)[
            0
        ]
        if final.status is JobStatus.FAILED:
            raise JobFailed(
                f"{self.name} failed: {printable(final.failure_reason) or 'no reason given'}",
                operation="TrainingJob",
                code="Failed",
            )
        return final

    def logs(
        self,
        *,
        follow: bool = False,
        host: str | None = None,
        rank: int | None = None,
        matching: str | None = None,
        since: str | datetime | None = None,
    ) -> Iterator[LogEvent]:
        """The lines of every host in time order; with ``follow`` also those to come, until the job has ended.

        ``matching`` is a regular expression, ``rank`` the worker as its launcher names it, ``since`` an age (``5m``), a time
        or ISO text. Raises SmTrnError for an expression that is wrong or would not end, CloudError.
        """
        wanted = LogFilter(host=host, rank=rank, matching=matching)
        return reading.events(self, follow=follow, wanted=wanted, since=since)

    def save_logs(self, target: str | Path, *, follow: bool = False) -> tuple[Path, ...]:
        """Download the log to a file, or – when ``target`` is a folder or ends with a slash – to one file a host.

        Called again it goes on where it ended. ``st.read_log`` reads the files. Raises SmTrnError when something else is there.
        """
        by_host = str(target).endswith("/") or Path(target).is_dir()
        return save_log(self, Path(target), by_host=by_host, follow=follow)

    def metric_log(self) -> MetricLog:
        """Every line with numbers: ``train``, ``eval``, ``summary`` and ``points`` of one reading of the log."""
        return reading.metric_log(self)

    def points(self) -> list[MetricPoint]:
        """Every number in the job's log: of dict lines, and of the job's own metric definitions."""
        return list(self.metric_log().points)

    def metrics(self, *, view: MetricView = "all") -> pd.DataFrame:
        """The same as a tidy frame: step, epoch, host, name, value, time.

        ``train``, ``eval``, ``summary``: one row a printed line, one column a number. ``final``: what the service itself kept
        (FinalMetricDataList) as ``value`` beside ``log_value``, what the same expression finds in the log – the two differ
        where the expression stops before an exponent. Raises UnknownName for another view.
        """
        from ..report.metrics import final_frame, lines_frame, metrics_frame  # noqa: PLC0415 - pandas stays out of `import sm_trn`

        if view == "all":
            return metrics_frame(self.points())
        if view == "final":
            return final_frame(reading.final_rows(self))
        if view not in {"train", "eval", "summary"}:
            raise UnknownName(f"view: got {view!r}, wanted 'all', 'train', 'eval', 'summary' or 'final'")
        return lines_frame(self.metric_log().view(view))

    def utilization(self) -> pd.DataFrame:
        """CPUUtilization, GPUUtilization, … in percent by host and time, as CloudWatch measured them; the columns of
        ``metrics()``, no rows where there is nothing. Raises CloudError."""
        from ..report.metrics import metrics_frame  # noqa: PLC0415 - pandas stays out of `import sm_trn`

        return metrics_frame(reading.utilization(self))

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
        return endpoints.deploy(
            self,
            instance,
            count=count,
            code=code,
            image_uri=image_uri,
            environment=environment,
            max_hours=max_hours,
            wait=wait,
        )

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
        return endpoints.transform(
            self,
            inputs,
            instance,
            output=output,
            content_type=content_type,
            accept=accept,
            by_line=by_line,
            count=count,
            code=code,
            image_uri=image_uri,
            wait=wait,
        )

    def record(self) -> JobRecord:
        """The job's story as a value: its snapshot and the numbers of its log."""
        now = self.snapshot()
        return record(now, self.points(), label=self.label, workload=Path(now.program).stem)


def _ignored(_text: str) -> None:
    """Nobody asked to be told."""
