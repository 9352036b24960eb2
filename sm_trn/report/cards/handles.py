"""Small notebook outputs: a job's handle, a spot rehearsal. Static HTML like the comparison's card; knows no session, asks nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.html import TAG, WIDE, Fact, block, facts, html_table, text, title
from ...core.formatting.missing import EMULATED_COST, Missing
from ...core.formatting.table import Align, Cell, Column, Row, Table
from ...hosting.endpoints import NO_ENDPOINT
from ...hosting.table import EndpointRow, endpoint_table


def job_card(name: str, *, machine: str, emulated: bool, steps: Sequence[str]) -> str:
    """What a handle knows without asking: the job's name and, of one that it submitted, the machines; then what to type next."""
    tag = f"{TAG} " if emulated else ""
    under = f' <span class="ink3">{text(machine)}</span>' if machine else ""
    told = ", ".join(f"<code>{text(step)}</code>" for step in steps)
    return block(
        f'<p class="title">{tag}<b>{text(name)}</b>{under}</p><p class="ink3">Not asked for its status. {told}</p>'
    )


def rehearsal_card(lines: Sequence[str], files: Mapping[str, bool]) -> str:
    """What interruptions did: the sentences, then each file of the model, the same or not. It is always emulated."""
    first, *others = lines
    said = "".join(f"<p>{text(line)}</p>" for line in others)
    columns = (Column(name="same", heading="Left alone and interrupted", align=Align.LEFT),)
    rows = tuple(Row(name=name, cells={"same": _compared(same)}) for name, same in files.items())
    table = Table(columns=columns, rows=rows, rows_are="File of the model")
    shown = f"{WIDE}{html_table(table, folding=False)}</div>" if rows else ""
    return block(f'<p class="title">{TAG} {text(first)}</p>{said}{shown}')


def _compared(same: bool) -> Cell:
    if same:
        return Cell("the same bytes", role="ok", glyph="✓")
    return Cell("different bytes", role="warn", glyph="▲")


def endpoint_card(name: str, *, emulated: bool, image: str, note: str) -> str:
    """What a handle knows without asking: its name and, of one that it made, the image. Then what ends it."""
    billed = f"{EMULATED_COST}." if emulated else "Billed until it is deleted, whether it answers or not."
    rows = [("image", Fact(image, code=True))] if image else []
    rows += [("note", Fact(note))] if note else []
    told = ", ".join(f"<code>{text(step)}</code>" for step in (".predict(…) asks it", ".delete() ends it"))
    return block(f'{title(name, "endpoint", emulated=emulated)}<p>{billed}</p>{facts(rows)}<p class="ink3">{told}</p>')


def endpoints_card(rows: Sequence[EndpointRow], usd_per_hour: Decimal | None) -> str:
    """Everything that answers, with what it costs an hour; what is overdue says so."""
    if not rows:
        return block(f'<p class="title">{text(NO_ENDPOINT)}</p>')
    cost = f"{Missing.NO_PRICE} for at least one" if usd_per_hour is None else f"{fmt.usd(usd_per_hour)} an hour"
    count = fmt.counted(len(rows), "endpoint")
    said = f"{TAG} {count}, none is billed" if all(row.emulated for row in rows) else f"{count}, {text(cost)}"
    return block(f'<p class="title">{said}</p>{WIDE}{html_table(endpoint_table(rows), folding=False)}</div>')
