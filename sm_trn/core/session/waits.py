"""One wait: the poller, what it shows, and the budget that it keeps."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from ..specs.job import JobSpec
from ..specs.snapshot import JobSnapshot
from ..specs.units import Usd
from .budget import Budget
from .cloud import Cloud
from .poller import Poller
from .stops import stop_one

if TYPE_CHECKING:
    from ...diagnosis.guard.foreseen import Foreseen
    from ...diagnosis.guard.live import JobGuards
    from ...report.watch.display import Display
    from ...report.watch.progress import Progress

_MOST_NAMED = 4  # jobs, in the words of who stops watching


class Watched(Protocol):
    """A job that is waited for: its names, and what this process asked for when it made it."""

    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def asked(self) -> JobSpec | None: ...


def hint(spec: JobSpec | None) -> Mapping[str, Any]:
    """The parts of a describe answer that a spec tells: what a list of jobs leaves out."""
    if spec is None:
        return {}
    groups = [{"InstanceType": name, "InstanceCount": count} for name, count in spec.compute.machines]
    return {
        "ResourceConfig": {"InstanceGroups": groups} if spec.compute.groups else groups[0],
        "EnableManagedSpotTraining": spec.spot is not None,
        "StoppingCondition": {"MaxRuntimeInSeconds": spec.max_run_s},
    }


def poller_for(
    session: Cloud, jobs: tuple[Watched, ...], notice: Callable[[str], None], *, detailed: bool = False
) -> Poller:
    return Poller(
        feed=session.backend,
        clock=session.clock,
        jitter=random.SystemRandom().random,
        notice=notice,
        hints={job.name: hint(job.asked) for job in jobs},
        detailed=detailed,
    )


@dataclass(kw_only=True)
class Wait:
    """Waits for ``jobs``. ``told`` hears what the user should know; the display does when there is nobody else."""

    session: Cloud
    jobs: tuple[Watched, ...]
    told: Callable[[str], None] | None = None
    display: Display | None = None
    guards: JobGuards | None = None

    def run(
        self, *, stream: TextIO | None = None, max_usd: Usd | None = None, usd_per_hour: Usd | None = None
    ) -> list[JobSnapshot]:
        """Until all have ended. Without a ``display`` of one's own, the one that fits ``stream``; with neither, nothing shows.

        Raises CloudError at the end, when all are told, for jobs that ``max_usd`` could not stop.
        """
        session = self.session
        budget = self._budget(max_usd, usd_per_hour)
        poller = poller_for(session, self.jobs, self._notice, detailed=budget is not None)
        progress = self._progress(stream)
        foreseen = self._foreseen()
        known: dict[str, JobSnapshot] = {}
        parting = ""
        try:
            for known in poller.sweeps([job.name for job in self.jobs]):
                if budget is not None:
                    self._guard(budget, poller)
                if progress is not None:
                    progress.show(known, poller.service_now(), ask=not poller.failing)
                    self._compare_with_estimates(foreseen, progress, known)
                if self.guards is not None and not poller.failing:
                    self.guards.look(known, poller.service_now(), self._notice)
            if progress is not None:
                progress.finish(known, poller.service_now())
        except KeyboardInterrupt:
            parting = self._parting()
            raise
        finally:
            if self.display is not None:
                self.display.close("" if self.told else parting)
            if self.told is not None and parting:
                self.told(parting)
        failure = None if budget is None else budget.failure()
        if failure is not None:
            raise failure
        return [known[job.name] for job in self.jobs]

    def _foreseen(self) -> Foreseen | None:
        from ...diagnosis.guard.foreseen import Foreseen  # noqa: PLC0415 - reading requests stays out of `import sm_trn`

        return None if self.session.emulated else Foreseen(told=self._notice)

    def _compare_with_estimates(
        self, foreseen: Foreseen | None, progress: Progress, known: Mapping[str, JobSnapshot]
    ) -> None:
        for job, reader in zip(self.jobs, progress.readers, strict=True):
            if job.name in known and foreseen is not None and foreseen.looks.get(job.name) != reader.looks:
                foreseen.looks[job.name] = reader.looks
                foreseen.look(known[job.name], job.asked, reader.found.points)

    def _notice(self, text: str) -> None:
        if self.told is not None:
            self.told(text)
        elif self.display is not None:
            self.display.note(text, datetime.fromtimestamp(self.session.clock.now(), tz=timezone.utc))

    def _budget(self, max_usd: Usd | None, usd_per_hour: Usd | None) -> Budget | None:
        if max_usd is None:
            return None
        return Budget(
            max_usd=max_usd,
            price_of=self.session.price_of,
            stop=functools.partial(stop_one, self.session.backend),
            notice=self._notice,
            usd_per_hour=usd_per_hour,
        )

    def _guard(self, budget: Budget, poller: Poller) -> None:
        budget.guard(poller.known.values(), poller.service_now())
        budget.say_refused(lambda error: self.session.backend.trouble(error) is None)

    def _progress(self, stream: TextIO | None) -> Progress | None:
        from ...report.watch.display import Unseen, display_for  # noqa: PLC0415 - pandas and matplotlib stay out of `import sm_trn`
        from ...report.watch.progress import Progress, Reader  # noqa: PLC0415 - as above

        if self.display is None and stream is not None:
            self.display = display_for(stream)
        if self.display is None and self.guards is not None:
            self.display = Unseen()
        if self.display is None:
            return None
        session = self.session
        return Progress(
            readers=[Reader(name=job.name, label=job.label) for job in self.jobs],
            display=self.display,
            logs=session.logs,
            storage=session.storage,
            clock=session.clock,
            price_of=session.price_of,
            trouble=session.backend.trouble,
            renew=session.backend.renew,
            notice=self._notice,
            hear=self.guards.hear if self.guards is not None else lambda _name, _events: None,
        )

    def _parting(self) -> str:
        on, are = ("goes on", "is") if len(self.jobs) == 1 else ("go on", "are")
        billed = "" if self.session.emulated else f" and {are} billed"
        if len(self.jobs) > _MOST_NAMED:
            return (
                f"Stopped watching. {len(self.jobs)} jobs {on}{billed}; come back with sm-trn watch, which follows all that run, "
                "or name them: sm-trn list"
            )
        names = " ".join(job.name for job in self.jobs)
        return (
            f"Stopped watching. {names} {on}{billed}; come back with sm-trn watch {names}, "
            f"stop with sm-trn stop {names}"
        )
