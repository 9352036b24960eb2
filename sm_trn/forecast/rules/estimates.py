"""EST rules: what the estimate of the job says against it. Warnings alone: an estimate is no measurement, and the job may run.

Where a fact is missing nothing is said: what is missing is asked for by ``sm-trn estimate``, not here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...core.specs.job import JobSpec
from ...core.specs.problems import Advice, Change, Field, Problem, Rule, rules_of
from ...core.strategies.smp import SMModelParallel
from ...core.strategies.smp_v2 import SMModelParallelV2

if TYPE_CHECKING:
    from ..configuration import Configuration
    from ..intervals import Interval

_RULES = rules_of(__package__)
EST001 = _RULES["EST001"]
EST002 = _RULES["EST002"]


def estimated(job: JobSpec) -> Iterator[Problem]:
    """EST001, EST002: the time limit is below the estimate's upper end; the batch is well beyond the largest that should fit.

    Of memory one rule speaks: where no estimate can, that of ``memory.accelerator_memory``.
    """
    from ..jobs.configure import configure, facts_of  # noqa: PLC0415 - its tables load when a job is checked, not before
    from ..jobs.estimate import billable  # noqa: PLC0415
    from ..jobs.facts import MissingFact  # noqa: PLC0415
    from ..memory import largest_batch  # noqa: PLC0415
    from .memory import accelerator_memory  # noqa: PLC0415

    if isinstance(job.distribution, (SMModelParallel, SMModelParallelV2)):
        return  # the library partitions the model by itself
    facts = facts_of(job, {})
    try:
        facts.batch()  # what most jobs leave to their script, and the quickest to miss
        configured = configure(facts)
    except MissingFact:
        yield from accelerator_memory(job)
        return
    c = configured.configuration
    if c.images and configured.may is not None:
        c = configured.may  # as small as images may be
    most = largest_batch(c)
    yield from _memory(EST002, job, c, most)
    if c.micro_batch > most:
        return
    try:
        seconds = billable(facts, configured)
    except MissingFact:
        return
    if seconds is not None and seconds.p90 > job.max_run_s:
        yield _too_short(EST001, job, seconds)


def _memory(rule: Rule, job: JobSpec, c: Configuration, most: int) -> Iterator[Problem]:
    """MEM001 where what the job keeps of its model is too large by itself; ``rule`` where its batch makes it so."""
    from ..memory import surely_too_large  # noqa: PLC0415 - as above
    from .memory import accelerator_memory, beyond_estimates, script_decides  # noqa: PLC0415

    if not most or beyond_estimates(job):
        refused = list(accelerator_memory(job))
        yield from refused
        if refused or beyond_estimates(job):
            return
    unsure = script_decides(job)
    if surely_too_large(c) and (unsure is not None or not most):
        yield _too_large(rule, job, c, most, unsure or "")


def _too_short(rule: Rule, job: JobSpec, seconds: Interval) -> Problem:
    from ..jobs.value import TOO_LONG, enough_s, span  # noqa: PLC0415 - as above

    limit = enough_s(seconds)
    return rule.problem(
        Field("max_run_s"),
        f"the job is estimated to take {span(seconds.p50)}, up to {span(seconds.p90)}",
        got=f"{job.max_run_s:_} s",
        wanted=f"at least {math.ceil(seconds.p90):_} s",
        fix=Advice(TOO_LONG) if limit is None else Change(max_run_s=limit),
    )


def _too_large(rule: Rule, job: JobSpec, c: Configuration, most: int, unsure: str) -> Problem:
    from ..jobs.configure import batch_name  # noqa: PLC0415 - as above
    from ..memory import memory as needed  # noqa: PLC0415
    from ..memory import usable_gib  # noqa: PLC0415

    name = batch_name(job)
    fits: Change | Advice = Change(**{name: most}) if name else Advice(f"a batch of {most} in the script")
    return rule.problem(
        Field(f"hyperparameters.{name}" if name else "script"),
        f"a batch of {c.micro_batch:g} is estimated to need {needed(c).total:.1f} GiB of one worker's memory",
        consequence=f"cannot tell whether the script shards or shrinks what it keeps: {unsure}" if unsure else "",
        got=f"{c.micro_batch:g}",
        wanted=f"about {most}, which fits {usable_gib(c):.1f} GiB on {job.compute.instances[0]}"
        if most
        else f"at most {usable_gib(c):.1f} GiB on {job.compute.instances[0]}",
        fix=fits if most else Advice("16-bit weights, quantised weights, a shorter length, or a larger instance"),
    )


RULES = (estimated,)
