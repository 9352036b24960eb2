"""One process per host: what runs when no distribution is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..catalog import find_instance
from ..specs import JobSpec, LaunchPlan, Problem, Runner, Severity


@dataclass(frozen=True, slots=True)
class SingleProcess:
    """``python train.py`` on every host. More than one host, or accelerators left idle, is worth a warning."""

    name: ClassVar[str] = "single"
    image_family: ClassVar[str | None] = None

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        instance = find_instance(job.compute.instance)
        workers = instance.workers if instance else 1
        if job.compute.count > 1:
            yield Problem(
                id="DIST008",
                severity=Severity.WARNING,
                where="distribution",
                what="every host would train a model of its own",
                got=f"no distribution on {job.compute.count} instances",
                wanted="a distribution, or one instance",
                fix="distribution=TorchDistributed(), or count=1",
            )
        elif workers > 1:
            yield Problem(
                id="DIST009",
                severity=Severity.WARNING,
                where="distribution",
                what=f"one process uses one of {workers} workers of {job.compute.instance!r}, unless the script starts more",
                got="no distribution",
                wanted="a distribution that starts one worker each",
                fix="distribution=TorchDistributed()",
            )

    @classmethod
    def recognise(cls, sent: Mapping[str, Any]) -> SingleProcess | None:
        del sent
        return None  # it writes nothing; a job without any strategy is the same

    def plan(self, job: JobSpec) -> LaunchPlan:
        del job
        return LaunchPlan(runner=Runner.PYTHON, workers_per_host=1)
