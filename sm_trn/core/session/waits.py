"""One wait: the poller, who sees its looks, and the budget that it keeps."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Protocol, TypeVar

from ..errors import CloudError
from ..ports import Backend, Trouble
from ..specs.job import JobSpec
from ..specs.snapshot import JobSnapshot, JobStatus
from ..specs.units import Usd
from .budget import Budget
from .cloud import Cloud
from .details import each
from .observers import Notify, Observer, Watched
from .pace import EMULATED_PAUSE_S, FIRST_PAUSE_S, LONGEST_PAUSE_S
from .poller import Poller


class Ending(Protocol):
    """A snapshot that may be the last."""

    @property
    def terminal(self) -> bool: ...


T = TypeVar("T", bound=Ending)


def looks(cloud: Cloud, snapshot: Callable[[], T]) -> Iterator[T]:
    """Snapshots until one is the last, one for each look. A throttle or a lost connection does not end it.

    Raises CloudError for what does not pass by itself.
    """
    attempt = 0
    while True:
        try:
            now = snapshot()
        except CloudError as error:
            if cloud.backend.trouble(error) not in {Trouble.TRANSIENT, Trouble.EXPIRED}:
                raise
            cloud.backend.renew()
        else:
            yield now
            if now.terminal:
                return
        attempt += 1
        cloud.clock.sleep(EMULATED_PAUSE_S if cloud.emulated else min(LONGEST_PAUSE_S, FIRST_PAUSE_S + attempt))


_MOST_NAMED = 4  # jobs, in the words of who stops watching


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


def poller_for(session: Cloud, jobs: tuple[Watched, ...], notice: Notify, *, detailed: bool = False) -> Poller:
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
    """Waits for ``jobs``. ``observers`` see each look, in their order.

    ``notify`` is called with one-line messages for the user; without it the observers note them.
    """

    session: Cloud
    jobs: tuple[Watched, ...]
    notify: Notify | None = None
    observers: Sequence[Observer] = field(default=())

    def run(self, *, max_usd: Usd | None = None, usd_per_hour: Usd | None = None) -> list[JobSnapshot]:
        """Until all have ended. Raises CloudError at the end, when all are told, for jobs that ``max_usd`` could not stop."""
        budget = self._budget(max_usd, usd_per_hour)
        poller = poller_for(self.session, self.jobs, self._notice, detailed=budget is not None)
        known: dict[str, JobSnapshot] = {}
        parting = ""
        try:
            for known in poller.sweeps([job.name for job in self.jobs]):
                if budget is not None:
                    budget.guard(poller.known.values(), poller.service_now())
                    for name, error in budget.refused.items():
                        if self.session.backend.trouble(error) is None:  # asking again is not likely to help
                            budget.say(f"{name} could not be asked to stop; it runs on, and is billed: {error}")
                for observer in self.observers:
                    observer.look(known, poller.service_now(), self._notice, answering=not poller.failing)
            for observer in self.observers:
                observer.finish(known, poller.service_now(), self._notice)
        except KeyboardInterrupt:
            parting = self._parting()
            raise
        finally:
            for observer in self.observers:
                observer.close("" if self.notify else parting)
            if self.notify is not None and parting:
                self.notify(parting)
        failure = None if budget is None else budget.failure()
        if failure is not None:
            raise failure
        return [known[job.name] for job in self.jobs]

    def _notice(self, text: str) -> None:
        if self.notify is not None:
            self.notify(text)
            return
        for observer in self.observers:
            observer.note(text, datetime.fromtimestamp(self.session.clock.now(), tz=timezone.utc))

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


def stop_one(backend: Backend, name: str) -> bool:
    """Ask a job to stop, and return whether it was asked. A job that has ended, or is being stopped, is left alone."""
    try:
        backend.stop_job(name)
    except CloudError as error:
        if error.code != "ValidationException":
            raise
        now = backend.fetch_snapshot(name)  # it may have ended while we asked; raises for a job that never was
        if now.terminal or now.status is JobStatus.STOPPING:
            return False
        raise
    return True


def stop_each(backend: Backend, names: Iterable[str]) -> set[str]:
    """Ask every job to stop; the names of those that were asked. One that cannot be asked keeps no other one running: what
    failed is raised as one CloudError when all were asked.
    """

    def ask(name: str) -> tuple[str, bool, CloudError | None]:
        try:
            return name, stop_one(backend, name), None
        except CloudError as error:
            return name, False, error

    outcomes = each(ask, dict.fromkeys(names))
    failed = [(name, error) for name, _, error in outcomes if error is not None]
    if len(outcomes) == 1 and failed:
        raise failed[0][1]
    if failed:
        lines = [f"  {name} runs on, as far as is known: {error}" for name, error in failed]
        raise CloudError(
            "\n".join([f"{len(failed)} of {len(outcomes)} jobs could not be asked to stop", *lines]),
            operation="StopTrainingJob",
            code=failed[0][1].code,
        ) from failed[0][1]
    return {name for name, asked, _ in outcomes if asked}
