"""TUNE rules: what is wrong with a sweep, beside what is wrong with its jobs. Starts nothing, and asks no account."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

from ..core import preflight
from ..core.preflight.modelled import faults
from ..core.specs.destination import Destination
from ..core.specs.job import HyperValue, JobSpec
from ..core.specs.problems import Advice, Change, Field, Problem, Problems, Severity, rules_of
from ..core.specs.tuning import Categorical, Sweep
from ..core.specs.value import suggestion
from .request import lost_members, tuning_request

_RULES: Final = rules_of(__package__)
REQUEST: Final = "CreateHyperParameterTuningJobRequest"


def check_sweep(
    sweep: Sweep,
    *,
    today: date | None = None,
    rules: Sequence[preflight.JobRule] = preflight.RULES,
) -> Problems:
    """Every problem of a sweep, errors first: those of its jobs at both ends of the space, and its own."""
    problems = [problem for job in corners(sweep) for problem in preflight.check(job, today=today, rules=rules)]
    problems += _of_the_search(sweep)
    if not any(problem.severity is Severity.ERROR for problem in problems):
        problems += _of_the_request(sweep)
    problems += _objective(sweep)
    return Problems(sorted(dict.fromkeys(problems), key=lambda problem: problem.severity.rank))


def corners(sweep: Sweep) -> tuple[JobSpec, ...]:
    """The job with the first or least, and with the last or greatest, value of every hyperparameter that is tuned, on each cluster."""
    clusters = sweep.clusters or (sweep.job.compute,)
    return tuple(_corner(sweep, at).replace(compute=cluster) for cluster in clusters for at in (0, -1))


def _corner(sweep: Sweep, at: int) -> JobSpec:
    values: dict[str, HyperValue] = {}
    for name, each in sweep.space.items():
        values[name] = each.values[at] if isinstance(each, Categorical) else (each.low, each.high)[at]
    hyperparameters = {**sweep.job.hyperparameters, **values}
    return sweep.job.replace(hyperparameters=hyperparameters, metrics=sweep.rules)


def _of_the_search(sweep: Sweep) -> Iterator[Problem]:
    job = sweep.job
    if job.queue is not None:
        yield _RULES["TUNE005"].problem(
            Field("queue"),
            "a tuning job starts its training jobs itself",
            got=f"the queue {job.queue.name!r}",
            wanted="no queue",
            fix=Change(queue=None),
        )
    if job.checkpoints is not None:
        yield _RULES["TUNE006"].problem(
            Field("checkpoint"),
            "all training jobs are asked to keep checkpoints in one place",
            got=job.checkpoints.s3_uri,
            consequence="unknown: whether each training job gets a folder of its own there",
            fix=Advice("let the script keep them below the name of its job, the variable TRAINING_JOB_NAME"),
        )
    for name in sweep.keep_static:
        if name not in job.arguments or name in sweep.space:
            yield _RULES["TUNE007"].problem(
                Field("keep_static"),
                "a hyperparameter to keep must be one of the job's own, without a range",
                got=repr(name),
                wanted=f"one of {', '.join(sorted(job.arguments.keys() - sweep.space.keys())) or 'none'}",
                fix=Advice(f"correct the name{suggestion(name, job.arguments)}"),
            )


def _of_the_request(sweep: Sweep) -> Iterator[Problem]:
    at = Destination(job_name="a-tuning-job")
    for member in lost_members(sweep, at):
        yield _RULES["TUNE003"].problem(
            Field("job"),
            f"the training jobs of a tuning job have no {member}",
            got=member,
            wanted="a job without it",
            fix=Advice("leave it out of the job, or start the jobs of a grid: st.grid(job, …)"),
        )
    for where, got, wanted in faults(REQUEST, tuning_request(sweep, at)):
        yield _RULES["TUNE004"].problem(
            Field("sweep"),
            f"the service refuses {where.lstrip('/')}",
            got=got,
            wanted=wanted,
            fix=Advice("choose a value within these limits"),
        )


def _objective(sweep: Sweep) -> Iterator[Problem]:
    """TUNE001. An image's own program has its own metrics."""
    name = sweep.objective.name
    rules = [rule for rule in sweep.rules if rule.name == name]
    if not rules and sweep.job.script is not None:
        known = [rule.name for rule in sweep.rules]
        yield _RULES["TUNE001"].problem(
            Field("objective.metric"),
            "no metric of the job has this name",
            got=repr(name),
            wanted=f"one of {', '.join(known) or 'none'}, or a rule of its own",
            fix=Advice(f"Objective(MetricRule({name!r}, r'…'), …){suggestion(name, known)}"),
        )
