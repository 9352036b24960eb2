"""The first steps of a new project, on the emulator: a few rows, a tiny model of the same architecture, a few steps."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import NotConfigured
from ..core.session.handles import Session
from ..core.specs.compute import Compute
from ..core.specs.job import HyperValue, JobSpec
from ..core.specs.snapshot import JobStatus
from . import reading, tiny
from .value import Project

CHANNEL = "model"
MODEL_PLACE = f"/opt/ml/input/data/{CHANNEL}"
ROWS = 64
LENGTH = 16  # tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSteps:
    """What happened: the emulated job, its losses in order, what was trained; ``failure`` is empty where it completed."""

    name: str
    model: str
    losses: tuple[float, ...]
    failure: str = ""

    @property
    def completed(self) -> bool:
        """Whether the job ended well."""
        return not self.failure

    def __str__(self) -> str:
        if self.failure:
            lines = [line for line in self.failure.split("\n") if not line.startswith(("ExitCode", "Command"))]
            return f"EMULATED {self.name} failed on {self.model}: {' '.join(lines)}"
        losses = f"loss {self.losses[0]:.3g} → {self.losses[-1]:.3g}" if len(self.losses) > 1 else "completed"
        return f"EMULATED {self.name} completed on this machine: {self.model}, {losses}"


def take(project: Project, job: JobSpec, session: Session) -> FirstSteps:
    """Run the job's first steps on the emulator of ``session``. Raises NotConfigured where no tiny model is known."""
    with tempfile.TemporaryDirectory(prefix="sm-trn-first-steps-") as folder:
        small, model = shrunk(project, job, Path(folder))
        run = session.submit(small)
        snapshot = session.wait([run], progress=False)[0]
    reason = (snapshot.failure_reason or snapshot.status_word).strip()
    failure = "" if snapshot.status is JobStatus.COMPLETED else reason
    losses = tuple(point.value for point in run.points() if point.name == "loss")
    return FirstSteps(name=run.name, model=model, losses=losses, failure=failure)


def shrunk(project: Project, job: JobSpec, folder: Path) -> tuple[JobSpec, str]:
    """The job with a few rows of its data and, where its model is public, a tiny one; and what it then trains, in words.

    Raises NotConfigured.
    """
    template, data = project.template, Path(project.asked.data)
    own = project.asked.script is not None
    if reading.in_s3(project.asked.data):
        raise NotConfigured("first steps: the data lies in S3; name some of it on this machine in --data to try them")
    rows = data if own and data.is_dir() else reading.few(data, folder / "train", ROWS)
    inputs = {"train": str(rows)}
    given: dict[str, HyperValue] = {**job.hyperparameters}
    model = "your script as it is"
    if not own:
        model = f"{template.script} with {ROWS} rows"
        given |= template.few
        given.pop("bf16", None)
        if template.length_argument and template.length_argument not in template.few:
            given[template.length_argument] = min(LENGTH, int(given[template.length_argument]))
    if template.head:
        architecture = tiny.model_type(str(given[template.model_argument]), template.head)
        weights = tiny.make(architecture, template, folder / CHANNEL)
        given[template.model_argument] = MODEL_PLACE
        inputs[CHANNEL] = str(folder / CHANNEL)
        model = f"a {architecture} of {weights:,} weights, {ROWS} rows"
    small = job.replace(
        name=f"{job.name[:30]}-first-steps",
        inputs=inputs,
        hyperparameters=given,
        compute=Compute(job.compute.instance),
        distribution=None,
        max_run_s=min(job.max_run_s, 1800),
    )
    return small, model
