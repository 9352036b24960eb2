"""Joins the core with the parts: sessions and jobs have the methods of all of them, from a class in each ``<part>/handles.py``."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO

from .capacity.handles import QueueingSession
from .core.preflight import JobRule
from .core.session import handles
from .core.session.observers import Observer
from .core.specs.job import JobSpec, expect_spec
from .core.specs.problems import Problem, Severity
from .diagnosis.guard.live import JobGuards
from .diagnosis.handles import DiagnosedJob, GuardedSession
from .forecast.estimate import estimated_cost
from .forecast.rules import ALL_RULES as RULES
from .hosting.handles import DeployableJob, HostingSession
from .report.handles import MeasuredJob, ReportingSession
from .rules import check
from .tuning.handles import TuningSession

if TYPE_CHECKING:
    from .core.session.connection import EmulatorEndpoint
    from .emulator.installing import Failure
    from .emulator.rehearsal import Rehearsal
    from .images.resolve import Resolution


class TrainingJob(DiagnosedJob, MeasuredJob, DeployableJob):
    """A live handle of one job, by its full name; made by ``submit`` or ``attach``.

    ``changes`` is what a resubmitted job asks for that its original did not.
    """

    __slots__ = ()

    session: Session


class Session(
    QueueingSession[TrainingJob],
    GuardedSession[TrainingJob],
    ReportingSession[TrainingJob],
    HostingSession[TrainingJob],
    TuningSession[TrainingJob],
):
    """One account and region – or the emulator – with everything that a job needs. Made by ``connect``."""

    __slots__ = ()

    job_class: ClassVar[type[handles.TrainingJob]] = TrainingJob
    rules: ClassVar[Sequence[JobRule]] = RULES

    def _meant(self, word: str) -> str:
        from .core.session.names import meant_by  # noqa: PLC0415 - asked for names that are not whole

        return meant_by(self.backend, word) or word

    def refused(self, job: JobSpec, ignore: Sequence[str] = ()) -> tuple[Problem, ...]:
        """The errors for which a job is not launched. On the emulator, where the script runs anyway, its real parser is asked too."""
        errors = super().refused(job, ignore)
        if errors or not self.emulated:
            return errors
        from .scripts.arguments import options  # noqa: PLC0415 - for the emulator alone
        from .scripts.probe import ask  # noqa: PLC0415 - as above

        taken = options(job)
        problems = ask(job) if taken is not None and (taken.unread or taken.vague) else []
        return tuple(each for each in problems if each.severity is Severity.ERROR and each.id not in ignore)

    def allowed(self, specs: list[JobSpec]) -> list[JobSpec]:
        if self.emulated:
            return specs
        from .core.session.policy import enforce  # noqa: PLC0415 - reading files stays out of `import sm_trn`

        return enforce(specs, Path.cwd(), self.region, self.price_of)

    def _observers(
        self, jobs: Sequence[handles.TrainingJob], guards: JobGuards, *, progress: bool, stream: TextIO | None
    ) -> Sequence[Observer]:
        """The live display. Guards need the logs that it reads."""
        if not progress and not guards.guards:
            return ()
        return (self._progress(jobs, (stream or sys.stdout) if progress else None, guards),)


def ask_parser(job: JobSpec) -> list[Problem]:
    """Problems that the real parser of a job's script has with its arguments: the script runs in the sandbox up to there."""
    from .scripts.probe import ask  # noqa: PLC0415 - for those who ask alone

    return ask(job)


def resolve(job: JobSpec) -> Resolution:
    """Ask uv for versions of a job's requirements that its image can have. Raises SmTrnError."""
    from .images.resolve import resolve as solve  # noqa: PLC0415 - for those who ask alone

    return solve(job)


def in_twin(job: JobSpec, state: str | Path | None = None, *, tell: Callable[[str], None]) -> JobSpec:
    """The job, to be rehearsed in a twin of its image. Raises EmulatorError where none can be made."""
    from .emulator.twin import in_twin as made  # noqa: PLC0415 - as above

    return made(job, state, tell=tell)


def install(job: JobSpec, *, tell: Callable[[str], None]) -> Failure | None:
    """Install a job's requirements and run its imports in the twin of its image; what failed first. Raises EmulatorError."""
    from .emulator.installing import install as run  # noqa: PLC0415 - as above

    return run(job, tell=tell)


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

    ``region`` comes from where ``known_region`` finds it; on AWS there is no default.
    ``announcement`` says which it is and why. An AWS failure never turns into an emulated run. Raises NotConfigured when
    role, bucket or region cannot be found; UnknownName for another backend. Prices are ``known_prices()``.
    """
    from .core.session import connection  # noqa: PLC0415 - `import sm_trn` loads no boto3

    session = connection.connect(
        backend,
        region=region,
        role=role,
        bucket=bucket,
        profile=profile,
        state=state,
        session_class=Session,
        start_emulator=_start_emulator,
    )
    from .capacity.batch import Boto3Queues  # noqa: PLC0415 - as the next
    from .hosting.aws import Boto3Hosting  # noqa: PLC0415 - `import sm_trn` loads no boto3

    if session.boto_session is None:
        return session
    return dataclasses.replace(
        session,
        hosting=Boto3Hosting(session.boto_session, session.bucket),
        batch=Boto3Queues(session.boto_session, None if session.emulated else session.clock),
    )


def _start_emulator(state: Path | None, region: str) -> EmulatorEndpoint:
    from . import emulator  # noqa: PLC0415 - only who connects to it needs it

    return emulator.up(state, region=region)


def rehearse(
    job: JobSpec,
    *,
    interruptions: int = 2,
    seed: int = 0,
    notice: bool = True,
    state: str | Path | None = None,
    tell: Callable[[str], None] = print,
) -> Rehearsal:
    """Run ``job`` in the emulator, left alone and interrupted ``interruptions`` times, and compare what it learned.

    A job that is not on spot is rehearsed as if it were. Interruptions come at random steps (``seed``), without ``notice``
    as a SIGKILL. ``tell`` hears what is going on, for it takes as long as two runs. Raises InvalidJob when the job is not
    launchable, JobFailed when a run does not complete, ValueError for less than one interruption.
    """
    from .emulator import rehearsal  # noqa: PLC0415 - `import sm_trn` loads no emulator

    expect_spec(job)
    session = connect("emulator", state=state)
    return rehearsal.rehearse(
        job, session, interruptions=interruptions, seed=seed, notice=notice, state=state, tell=tell
    )


__all__ = ["RULES", "Session", "TrainingJob", "check", "connect", "estimated_cost", "rehearse"]
