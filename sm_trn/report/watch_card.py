"""The watch display as notebook HTML: a card for one job, a table for several. Static, scoped, every fact in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from . import format as fmt
from .card import CSS
from .page_parts import TAG, text
from .watch import WatchRow, rate_words
from .watch_table import facts_words, left_words, ordered, step_words, summary, total, usd_words

_HEADS = ("Job", "Status", "Step", "Rate", "Loss", "Left", "USD", "Interruptions")


def watch_html(rows: Sequence[WatchRow], now: datetime, notes: Sequence[str] = ()) -> str:
    """Everything that ``watch_text`` says, for a notebook; ``notes`` below it."""
    body = _card(rows[0], now) if len(rows) == 1 else _table(ordered(rows), now) if rows else ["<p>No jobs.</p>"]
    said = "".join(f"<p>{text(note)}</p>" for note in notes)
    return f'<div class="smtrn"><style>{CSS}</style>{"".join(body)}{said}<p class="ink3">Seen {text(fmt.clock(now))}.</p></div>'


def _status(row: WatchRow) -> str:
    look = row.look
    tag = f"{TAG} " if row.emulated else ""
    return f'{tag}<span class="{look.role}">{look.glyph} {text(look.word)}</span>'


def _card(row: WatchRow, now: datetime) -> Iterator[str]:
    job = row.snapshot
    machine = ("this machine, for " if row.emulated else "") + fmt.instances(job.instance, job.count)
    yield f'<p class="title">{_status(row)} <b>{text(row.name)}</b> <span class="ink3">{text(machine)}</span></p><table>'
    for name, value in facts_words(row, now):
        yield f'<tr><th scope="row">{text(name)}</th><td class="words">{text(value)}</td></tr>'
    yield "</table>"


def _table(rows: Sequence[WatchRow], now: datetime) -> Iterator[str]:
    yield f'<p class="title">{text(summary(rows))}. {text(total(rows, now))}</p><div class="wide"><table><thead><tr>'
    yield (
        "".join(f'<th scope="col"{" class=words" if name == "Status" else ""}>{name}</th>' for name in _HEADS)
        + "</tr></thead><tbody>"
    )
    for row in rows:
        cells = (
            step_words(row),
            rate_words(row),
            "-" if row.loss is None else fmt.loss(row.loss),
            left_words(row),
            usd_words(row, now),
            str(row.snapshot.interruptions),
        )
        yield f'<tr><th scope="row"><b>{text(row.name)}</b></th><td class="words">{_status(row)}</td>'
        yield "".join(f"<td>{text(cell)}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"
    for row in rows:
        if row.reason:
            yield f"<p>{text(row.name)}: {text(row.reason)}</p>"
    dates = sorted({row.price.as_of for row in rows if row.price is not None and not row.emulated})
    if dates:
        yield f'<p class="ink3">USD so far, prices of {text(", ".join(dates))}.</p>'
