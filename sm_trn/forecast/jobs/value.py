"""The estimate of a job: memory, a step, phases, billable seconds and cost, each with its interval and its basis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal

from ...core.catalog.limits import MAX_RUN_S
from ...core.formatting.table import Align, Cell, Column, Row, Table
from ...core.formatting.text import WHOLE_NAMES, WIDE, Screen, table_lines
from ...core.pricing.book import Price
from ...core.pricing.cost import usd_for
from ...core.specs.job import JobSpec
from ...core.specs.json import Json
from ...core.specs.units import Usd, WallSeconds
from ..configuration import Configuration
from ..intervals import Interval
from ..memory import MemoryParts
from ..step import StepParts
from .phases import Phase, billed, wall

PARTS = ("weights", "gradients", "optimizer", "activations", "logits", "buffers", "fragments")
STEP = (
    ("matrix", "matrix units"),
    ("attention", "attention"),
    ("traffic", "memory traffic"),
    ("launch", "launch"),
    ("collectives", "collectives"),
    ("optimizer", "optimizer"),
    ("waiting", "waiting"),
)
TOO_LONG = "fewer steps, or more and faster machines: SageMaker ends a job after 28 days"
BAR = 34  # cells
SPOT_SAVING = (0.50, 0.65, 0.75)  # of on-demand, assumed: AWS says up to 90 %, public jobs 50 to 75


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What carries an estimate: ``rows`` published rows of the model, ``groups`` repositories of rows with the same chip and precision,
    and the ``nearest`` of them. ``methods`` are the ways other than training all dense weights that the job takes, with the repositories
    of rows that took them.

    ``bounds_only`` says that no published row speaks for this chip and precision at all. ``measured`` says that the step is none of
    theirs: it was measured on this very job.
    """

    rows: int
    groups: int
    nearest: tuple[str, ...]
    release: float
    calibrated: int = 0
    methods: Mapping[str, int] = field(default_factory=dict)
    bounds_only: bool = False
    measured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a job will take and cost, estimated before it runs. Never a measurement.

    ``may_fit`` says that a job that is estimated not to fit may fit all the same: it is near the limit, or its script decides.
    ``step_s`` is None where no published row gives a basis: then ``fastest_step_s``, the limit of the hardware, is all there is.
    ``p10`` and ``p90`` of a quantity hold 80 % of outcomes; those of its parts do not add up to those of the whole.

    >>> found = st.estimate(job, model="gpt2", batch=8, length=512, steps=1000)
    >>> found.fits, found.billable_s.p10 < found.billable_s.p90
    (True, True)
    """

    job: JobSpec
    configuration: Configuration
    memory: MemoryParts
    memory_limit_gib: float
    largest_batch: int
    fastest_step_s: float
    step_s: Interval | None
    parts: StepParts
    steps: float
    counted: str
    samples_per_s: Interval | None
    tokens_per_s: Interval | None
    mfu: float | None
    phases: tuple[Phase, ...]
    price: Price | None
    region: str
    ceiling_usd: Usd | None
    basis: Basis
    assumed: tuple[str, ...]
    may_fit: bool = False

    @property
    def fits(self) -> bool:
        """Whether a training step fits the memory of a worker."""
        return self.configuration.micro_batch <= self.largest_batch

    @property
    def billable_s(self) -> Interval:
        """``BillableTimeInSeconds``: of one instance, on demand. Raises ValueError without a basis."""
        self._needs_basis()
        return billed(self.phases)

    @property
    def wall_s(self) -> Interval:
        """From submit to end. Raises ValueError without a basis."""
        self._needs_basis()
        found = wall(self.phases)
        return Interval(found.p10, found.p50 * 1.15, found.p90 * 1.6) if self.job.spot is not None else found

    @property
    def usd(self) -> Interval | None:
        """Dollars of all instances; None without a price or a basis. Spot is 50 to 75 % cheaper: assumed."""
        if self.price is None or self.step_s is None:
            return None
        seconds, hosts = self.billable_s, self.job.compute.hosts
        cost = [
            float(usd_for(WallSeconds(each), hosts, self.price.usd_per_hour))
            for each in (seconds.p10, seconds.p50, seconds.p90)
        ]
        if self.job.spot is not None:
            low, middle, high = SPOT_SAVING
            cost = [cost[0] * (1 - high), cost[1] * (1 - middle), cost[2] * (1 - low)]
        return Interval(*cost)

    def _needs_basis(self) -> None:
        if self.step_s is None:
            raise ValueError(
                f"no published row for this model on {self.configuration.chip.name}: bounds from the hardware only"
            )

    def to_dict(self) -> dict[str, Json]:
        """The estimate as JSON holds it."""
        return as_json(self)

    def __str__(self) -> str:
        return as_text(self)


_QUANTILES = ("low", "likely", "high")


def usd_text(value: float) -> str:
    """Dollars with one decimal fewer than a measured cost."""
    return f"${Decimal(str(value)):,.1f}" if value < 1000 else f"${value:,.0f}"


def span(seconds: float) -> str:
    """``1h55m``, ``14m00s``, ``41s``."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"


def as_text(e: Estimate) -> str:
    """The blocks of ``sm-trn estimate``."""
    return "\n".join([*_head(e), "", *_memory(e), "", *_step(e), "", *_phases(e), "", *_basis(e)])


def machines(e: Estimate) -> str:
    """``2 × ml.p4d.24xlarge``."""
    return f"{e.job.compute.hosts} × {e.job.compute.instances[0]}"


def _of(interval: Interval, show: Callable[[float], str]) -> str:
    return f"{show(interval.p50)} (80 %: {show(interval.p10)} to {show(interval.p90)})"


def _head(e: Estimate) -> list[str]:
    title = f"{e.job.name} on {machines(e)}, {e.region}   {_kind(e)}"
    fit = "It fits" if e.fits else "It may not fit" if e.may_fit else "It does not fit"
    if e.largest_batch and not e.fits and not e.may_fit:
        fit = f"It does not fit: a batch of {e.largest_batch} would"
    if e.step_s is None:
        bound = f"Bounds from the hardware only: {span(e.fastest_step_s * e.steps)} to ?"
        return [title, f"{fit}. No published row for {e.configuration.chip.name}. {bound}"]
    time = f"{fit}{', and' if e.fits else '. If it did, it'} should take {_of(e.wall_s, span)}"
    if e.usd is None:
        return [title, f"{time}.", f"No price of {e.job.compute.instances[0]} is known in {e.region}."]
    return [title, time, f"and cost about {_of(e.usd, usd_text)}."]


def _kind(e: Estimate) -> str:
    return "ESTIMATED from a measured step" if e.basis.measured else "ESTIMATED, not measured"


def _memory(e: Estimate) -> list[str]:
    unit = "NeuronCore" if e.configuration.neuron else "worker"
    scale = BAR / max(e.memory.total, e.memory_limit_gib)
    verdict = "fits" if e.fits else "may not fit" if e.may_fit else "does not fit"
    lines = [f"  MEMORY, GiB a {unit:<12} {e.memory.total:5.1f} of {e.memory_limit_gib:.1f}   {verdict}"]
    at = 0.0
    for name in PARTS:
        size = float(getattr(e.memory, name))
        if size >= 0.05:
            start, end = round(at * scale), round((at + size) * scale)
            lines.append(f"  {name:<20} {size:6.1f}   {' ' * start}{'█' * max(1, end - start)}")
        at += size
    return lines


def _step(e: Estimate) -> list[str]:
    c = e.configuration
    if e.step_s is None:
        return [f"  ONE STEP, s   at least {e.fastest_step_s:.3g}"]
    speed = f", {e.samples_per_s.p50:,.0f} samples/s" if e.samples_per_s else ""
    speed = f", {e.tokens_per_s.p50:,.0f} tokens/s" if e.tokens_per_s else speed
    used = f", {e.mfu:.0%} MFU" if e.mfu is not None else ""
    step = e.step_s
    lines = [
        f"  ONE STEP, s {step.p50:.3g} ({step.p10:.3g} to {step.p90:.3g})    batch {c.global_batch:g}{speed}{used}"
    ]
    if e.basis.measured:
        return [*lines, f"  {'estimated were':<20} {e.parts.total:8.3g}"]
    total = max(sum(float(getattr(e.parts, name)) for name, _ in STEP), 1e-12)
    for name, said in STEP:
        seconds = float(getattr(e.parts, name))
        if seconds >= 0.005 * total:
            lines.append(f"  {said:<20} {seconds:8.3g}   {'▒' * max(1, round(BAR * seconds / total))}")
    return lines


def phase_table(e: Estimate) -> Table:
    """The phases of the job, then the sums: what is billed, and what it costs."""
    hosts = e.job.compute.hosts
    rows = [_row(each.name, map(span, quantiles(each.seconds)), "yes" if each.billed else "no") for each in e.phases]
    billed = (f"{seconds:,.0f}" for seconds in quantiles(e.billable_s))
    rows.append(_row("BILLABLE, s", billed, f"{hosts} instance{'s' if hosts > 1 else ''}"))
    if e.usd is not None and e.price is not None:
        spot = "; spot 50 to 75 % less: assumed" if e.job.spot else ""
        rows.append(_row("USD", (f"{usd:,.2f}" for usd in quantiles(e.usd)), f"{e.price}{spot}"))
    columns = [Column(name=name, heading=name, short=name, least=8) for name in _QUANTILES]
    columns.append(Column(name="billed", heading="billed", short="billed", align=Align.LEFT))
    return Table(columns=tuple(columns), rows=tuple(rows), rows_are="Phases")


def _row(name: str, values: Iterable[str], billed: str) -> Row:
    cells = {quantile: Cell(value) for quantile, value in zip(_QUANTILES, values, strict=True)}
    return Row(name=name, cells={**cells, "billed": Cell(billed)})


def _phases(e: Estimate) -> list[str]:
    if e.step_s is None:
        return []
    lines = table_lines(phase_table(e), Screen(width=WIDE), WHOLE_NAMES)
    lines.append("Only the rows in capitals are intervals of the whole: quantiles of parts do not add up.")
    return [f"  {line}" for line in lines]


def _basis(e: Estimate) -> list[str]:
    b, chip, model = e.basis, e.configuration.chip.name, e.configuration.model.name
    rows = f"{b.rows} published rows of {model}" if b.rows else f"no published row of {model}"
    others = f"{chip} at this precision: {_repositories(b.groups)}"
    ways = [f"{method}: {_repositories(count)}" for method, count in b.methods.items()]
    basis = "the step was measured on this job" if b.measured else "; ".join([rows, others, *ways])
    lines = [f"Basis    {basis}.", f"Counted  {e.counted}: {e.steps:,.0f} steps."]
    if b.calibrated:
        lines.append(f"Learned  from {b.calibrated} of your jobs.")
    lines += [f"Assumed  {each}." for each in e.assumed]
    return lines + [f"▲ {each}" for each in warnings(e)]


def _repositories(count: int) -> str:
    return (
        f"{count} published repositor{'ies have' if count > 1 else 'y has'} rows" if count else "no row: physics alone"
    )


def warnings(e: Estimate) -> list[str]:
    """What the estimate says against the job: a time limit below its upper end, a batch that does not fit."""
    found = []
    if e.step_s is not None and e.billable_s.p90 > e.job.max_run_s:
        limit = enough_s(e.billable_s)
        fix = TOO_LONG if limit is None else f"max_run_s = {limit:_}"
        found.append(f"max_run_s = {e.job.max_run_s:_} is below the upper end. fix: {fix}")
    if not e.fits and e.largest_batch:
        needs = f"{e.memory.total:.1f} of {e.memory_limit_gib:.1f} GiB"
        found.append(f"a batch of {e.configuration.micro_batch:g} needs {needs}. fix: a batch of {e.largest_batch}")
    return found


def enough_s(billable_s: Interval) -> int | None:
    """A ``max_run_s`` a fifth above the estimate's upper end, in whole ten minutes and 28 days at most; None where the upper end
    is beyond those."""
    if billable_s.p90 > MAX_RUN_S:
        return None
    return min(-(-round(billable_s.p90 * 1.2) // 600) * 600, MAX_RUN_S)


def quantiles(interval: Interval) -> tuple[float, float, float]:
    """The three of them, lowest first."""
    return interval.p10, interval.p50, interval.p90


def _quantiles(interval: Interval | None) -> Json:
    return None if interval is None else {"p10": interval.p10, "p50": interval.p50, "p90": interval.p90}


def as_json(e: Estimate) -> dict[str, Json]:
    """All of the estimate: quantities with their three quantiles, None where there is no basis."""
    known, b, p = e.step_s is not None, e.basis, e.price
    held: dict[str, Json] = {part.name: float(getattr(e.memory, part.name)) for part in fields(e.memory)}
    price: Json = None
    if p is not None:
        price = {"usd_per_hour": float(p.usd_per_hour), "as_of": p.as_of, "source": p.source, "inferred": p.inferred}
    return {
        "estimated": True,
        "job": e.job.name,
        "instance": e.job.compute.instances[0],
        "instances": e.job.compute.hosts,
        "region": e.region,
        "fits": e.fits,
        "may_fit": e.may_fit,
        "largest_batch": e.largest_batch,
        "memory_gib": {**held, "total": e.memory.total, "limit": e.memory_limit_gib},
        "step_s": _quantiles(e.step_s),
        "fastest_step_s": e.fastest_step_s,
        "step_parts_s": {part.name: float(getattr(e.parts, part.name)) for part in fields(e.parts)},
        "global_batch": e.configuration.global_batch,
        "steps": e.steps,
        "counted": e.counted,
        "samples_per_s": _quantiles(e.samples_per_s),
        "tokens_per_s": _quantiles(e.tokens_per_s),
        "mfu": e.mfu,
        "phases": [_phase(each) for each in e.phases],
        "billable_s": _quantiles(e.billable_s) if known else None,
        "wall_s": _quantiles(e.wall_s) if known else None,
        "usd": _quantiles(e.usd),
        "ceiling_usd": None if e.ceiling_usd is None else float(e.ceiling_usd),
        "price": price,
        "basis": {
            "rows": b.rows, "groups": b.groups, "nearest": list(b.nearest), "calibrated_jobs": b.calibrated, "bounds_only": b.bounds_only,
            "measured": b.measured, "methods": dict(b.methods),
        },
        "assumed": list(e.assumed),
        "warnings": list(warnings(e)),
    }  # fmt: skip


def _phase(each: Phase) -> Json:
    return {"name": each.name, "seconds": _quantiles(each.seconds), "billed": each.billed, "basis": each.basis}
