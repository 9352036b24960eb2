"""Plans: the machines, batches and prices that a job can have, which of them keep the limits, and which is best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from typing_extensions import Unpack

from ...core.catalog.limits import MAX_RUN_QUOTA_S
from ...core.errors import UnknownName
from ...core.formatting.missing import Missing
from ...core.preflight import check
from ...core.pricing.book import PriceBook, snapshot_book
from ...core.pricing.cost import ceiling
from ...core.specs.compute import Spot
from ...core.specs.destination import DEFAULT_REGION
from ...core.specs.job import JobSpec, expect_spec
from ...core.specs.problems import Severity
from ...core.specs.value import misfit
from ..jobs.calibration import Calibration
from ..jobs.configure import configure, facts_of
from ..jobs.estimate import estimate, expect_known
from ..jobs.facts import Known, MissingFact
from ..jobs.value import Estimate, enough_s, span
from ..rules import ALL_RULES
from . import grid
from .limits import Limits
from .value import Choice, Excluded, Plan, named, ordered

GOALS = ("cheapest", "fastest")


def plan(  # noqa: PLR0913 - what is asked, what is known, and of which machines
    job: JobSpec,
    *,
    limits: Limits | None = None,
    only: Sequence[str] = (),
    counts: Sequence[int] = grid.COUNTS,
    prices: PriceBook | None = None,
    region: str = DEFAULT_REGION,
    calibration: Calibration | None = None,
    runs_on_xla: bool = False,
    **known: Unpack[Known],
) -> Plan:
    """Every machine the job could run on, with the batch that is quickest there, ranked; and why each other one is excluded.

    ``only`` are patterns of instance types, ``limits`` the goal, a deadline and a budget. The global batch stays the job's; a job
    whose spot is set is planned with and without it. ``runs_on_xla`` says that the job's own script runs on NeuronCores and on GPUs, as
    a shipped one does and one that names torch_xla. Every choice passes ``check``. Offline. Raises MissingFact as
    ``estimate`` does, and UnknownName where ``only`` names no machine.

    >>> found = st.plan(job, limits=st.Limits(goal="fastest"), only=["ml.trn1.*"], model="gpt2", batch=4, length=512, steps=100)
    >>> [len(found.choices) > 0, found.goal]
    [True, 'fastest']
    """
    expect_spec(job)
    expect_known("plan", known)
    bounds = limits if limits is not None else Limits()
    if not isinstance(bounds, Limits):
        raise TypeError(f"limits: {misfit(bounds, 'Limits(max_usd=…, deadline_s=…)')}")
    book = prices if prices is not None else snapshot_book()
    whole = configure(facts_of(job, known)).configuration.global_batch
    spots: tuple[Spot | None, ...] = (None,) if job.spot is None else (None, job.spot)
    choices: list[Choice] = []
    excluded: list[Excluded] = []
    looked = 0
    rest: Known = {name: value for name, value in known.items() if name != "batch"}  # type: ignore[assignment]
    asked = _Asked(book, region, calibration, rest, runs_on_xla)
    for place in grid.places(only, counts, spots):
        looked += 1
        found = _at(job, place, whole, asked)
        out = bounds.against(found) if isinstance(found, Choice) else found
        if isinstance(out, Excluded):
            excluded.append(out)
        else:
            choices.append(out)
    if not looked:
        raise UnknownName(f"only: got {', '.join(only)}, wanted a pattern of instance types, such as ml.trn1.*")
    return Plan(
        job=job,
        goal=bounds.goal,
        choices=ordered(choices, bounds.goal),
        excluded=tuple(sorted(excluded, key=_gravity)),
        global_batch=whole,
        region=region,
        deadline_s=bounds.deadline_s,
        max_usd=bounds.max_usd,
        at=bounds.at,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What every estimate of a plan shares. ``known`` has no batch: each choice has one in its hyperparameters."""

    book: PriceBook
    region: str
    calibration: Calibration | None
    known: Known
    runs_on_xla: bool

    def choice(self, job: JobSpec) -> Choice:
        found = estimate(job, prices=self.book, region=self.region, calibration=self.calibration, **self.known)
        return Choice(job=job, estimate=found)


def _at(job: JobSpec, place: grid.Place, whole: float, asked: _Asked) -> Choice | Excluded:
    """The quickest form of the job at one place, or why it cannot be there."""
    there = grid.moved(job, place, runs_on_xla=asked.runs_on_xla)
    if isinstance(there, str):
        return Excluded(place.name, there, "of another kind")
    if asked.book.of(there.compute.machines, asked.region) is None:
        return Excluded(place.name, f"{Missing.NO_PRICE} in {asked.region}", "without a price")
    try:
        first = asked.choice(next(grid.batches(there, 1, 1, 1))).estimate
    except MissingFact as error:
        kind = "without the precision" if error.fact == "precision" else "not estimated"
        return Excluded(place.name, error.why, kind)
    no = _impossible(first, whole)
    if no is not None:
        return Excluded(place.name, *no)
    tried = [asked.choice(each) for each in grid.batches(there, whole, first.configuration.data, first.largest_batch)]
    return _quickest(place.name, tried)


def _quickest(name: str, tried: Sequence[Choice]) -> Choice | Excluded:
    """The quickest choice that ends in the time of one job and passes ``check``; or why none does."""
    refused = ""
    for each in sorted(tried, key=lambda each: (each.wall_s.p50, -each.estimate.configuration.micro_batch)):
        limit = enough_s(each.estimate.billable_s)
        if limit is None:
            needs = span(each.estimate.billable_s.p90)
            return Excluded(
                name, f"takes up to {needs}: SageMaker ends a job after 28 days", "longer than a job may run"
            )
        choice = _with_time(each, limit)
        refused = next(_errors(choice.job), "")
        if not refused:
            return choice
    return Excluded(name, f"refused by check: {refused}", "refused by check")


def _with_time(choice: Choice, limit: int) -> Choice:
    """The choice with a ``max_run_s`` of ``limit``; with the job's own where the estimate keeps it and an account grants it."""
    found, job = choice.estimate, choice.job
    if found.billable_s.p90 <= job.max_run_s <= MAX_RUN_QUOTA_S:
        return choice
    spot = job.spot
    if spot is not None:
        spot = replace(spot, max_wait_s=limit + max(0, spot.max_wait_s - job.max_run_s))
    there = job.replace(max_run_s=limit, spot=spot)
    return Choice(job=there, estimate=replace(found, job=there, ceiling_usd=ceiling(there, found.price)))


def _impossible(first: Estimate, whole: float) -> tuple[str, str] | None:
    """Why no batch is possible at all, by the estimate of a batch of one; with the kind of reason."""
    c = first.configuration
    share = whole / c.data
    if share < 1 or share != int(share):
        return f"global batch {whole:g} does not divide over {c.data} workers", "do not divide"
    if first.step_s is None:
        return f"no published row for {c.chip.name}: bounds only", "without a basis"
    if first.largest_batch < 1:
        needs = f"{first.memory.total:.1f} GiB of {first.memory_limit_gib:.1f}"
        return f"a batch of 1 needs {needs}: does not fit", "do not fit"
    return None


def _errors(job: JobSpec) -> Iterator[str]:
    return (f"{each.id} {each.what}" for each in check(job, rules=ALL_RULES) if each.severity is Severity.ERROR)


def _gravity(each: Excluded) -> tuple[int, float, str]:
    """Those that nearly made it first: beyond a limit, then by cost."""
    return (0, each.choice.usd.p50, each.name) if each.choice is not None else (1, 0.0, each.name)


__all__ = ["GOALS", "Choice", "Excluded", "Limits", "Plan", "named", "plan", "span"]
