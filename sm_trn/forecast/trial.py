"""A trial: the first steps of a job on its own machines, which measure what an estimate assumes."""

from __future__ import annotations

from ..core.errors import SmTrnError
from ..core.session.handles import TrainingJob
from ..core.specs.job import JobSpec
from ..core.specs.snapshot import JobStatus
from .jobs.configure import configure, facts_of
from .jobs.facts import Known
from .jobs.measured import step_times

STEPS = 50
MAX_RUN_S = 3600  # image, download and the first compilation on Trainium take most of it
_NAME = "trial-"


def trial_spec(job: JobSpec, max_run_s: int = MAX_RUN_S) -> JobSpec:
    """The job as a trial: on demand, limited to ``max_run_s``, and without its checkpoints, which it must neither read nor write."""
    return job.replace(
        name=f"{_NAME}{job.name}",
        spot=None,
        checkpoint=None,
        max_run_s=min(job.max_run_s, max_run_s),
    )


def measure_steps(trial: TrainingJob, job: JobSpec, known: Known, *, steps: int = STEPS) -> None:
    """Wait until the trial of ``job`` has timed ``steps`` steps, then stop it. A trial that ends before is not stopped.

    The trial is stopped too when something interrupts this process, Ctrl-C among it. Raises JobFailed when it failed, MissingFact as
    ``estimate`` does, SmTrnError for an emulated job.
    """
    if trial.session.emulated:
        raise SmTrnError(f"{trial.name}: got an emulated job, wanted one on AWS: its speed would be this machine's")
    batch = configure(facts_of(job, known)).average.global_batch
    try:
        for now in trial.watch():
            if now.terminal or now.secondary != "Training":
                continue
            times = step_times(trial.logs(), batch=batch, rules=job.metrics)
            if times is not None and times.steps >= steps:
                break
    finally:
        if not trial.snapshot().terminal:
            trial.stop()
    final = trial.snapshot()
    if final.status is JobStatus.FAILED:
        trial.wait(progress=False)
