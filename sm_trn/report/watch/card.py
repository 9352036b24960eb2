"""The watch display as notebook HTML: a card for one job, a table for several. Static, scoped, every fact in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from ...core.formatting import numbers as fmt
from ...core.formatting.markup import TAG, WIDE, block, facts, text
from .rows import WatchRow, rate_words
from .table import (
    checkpoint_age,
    facts_words,
    left_words,
    ordered,
    phases,
    sparkline,
    step_words,
    summary,
    total,
    usd_words,
)

_HEADS = ("Job", "Status", "Phases", "Step", "Rate", "Loss", "Left", "USD", "Checkpoint", "Interruptions")
_TEXTURE = {"starting": "waiting", "pending": "waiting", "interrupted": "interrupted", "training": "solid"}


def watch_html(rows: Sequence[WatchRow], now: datetime, notes: Sequence[str] = ()) -> str:
    """Everything that ``watch_text`` says, for a notebook; ``notes`` below it."""
    body = _card(rows[0], now) if len(rows) == 1 else _table(ordered(rows), now) if rows else ["<p>No jobs.</p>"]
    said = "".join(f"<p>{text(note)}</p>" for note in notes)
    return block(f'{"".join(body)}{said}<p class="ink3">Seen {text(fmt.clock(now))}.</p>')


def _status(row: WatchRow) -> str:
    look = row.look
    tag = f"{TAG} " if row.emulated else ""
    return f'{tag}<span class="{look.role}">{look.glyph} {text(look.word)}</span>'


def _card(row: WatchRow, now: datetime) -> Iterator[str]:
    job = row.snapshot
    machine = ("this machine, for " if row.emulated else "") + fmt.instances(job.instance, job.count)
    yield f'<p class="title">{_status(row)} <b>{text(row.name)}</b> <span class="ink3">{text(machine)}</span></p>'
    yield _timeline(row, now)
    yield f'<p class="ink3">{text(_phase_words(row, now))}</p>'
    yield facts(facts_words(row, now))


def _timeline(row: WatchRow, now: datetime) -> str:
    """The phases as lengths of time, and what is left: half of the line when nobody can say. The words say the same."""
    found = list(phases(row, now))
    done = sum(seconds for _, _, seconds in found)
    left_s = done if row.open_ended else row.left_s or 0.0  # half of the bar stays empty: nobody knows
    whole = done + left_s
    parts = [*((_TEXTURE.get(name, "transfer"), seconds) for name, _, seconds in found), ("left", left_s)]
    drawn = "".join(
        f'<i class="{kind}" style="width:{100 * seconds / whole:.1f}%"></i>' for kind, seconds in parts if seconds
    )
    return f'<div class="phases" aria-hidden="true">{drawn}</div>' if drawn else ""


def _phase_words(row: WatchRow, now: datetime) -> str:
    return ", ".join(f"{name} {fmt.compact(seconds)}" for name, _, seconds in phases(row, now))


def _table(rows: Sequence[WatchRow], now: datetime) -> Iterator[str]:
    heads = [head for head in _HEADS if head != "Checkpoint" or any(row.checkpoints is not None for row in rows)]
    yield f'<p class="title">{text(summary(rows))}. {text(total(rows, now))}</p>{WIDE}<table><thead><tr>'
    yield "".join(
        f'<th scope="col"{" class=words" if name in {"Status", "Phases"} else ""}>{name}</th>' for name in heads
    )
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = _cells(row, now)
        phase = _phase_words(row, now).rpartition(", ")[2]
        spent = f"{_timeline(row, now)}<small>{text(phase)}</small>"
        yield f'<tr><th scope="row"><b>{text(row.name)}</b></th><td class="words state">{_status(row)}</td>'
        yield f'<td class="words">{spent}</td>'
        yield "".join(f"<td>{cells[head]}</td>" for head in heads[3:]) + "</tr>"
    yield "</tbody></table></div>"
    for row in rows:
        if row.reason:
            yield f"<p>{text(row.name)}: {text(row.reason)}</p>"
    dates = sorted({row.price.as_of for row in rows if row.price is not None and not row.emulated})
    if dates:
        yield f'<p class="ink3">USD so far, prices of {text(", ".join(dates))}.</p>'


def _cells(row: WatchRow, now: datetime) -> Mapping[str, str]:
    return {
        "Step": text(step_words(row)),
        "Rate": text(rate_words(row)) + _spark(() if row.emulated else row.rates),
        "Loss": ("-" if row.loss is None else text(fmt.loss(row.loss))) + _spark(row.losses),
        "Left": text(left_words(row)),
        "USD": text(usd_words(row, now)),
        "Checkpoint": text(checkpoint_age(row, now)),
        "Interruptions": str(row.snapshot.interruptions),
    }


def _spark(values: Sequence[float]) -> str:
    return f'<small class="spark" aria-hidden="true">{sparkline(values)}</small>' if len(values) > 1 else ""
