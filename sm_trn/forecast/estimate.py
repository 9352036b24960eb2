"""``estimate``: the memory, billable seconds and cost of a job before it runs, as intervals with their basis. Never a measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from ..core.catalog.limits import MAX_RUN_S
from ..core.errors import SmTrnError
from ..core.pricing.book import Price, PriceBook, snapshot_book
from ..core.pricing.cost import ceiling, usd_for
from ..core.specs.destination import DEFAULT_REGION
from ..core.specs.job import JobSpec, expect_spec
from ..core.specs.json import Json
from ..core.specs.units import Usd, WallSeconds
from ..core.specs.value import suggestion
from .configuration import Configuration, Sharding
from .configure import Configured, configure
from .data import steps_of
from .facts import COUNTS, KNOWN, Facts, Known, MissingFact, facts_of
from .measured import WARM_UP, logged_step
from .memory import MemoryParts, largest_batch, memory, surely_too_large
from .phases import Phase, phases, total
from .step import CHIP, NO_BASIS, WIDTHS, WITHOUT_BASIS, Interval, method, step_seconds

if TYPE_CHECKING:
    from ..core.logs.saved import SavedLog
    from ..core.session.handles import TrainingJob

SPOT_SAVING = (0.50, 0.65, 0.75)  # of on-demand, assumed: AWS says up to 90 %, public jobs 50 to 75


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a job will take and cost, estimated before it runs. Never a measurement.

    ``may_fit`` says that a job that is estimated not to fit may fit all the same: it is near the limit, or its script decides.
    The rows of the ``method`` of training decided the width of the intervals. ``bounds_only``: no published row speaks for this chip;
    ``measured``: the step was measured on this very job. ``p10`` and ``p90`` of a quantity hold 80 % of outcomes; those of its parts do
    not add up to those of the whole.

    >>> found = st.estimate(job, model="gpt2", batch=8, length=512, steps=1000)
    >>> found.fits, found.billable_s.p10 < found.billable_s.p90
    (True, True)
    """

    job: JobSpec
    configuration: Configuration
    memory: MemoryParts
    memory_limit_gib: float
    largest_batch: int
    step_s: Interval
    steps: float
    counted: str
    phases: tuple[Phase, ...]
    price: Price | None
    region: str
    ceiling_usd: Usd | None
    method: str
    bounds_only: bool
    measured: bool
    assumed: tuple[str, ...]
    may_fit: bool = False

    @property
    def fits(self) -> bool:
        """Whether a training step fits the memory of a worker."""
        return self.configuration.micro_batch <= self.largest_batch

    @property
    def billable_s(self) -> Interval:
        """``BillableTimeInSeconds``: of one instance, on demand."""
        return total(self.phases, billed=True)

    @property
    def wall_s(self) -> Interval:
        """From submit to end."""
        wall = total(self.phases, billed=False)
        return Interval(wall.p10, wall.p50 * 1.15, wall.p90 * 1.6) if self.job.spot is not None else wall

    @property
    def usd(self) -> Interval | None:
        """Dollars of all instances; None without a price. Spot is 50 to 75 % cheaper: assumed."""
        if self.price is None:
            return None
        hosts, hourly = self.job.compute.hosts, self.price.usd_per_hour
        low, middle, high = SPOT_SAVING if self.job.spot is not None else (0.0, 0.0, 0.0)
        cost = (float(usd_for(WallSeconds(each), hosts, hourly)) for each in quantiles(self.billable_s))
        return Interval(*(usd * (1 - saved) for usd, saved in zip(cost, (high, middle, low), strict=True)))

    def to_dict(self) -> dict[str, Json]:
        """The estimate as JSON holds it: quantities with their three quantiles."""
        price, memory_gib = self.price, asdict(self.memory)
        phases: list[Json] = [{**asdict(each), "seconds": asdict(each.seconds)} for each in self.phases]
        return {
            "estimated": True,
            "job": self.job.name,
            "instance": self.job.compute.instances[0],
            "instances": self.job.compute.hosts,
            "region": self.region,
            "fits": self.fits,
            "may_fit": self.may_fit,
            "largest_batch": self.largest_batch,
            "memory_gib": {**memory_gib, "total": self.memory.total, "limit": self.memory_limit_gib},
            "billable_s": asdict(self.billable_s),
            "wall_s": asdict(self.wall_s),
            "usd": None if self.usd is None else asdict(self.usd),
            "ceiling_usd": None if self.ceiling_usd is None else float(self.ceiling_usd),
            "price": None if price is None else {**asdict(price), "usd_per_hour": float(price.usd_per_hour)},
            "step_s": asdict(self.step_s),
            "global_batch": self.configuration.global_batch,
            "steps": self.steps,
            "counted": self.counted,
            "phases": phases,
            "basis": {"method": self.method, "bounds_only": self.bounds_only, "measured": self.measured},
            "assumed": list(self.assumed),
        }

    def __str__(self) -> str:
        return "\n".join([*_head(self), "", *_phases(self), "", *_detail(self)])


def estimate(
    job: JobSpec,
    *,
    prices: PriceBook | None = None,
    region: str = DEFAULT_REGION,
    measured: SavedLog | TrainingJob | None = None,
    **known: Unpack[Known],
) -> Estimate:
    """What the job will take: memory, billable seconds and cost, with the seconds of a step, as intervals with their basis.

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
    facts = facts_of(job, known)
    configured = configure(facts)
    c = configured.configuration
    expect_precision(c)
    steps, counted, examples = steps_of(facts, packed=configured.packed, global_batch=c.global_batch, length=c.sequence)
    price = (prices if prices is not None else snapshot_book()).of(job.compute.machines, region)
    step = step_interval(configured) if measured is None else _measured_step(measured, job, c.global_batch)
    may = configured.may
    return Estimate(
        job=job,
        configuration=c,
        memory=memory(c),
        memory_limit_gib=c.chip.usable_gib,
        largest_batch=largest_batch(c),
        step_s=step,
        steps=steps,
        counted=counted,
        phases=phases(facts, c, steps, step, examples, measured=measured is not None),
        price=price,
        region=region,
        ceiling_usd=ceiling(job, price),
        method=method(c),
        bounds_only=without_basis(c),
        measured=measured is not None,
        assumed=configured.assumed,
        # How much an offloading library leaves on the device is its own affair.
        may_fit=not surely_too_large(c)
        or (may is not None and (may.sharding is Sharding.OFFLOAD or not surely_too_large(may))),
    )


def expect_known(function: str, known: Mapping[str, object]) -> None:
    """Raise TypeError for a word that a function does not know, and ValueError for a count that is none, or not above 0."""
    for name, value in known.items():
        if name not in KNOWN:
            words = f"{', '.join(KNOWN)}{suggestion(name, KNOWN)}"
            limits = "a deadline or a budget is said by limits=st.Limits(…) of st.plan"
            raise TypeError(f"{function}: got {name!r}, wanted one of {words}; {limits}")
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0
        if name in COUNTS and not number:
            raise ValueError(f"{name}: got {value!r}, wanted a number above 0")


def expect_precision(c: Configuration) -> None:
    """Raises MissingFact where the chip does not compute in the job's precision: PyTorch refuses there, or imitates it slowly."""
    if c.lacks:
        other = "fp32" if c.chip.fp16 is None else "fp16"
        fix = f"{other} instead of {c.precision}, or a machine that has it: sm-trn estimate FILE --plan ranks those"
        why = f"{c.chip.name} has no {c.precision}, which the job asks for"
        raise MissingFact("precision", "how fast it is", fix, why=why)


def without_basis(c: Configuration) -> bool:
    """Whether no published row speaks for the chip."""
    return c.chip.generation not in CHIP.keys() - WITHOUT_BASIS


def step_interval(configured: Configured) -> Interval:
    """Seconds of an optimizer step: never less than the hardware's bound."""
    c = configured.average
    low, high = (0.0, NO_BASIS) if without_basis(c) else WIDTHS[method(c)]
    seconds, fastest = zip(*map(step_seconds, (c, *configured.others)), strict=True)
    likely = seconds[0]
    return Interval(max(min(seconds) * low, min(likely, *fastest)), likely, max(seconds) * high)


def _measured_step(measured: SavedLog | TrainingJob, job: JobSpec, batch: float) -> Interval:
    """The step of a log, or of a job on AWS. Raises SmTrnError for an emulated job, and for a log that tells no step."""
    from ..core.logs.saved import SavedLog  # noqa: PLC0415 - logs stay out of a check

    if isinstance(measured, SavedLog):
        name, events = str(measured.path), measured.events()
    elif measured.session.emulated:
        wanted = "wanted one that ran on AWS: its speed is this machine's"
        raise SmTrnError(f"{measured.name}: got an emulated job, {wanted}")
    else:
        name, events = measured.name, measured.logs()
    step_s = logged_step(events, batch=batch, rules=job.metrics)
    if step_s is None:
        bar = f"a progress bar of more than {WARM_UP} steps, or the averages that the Trainer prints at its end"
        raise SmTrnError(f"{name}: its log tells no steps, wanted steps or samples a second, {bar}")
    return step_s


def billable(facts: Facts, configured: Configured) -> Interval:
    """The billable seconds of ``estimate`` alone. Raises MissingFact as it does."""
    c = configured.configuration
    expect_precision(c)
    steps, _, examples = steps_of(facts, packed=configured.packed, global_batch=c.global_batch, length=c.sequence)
    return total(phases(facts, c, steps, step_interval(configured), examples), billed=True)


def estimated_cost(job: JobSpec, prices: PriceBook, region: str) -> str:
    """``about $20.1 estimated (80 %: $16.2 to $24.9), ``: empty where a fact, a basis or a price is missing."""
    try:
        usd = estimate(job, prices=prices, region=region).usd
    except MissingFact:
        return ""
    if usd is None:
        return ""
    return f"about {usd_text(usd.p50)} estimated (80 %: {usd_text(usd.p10)} to {usd_text(usd.p90)}), "


def quantiles(interval: Interval) -> tuple[float, float, float]:
    """The three of them, lowest first."""
    return interval.p10, interval.p50, interval.p90


def enough_s(billable_s: Interval) -> int | None:
    """A ``max_run_s`` a fifth above the estimate's upper end, in whole ten minutes and 28 days at most; None where the upper end
    is beyond those."""
    if billable_s.p90 > MAX_RUN_S:
        return None
    return min(-(-round(billable_s.p90 * 1.2) // 600) * 600, MAX_RUN_S)


def usd_text(value: float) -> str:
    """Dollars with fewer decimals than a measured cost has: two below ten dollars, none from a thousand on."""
    return f"${Decimal(str(value)):,.{2 if value < 10 else 1 if value < 1000 else 0}f}"


def span(seconds: float) -> str:
    """``1h55m``, ``14m00s``, ``41s``."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02d}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def machines(e: Estimate) -> str:
    """``2 × ml.p4d.24xlarge``."""
    return f"{e.job.compute.hosts} × {e.job.compute.instances[0]}"


def _of(interval: Interval, show: Callable[[float], str]) -> str:
    return f"{show(interval.p50)} (80 %: {show(interval.p10)} to {show(interval.p90)})"


def _head(e: Estimate) -> list[str]:
    """Whether it fits, the billable time, and the dollars, with the most that the job can cost."""
    kind = "ESTIMATED from a measured step" if e.measured else "ESTIMATED, not measured"
    c, worker = e.configuration, "NeuronCore" if e.configuration.neuron else "worker"
    limit = f"of {e.memory_limit_gib:.1f} GiB a {worker}"
    fit = "fits" if e.fits else "may not fit" if e.may_fit else "does not fit"
    most = f"the largest batch is about {e.largest_batch}" if e.largest_batch else "no batch fits"
    lines = [
        f"{e.job.name} on {machines(e)}, {e.region}   {kind}",
        f"  Memory    {e.memory.total:.1f} {limit}: a batch of {c.micro_batch:g} {fit}; {most}",
    ]
    hosts = f" × {e.job.compute.hosts} instances" if e.job.compute.hosts > 1 else ""
    doubt = f"; no published row for {c.chip.name}: from the hardware's bound" if e.bounds_only else ""
    late = f"  ▲ above max_run_s, {e.job.max_run_s:,} s" if e.billable_s.p90 > e.job.max_run_s else ""
    lines.append(f"  Billable  {_of(e.billable_s, span)}{hosts}{doubt}{late}")
    if e.price is None:
        return [*lines, f"  Cost      no price of {e.job.compute.instances[0]} is known in {e.region}"]
    cost = f"about {_of(e.usd, usd_text)}, " if e.usd is not None else ""
    ceiling_usd = f"at most {usd_text(float(e.ceiling_usd))}, its max_run_s" if e.ceiling_usd is not None else ""
    spot = "; spot 50 to 75 % less: assumed" if e.job.spot else ""
    return [*lines, f"  Cost      {cost}{ceiling_usd}; {e.price}{spot}"]


def _phases(e: Estimate) -> list[str]:
    rows = [(each.name, each.seconds, "yes" if each.billed else "no") for each in e.phases]
    rows.append(("from submit to end", e.wall_s, ""))
    wide = max(len(name) for name, _, _ in rows)
    lines = [f"  {'PHASES':<{wide}} {'LOW':>8} {'LIKELY':>8} {'HIGH':>8}  BILLED"]
    for name, seconds, billed in rows:
        low, likely, high = map(span, quantiles(seconds))
        lines.append(f"  {name:<{wide}} {low:>8} {likely:>8} {high:>8}  {billed}".rstrip())
    return lines


def _detail(e: Estimate) -> list[str]:
    """The step, what the memory holds, and what the estimate stands on."""
    c = e.configuration
    step = f"{e.step_s.p50:.3g} s ({e.step_s.p10:.3g} to {e.step_s.p90:.3g})"
    lines = [f"Step     {step}, global batch {c.global_batch:g}."]
    parts = {name: size for name, size in asdict(e.memory).items() if size >= 0.05}
    lines.append(f"Memory   {', '.join(f'{name} {size:.1f}' for name, size in parts.items())} GiB.")
    chips = f"{c.chip.name} at {c.precision}, {e.method}: eight of ten published rows lie in such an interval"
    lines.append(f"Basis    {'the step was measured on this job' if e.measured else chips}.")
    lines.append(f"Counted  {e.counted}: {e.steps:,.0f} steps.")
    return [*lines, *(f"Assumed  {each}." for each in e.assumed)]
