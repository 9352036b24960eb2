"""The columns of a watched job, each once. Terminal, notebook and live page choose from them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, known, missing_cost
from ...core.formatting.printable import BARS
from ...core.formatting.table import Align, Cell, Column, Mark, Row, Table, cells_of
from ...core.status import Texture, phases
from .rows import WatchRow

PAGE = ("status", "phases", "step", "rate", "loss", "left", "cost", "checkpoint", "interruptions")
LIVE = ("step", "rate", "loss", "left", "billed", "cost", "checkpoint")


def _status(row: WatchRow, _: datetime) -> Cell:
    look = row.look
    return Cell(look.word, role=look.role, glyph=look.glyph, tag=row.emulated)


def _state(row: WatchRow, _: datetime) -> Cell:
    return Cell(row.look.short, role=row.look.role)


def _phases(row: WatchRow, now: datetime) -> Any:
    """The newest phase in words, and all of them as a bar."""
    seen = list(phases(row.snapshot, now))
    if not seen:
        return Missing.NOTHING
    return Cell(f"{seen[-1].word} {fmt.compact(seen[-1].seconds)}", bar=phase_shares(row, now))


def phase_shares(row: WatchRow, now: datetime) -> tuple[tuple[str, float], ...]:
    """Styles and shares of the phases, and of what is left: half of the bar where nobody can say."""
    seen = list(phases(row.snapshot, now))
    done = sum(phase.seconds for phase in seen)
    left = done if row.open_ended else row.left_s or 0.0
    parts = [*((phase.texture.style, phase.seconds) for phase in seen), (Texture.LEFT.style, left)]
    return tuple((style, seconds / (done + left)) for style, seconds in parts if seconds)


def _step(row: WatchRow, _: datetime) -> Any:
    if row.step is None:
        return Missing.NOT_LOGGED if row.may_have_logged else Missing.NOTHING
    return fmt.count(row.step) + (f" of {fmt.count(row.total_steps)}" if row.total_steps else "")


def _done(row: WatchRow, _: datetime) -> Any:
    return known(row.share)


def _rate(row: WatchRow, _: datetime) -> Any:
    """The newest rate. An emulated one would be this machine's."""
    if row.emulated:
        return Missing.EMULATED
    if row.look.word in {"failed", "interrupted"}:
        return Missing.NOTHING
    if not row.rates:
        return Missing.NOT_LOGGED if row.may_have_logged else Missing.NOTHING
    return Cell(row.rates[-1], unit=row.unit, spark=sparkline(row.rates) if len(row.rates) > 1 else "")


def _spark(row: WatchRow, _: datetime) -> str:
    return "" if row.emulated else sparkline(row.rates)


def _loss(row: WatchRow, _: datetime) -> Any:
    if row.loss is None:
        return Missing.NOT_LOGGED if row.may_have_logged else Missing.NOTHING
    return Cell(row.loss, spark=sparkline(row.losses) if len(row.losses) > 1 else "")


def _left(row: WatchRow, _: datetime) -> Any:
    if row.snapshot.terminal:
        return Missing.NOTHING
    return Missing.TOO_EARLY if row.left_s is None else row.left_s


def _billed(row: WatchRow, now: datetime) -> Any:
    billed = row.billed_s(now)
    if billed is None:
        return Missing.NOT_BILLED_YET
    return Cell(billed, unit="emu" if row.emulated else "")


def _cost(row: WatchRow, now: datetime) -> Any:
    usd = row.usd(now)
    if usd is not None:
        return Cell(usd, before="≤" if row.at_most else "")
    billed = row.billed_s(now) is not None
    return missing_cost(emulated=row.emulated, billed=billed, in_tokens=row.snapshot.in_tokens)


def _checkpoint(row: WatchRow, now: datetime) -> Any:
    """The age of the newest object."""
    if row.checkpoints is None:
        return Missing.NOTHING
    age = row.checkpoints.age_s(now)
    return Missing.NONE_YET if age is None else age


def _interruptions(row: WatchRow, _: datetime) -> Any:
    return row.snapshot.interruptions or Missing.NOTHING


COLUMNS: tuple[Column, ...] = (
    Column(name="status", heading="Status", align=Align.LEFT, style="state", read=_status),
    Column(name="state", short="STATUS", align=Align.LEFT, least=11, read=_state),
    Column(name="instances", heading="Instances", least=14,
                read=lambda row, _: fmt.instances(row.snapshot.instance, row.snapshot.count)),
    Column(name="phases", heading="Phases", align=Align.LEFT, read=_phases),
    Column(name="step", heading="Step", least=16, read=_step),
    Column(name="done", heading="Done", least=4, form=lambda share: f"{share:.0%}", read=_done),
    Column(name="rate", heading="Rate", least=11, rank=3, form=fmt.significant, read=_rate),
    Column(name="spark", least=8, rank=4, align=Align.LEFT, read=_spark),
    Column(name="loss", heading="Loss", least=5, rank=5, form=fmt.loss, read=_loss),
    Column(name="billed", heading="Billed", least=6, form=fmt.billable, read=_billed),
    Column(name="left", heading="Left", least=6, form=lambda seconds: fmt.brief(seconds, estimate=True), read=_left),
    Column(name="cost", heading="USD", least=7, form=fmt.usd_cell, read=_cost),
    Column(name="checkpoint", heading="Checkpoint", short="CKPT", least=5, rank=2, form=fmt.brief, read=_checkpoint),
    Column(name="interruptions", heading="Interruptions", short="✕", least=1, rank=1, read=_interruptions),
)  # fmt: skip
_BY_NAME = {column.name: column for column in COLUMNS}


def sparkline(values: Sequence[float]) -> str:
    """One block per value, scaled from 0, so that a stall looks like one."""
    top = max(values, default=0.0)
    return "".join(BARS[min(7, int(8 * value / top))] if top > 0 else BARS[0] for value in values)


def words_of(row: WatchRow, name: str, now: datetime) -> str:
    """What one column says of a job."""
    column = _BY_NAME[name]
    return column.words(column.cell(row, now))


def watch_table(rows: Sequence[WatchRow], names: Sequence[str], now: datetime) -> Table:
    """The jobs with the columns ``names``; ages of checkpoints only where a job has a folder for them."""
    saved = any(row.checkpoints is not None for row in rows)
    columns = tuple(_BY_NAME[name] for name in names if name != "checkpoint" or saved)
    made = [
        Row(
            name=row.name,
            mark=Mark(glyph=row.look.glyph, ascii=row.look.ascii, role=row.look.role),
            role="job",
            cells=cells_of(columns, row, now),
        )
        for row in rows
    ]
    return Table(columns=columns, rows=tuple(made))
