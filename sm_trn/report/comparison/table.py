"""The tables of a comparison: measured jobs, a sweep, emulated jobs, and every column for files. Knows no writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, known, missing_cost
from ...core.formatting.table import Align, Cell, Column, Fold, Mark, Row, Table, cells_of
from ..sections.rows import Row as Job
from ..sections.section import Delta, Section
from ..sections.sweep import TRAINING_LOSS, Setting, Sweep, Trial, setting_text, typed_settings


def _rate(unit: str) -> Callable[[Job, Delta], Any]:
    def read(row: Job, _: Delta) -> Any:
        rate = row.rate(unit)
        if rate is not None:
            return rate.median
        if row.emulated:
            return Missing.EMULATED
        if row.too_short is not None:
            return Cell(Missing.TOO_SHORT, why=f"{Missing.TOO_SHORT}: {row.too_short} steps")
        return Missing.NOT_LOGGED

    return read


def _cost(row: Job, _: Delta) -> Any:
    if row.cost is not None:
        return row.cost.usd
    billed = row.billable_s is not None
    return missing_cost(emulated=row.emulated, billed=billed, in_tokens=row.snapshot.in_tokens)


def _price(row: Job, value: Any) -> Any:
    return (
        value
        if row.price is not None
        else missing_cost(emulated=row.emulated, billed=True, in_tokens=row.snapshot.in_tokens)
    )


def _spot_saved(row: Job, _: Delta) -> Any:
    on_demand = row.on_demand_usd
    return Missing.NOTHING if on_demand is None or row.cost is None else on_demand - row.cost.usd


def _steady(row: Job, value: float | None) -> Any:
    return _price(row, known(value, Missing.NOT_LOGGED))


def _per_epoch(row: Job, delta: Delta) -> Any:
    return _cost(row, delta) if row.cost is None else known(row.usd_per_epoch, Missing.NOT_LOGGED)


def _estimated(quantity: str, quantile: int) -> Callable[[Job, Delta], Any]:
    """Of emulated jobs alone: never beside a measured value in one column."""

    def read(row: Job, _: Delta) -> Any:
        values = getattr(row.estimated, quantity) if row.estimated is not None else None
        if values is None or row.estimated is None:
            return Missing.NOTHING
        seconds, dollars = row.estimated.between
        under = {"billable_s": seconds, "usd": dollars}[quantity] if quantile == 1 else ""
        return Cell(values[quantile], under=under)

    return read


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _fact(name: str, read: Callable[[Job], Any], reason: Missing = Missing.NOT_KNOWN, dtype: str = "float64") -> Column:
    """A column of files only."""
    return Column(name=name, dtype=dtype, read=lambda row, _: known(read(row), reason))


def _change(name: str, change: Callable[[Delta], float | None]) -> Column:
    return Column(name=name, dtype="float64", read=lambda _, delta: known(change(delta), Missing.NOTHING))


# In the order of the files.
JOB_COLUMNS: tuple[Column, ...] = (
    _fact("job", lambda row: row.label, dtype="object"),
    Column(name="status", heading="Status", style="state", align=Align.LEFT, in_text=False, dtype="object",
              read=lambda row, _: Cell(row.status.word, role=row.status.role, glyph=row.status.glyph)),
    _fact("origin", lambda row: row.record.origin.value, dtype="object"),
    _fact("emulated", lambda row: row.emulated, dtype="bool"),
    _fact("instance", lambda row: row.snapshot.instance, dtype="object"),
    _fact("instances", lambda row: row.snapshot.count, dtype="int64"),
    _fact("workload", lambda row: row.record.workload, dtype="object"),
    Column(name="throughput_it_per_s", heading="Throughput", unit="it/s", short="IT/S", form=fmt.significant, dtype="float64",
              fold=Fold(order=8, under=("wall_s",), words="{} it/s"),
              read=_rate("it/s"), change=lambda _, delta: delta.speedup_pct),
    Column(name="samples_per_s", heading="Throughput", unit="samples/s", short="SAMPLES/S", form=fmt.significant, dtype="float64",
              fold=Fold(order=9, under=("wall_s",), words="{} samples/s"),
              read=_rate("samples/s"), change=lambda _, delta: delta.speedup_pct),
    _fact("runtime_s", lambda row: row.runtime_s),
    Column(name="billable_s", heading="Billable", unit="s per instance", short="BILLABLE s", form=fmt.count, dtype="float64",
              read=lambda row, _: known(row.billable_s, Missing.NOT_BILLED_YET),
              change=lambda _, delta: _minus(delta.billable_saving_pct)),
    Column(name="wall_s", heading="Time", unit="submit to end", short="WALL", form=fmt.compact, dtype="float64",
              read=lambda row, _: known(row.wall_s, Missing.NOT_KNOWN), change=lambda _, delta: _minus(delta.wall_saving_pct)),
    Column(name="trained_s", heading="Trained", unit="s/instance", short="TRAINED s", rank=2, form=fmt.count, dtype="float64",
              fold=Fold(order=6, under=("billable_s",), words="of {} trained"),
              read=lambda row, _: known(row.snapshot.training_s, Missing.NOT_KNOWN)),
    Column(name="not_training", heading="Not training", unit="share of billable", short="NOT TRAINING", rank=2, dtype="float64",
              form=lambda share: fmt.percent(share * 100), fold=Fold(order=4, under=("billable_s",), words="{} not training"),
              read=lambda row, _: known(row.not_training, Missing.NOT_KNOWN)),
    Column(name="price_usd_per_hour", dtype="float64", read=lambda row, _: _price(row, row.price and row.price.usd_per_hour)),
    Column(name="price_as_of", dtype="object", read=lambda row, _: _price(row, row.price and row.price.as_of)),
    Column(name="cost_usd", heading="Cost", unit="USD", short="USD", form=fmt.usd_cell, dtype="float64",
              read=_cost, change=lambda _, delta: _minus(delta.cost_saving_pct)),
    Column(name="cost_on_demand_usd", dtype="float64", read=lambda row, _: known(row.on_demand_usd, Missing.NOTHING)),
    Column(name="spot_saved_usd", heading="Spot saved", unit="USD", short="SPOT SAVED", rank=1, form=fmt.usd_cell, dtype="float64",
              fold=Fold(order=7, under=("cost_usd",), words="spot saved {}"), read=_spot_saved),
    Column(name="usd_per_1000_it", heading="Steady cost", unit="USD per 1,000 iterations", short="USD/1,000 it", rank=3,
              form=fmt.usd_small, dtype="float64", fold=Fold(order=2, under=("cost_usd",), words="{} per 1,000 it"),
              read=lambda row, _: _steady(row, row.usd_per_1000_it)),
    Column(name="usd_per_1000_samples", heading="Steady cost", unit="USD per 1,000 samples", short="USD/1,000 samples", rank=3,
              form=fmt.usd_small, dtype="float64", fold=Fold(order=3, under=("cost_usd",), words="{} per 1,000 samples"),
              read=lambda row, _: _steady(row, row.usd_per_1000_samples)),
    Column(name="usd_per_epoch", heading="Cost", unit="USD per epoch", short="USD/EPOCH", rank=5, form=fmt.usd_cell, dtype="float64",
              fold=Fold(order=1, under=("cost_usd",), words="{} per epoch"), read=_per_epoch),
    Column(name="accuracy", heading="Accuracy", unit="held out", short="ACC", rank=1, form=fmt.accuracy, dtype="float64",
              read=lambda row, _: known(row.accuracy, Missing.NOT_LOGGED)),
    Column(name="final_loss", heading="Final loss", unit="training", short="LOSS", rank=4, form=fmt.loss, dtype="float64",
              fold=Fold(order=5, under=("accuracy", "result"), words="loss {}"),
              read=lambda row, _: known(row.final_loss, Missing.NOT_LOGGED)),
    Column(name="baseline_accuracy", heading="Best baseline", short="BASELINE", rank=2, form=fmt.accuracy, dtype="float64",
              read=lambda row, _: known(row.baseline_accuracy, Missing.NOT_LOGGED)),
    Column(name="interruptions", heading="Interruptions", short="INTERRUPTED", rank=1, form=fmt.count, dtype="int64",
              read=lambda row, _: row.snapshot.interruptions),
    _fact("padding_fill", lambda row: row.work.padding_fill, Missing.NOT_LOGGED),
    _fact("data_wait", lambda row: row.work.data_wait, Missing.NOT_LOGGED),
    _fact("compiles", lambda row: row.work.compiles, Missing.NOT_LOGGED),
    _fact("compile_s", lambda row: row.work.compile_s, Missing.NOT_LOGGED),
    _change("speedup_pct", lambda delta: delta.speedup_pct),
    _change("billable_saving_pct", lambda delta: delta.billable_saving_pct),
    _change("cost_saving_pct", lambda delta: delta.cost_saving_pct),
    Column(name="estimated_s", heading="AWS time, est", short="AWS TIME, est", rank=1, form=fmt.brief, dtype="float64",
              read=_estimated("billable_s", 1)),
    Column(name="estimated_s_p10", dtype="float64", read=_estimated("billable_s", 0)),
    Column(name="estimated_s_p90", dtype="float64", read=_estimated("billable_s", 2)),
    Column(name="estimated_usd", heading="AWS USD, est", short="AWS USD, est", rank=1, form=lambda usd: f"{usd:,.1f}", dtype="float64",
              read=_estimated("usd", 1)),
    Column(name="estimated_usd_p10", dtype="float64", read=_estimated("usd", 0)),
    Column(name="estimated_usd_p90", dtype="float64", read=_estimated("usd", 2)),
)  # fmt: skip
COLUMNS = tuple(column.name for column in JOB_COLUMNS)
_BY_NAME = {column.name: column for column in JOB_COLUMNS}


def column(name: str) -> Column:
    """Raises KeyError for a name that no column has."""
    return _BY_NAME[name]


HYPERPARAMETER = "hyperparameters."  # before the name of one that is a column
MOST_SETTINGS = 4  # hyperparameters that are columns of a table for people; files have all
_MEASURED = ("wall_s", "trained_s", "billable_s", "not_training", "cost_usd", "spot_saved_usd")
_LAST = ("usd_per_epoch", "accuracy", "final_loss")  # these and the steady cost stand where any job has a value
_REHEARSED = ("status", "final_loss", "accuracy", "baseline_accuracy", "billable_s", "interruptions", "cost_usd")
# What every surface says of a rehearsal.
REHEARSED = "No speed-up, no cost: emulated jobs have none. Their seconds are this machine's."
_ESTIMATED = ("estimated_s", "estimated_usd")


def job_table(section: Section, title: str = "") -> Table:
    """The measured jobs of a section: of a sweep the best first, else each with its change against the baseline."""
    if section.sweep is not None:
        return _sweep_table(section, section.sweep, title)
    steady = "usd_per_1000_samples" if section.unit == "samples/s" else "usd_per_1000_it"
    columns = [column("status"), _rate_column(section)]
    columns += [replace(each, rank=0) if each.name == "wall_s" else each for each in _timed(section, _MEASURED)]
    columns += [column(name) for name in (steady, *_LAST)]
    rows = [
        _job_row(job, columns, section.delta(job), base=job is section.base and len(section.measured) > 1)
        for job in section.rows
    ]
    optional = {"not_training", steady, *_LAST}
    kept = tuple(each for each in columns if each.name not in optional or _any_value(rows, each.name))
    return Table(columns=kept, rows=tuple(rows), title=title)


def _any_value(rows: Iterable[Row], name: str) -> bool:
    return any(not row.cells[name].missing for row in rows if not row.note)


def _rate_column(section: Section) -> Column:
    return column("samples_per_s" if section.unit == "samples/s" else "throughput_it_per_s")


def _timed(section: Section, names: Sequence[str]) -> list[Column]:
    """With a job on spot also the time from submit to end, what was trained and what was saved; then ``Billed`` is short."""
    if section.on_spot:
        billed = replace(column("billable_s"), heading="Billed", unit="s/instance", short="BILLED s")
        return [billed if name == "billable_s" else column(name) for name in names]
    return [column(name) for name in names if name not in {"wall_s", "trained_s", "spot_saved_usd"}]


def _job_row(job: Job, columns: Sequence[Column], delta: Delta, *, base: bool = False) -> Row:
    machine = fmt.instances(job.snapshot.instance, job.snapshot.count)
    mark = Mark(slot=job.slot, hollow=job.emulated)
    if job.emulated:
        cells = {"status": column("status").cell(job, delta)} if columns[0].name == "status" else {}
        note = "on this machine. Not compared."
        return Row(name=job.label, mark=mark, under=f"for {machine}", cells=cells, note=note)
    return Row(
        name=job.label,
        mark=mark,
        suffix=", baseline" if base else "",
        under=machine + (", baseline" if base else ""),
        cells=cells_of(columns, job, delta),
    )


def _sweep_table(section: Section, sweep: Sweep, title: str) -> Table:
    """What differs between the jobs, what they are ranked by, what they took and cost. No job is compared with another."""
    jobs = [trial.row for trial in sweep.trials]
    own: list[Column] = []
    if sweep.metric != TRAINING_LOSS and any(job.final_loss is not None for job in jobs):
        own.append(replace(column("final_loss"), rank=1))
    rate = _rate_column(section)
    rates = [rate.words(rate.cell(job, Delta())) for job in jobs]
    if len({words for job, words in zip(jobs, rates, strict=True) if job.rate(section.unit)}) > 1:
        own.append(replace(rate, rank=1))
    spent = _timed(section, ("wall_s", "trained_s", "billable_s"))
    own += [replace(each, in_text=False) for each in spent]
    own.append(_took_column(section))
    own += [
        replace(each, rank=2 if each.name == "spot_saved_usd" else 0)
        for each in _timed(section, ("cost_usd", "spot_saved_usd"))
    ]
    settings = _setting_columns(sweep)
    result = Column(name="result", heading=sweep.metric, unit="ranked by", short=sweep.metric.upper(), form=fmt.loss)
    rows = [_trial_row(trial, sweep, own) for trial in sweep.trials]
    rows += [_job_row(job, own, Delta()) for job in section.emulated]
    return Table(columns=(*settings, result, *own), rows=tuple(rows), title=title, ranked=True)


def _took_column(section: Section) -> Column:
    """How long a job took, for a terminal: from submit to end with spot in the section, else what was billed."""

    seconds_of = section.seconds_of

    def read(job: Job, _: Delta) -> float | Missing:
        seconds = seconds_of(job)
        return Missing.NOT_KNOWN if seconds is None else seconds

    return Column(name="took", heading="Time", short="TIME", rank=1, form=fmt.brief, in_html=False, read=read)


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


def _trial_row(trial: Trial, sweep: Sweep, columns: Sequence[Column]) -> Row:
    row = _job_row(trial.row, columns, Delta())
    result = Cell(Missing.NOT_KNOWN, why=trial.note) if trial.value is None else Cell(trial.value)
    cells = {**_setting_cells(trial.settings, sweep.names), **row.cells, "result": result}
    return replace(row, cells=cells, rank=trial.rank, status=column("status").cell(trial.row, Delta()))


def settings_left(sweep: Sweep, shown: Iterable[str] | None = None) -> str:
    """Which hyperparameters have no column; ``shown`` are the names of the columns that there is room for."""
    names = [f"{HYPERPARAMETER}{name}" for name in sweep.names[:MOST_SETTINGS]] if shown is None else list(shown)
    left = [name for name in sweep.names if f"{HYPERPARAMETER}{name}" not in names]
    return f"Also different, as in compare.csv: {fmt.listing(left)}." if left else ""


def rehearsal_table(section: Section, title: str = "") -> Table:
    """Emulated jobs: what they learned and their seconds, which carry the mark. No rate, no cost."""
    sweep = section.sweep
    jobs = section.rows if sweep is None else tuple(trial.row for trial in sweep.trials)
    names = _REHEARSED + (_ESTIMATED if any(job.estimated is not None for job in jobs) else ())
    columns = [_rehearsed(name) for name in names]
    settings = _setting_columns(sweep) if sweep is not None else []
    chosen = {trial.job: trial for trial in sweep.trials} if sweep is not None else {}
    rows = []
    for job in jobs:
        cells = cells_of(columns, job, Delta())
        own = _setting_cells(chosen[job.label].settings, sweep.names) if sweep is not None else {}
        machine = fmt.instances(job.snapshot.instance, job.snapshot.count)
        mark = Mark(slot=job.slot, hollow=True)
        rows.append(Row(name=job.label, mark=mark, under=f"for {machine}", cells={**own, **cells}))
    status, *others = columns
    if not _any_value(rows, "baseline_accuracy"):
        others = [replace(each, in_text=each.name != "baseline_accuracy" and each.in_text) for each in others]
    return Table(columns=(status, *settings, *others), rows=tuple(rows), title=title)


def _rehearsed(name: str) -> Column:
    """A column of a rehearsal: its unit carries the mark, and no number of it is compared."""
    if name == "billable_s":
        return replace(column(name), heading="Billable, s emu", unit="", short="BILLABLE, s emu", change=None)
    if name == "cost_usd":
        return replace(column(name), unit="", in_text=False)
    if name == "accuracy":
        return replace(column(name), unit="", short="ACCURACY", rank=0)
    if name == "final_loss":
        return replace(column(name), unit="", rank=0, fold=None)
    return column(name)


def file_table(sections: Sequence[Section], jobs: Sequence[Job], names: Sequence[str]) -> Table:
    """Every column of every job, and one for each hyperparameter of ``names``."""
    home = {job.label: section for section in sections for job in section.rows}
    rows = []
    for job in jobs:
        cells = cells_of(JOB_COLUMNS, job, home[job.label].delta(job))
        own = _setting_cells(typed_settings(job, names), names)
        rows.append(Row(name=job.label, cells={**cells, **own}))
    columns = (*JOB_COLUMNS, *(Column(name=f"{HYPERPARAMETER}{name}") for name in names))
    return Table(columns=columns, rows=tuple(rows))
