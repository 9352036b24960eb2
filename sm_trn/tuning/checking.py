"""TUNE rules: what is wrong with a sweep, beside what is wrong with its jobs. Starts nothing, and asks no account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Final

from ..core import preflight
from ..core.logs.rules import RuleReader
from ..core.preflight.modelled import faults
from ..core.specs.destination import Destination
from ..core.specs.job import HyperValue, JobSpec
from ..core.specs.metrics import MetricRule
from ..core.specs.problems import Advice, Change, Field, Problem, Problems, Severity, rules_of
from ..core.specs.tuning import Categorical, Sweep
from ..core.specs.value import suggestion
from .printed import printed
from .request import lost_members, tuning_request

_RULES: Final = rules_of(__package__)
TUNE001 = _RULES["TUNE001"]
TUNE002 = _RULES["TUNE002"]
TUNE003 = _RULES["TUNE003"]
TUNE004 = _RULES["TUNE004"]
TUNE005 = _RULES["TUNE005"]
TUNE006 = _RULES["TUNE006"]
TUNE007 = _RULES["TUNE007"]
REQUEST: Final = "CreateHyperParameterTuningJobRequest"
SHOWN: Final = 60  # characters of a line or of an expression


def check_sweep(
    sweep: Sweep,
    *,
    today: date | None = None,
    rules: Sequence[preflight.JobRule] = preflight.RULES,
) -> Problems:
    """Every problem of a sweep, errors first: those of its jobs at both ends of the space, and its own.

    The objective's expression is tried on the lines that the script's text shows.
    """
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
        yield TUNE005.problem(
            Field("queue"),
            "a tuning job starts its training jobs itself",
            got=f"the queue {job.queue.name!r}",
            wanted="no queue",
            fix=Change(queue=None),
        )
    if job.checkpoints is not None:
        yield TUNE006.problem(
            Field("checkpoint"),
            "all training jobs are asked to keep checkpoints in one place",
            got=job.checkpoints.s3_uri,
            consequence="unknown: whether each training job gets a folder of its own there",
            fix=Advice("let the script keep them below the name of its job, the variable TRAINING_JOB_NAME"),
        )
    for name in sweep.keep_static:
        if name not in job.arguments or name in sweep.space:
            yield TUNE007.problem(
                Field("keep_static"),
                "a hyperparameter to keep must be one of the job's own, without a range",
                got=repr(name),
                wanted=f"one of {', '.join(sorted(job.arguments.keys() - sweep.space.keys())) or 'none'}",
                fix=Advice(f"correct the name{suggestion(name, job.arguments)}"),
            )


def _of_the_request(sweep: Sweep) -> Iterator[Problem]:
    at = Destination(job_name="a-tuning-job")
    for member in lost_members(sweep, at):
        yield TUNE003.problem(
            Field("job"),
            f"the training jobs of a tuning job have no {member}",
            got=member,
            wanted="a job without it",
            fix=Advice("leave it out of the job, or start the jobs of a grid: st.grid(job, …)"),
        )
    for where, got, wanted in faults(REQUEST, tuning_request(sweep, at)):
        yield TUNE004.problem(
            Field("sweep"),
            f"the service refuses {where.lstrip('/')}",
            got=got,
            wanted=wanted,
            fix=Advice("choose a value within these limits"),
        )


def _objective(sweep: Sweep) -> Iterator[Problem]:
    """TUNE001 and TUNE002. An image's own program has its own metrics, and its lines are not known."""
    name = sweep.objective.name
    rules = [rule for rule in sweep.rules if rule.name == name]
    if not rules and sweep.job.script is not None:
        known = [rule.name for rule in sweep.rules]
        yield TUNE001.problem(
            Field("objective.metric"),
            "no metric of the job has this name",
            got=repr(name),
            wanted=f"one of {', '.join(known) or 'none'}, or a rule of its own",
            fix=Advice(f"Objective(MetricRule({name!r}, r'…'), …){suggestion(name, known)}"),
        )
    for rule in rules:
        yield from _tried(sweep, rule)


def _tried(sweep: Sweep, rule: MetricRule) -> Iterator[Problem]:
    """What became of the expression on the lines that are known."""
    shown = printed(sweep.job)
    if shown is None or _matches(rule, shown.lines):
        return
    if shown.whole:
        example = next((line[:SHOWN] for line in shown.lines if rule.name.split("_")[-1] in line), "")
        yield TUNE002.problem(
            Field("objective.metric"),
            f"none of the {len(shown.lines) // 2} lines that the script prints matches its expression",
            got=repr(rule.regex[:SHOWN]),
            wanted=f"an expression for a line such as {example!r}" if example else "an expression that a line matches",
            consequence="training jobs would end without a value, and be billed",
            fix=Advice("sm-trn logs JOB --suggest offers expressions for a log's own lines"),
        )
        return
    yield TUNE002.problem(
        Field("objective.metric"),
        "no line in the script's own text matches its expression",
        got=repr(rule.regex[:SHOWN]),
        consequence="unknown: whether a line that libraries print, or that the script puts together, matches",
        fix=Advice("rehearse the job once, and see whether job.metrics() has it"),
        severity=Severity.INFO,
    )


def _matches(rule: MetricRule, lines: Iterable[str]) -> bool:
    reader = RuleReader([rule])
    return any(rule.name in reader.values(line) for line in lines)
