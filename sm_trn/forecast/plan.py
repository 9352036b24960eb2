"""``plan``: the estimate of a job on every machine that it can run on, ranked by time and cost within limits."""

from __future__ import annotations

import fnmatch
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from typing_extensions import Unpack

from ..core.catalog.images import NEURON
from ..core.catalog.instances import find_chip, instances
from ..core.catalog.limits import MAX_RUN_QUOTA_S
from ..core.errors import UnknownName
from ..core.formatting.missing import Missing, no_price_for
from ..core.preflight import check, reading, source
from ..core.pricing.book import PriceBook, snapshot_book
from ..core.pricing.cost import ceiling
from ..core.specs.compute import Accelerator, InstanceType, Spot
from ..core.specs.destination import DEFAULT_REGION
from ..core.specs.framework import HuggingFace, HuggingFaceNeuronX, NeuronX, PyTorch, TorchNeuron
from ..core.specs.job import JobSpec, expect_spec
from ..core.specs.json import Json
from ..core.specs.problems import Severity
from ..core.specs.value import misfit, suggesting
from ..core.strategies.single import SingleProcess
from ..core.strategies.smddp import SMDataParallel
from ..core.strategies.torchrun import TorchDistributed
from ..core.strategies.xla import PyTorchXLA
from .configure import configure, with_batch
from .estimate import Estimate, enough_s, estimate, expect_known, quantiles, span, usd_text
from .facts import Known, MissingFact, facts_of
from .rules import ALL_RULES
from .step import Interval

GOALS = ("cheapest", "fastest")
COUNTS = (1, 2, 4)
SHOWN = 5  # of what was not chosen
OWN = " (the job's own)"
# What a script runs in on the other kind of accelerator: images of the catalogue.
ON_NEURON, HUGGING_FACE_ON_NEURON = NeuronX("2.9.0"), HuggingFaceNeuronX("4.55.4", pytorch="2.8.0")
ON_CUDA = PyTorch("2.13.0", python="py312")
XLA = ("torch_xla", "optimum.neuron", "neuronx_distributed")  # modules of scripts that are written for NeuronCores too


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """``goal`` is ``cheapest`` or ``fastest``. A deadline and a budget hold at the upper end of the 80 % interval.

    >>> st.Limits(deadline_s=3 * 3600, max_usd=50).goal
    'cheapest'
    """

    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType({
        "deadline": "deadline_s=3 * 3600", "budget": "max_usd=…", "usd": "max_usd=…", "hours": "deadline_s=3 * 3600",
    })  # fmt: skip

    goal: str = "cheapest"
    deadline_s: float | None = None
    max_usd: float | None = None

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise ValueError(f"goal: got {self.goal!r}, wanted {' or '.join(GOALS)}")
        for name, value in (("deadline_s", self.deadline_s), ("max_usd", self.max_usd)):
            if value is not None and not value > 0:
                raise ValueError(f"{name}: got {value!r}, wanted more than 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to run the job: a spec ready to submit, and what it is estimated to take."""

    job: JobSpec
    estimate: Estimate

    @property
    def wall_s(self) -> Interval:
        """From submit to end."""
        return self.estimate.wall_s

    @property
    def usd(self) -> Interval:
        """Dollars. Raises ValueError without a price."""
        if self.estimate.usd is None:
            raise ValueError(no_price_for(self.name))
        return self.estimate.usd

    @property
    def name(self) -> str:
        """``ml.p4d.24xlarge × 2 spot``."""
        return named(self.job)

    def beats(self, other: Choice) -> bool:
        """Whether it is no slower and no dearer than the other, and better in one of them."""
        mine, theirs = (self.wall_s.p50, self.usd.p50), (other.wall_s.p50, other.usd.p50)
        return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


@dataclass(frozen=True, slots=True)
class Excluded:
    """A choice that was not taken, and why."""

    name: str
    reason: str
    kind: str
    choice: Choice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Choices that keep every limit, best first by the limits' goal, and those excluded with their reasons.

    Each choice has the global batch of the job.

    >>> found = st.plan(job, only=["ml.trn1.*"], model="gpt2", batch=8, length=512, steps=1000)
    >>> found.best.job.compute.instance
    'ml.trn1.2xlarge'
    """

    job: JobSpec
    limits: Limits
    choices: tuple[Choice, ...]
    excluded: tuple[Excluded, ...]
    global_batch: float
    region: str

    @property
    def best(self) -> Choice:
        """The first. Raises ValueError when nothing keeps the limits."""
        if not self.choices:
            raise ValueError(f"{self.job.name}: no choice keeps the limits; {len(self.excluded)} were looked at")
        return self.choices[0]

    @property
    def front(self) -> tuple[Choice, ...]:
        """Choices that no other one beats in both time and cost."""
        return tuple(each for each in self.choices if not any(other.beats(each) for other in self.choices))

    def to_dict(self) -> dict[str, Json]:
        """The plan as JSON holds it."""
        front, limits = self.front, self.limits
        choices: list[Json] = [
            {
                "instance": each.job.compute.instances[0],
                "count": each.job.compute.hosts,
                "spot": each.job.spot is not None,
                "batch": each.estimate.configuration.micro_batch,
                "accumulation": each.estimate.configuration.micro_steps,
                "wall_s": list(quantiles(each.wall_s)),
                "usd": list(quantiles(each.usd)),
                "max_run_s": each.job.max_run_s,
                "distribution": each.job.distribution.name if each.job.distribution is not None else None,
                "front": each in front,
            }
            for each in self.choices
        ]
        return {
            **asdict(limits),
            "estimated": True,
            "job": self.job.name,
            "region": self.region,
            "global_batch": self.global_batch,
            "choices": choices,
            "excluded": [{"name": each.name, "reason": each.reason, "kind": each.kind} for each in self.excluded],
        }

    def __str__(self) -> str:
        return "\n".join([*_table(self), *_not_chosen(self), "", *_notes(self)])


def named(job: JobSpec) -> str:
    """``ml.p4d.24xlarge × 2 spot``: instances, their number, and how they are paid."""
    return f"{job.compute.instances[0]} × {job.compute.hosts}{' spot' if job.spot is not None else ''}"


def plan(
    job: JobSpec,
    *,
    limits: Limits | None = None,
    only: Sequence[str] = (),
    counts: Sequence[int] = COUNTS,
    prices: PriceBook | None = None,
    region: str = DEFAULT_REGION,
    runs_on_xla: bool = False,
    **known: Unpack[Known],
) -> Plan:
    """Every machine the job could run on, with the batch that is quickest there, ranked; and why each other one is excluded.

    ``only`` are patterns of instance types, ``limits`` the goal, a deadline and a budget. The global batch stays the job's; a job
    whose spot is set is planned with and without it. ``runs_on_xla`` says that the job's own script runs on NeuronCores and on GPUs, as
    a shipped one does and one that names torch_xla. Every choice passes ``check``. Offline. Raises MissingFact as
    ``estimate`` does, and UnknownName where ``only`` names no machine.

    >>> found = st.plan(job, limits=st.Limits(goal="fastest"), only=["ml.trn1.*"], model="gpt2", batch=4, length=512, steps=100)
    >>> [len(found.choices) > 0, found.limits.goal]
    [True, 'fastest']
    """
    expect_spec(job)
    expect_known("plan", known)
    bounds = limits if limits is not None else Limits()
    if not isinstance(bounds, Limits):
        raise TypeError(f"limits: {misfit(bounds, 'Limits(max_usd=…, deadline_s=…)')}")
    book = prices if prices is not None else snapshot_book()
    whole = configure(facts_of(job, known)).configuration.global_batch
    rest: Known = {name: value for name, value in known.items() if name != "batch"}  # type: ignore[assignment]
    ask = functools.partial(estimate, prices=book, region=region, **rest)
    choices: list[Choice] = []
    excluded: list[Excluded] = []
    for place in _places(job, only, counts, runs_on_xla=runs_on_xla):
        result = place if isinstance(place, Excluded) else _at(place, whole, ask)
        if isinstance(result, Excluded):
            excluded.append(result)
        elif bounds.deadline_s is not None and result.wall_s.p90 > bounds.deadline_s:
            late = f"{usd_text(result.usd.p50)}, but {span(result.wall_s.p90)} at the upper end: after the deadline"
            excluded.append(Excluded(result.name, late, "after the deadline", result))
        elif bounds.max_usd is not None and result.usd.p90 > bounds.max_usd:
            dear = f"{span(result.wall_s.p50)}, but {usd_text(result.usd.p90)} at the upper end: over the budget"
            excluded.append(Excluded(result.name, dear, "over the budget", result))
        else:
            choices.append(result)
    if not choices and not excluded:
        raise UnknownName(f"only: got {', '.join(only)}, wanted a pattern of instance types, such as ml.trn1.*")
    choices.sort(key=lambda each: (each.wall_s.p50, each.usd.p50, each.name))
    if bounds.goal == "cheapest":
        choices.sort(key=lambda each: each.usd.p50)
    excluded.sort(key=lambda each: (0, each.choice.usd.p50, each.name) if each.choice else (1, 0.0, each.name))
    return Plan(
        job=job, limits=bounds, choices=tuple(choices), excluded=tuple(excluded), global_batch=whole, region=region
    )


def _places(
    job: JobSpec, only: Sequence[str], counts: Sequence[int], *, runs_on_xla: bool
) -> Iterator[JobSpec | Excluded]:
    """The job on every machine that trains and has an accelerator, in words that fit it; or why it cannot go there."""
    words = reading.words(job)
    portable = runs_on_xla or source.shipped(job) or (words is not None and bool(words.any_of(*XLA)))
    spots: tuple[Spot | None, ...] = (None,) if job.spot is None else (None, job.spot)
    for instance in instances().values():
        if not instance.trains or instance.accelerator is Accelerator.CPU or find_chip(instance.chip) is None:
            continue
        if only and not any(fnmatch.fnmatch(instance.name, pattern) for pattern in only):
            continue
        for count in counts:
            for spot in spots:
                yield _moved(job, instance, count, spot, portable=portable)


def _moved(
    job: JobSpec, instance: InstanceType, count: int, spot: Spot | None, *, portable: bool
) -> JobSpec | Excluded:
    """The job on other machines, with a distribution that starts a worker on each accelerator; or why it cannot go there."""
    compute, neuron = job.compute, instance.accelerator is Accelerator.NEURON
    name = f"{instance.name} × {count}{' spot' if spot is not None else ''}"
    if compute.groups:
        return Excluded(name, "instance groups are not planned", "of another kind")
    free = replace(compute, instance=instance.name, count=count, training_plan=None, placement=None, preferences=())
    there = job.replace(compute=free, spot=spot)
    if neuron != isinstance(job.framework, (NeuronX, HuggingFaceNeuronX, TorchNeuron)):
        if not portable:
            reason = "another kind of accelerator: the job's own script may not run there"
            return Excluded(name, reason, "of another kind")
        hugging = isinstance(job.framework, HuggingFace) and not source.shipped(job)
        framework = (HUGGING_FACE_ON_NEURON if hugging else ON_NEURON) if neuron else ON_CUDA
        there = there.replace(framework=framework, compiler=None, image_uri=None, distribution=TorchDistributed())
        there = there if neuron else there.replace(neuron=None)
    chosen, workers = there.distribution, instance.workers * count
    if workers > 1 and (chosen is None or isinstance(chosen, SingleProcess)):
        return there.replace(distribution=TorchDistributed())
    if workers == 1 and isinstance(chosen, (SMDataParallel, TorchDistributed, PyTorchXLA)) and not job.compiled:
        return there.replace(distribution=SingleProcess())
    if isinstance(chosen, SMDataParallel) and not instance.name.startswith("ml.p4d"):
        return there.replace(distribution=TorchDistributed())
    return there


def _at(place: JobSpec, whole: float, ask: Callable[[JobSpec], Estimate]) -> Choice | Excluded:
    """The quickest form of the job at one place, or why it cannot be there."""
    name = named(place)
    try:
        first = ask(with_batch(place, 1, 1))
    except MissingFact as error:
        kind = "without the precision" if error.fact == "precision" else "not estimated"
        return Excluded(name, error.why, kind)
    c, share = first.configuration, whole / first.configuration.data
    if first.price is None:
        return Excluded(name, f"{Missing.NO_PRICE} in {first.region}", "without a price")
    if share < 1 or share != int(share):
        return Excluded(name, f"global batch {whole:g} does not divide over {c.data} workers", "do not divide")
    if first.bounds_only:
        return Excluded(name, f"no published row for {c.chip.name}", "without a basis")
    if first.largest_batch < 1:
        needs = f"{first.memory.total:.1f} GiB of {first.memory_limit_gib:.1f}"
        return Excluded(name, f"a batch of 1 needs {needs}: does not fit", "do not fit")
    sizes = [size for size in range(min(first.largest_batch, int(share)), 0, -1) if int(share) % size == 0]
    jobs = [with_batch(place, size, int(share) // size) for size in sizes]
    return _quickest([Choice(job=job, estimate=ask(job)) for job in jobs])


def _quickest(tried: Sequence[Choice]) -> Choice | Excluded:
    """The quickest choice that ends in the time of one job and passes ``check``; or why none does."""
    name, refused = tried[0].name, ""
    for each in sorted(tried, key=lambda each: (each.wall_s.p50, -each.estimate.configuration.micro_batch)):
        limit = enough_s(each.estimate.billable_s)
        if limit is None:
            needs = span(each.estimate.billable_s.p90)
            reason = f"takes up to {needs}: SageMaker ends a job after 28 days"
            return Excluded(name, reason, "longer than a job may run")
        choice = _with_time(each, limit)
        problems = check(choice.job, rules=ALL_RULES)
        error = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
        if error is None:
            return choice
        refused = f"{error.id} {error.what}"
    return Excluded(name, f"refused by check: {refused}", "refused by check")


def _with_time(choice: Choice, limit: int) -> Choice:
    """The choice with a ``max_run_s`` of ``limit``; with the job's own where the estimate keeps it and an account grants it."""
    job, spot = choice.job, choice.job.spot
    if choice.estimate.billable_s.p90 <= job.max_run_s <= MAX_RUN_QUOTA_S:
        return choice
    if spot is not None:
        spot = replace(spot, max_wait_s=limit + max(0, spot.max_wait_s - job.max_run_s))
    there = job.replace(max_run_s=limit, spot=spot)
    return Choice(
        job=there, estimate=replace(choice.estimate, job=there, ceiling_usd=ceiling(there, choice.estimate.price))
    )


def _table(p: Plan) -> list[str]:
    """What was looked at, and the choices that no other one beats, best first: time and cost, each with its interval."""
    count, kept = len(p.choices) + len(p.excluded), len(p.choices)
    keep = f"{kept} keep{'s' if kept == 1 else ''} every limit"
    lines = [f"{count} choices, same global batch {p.global_batch:g}. {keep}.  ESTIMATED"]
    if not p.choices:
        return lines
    best, front = p.best, p.front
    wide = max(len(each.name) for each in front)
    head = f"     {'INSTANCES':<{wide}}  {'BATCH':>9}  {'TIME':>7}  {'80 %':<15}  {'USD':>9}  {'80 %':<17}  PRICE OF"
    lines += [
        f"{p.limits.goal.capitalize()}: {best.name}, about {usd_text(best.usd.p50)} in {span(best.wall_s.p50)}.",
        "",
        head,
    ]
    for at, each in enumerate(front, 1):
        c, time, usd, price = each.estimate.configuration, each.wall_s, each.usd, each.estimate.price
        batch = f"{c.micro_batch:g} × {c.micro_steps:g}"
        times, costs = f"{span(time.p10)}-{span(time.p90)}", f"{usd_text(usd.p10)}-{usd_text(usd.p90)}"
        age = "" if price is None else f"{price.as_of}{' i' * price.inferred}"
        left = f"{'→' if at == 1 else ' '} {at:>2} {each.name:<{wide}}  {batch:>9}"
        lines.append(f"{left}  {span(time.p50):>7}  {times:<15}  {usd_text(usd.p50):>9}  {costs:<17}  {age}".rstrip())
    return lines


def _not_chosen(p: Plan) -> list[str]:
    """Choices that another one beats, then those that are excluded; the job's own machine before all."""
    front, own = p.front, named(p.job)
    others = [(each.name, each.reason, each.kind) for each in p.excluded]
    for each in (each for each in reversed(p.choices) if each not in front):
        better = next(at for at, other in enumerate(front, 1) if other.beats(each))
        reason = f"{usd_text(each.usd.p50)} in {span(each.wall_s.p50)}: choice {better} is cheaper and quicker"
        others.insert(0, (each.name, reason, "dearer and slower"))
    others.sort(key=lambda other: other[0] != own)
    lines = ["", "Not chosen"] if others else []
    lines += [f"  {name:<28} {why}{OWN if name == own else ''}" for name, why, _ in others[:SHOWN]]
    kinds = Counter(kind for _, _, kind in others[SHOWN:]).most_common()
    more = f"  {len(others) - SHOWN} more: {', '.join(f'{count} {kind}' for kind, count in kinds)}. --json lists them"
    return [*lines, more] if kinds else lines


def _notes(p: Plan) -> list[str]:
    front, lines = p.front, []
    for at, each in enumerate(front, 1):
        if each.name == named(p.job):
            lines.append(f"Choice {at} is the job's own machine.")
        if each.job.max_run_s != p.job.max_run_s:
            longer = f"max_run_s {each.job.max_run_s:,} s, where the job has {p.job.max_run_s:,} s"
            lines.append(f"Choice {at}: {longer}: what it is estimated to need.")
    dates = sorted({each.estimate.price.as_of for each in p.choices if each.estimate.price is not None})
    if dates:
        mixed = " These are prices of different days; i is inferred." if len(dates) > 1 else ""
        lines.append(
            f"Prices of {', '.join(dates)} in {p.region}.{mixed} Wait for capacity: not known. Spot saving: 50 to 75 % assumed."
        )
    if any(isinstance(each.job.framework, NEURON) for each in p.choices):
        lines.append(
            "Trainium: AWS ended PyTorch/XLA training there (Neuron 2.30, 2026-05-21); images up to 2.29.1 still run (IMG009)."
        )
    return lines
