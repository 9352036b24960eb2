"""The columns of a job, each once, for comparison, fleet, watch, notebook and live page; and the table of jobs.

A column reads a job – a ``WatchRow`` or a row of a comparison – and what it is seen against: the time, or the change to a baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from ..core.formatting import numbers as fmt
from ..core.formatting.html import WRAP
from ..core.formatting.missing import Missing, known, missing_cost
from ..core.formatting.printable import one_line
from ..core.formatting.table import Align, Cell, Column, Mark, Row, Table, cells_of
from ..core.pricing.book import Price, price_sources
from ..core.status import phases
from .jobs import WatchRow

if TYPE_CHECKING:
    from .sections.rows import ComparedJob
    from .sections.section import Delta

    Seen: TypeAlias = datetime | Delta | None


def status_cell(job: WatchRow, _: Seen) -> Cell:
    return Cell(job.look.word, role=job.look.role, glyph=job.look.glyph, tag=job.emulated)


def _usd(job: WatchRow, seen: Seen) -> Any:
    now = seen if isinstance(seen, datetime) else None
    usd = job.usd(now)
    if usd is None:
        return missing_cost(
            emulated=job.emulated, billed=job.billed_s(now) is not None, in_tokens=job.snapshot.in_tokens
        )
    return Cell(usd, before="≤") if now is not None and job.at_most else usd


def _price(job: WatchRow, value: Any) -> Any:
    reason = missing_cost(emulated=job.emulated, billed=True, in_tokens=job.snapshot.in_tokens)
    return reason if job.price is None else known(value, Missing.NOT_LOGGED)


def _billed(job: WatchRow, now: Seen) -> Cell:
    seconds = job.billed_s(now if isinstance(now, datetime) else None)
    return Cell(known(seconds, Missing.NOT_BILLED_YET), unit="emu" if job.emulated and seconds is not None else "")


def _median(unit: str) -> Callable[[ComparedJob, Seen], Any]:
    def read(job: ComparedJob, _: Seen) -> Any:
        rate = job.throughput(unit)
        if rate is not None:
            return rate.median
        if job.emulated:
            return Missing.EMULATED
        if job.too_short is not None:
            return Cell(Missing.TOO_SHORT, why=f"{Missing.TOO_SHORT}: {job.too_short} steps")
        return Missing.NOT_LOGGED

    return read


def _unlogged(job: WatchRow) -> Missing:
    return Missing.NOT_LOGGED if job.may_have_logged else Missing.NOTHING


def _step(job: WatchRow, _: Seen) -> Any:
    of = f" of {fmt.count(job.total_steps)}" if job.total_steps else ""
    return _unlogged(job) if job.step is None else fmt.count(job.step) + of


def _newest_rate(job: WatchRow, _: Seen) -> Any:
    """The newest rate. An emulated one would be this machine's."""
    if job.emulated:
        return Missing.EMULATED
    if job.look.word in {"failed", "interrupted"}:
        return Missing.NOTHING
    return _unlogged(job) if job.rate is None else Cell(job.rate, unit=job.unit)


def _left(job: WatchRow, _: Seen) -> Any:
    if job.snapshot.terminal:
        return Missing.NOTHING
    return known(job.left_s, Missing.TOO_EARLY)


def _checkpoint(job: WatchRow, now: datetime) -> Any:
    """The age of the newest object."""
    return Missing.NOTHING if job.checkpoints is None else known(job.checkpoint_age_s(now), Missing.NONE_YET)


def _phases(job: WatchRow, now: datetime) -> Any:
    """The newest phase; of a job that ended, the time of all of them."""
    seen = list(phases(job.snapshot, now))
    if not seen:
        return Missing.NOTHING
    if job.snapshot.terminal:
        return f"{fmt.compact(sum(phase.seconds for phase in seen))} in all"
    return f"{seen[-1].word} {fmt.compact(seen[-1].seconds)}"


def machines_of(job: WatchRow, _: Seen) -> str:
    return fmt.instances(one_line(job.snapshot.instance), job.snapshot.count)


def _fact(name: str, read: Callable[[Any], Any], dtype: str = "float64", reason: Missing = Missing.NOT_KNOWN) -> Column:
    """A column of files only."""
    return Column(name=name, dtype=dtype, read=lambda job, _: known(read(job), reason))


def _change(name: str, change: Callable[[Delta], float | None]) -> Column:
    return Column(name=name, dtype="float64", read=lambda _, delta: known(change(delta), Missing.NOTHING))


def _less(saving: Callable[[Delta], float | None]) -> Callable[[ComparedJob, Seen], float | None]:
    """The change that is shown below a value: a saving with its sign turned round."""

    def change(_: ComparedJob, delta: Seen) -> float | None:
        share = None if delta is None or isinstance(delta, datetime) else saving(delta)
        return None if share is None else -share

    return change


def _faster(_: ComparedJob, delta: Seen) -> float | None:
    return None if delta is None or isinstance(delta, datetime) else delta.speedup_pct


_COLUMNS: tuple[Column, ...] = (
    # of every job
    Column(name="status", heading="Status", short="STATUS", style="state", align=Align.LEFT, least=11, dtype="object", read=status_cell),
    _fact("emulated", lambda job: job.emulated, dtype="bool"),
    _fact("instance", lambda job: job.snapshot.instance, dtype="object"),
    Column(name="instances", short="HOSTS", least=6, form=fmt.count, dtype="int64", read=lambda job, _: job.snapshot.count),
    Column(name="machines", heading="Instances", align=Align.LEFT, least=14, read=machines_of),
    Column(name="created", heading="Created", form=fmt.stamp, read=lambda job, _: known(job.snapshot.created)),
    Column(name="price_usd_per_hour", dtype="float64", read=lambda job, _: _price(job, job.price and job.price.usd_per_hour)),
    Column(name="price_as_of", dtype="object", read=lambda job, _: _price(job, job.price and job.price.as_of)),
    Column(name="price_inferred", dtype="object", read=lambda job, _: _price(job, job.price and job.price.inferred)),
    Column(name="cost_usd", heading="Cost", unit="USD", short="USD", form=fmt.usd_cell, dtype="float64", read=_usd,
           change=_less(lambda delta: delta.cost_saving_pct)),
    Column(name="spot_saved_usd", heading="Spot saved", unit="USD", short="SPOT SAVED", rank=1, form=fmt.usd_cell, dtype="float64",
           read=lambda job, _: known(job.spot_saved, Missing.NOTHING)),
    Column(name="interruptions", heading="Interruptions", short="✕", least=1, rank=1, dtype="int64",
           form=lambda number: fmt.count(number) if number else str(Missing.NOTHING), read=lambda job, _: job.snapshot.interruptions),
    # of a job that is watched, or one of many
    Column(name="job", dtype="object", read=lambda job, _: job.label or job.snapshot.name),
    Column(name="state", short="STATUS", align=Align.LEFT, least=11, read=lambda job, _: Cell(job.look.short, role=job.look.role)),
    Column(name="phases", heading="Phases", align=Align.LEFT, read=_phases),
    Column(name="step", heading="Step", least=16, read=_step),
    Column(name="done", heading="Done", least=4, form=lambda share: f"{share:.0%}", read=lambda job, _: known(job.share)),
    Column(name="rate", heading="Rate", least=11, rank=3, form=fmt.significant, read=_newest_rate),
    Column(name="loss", heading="Loss", least=5, rank=5, form=fmt.loss,
           read=lambda job, _: _unlogged(job) if job.loss is None else job.loss),
    Column(name="billed", heading="Billed", least=6, form=fmt.billable, read=_billed),
    Column(name="billed_s", heading="Billable", unit="s per instance", short="BILLABLE s", least=11, form=fmt.count, dtype="float64",
           read=_billed),
    Column(name="left", heading="Left", least=6, form=lambda seconds: fmt.brief(seconds, estimate=True), read=_left),
    Column(name="checkpoint", heading="Checkpoint", short="CKPT", least=5, rank=2, form=fmt.brief, read=_checkpoint),
    Column(name="instance_hours", dtype="float64", read=lambda job, _: known(job.instance_hours)),
    Column(name="idle_usd", dtype="float64", read=lambda job, _: known(job.idle_usd)),
    # of a job that is compared
    _fact("origin", lambda job: job.record.origin.value, dtype="object"),
    _fact("workload", lambda job: job.record.workload, dtype="object"),
    Column(name="throughput_it_per_s", heading="Throughput", unit="it/s", short="IT/S", form=fmt.significant, dtype="float64",
           read=_median("it/s"), change=_faster),
    Column(name="samples_per_s", heading="Throughput", unit="samples/s", short="SAMPLES/S", form=fmt.significant, dtype="float64",
           read=_median("samples/s"), change=_faster),
    Column(name="billable_s", heading="Billable", unit="s per instance", short="BILLABLE s", form=fmt.count, dtype="float64",
           read=lambda job, _: known(job.snapshot.billable_s, Missing.NOT_BILLED_YET),
           change=_less(lambda delta: delta.billable_saving_pct)),
    Column(name="wall_s", heading="Time", unit="submit to end", short="WALL", form=fmt.compact, dtype="float64",
           read=lambda job, _: known(job.wall_s, Missing.NOT_KNOWN), change=_less(lambda delta: delta.wall_saving_pct)),
    Column(name="usd_per_1000_it", heading="Steady cost", unit="USD per 1,000 iterations", short="USD/1,000 it", rank=3,
           form=fmt.usd_small, dtype="float64",
           read=lambda job, _: _price(job, job.usd_per_1000("it/s"))),
    Column(name="usd_per_1000_samples", heading="Steady cost", unit="USD per 1,000 samples", short="USD/1,000 samples", rank=3,
           form=fmt.usd_small, dtype="float64",
           read=lambda job, _: _price(job, job.usd_per_1000("samples/s"))),
    Column(name="accuracy", heading="Accuracy", unit="held out", short="ACC", rank=1, form=fmt.accuracy, dtype="float64",
           read=lambda job, _: known(job.accuracy, Missing.NOT_LOGGED)),
    Column(name="final_loss", heading="Final loss", unit="training", short="LOSS", rank=4, form=fmt.loss, dtype="float64",
           read=lambda job, _: known(job.final_loss, Missing.NOT_LOGGED)),
    _change("speedup_pct", lambda delta: delta.speedup_pct),
    _change("billable_saving_pct", lambda delta: delta.billable_saving_pct),
    _change("cost_saving_pct", lambda delta: delta.cost_saving_pct),
)  # fmt: skip
BY_NAME = {column.name: column for column in _COLUMNS}

# The columns of files and frames, in their order: of a comparison, and of many jobs.
COLUMNS = (
    "job", "status", "origin", "emulated", "instance", "instances", "workload", "throughput_it_per_s", "samples_per_s", "billable_s",
    "wall_s", "price_usd_per_hour", "price_as_of", "cost_usd", "spot_saved_usd", "usd_per_1000_it", "usd_per_1000_samples", "accuracy",
    "final_loss", "interruptions", "speedup_pct", "billable_saving_pct", "cost_saving_pct",
)  # fmt: skip
FLEET_COLUMNS = ("job", "status", "emulated", "instance", "instances", "created", "billable_s", "instance_hours", "price_usd_per_hour",
                 "price_as_of", "price_inferred", "cost_usd", "spot_saved_usd", "idle_usd", "interruptions")  # fmt: skip


def words_of(job: WatchRow, name: str, now: datetime) -> str:
    """What one column says of a job."""
    column = BY_NAME[name]
    return column.words(column.cell(job, now))


def jobs_table(jobs: Iterable[WatchRow], names: Sequence[str], now: datetime | None = None, title: str = "") -> Table:
    """A row for each job, as it is at ``now``; None: as the service has billed it. Ages of checkpoints only where a job has some."""
    several = list(jobs)
    saved = any(job.checkpoints is not None for job in several)
    columns = tuple(BY_NAME[name] for name in names if name != "checkpoint" or saved)
    rows = [
        Row(
            name=job.name,
            mark=Mark(glyph=job.look.glyph, ascii=job.look.ascii, role=job.look.role),
            role="job",
            cells=cells_of(columns, job, now),
        )
        for job in several
    ]
    return Table(columns=columns, rows=tuple(rows), title=title)


def price_table(prices: Iterable[Price]) -> Table:
    """The prices that costs are made of, each with its date, region and source."""
    columns = (
        Column(name="usd_per_hour", heading="USD per hour"),
        Column(name="as_of", heading="Dated", align=Align.LEFT),
        Column(name="region", heading="Region", align=Align.LEFT),
        Column(name="source", heading="Source", align=Align.LEFT, style=WRAP),
    )
    rows = []
    for price in prices:
        inferred = Cell(f"{price.as_of}, inferred", role="warn", glyph="▲") if price.inferred else Cell(price.as_of)
        cells = {
            "usd_per_hour": Cell(price.usd_per_hour),
            "as_of": inferred,
            "region": Cell(price.region),
            "source": Cell(price_sources().get(price.source, price.source)),
        }
        rows.append(Row(name=price.instance, role="code", cells=cells))
    return Table(columns=columns, rows=tuple(rows), title="Prices used", rows_are="Instance")
