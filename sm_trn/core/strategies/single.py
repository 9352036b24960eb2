"""One process per host: what runs when no distribution is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import LaunchPlan, Runner
from ..specs.problems import Problem
from ..specs.value import suggesting


@suggesting
@dataclass(frozen=True, slots=True)
class SingleProcess:
    """``python train.py`` on every host.

    >>> st.specs.SingleProcess().name
    'single'
    """

    name: ClassVar[str] = "single"
    image_family: ClassVar[str | None] = None

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        """None of its own: whether more workers are wanted depends on the source, which preflight reads."""
        del job
        yield from ()

    @classmethod
    def recognise(cls, sent: Mapping[str, Json]) -> SingleProcess | None:
        del sent
        return None  # it writes nothing; a job without any strategy is the same

    def plan(self, job: JobSpec) -> LaunchPlan:
        del job
        return LaunchPlan(runner=Runner.PYTHON, workers_per_host=1)
