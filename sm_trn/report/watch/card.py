"""The watch display as notebook HTML: a card for one job, a table for several. Static, scoped, every fact in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from ...core.formatting import numbers as fmt
from ...core.formatting.html import TAG, WIDE, bar, block, facts, html_table, text
from ...core.status import phases
from .columns import PAGE, phase_shares, watch_table
from .rows import WatchRow
from .table import SHOWN, causes, facts_words, folded_words, heading, notes, ordered


def watch_html(rows: Sequence[WatchRow], now: datetime, told: Sequence[str] = ()) -> str:
    """Everything that ``watch_text`` says, for a notebook; ``told`` stands below it."""
    body = _card(rows[0], now) if len(rows) == 1 else _table(ordered(rows), now) if rows else ["<p>No jobs.</p>"]
    said = "".join(f"<p>{text(note)}</p>" for note in told)
    return block(f'{"".join(body)}{said}<p class="ink3">Seen {text(fmt.clock(now))}.</p>')


def _card(row: WatchRow, now: datetime) -> Iterator[str]:
    look = row.look
    tag = f"{TAG} " if row.emulated else ""
    status = f'{tag}<span class="{look.role}">{look.glyph} {text(look.word)}</span>'
    yield f'<p class="title">{status} <b>{text(row.name)}</b> <span class="ink3">{text(row.machine)}</span></p>'
    yield bar(phase_shares(row, now))
    words = [f"{phase.word} {fmt.compact(phase.seconds)}" for phase in phases(row.snapshot, now)]
    yield f'<p class="ink3">{text(", ".join(words))}</p>'
    yield facts(facts_words(row, now))


def _table(rows: Sequence[WatchRow], now: datetime) -> Iterator[str]:
    yield f'<p class="title">{text(heading(rows, now))}</p>'
    yield f"{WIDE}{html_table(watch_table(rows[:SHOWN], PAGE, now), folding=False, classes='')}</div>"
    for note in (*folded_words(rows[SHOWN:], now), *(f"✗ {cause}" for cause in causes(rows)), *notes(rows, now)):
        yield f"<p>{text(note)}</p>"
