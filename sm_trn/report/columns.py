"""The columns of a job, each once, and the tables that choose among them: comparison, fleet, watch, notebook, live page.

A column reads a job – a ``WatchRow`` or a row of a comparison – and what it is seen against: the time, or the change to a baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..core.formatting import numbers as fmt
from ..core.formatting.html import WRAP
from ..core.formatting.missing import Missing, known, missing_cost
from ..core.formatting.printable import BARS, one_line
from ..core.formatting.table import Align, Cell, Column, Fold, Mark, Row, Table, cells_of
from ..core.pricing.book import Price, price_sources
from ..core.status import Texture, phases
from .jobs import WatchRow
from .sections.rows import Row as Compared
from .sections.section import Delta, Section
from .sections.sweep import TRAINING_LOSS, Setting, Sweep, setting_text, typed_settings

HYPERPARAMETER = "hyperparameters."  # before the name of one that is a column
MOST_SETTINGS = 4  # hyperparameters that are columns of a table for people; files have all
# What every surface says of a rehearsal.
REHEARSED = "No speed-up, no cost: emulated jobs have none. Their seconds are this machine's."
Job = WatchRow | Compared
Seen = datetime | Delta | None


def _status(job: Job, _: Seen) -> Cell:
    return Cell(job.look.word, role=job.look.role, glyph=job.look.glyph, tag=isinstance(job, WatchRow) and job.emulated)


def _usd(job: Job, seen: Seen) -> Any:
    if isinstance(job, WatchRow):
        now = seen if isinstance(seen, datetime) else None
        usd = job.usd(now)
        if usd is not None:
            return Cell(usd, before="≤" if now is not None and job.at_most else "")
        billed = job.billed_s(now) is not None
    else:
        if job.cost is not None:
            return job.cost.usd
        billed = job.billable_s is not None
    return missing_cost(emulated=job.emulated, billed=billed, in_tokens=job.snapshot.in_tokens)


def _price(job: Job, value: Any) -> Any:
    reason = missing_cost(emulated=job.emulated, billed=True, in_tokens=job.snapshot.in_tokens)
    return reason if job.price is None else known(value, Missing.NOT_LOGGED)


def _billed(job: WatchRow, now: Seen) -> Cell:
    seconds = job.billed_s(now if isinstance(now, datetime) else None)
    return Cell(known(seconds, Missing.NOT_BILLED_YET), unit="emu" if job.emulated and seconds is not None else "")


def _spot_saved(job: Job, _: Seen) -> Any:
    on_demand = job.on_demand_usd
    return Missing.NOTHING if on_demand is None or job.cost is None else on_demand - job.cost.usd


def _median(unit: str) -> Callable[[Compared, Seen], Any]:
    def read(job: Compared, _: Seen) -> Any:
        rate = job.rate(unit)
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
    if not job.rates:
        return _unlogged(job)
    return Cell(job.rates[-1], unit=job.unit, spark=sparkline(job.rates) if len(job.rates) > 1 else "")


def _loss(job: WatchRow, _: Seen) -> Any:
    if job.loss is None:
        return _unlogged(job)
    return Cell(job.loss, spark=sparkline(job.losses) if len(job.losses) > 1 else "")


def _left(job: WatchRow, _: Seen) -> Any:
    if job.snapshot.terminal:
        return Missing.NOTHING
    return known(job.left_s, Missing.TOO_EARLY)


def _checkpoint(job: WatchRow, now: datetime) -> Any:
    """The age of the newest object."""
    return Missing.NOTHING if job.checkpoints is None else known(job.checkpoints.age_s(now), Missing.NONE_YET)


def _phases(job: WatchRow, now: datetime) -> Any:
    """The newest phase in words, and all of them as a bar."""
    seen = list(phases(job.snapshot, now))
    if not seen:
        return Missing.NOTHING
    words = f"{seen[-1].word} {fmt.compact(seen[-1].seconds)}"
    if job.snapshot.terminal:
        words = f"{fmt.compact(sum(phase.seconds for phase in seen))} in all"
    return Cell(words, bar=phase_shares(job, now))


def phase_shares(job: WatchRow, now: datetime) -> tuple[tuple[str, float], ...]:
    """Styles and shares of the phases, and of what is left: half of the bar where nobody can say."""
    seen = list(phases(job.snapshot, now))
    done = sum(phase.seconds for phase in seen)
    left = 0.0 if job.snapshot.terminal else done if job.left_s is None else job.left_s
    parts = [*((phase.texture.style, phase.seconds) for phase in seen), (Texture.LEFT.style, left)]
    return tuple((style, seconds / (done + left)) for style, seconds in parts if seconds)


def sparkline(values: Sequence[float]) -> str:
    """One block per value, scaled from 0, so that a stall looks like one."""
    top = max(values, default=0.0)
    return "".join(BARS[min(7, int(8 * value / top))] if top > 0 else BARS[0] for value in values)


def _machines(job: Job, _: Seen) -> str:
    return fmt.instances(one_line(job.snapshot.instance), job.snapshot.count)


def _fact(name: str, read: Callable[[Any], Any], dtype: str = "float64", reason: Missing = Missing.NOT_KNOWN) -> Column:
    """A column of files only."""
    return Column(name=name, dtype=dtype, read=lambda job, _: known(read(job), reason))


def _change(name: str, change: Callable[[Delta], float | None]) -> Column:
    return Column(name=name, dtype="float64", read=lambda _, delta: known(change(delta), Missing.NOTHING))


def _less(saving: Callable[[Delta], float | None]) -> Callable[[Compared, Seen], float | None]:
    """The change that is shown below a value: a saving with its sign turned round."""

    def change(_: Compared, delta: Seen) -> float | None:
        share = saving(delta) if isinstance(delta, Delta) else None
        return None if share is None else -share

    return change


def _faster(_: Compared, delta: Seen) -> float | None:
    return delta.speedup_pct if isinstance(delta, Delta) else None


def _fold(order: int, under: str, words: str, *others: str) -> Fold:
    return Fold(order=order, under=(under, *others), words=words)


_COLUMNS: tuple[Column, ...] = (
    # of every job
    Column(name="status", heading="Status", short="STATUS", style="state", align=Align.LEFT, least=11, dtype="object", read=_status),
    _fact("emulated", lambda job: job.emulated, dtype="bool"),
    _fact("instance", lambda job: job.snapshot.instance, dtype="object"),
    Column(name="instances", short="HOSTS", least=6, form=fmt.count, dtype="int64", read=lambda job, _: job.snapshot.count),
    Column(name="machines", heading="Instances", align=Align.LEFT, least=14, read=_machines),
    Column(name="created", heading="Created", form=fmt.stamp, read=lambda job, _: known(job.snapshot.created)),
    Column(name="price_usd_per_hour", dtype="float64", read=lambda job, _: _price(job, job.price and job.price.usd_per_hour)),
    Column(name="price_as_of", dtype="object", read=lambda job, _: _price(job, job.price and job.price.as_of)),
    Column(name="cost_usd", heading="Cost", unit="USD", short="USD", form=fmt.usd_cell, dtype="float64", read=_usd,
           change=_less(lambda delta: delta.cost_saving_pct)),
    Column(name="spot_saved_usd", heading="Spot saved", unit="USD", short="SPOT SAVED", rank=1, form=fmt.usd_cell, dtype="float64",
           fold=_fold(7, "cost_usd", "spot saved {}"), read=_spot_saved),
    Column(name="interruptions", heading="Interruptions", short="✕", least=1, rank=1, dtype="int64",
           form=lambda number: fmt.count(number) if number else str(Missing.NOTHING), read=lambda job, _: job.snapshot.interruptions),
    # of a job that is watched, or one of many
    Column(name="job", dtype="object", read=lambda job, _: job.label or job.snapshot.name),
    Column(name="state", short="STATUS", align=Align.LEFT, least=11, read=lambda job, _: Cell(job.look.short, role=job.look.role)),
    Column(name="phases", heading="Phases", align=Align.LEFT, read=_phases),
    Column(name="step", heading="Step", least=16, read=_step),
    Column(name="done", heading="Done", least=4, form=lambda share: f"{share:.0%}", read=lambda job, _: known(job.share)),
    Column(name="rate", heading="Rate", least=11, rank=3, form=fmt.significant, read=_newest_rate),
    Column(name="spark", least=8, rank=4, align=Align.LEFT, read=lambda job, _: "" if job.emulated else sparkline(job.rates)),
    Column(name="loss", heading="Loss", least=5, rank=5, form=fmt.loss, read=_loss),
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
           fold=_fold(8, "wall_s", "{} it/s"), read=_median("it/s"), change=_faster),
    Column(name="samples_per_s", heading="Throughput", unit="samples/s", short="SAMPLES/S", form=fmt.significant, dtype="float64",
           fold=_fold(9, "wall_s", "{} samples/s"), read=_median("samples/s"), change=_faster),
    Column(name="billable_s", heading="Billable", unit="s per instance", short="BILLABLE s", form=fmt.count, dtype="float64",
           read=lambda job, _: known(job.snapshot.billable_s, Missing.NOT_BILLED_YET),
           change=_less(lambda delta: delta.billable_saving_pct)),
    Column(name="wall_s", heading="Time", unit="submit to end", short="WALL", form=fmt.compact, dtype="float64",
           read=lambda job, _: known(job.wall_s, Missing.NOT_KNOWN), change=_less(lambda delta: delta.wall_saving_pct)),
    Column(name="usd_per_1000_it", heading="Steady cost", unit="USD per 1,000 iterations", short="USD/1,000 it", rank=3,
           form=fmt.usd_small, dtype="float64", fold=_fold(2, "cost_usd", "{} per 1,000 it"),
           read=lambda job, _: _price(job, job.usd_per_1000("it/s"))),
    Column(name="usd_per_1000_samples", heading="Steady cost", unit="USD per 1,000 samples", short="USD/1,000 samples", rank=3,
           form=fmt.usd_small, dtype="float64", fold=_fold(3, "cost_usd", "{} per 1,000 samples"),
           read=lambda job, _: _price(job, job.usd_per_1000("samples/s"))),
    Column(name="accuracy", heading="Accuracy", unit="held out", short="ACC", rank=1, form=fmt.accuracy, dtype="float64",
           read=lambda job, _: known(job.accuracy, Missing.NOT_LOGGED)),
    Column(name="final_loss", heading="Final loss", unit="training", short="LOSS", rank=4, form=fmt.loss, dtype="float64",
           fold=_fold(5, "accuracy", "loss {}", "result"), read=lambda job, _: known(job.final_loss, Missing.NOT_LOGGED)),
    _change("speedup_pct", lambda delta: delta.speedup_pct),
    _change("billable_saving_pct", lambda delta: delta.billable_saving_pct),
    _change("cost_saving_pct", lambda delta: delta.cost_saving_pct),
)  # fmt: skip
_BY_NAME = {column.name: column for column in _COLUMNS}

# The columns of files and frames, in their order: of a comparison, and of many jobs.
COLUMNS = (
    "job", "status", "origin", "emulated", "instance", "instances", "workload", "throughput_it_per_s", "samples_per_s", "billable_s",
    "wall_s", "price_usd_per_hour", "price_as_of", "cost_usd", "spot_saved_usd", "usd_per_1000_it", "usd_per_1000_samples", "accuracy",
    "final_loss", "interruptions", "speedup_pct", "billable_saving_pct", "cost_saving_pct",
)  # fmt: skip
FLEET_COLUMNS = ("job", "status", "emulated", "instance", "instances", "created", "billable_s", "instance_hours", "price_usd_per_hour",
                 "price_as_of", "cost_usd", "spot_saved_usd", "idle_usd", "interruptions")  # fmt: skip
_MEASURED = ("wall_s", "billable_s", "cost_usd", "spot_saved_usd")
_LAST = ("accuracy", "final_loss")  # these and the steady cost stand where any job has a value
_REHEARSAL_WORDS: Mapping[str, Mapping[str, Any]] = {
    "status": {"in_text": False},
    "billable_s": {"heading": "Billable, s emu", "short": "BILLABLE, s emu"},
    "cost_usd": {"in_text": False},
    "accuracy": {"short": "ACCURACY", "rank": 0},
    "final_loss": {"rank": 0},
    "interruptions": {"short": "INTERRUPTED", "form": fmt.count},
}
_REHEARSED = ("status", "final_loss", "accuracy", "billable_s", "interruptions", "cost_usd")


def words_of(job: WatchRow, name: str, now: datetime) -> str:
    """What one column says of a job."""
    column = _BY_NAME[name]
    return column.words(column.cell(job, now))


def jobs_table(jobs: Iterable[WatchRow], names: Sequence[str], now: datetime | None = None, title: str = "") -> Table:
    """A row for each job, as it is at ``now``; None: as the service has billed it. Ages of checkpoints only where a job has some."""
    several = list(jobs)
    saved = any(job.checkpoints is not None for job in several)
    columns = tuple(_BY_NAME[name] for name in names if name != "checkpoint" or saved)
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


def compared_table(section: Section, title: str = "") -> Table:
    """The measured jobs of a section: of a sweep the best first, else each with its change against the baseline."""
    if section.sweep is not None:
        return _sweep_table(section, section.sweep, title)
    steady = "usd_per_1000_samples" if section.unit == "samples/s" else "usd_per_1000_it"
    columns = [replace(_BY_NAME["status"], in_text=False), _rate_column(section)]
    columns += [replace(each, rank=0) if each.name == "wall_s" else each for each in _timed(section, _MEASURED)]
    columns += [_BY_NAME[name] for name in (steady, *_LAST)]
    several = len(section.measured) > 1
    rows = [_job_row(job, columns, section.delta(job), base=several and job is section.base) for job in section.rows]
    optional = {steady, *_LAST}
    kept = tuple(each for each in columns if each.name not in optional or _any_value(rows, each.name))
    return Table(columns=kept, rows=tuple(rows), title=title)


def _any_value(rows: Iterable[Row], name: str) -> bool:
    return any(not row.cells[name].missing for row in rows if not row.note)


def _rate_column(section: Section) -> Column:
    return _BY_NAME["samples_per_s" if section.unit == "samples/s" else "throughput_it_per_s"]


def _timed(section: Section, names: Sequence[str]) -> list[Column]:
    """With a job on spot also the time from submit to end, what was trained and what was saved; then ``Billed`` is short."""
    if section.on_spot:
        billed = replace(_BY_NAME["billable_s"], heading="Billed", unit="s/instance", short="BILLED s")
        return [billed if name == "billable_s" else _BY_NAME[name] for name in names]
    return [_BY_NAME[name] for name in names if name not in {"wall_s", "spot_saved_usd"}]


def _job_row(job: Compared, columns: Sequence[Column], delta: Delta, *, base: bool = False) -> Row:
    machines = _machines(job, None)
    mark = Mark(slot=job.slot, hollow=job.emulated)
    if job.emulated:
        cells = {"status": columns[0].cell(job, delta)} if columns[0].name == "status" else {}
        note = "on this machine. Not compared."
        return Row(name=job.label, mark=mark, under=f"for {machines}", cells=cells, note=note)
    suffix = ", baseline" if base else ""
    cells = cells_of(columns, job, delta)
    return Row(name=job.label, mark=mark, suffix=suffix, under=machines + suffix, cells=cells)


def _sweep_table(section: Section, sweep: Sweep, title: str) -> Table:
    """What differs between the jobs, what they are ranked by, what they took and cost. No job is compared with another."""
    loss = sweep.metric != TRAINING_LOSS and any(trial.row.final_loss is not None for trial in sweep.trials)
    own = [replace(_BY_NAME["final_loss"], rank=1)] if loss else []
    rate = _rate_column(section)
    if len({rate.words(rate.cell(trial.row, None)) for trial in sweep.trials}) > 1:
        own.append(replace(rate, rank=1))
    own += _timed(section, _MEASURED)
    result = Column(name="result", heading=sweep.metric, unit="ranked by", short=sweep.metric.upper(), form=fmt.loss)
    rows = []
    for trial in sweep.trials:
        row = _job_row(trial.row, own, Delta())
        value = Cell(Missing.NOT_KNOWN, why=trial.note) if trial.value is None else Cell(trial.value)
        cells = {**_setting_cells(trial.settings, sweep.names), **row.cells, "result": value}
        rows.append(replace(row, cells=cells, rank=trial.rank, status=_status(trial.row, None)))
    rows += [_job_row(job, own, Delta()) for job in section.emulated]
    return Table(columns=(*_setting_columns(sweep), result, *own), rows=tuple(rows), title=title, ranked=True)


def _setting_columns(sweep: Sweep) -> list[Column]:
    return [
        Column(
            name=f"{HYPERPARAMETER}{name}",
            heading=name,
            short=name.upper(),
            form=setting_text,
            rank=0 if place < 2 or sweep.emulated else 2,
        )
        for place, name in enumerate(sweep.names[:MOST_SETTINGS])
    ]


def _setting_cells(settings: Mapping[str, Setting], names: Sequence[str]) -> dict[str, Cell]:
    return {f"{HYPERPARAMETER}{name}": Cell(settings.get(name, Missing.NOT_SET)) for name in names}


def settings_left(sweep: Sweep, shown: Iterable[str] | None = None) -> str:
    """Which hyperparameters have no column; ``shown`` are the names of the columns that there is room for."""
    names = [f"{HYPERPARAMETER}{name}" for name in sweep.names[:MOST_SETTINGS]] if shown is None else list(shown)
    left = [name for name in sweep.names if f"{HYPERPARAMETER}{name}" not in names]
    return f"Also different, as in compare.csv: {fmt.listing(left)}." if left else ""


def rehearsal_table(section: Section, title: str = "") -> Table:
    """Emulated jobs: what they learned and their seconds, which carry the mark. No rate, no cost, and nothing is compared."""
    sweep = section.sweep
    plain = [replace(_BY_NAME[name], unit="", fold=None, change=None) for name in _REHEARSED]
    plain = [replace(each, **_REHEARSAL_WORDS.get(each.name, {})) for each in plain]
    rows = []
    for place, job in enumerate(section.rows if sweep is None else [trial.row for trial in sweep.trials]):
        settings = {} if sweep is None else _setting_cells(sweep.trials[place].settings, sweep.names)
        cells = settings | cells_of(plain, job, Delta())
        mark = Mark(slot=job.slot, hollow=True)
        rows.append(Row(name=job.label, mark=mark, under=f"for {_machines(job, None)}", cells=cells))
    settings_columns = _setting_columns(sweep) if sweep is not None else []
    return Table(columns=(plain[0], *settings_columns, *plain[1:]), rows=tuple(rows), title=title)


def file_table(sections: Sequence[Section], jobs: Sequence[Compared], names: Sequence[str]) -> Table:
    """Every column of every job, and one for each hyperparameter of ``names``."""
    home = {job.label: section for section in sections for job in section.rows}
    columns = [_BY_NAME[name] for name in COLUMNS]
    rows = [
        Row(
            name=job.label,
            cells=cells_of(columns, job, home[job.label].delta(job))
            | _setting_cells(typed_settings(job, names), names),
        )
        for job in jobs
    ]
    settings = [Column(name=f"{HYPERPARAMETER}{name}") for name in names]
    return Table(columns=(*columns, *settings), rows=tuple(rows))


def price_table(prices: Iterable[Price], title: str, used: Iterable[Price]) -> Table:
    """Each price with its date, region and source; ``used`` are those that costs are made of."""
    columns = (
        Column(name="usd_per_hour", heading="USD per hour"),
        Column(name="as_of", heading="Dated", align=Align.LEFT),
        Column(name="region", heading="Region", align=Align.LEFT),
        Column(name="used", heading="Used", align=Align.LEFT),
        Column(name="source", heading="Source", align=Align.LEFT, style=WRAP),
    )
    chosen = set(used)
    rows = []
    for price in prices:
        inferred = Cell(f"{price.as_of}, inferred", role="warn", glyph="▲") if price.inferred else Cell(price.as_of)
        cells = {
            "usd_per_hour": Cell(price.usd_per_hour),
            "as_of": inferred,
            "region": Cell(price.region),
            "used": Cell("yes" if price in chosen else "other date"),
            "source": Cell(price_sources().get(price.source, price.source)),
        }
        rows.append(Row(name=price.instance, role="code", cells=cells))
    return Table(columns=columns, rows=tuple(rows), title=title, rows_are="Instance")
