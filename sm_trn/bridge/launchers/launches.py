"""What a reading of a launcher gives: launches with their jobs, holes, what was assumed, and what was seen beside them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from ...core.formatting.numbers import counted
from ...core.specs.destination import Destination
from ...core.specs.job import JobSpec
from ...core.specs.json import Json
from ...core.specs.problems import Problem
from .sweeps import Search
from .values import Place, Seen, Unresolved


class Ending(enum.Enum):
    """What becomes of an estimator."""

    JOB = "job"
    LOCAL = "local mode"
    UNUSED = "never started"
    HANDED = "started by another object"
    UNREACHED = "not reached by default"


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherJob:
    """A job of a launch, as a spec, and the request that SDK v2 would send. ``branch`` names the conditions it stands for,
    ``folder`` is where a relative path of its script is meant from. ``search`` is the tuner that starts it, as a sweep."""

    spec: JobSpec
    request: dict[str, Json]
    at: Destination
    branch: tuple[tuple[str, bool], ...] = ()
    wait: bool = True
    problems: tuple[Problem, ...] = ()
    folder: Path | None = None
    search: Search | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """An estimator in a launcher: its class, its place, the jobs it makes, or the holes that keep them from being complete.

    >>> launch = st.read_launchers("launch.py").launches[0]
    >>> launch.cls, launch.jobs[0].spec.compute.instance
    ('PyTorch', 'ml.g5.xlarge')
    """

    place: Place
    cls: str
    ending: Ending
    jobs: tuple[LauncherJob, ...] = ()
    holes: tuple[Unresolved, ...] = ()
    placeholders: tuple[str, ...] = ()
    asked: tuple[Unresolved, ...] = ()  # those of them that are texts which only the user knows
    remarks: tuple[str, ...] = ()
    within: str = ""
    started: Place | None = None

    @property
    def complete(self) -> bool:
        """Whether every job of it is known."""
        return not self.holes


@dataclass(frozen=True, slots=True)
class Assumption:
    """What the reading took for granted, and where: a default of the command line, a file judged by its name."""

    place: Place
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launchers:
    """What is in a launcher's file, read and not run.

    >>> found = st.read_launchers("launch.py")
    >>> len(found.launches), [job.name for job in found.jobs]
    (2, ['bert'])
    """

    file: str
    launches: tuple[Launch, ...] = ()
    seen: tuple[Seen, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    unread: tuple[tuple[Place, str], ...] = ()

    @property
    def jobs(self) -> tuple[JobSpec, ...]:
        """The specs of every job that is complete."""
        return tuple(job.spec for launch in self.launches for job in launch.jobs if launch.complete)

    def __repr__(self) -> str:
        holes = sum(len(launch.holes) for launch in self.launches)
        launches = counted(len(self.launches), "launch", "launches")
        return f"{self.file}: {launches}, {counted(len(self.jobs), 'job')}, {counted(holes, 'hole')}. Read, not run."
