"""``estimate``: what a job will take and cost, before it is paid for."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from ...core.errors import SmTrnError
from ...core.pricing.book import PriceBook, snapshot_book
from ...core.pricing.cost import ceiling
from ...core.specs.destination import DEFAULT_REGION
from ...core.specs.job import JobSpec, expect_spec
from ...core.specs.value import suggestion
from ..configuration import Configuration, Sharding
from ..intervals import Interval, around, exactly, support_width
from ..memory import largest_batch, memory, surely_too_large, usable_gib
from ..rates import method_doubt, methods_of, shipped, support_key, supported
from ..step import StepParts, host_seconds, step_parts
from ..work import fastest_seconds, model_flop, work_of
from .calibration import Calibration, calibration_key, step_key
from .configure import Configured, configure, facts_of
from .data import steps_of
from .facts import COUNTS, KNOWN, Facts, Known, MissingFact
from .phases import assumed_of, billed, phases
from .value import Basis, Estimate

if TYPE_CHECKING:
    from ...core.logs.saved import SavedLog
    from ...core.session.handles import TrainingJob

WITHOUT_BASIS = ("trainium2", "kepler", "blackwell")  # generations of which no row is known, nor of one like them


def estimate(
    job: JobSpec,
    *,
    prices: PriceBook | None = None,
    region: str = DEFAULT_REGION,
    calibration: Calibration | None = None,
    measured: SavedLog | TrainingJob | None = None,
    **known: Unpack[Known],
) -> Estimate:
    """What the job will take: memory, seconds of a step, phases, billable seconds and cost, as intervals with their basis.

    Offline. What neither the spec nor ``known`` says is asked for by name: MissingFact. Raises TypeError for what is no spec, and for a
    fact that nobody knows. ``known``: examples, tokens, data, length, batch, epochs, steps, model, precision.

    ``measured`` is a log of this very job, or a job on AWS that ran its first steps: its seconds of a step stand instead of the
    estimated ones. Raises SmTrnError for an emulated job, and for a log that tells no step.

    >>> found = st.estimate(job, model="bert-base-uncased", batch=16, length=128, examples=25_000, epochs=2)
    >>> found.steps, found.step_s.p10 < found.step_s.p90
    (98.0, True)
    """
    expect_spec(job)
    expect_known("estimate", known)
    if measured is not None:
        calibration = calibration_from(measured, job, calibration, **known)
    facts = facts_of(job, known)
    return estimate_of(facts, configure(facts), prices=prices, region=region, calibration=calibration)


_LIMITS = {"deadline", "deadline_s", "max_usd", "budget", "goal"}


def expect_known(function: str, known: Mapping[str, object]) -> None:
    """Raise TypeError where a function was told a word that it does not know, or no number where one is wanted."""
    for name, value in known.items():
        if name not in KNOWN:
            of_plans = "; a deadline or a budget is said by limits=st.Limits(…) of st.plan" if name in _LIMITS else ""
            hint = of_plans or suggestion(name, KNOWN)
            raise TypeError(f"{function}: got {name!r}, wanted one of {', '.join(KNOWN)}{hint}")
        _expect_number(name, value)


def _expect_number(name: str, value: object) -> None:
    """Raises ValueError for a count that is none, or not above 0."""
    if name in COUNTS and (
        isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0
    ):
        raise ValueError(f"{name}: got {value!r}, wanted a number above 0")


def estimate_of(
    facts: Facts,
    configured: Configured,
    *,
    prices: PriceBook | None = None,
    region: str = DEFAULT_REGION,
    calibration: Calibration | None = None,
) -> Estimate:
    """The estimate of a job whose configuration is known already. Raises MissingFact where nothing says how many steps it takes."""
    job, c, average = facts.job, configured.configuration, configured.average
    _expect_unit(c)
    steps, counted, examples = steps_of(facts, packed=configured.packed, global_batch=c.global_batch, length=c.sequence)
    book = prices if prices is not None else snapshot_book()
    price = book.of(job.compute.machines, region)
    step, parts, basis = step_interval(configured, calibration)
    fastest = fastest_seconds(average)
    rate = (
        None
        if step is None
        else Interval(c.global_batch / step.p90, c.global_batch / step.p50, c.global_batch / step.p10)
    )
    peak = c.chip.peak("fp8" if c.precision == "fp8" else c.half)
    return Estimate(
        job=job,
        configuration=c,
        memory=memory(c),
        memory_limit_gib=usable_gib(c),
        largest_batch=largest_batch(c),
        fastest_step_s=fastest,
        step_s=step,
        parts=parts,
        steps=steps,
        counted=counted,
        samples_per_s=rate,
        tokens_per_s=None if rate is None or c.images else rate.scaled(average.tokens_per_sample),
        mfu=None if step is None or not peak else model_flop(average) / c.workers / peak / step.p50,
        phases=phases(facts, c, steps, step or exactly(fastest), examples, measured=basis.measured),
        price=price,
        region=region,
        ceiling_usd=ceiling(job, price),
        basis=basis,
        assumed=(*configured.assumed, *assumed_of(job)),
        may_fit=not surely_too_large(c) or _may_fit(configured.may),
    )


def _may_fit(may: Configuration | None) -> bool:
    """Whether the script may make the job fit. How much an offloading library leaves on the device is its own affair."""
    return may is not None and (may.sharding is Sharding.OFFLOAD or not surely_too_large(may))


def billable(facts: Facts, configured: Configured) -> Interval | None:
    """The billable seconds of ``estimate_of`` alone; None where no published row gives a basis. Raises MissingFact as it does."""
    c = configured.configuration
    _expect_unit(c)
    steps, _, examples = steps_of(facts, packed=configured.packed, global_batch=c.global_batch, length=c.sequence)
    step, _, _ = step_interval(configured, None)
    return None if step is None else billed(phases(facts, c, steps, step, examples))


def _expect_unit(c: Configuration) -> None:
    """Raises MissingFact where the chip does not compute in the job's precision: PyTorch refuses there, or imitates it slowly."""
    if c.lacks:
        name, given = c.chip.name, "fp32" if c.chip.fp16 is None else "fp16"
        raise MissingFact(
            "precision",
            "how fast it is",
            f"{given} instead of {c.precision}, or a machine that has it: sm-trn estimate FILE --plan ranks those",
            why=f"{name} has no {c.precision}, which the job asks for",
        )


def learn(job: JobSpec, steps_per_s: float, **known: Unpack[Known]) -> Calibration:
    """What one real job teaches: its measured seconds of an optimizer step over the estimated ones. Raises MissingFact."""
    return _taught(configure(facts_of(job, known)).average, 1 / steps_per_s)


def _taught(c: Configuration, step_s: float) -> Calibration:
    estimated = step_parts(work_of(c), shipped().constants.rates(c)).total
    return Calibration({calibration_key(c): (round(step_s / estimated, 4),)})


def calibration_from(
    measured: SavedLog | TrainingJob, job: JobSpec, before: Calibration | None = None, **known: Unpack[Known]
) -> Calibration:
    """What a log of the job teaches, with what was known ``before``: the seconds of its step, and how far they are from the
    estimated ones, which speaks for other steps.

    Raises SmTrnError for an emulated job, and for a log that tells no step; MissingFact as ``estimate`` does.
    """
    from ...core.logs.saved import SavedLog  # noqa: PLC0415 - logs stay out of a check
    from .measured import WARM_UP, step_times  # noqa: PLC0415

    if isinstance(measured, SavedLog):
        name, events = str(measured.path), measured.events()
    elif measured.session.emulated:
        raise SmTrnError(
            f"{measured.name}: got an emulated job, wanted one that ran on AWS: its speed is this machine's"
        )
    else:
        name, events = measured.name, measured.logs()
    c = configure(facts_of(job, known)).average
    times = step_times(events, batch=c.global_batch, rules=job.metrics)
    if times is None:
        raise SmTrnError(
            f"{name}: its log tells no steps, wanted steps or samples a second, a progress bar of more than {WARM_UP} steps, or "
            "the averages that the Trainer prints at its end"
        )
    taught = _taught(c, times.step_s.p50).plus(Calibration({}, {step_key(c): times.step_s}))
    return taught if before is None else before.plus(taught)


def step_interval(configured: Configured, calibration: Calibration | None) -> tuple[Interval | None, StepParts, Basis]:
    """Seconds of an optimizer step, its parts, and what carries it."""
    c = configured.average
    work = work_of(c)
    parts = step_parts(work, shipped().constants.rates(c))
    basis = _basis(c)
    measured = calibration.step(c) if calibration is not None else None
    if measured is not None:
        return measured, parts, dataclasses.replace(basis, measured=True)
    if basis.bounds_only:
        return None, parts, basis
    factor, width, jobs = (calibration.of(c) if calibration is not None else None) or (1.0, 1.0, 0)
    width *= support_width(supported(c)) * configured.doubt * method_doubt(c)
    found = _likely(c, factor, width=width, taught=jobs > 0)
    for other in configured.others:
        there = _likely(other, factor, width=1.0, taught=jobs > 0)
        found = Interval(min(found.p10, there.p10), found.p50, max(found.p90, there.p90))
    if configured.loaders is not None and not jobs:
        found = configured.loaders.with_loading(found, c.micro_batch * c.micro_steps * c.driven)
    fastest = min(fastest_seconds(c, work), *(fastest_seconds(other) for other in configured.others), found.p50)
    return Interval(max(found.p10, fastest), found.p50, found.p90), parts, dataclasses.replace(basis, calibrated=jobs)


def _likely(c: Configuration, factor: float, *, width: float, taught: bool) -> Interval:
    """Seconds of an optimizer step before bounds. Jobs that ``taught`` the factor ran on such hosts; else hosts may differ."""
    work, rates = work_of(c), shipped().constants.rates(c)
    fast, slow = host_seconds(work, rates)
    hosts = None if taught else (fast * factor, slow * factor)
    return around(step_parts(work, rates).total * factor, shipped().spread, width=width, hosts=hosts)


def _basis(c: Configuration) -> Basis:
    """The published rows with the same chip and precision, and the nearest campaigns among them."""
    key = support_key(c)
    groups = shipped().support.get(key, 0)
    near = tuple(group for group in shipped().residuals if group.endswith(f"| {c.model.name}"))
    counted = sum(len(shipped().residuals[group]) for group in near)
    return Basis(
        rows=counted,
        groups=groups,
        methods={method: shipped().support.get(method, 0) for method in methods_of(c)},
        nearest=near[:3],
        release=c.release,
        bounds_only=not groups and c.generation in WITHOUT_BASIS,
    )
