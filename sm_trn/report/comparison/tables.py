"""The tables of a comparison: measured jobs, a sweep, emulated jobs, and every column for files. Knows no writer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.table import Cell, Column, Mark, Row, Table, cells_of
from ..columns import BY_NAME, COLUMNS, machines_of, status_cell
from ..sections.rows import ComparedJob
from ..sections.section import Delta, Section
from ..sections.sweep import TRAINING_LOSS, Setting, Sweep, setting_text, typed_settings

HYPERPARAMETER = "hyperparameters."  # before the name of one that is a column
MOST_SETTINGS = 4  # hyperparameters that are columns of a table for people; files have all
# What every surface says of a rehearsal.
REHEARSED = "No speed-up, no cost: emulated jobs have none. Their seconds are this machine's."
_MEASURED = ("wall_s", "billable_s", "cost_usd", "spot_saved_usd")
_LAST = ("accuracy", "final_loss")  # these and the steady cost stand where any job has a value


def compared_table(section: Section, title: str = "") -> Table:
    """The jobs of a section: of a sweep the best first, else each with its change against the baseline."""
    if section.sweep is not None:
        return _sweep_table(section, section.sweep, title)
    steady = "usd_per_1000_samples" if section.unit == "samples/s" else "usd_per_1000_it"
    if section.emulated:
        columns = [BY_NAME["status"], *(replace(BY_NAME[name], rank=0) for name in _LAST), *_emulated_columns()]
    else:
        columns = [replace(BY_NAME["status"], in_text=False), _rate_column(section)]
        columns += [replace(each, rank=0) if each.name == "wall_s" else each for each in _timed(section, _MEASURED)]
        columns += [BY_NAME[name] for name in (steady, *_LAST)]
    several = len(section.rows) > 1
    rows = [_job_row(job, columns, section.delta(job), base=several and job is section.base) for job in section.rows]
    optional = {steady, *_LAST}
    known = {name for row in rows for name, cell in row.cells.items() if not cell.missing}
    kept = tuple(each for each in columns if each.name not in optional or each.name in known)
    return Table(columns=kept, rows=tuple(rows), title=title)


def _rate_column(section: Section) -> Column:
    return BY_NAME["samples_per_s" if section.unit == "samples/s" else "throughput_it_per_s"]


def _emulated_columns() -> list[Column]:
    """This machine's seconds, which carry the mark. No rate; the page says that there is no cost."""
    seconds = replace(BY_NAME["billable_s"], heading="Billable, s emu", unit="", short="BILLABLE, s emu", change=None)
    return [seconds, BY_NAME["interruptions"], replace(BY_NAME["cost_usd"], in_text=False)]


def _timed(section: Section, names: Sequence[str]) -> list[Column]:
    """With a job on spot also the time from submit to end, what was trained and what was saved; then ``Billed`` is short."""
    if section.on_spot:
        billed = replace(BY_NAME["billable_s"], heading="Billed", unit="s/instance", short="BILLED s")
        return [billed if name == "billable_s" else BY_NAME[name] for name in names]
    return [BY_NAME[name] for name in names if name not in {"wall_s", "spot_saved_usd"}]


def _job_row(job: ComparedJob, columns: Sequence[Column], delta: Delta, *, base: bool = False) -> Row:
    machines = machines_of(job, None)
    mark = Mark(slot=job.slot, hollow=job.emulated)
    suffix = ", baseline" if base else ""
    under = f"for {machines}" if job.emulated else machines + suffix
    return Row(name=job.label, mark=mark, suffix=suffix, under=under, cells=cells_of(columns, job, delta))


def _sweep_table(section: Section, sweep: Sweep, title: str) -> Table:
    """What differs between the jobs, what they are ranked by, what they took and cost. No job is compared with another."""
    loss = sweep.metric != TRAINING_LOSS and any(trial.row.final_loss is not None for trial in sweep.trials)
    own = [replace(BY_NAME["final_loss"], rank=1)] if loss else []
    rate = _rate_column(section)
    if len({rate.words(rate.cell(trial.row, None)) for trial in sweep.trials}) > 1:
        own.append(replace(rate, rank=1))
    own += _emulated_columns() if section.emulated else _timed(section, _MEASURED)
    result = Column(name="result", heading=sweep.metric, unit="ranked by", short=sweep.metric.upper(), form=fmt.loss)
    rows = []
    for trial in sweep.trials:
        row = _job_row(trial.row, own, Delta())
        value = Cell(Missing.NOT_KNOWN, why=trial.note) if trial.value is None else Cell(trial.value)
        cells = {**_setting_cells(trial.settings, sweep.names), **row.cells, "result": value}
        rows.append(replace(row, cells=cells, rank=trial.rank, status=status_cell(trial.row, None)))
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


def file_table(sections: Sequence[Section], jobs: Sequence[ComparedJob], names: Sequence[str]) -> Table:
    """Every column of every job, and one for each hyperparameter of ``names``."""
    home = {job.label: section for section in sections for job in section.rows}
    columns = [BY_NAME[name] for name in COLUMNS]
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
