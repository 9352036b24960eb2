"""What a watch says: lines for a pipe, a terminal's table or one job in detail, a notebook's card. Polls nothing, writes nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.html import TAG, WIDE, block, facts, html_table, text
from ...core.formatting.missing import Missing, missing_cost, no_price_for
from ...core.formatting.printable import ascii_text, cut, wrap
from ...core.formatting.text import Layout, Screen, table_lines
from ...core.formatting.theme import painted
from ...core.pricing.cost import CENT
from ...core.status import phases
from ..columns import jobs_table, words_of
from ..jobs import WatchRow

SHOWN = 100  # rows of a table that no screen limits
PAGE = ("status", "phases", "step", "rate", "loss", "left", "cost_usd", "checkpoint", "interruptions")
_LAYOUT = Layout(gap=1, longest=40, least=12, yielding=3, share=True)


def watch_text(
    rows: Sequence[WatchRow],
    now: datetime,
    width: int = 80,
    color: bool = False,
    *,
    ascii_only: bool = False,
    height: int | None = None,
) -> str:
    """All jobs in at most ``width`` columns and ``height`` lines. The printed USD add up to the total in the head.

    Jobs that ``height``, or a table of ``SHOWN`` rows, has no room for are counted by status.
    """
    if not rows:
        return f"No jobs.  {fmt.clock(now)}."
    screen = Screen(width=width, height=height, color=color, ascii_only=ascii_only)
    lines = list(_detail(rows[0], now, screen) if len(rows) == 1 else _table(ordered(rows), now, screen))
    if height is not None and len(lines) > height:  # a screen that scrolls could not be drawn again in its place
        lines = [line for line in lines if line][:height]
    shown = "\n".join(lines)
    return ascii_text(shown) if ascii_only else shown


def watch_html(rows: Sequence[WatchRow], now: datetime, notes_below: Sequence[str] = ()) -> str:
    """Everything that ``watch_text`` says, for a notebook: a card for one job, a table for several."""
    body = "".join(_card(rows[0], now) if len(rows) == 1 else _html_table(rows, now)) if rows else "<p>No jobs.</p>"
    below = "".join(f"<p>{text(note)}</p>" for note in notes_below)
    return block(f'{body}{below}<p class="ink3">Seen {text(fmt.clock(now))}.</p>')


def _card(row: WatchRow, now: datetime) -> Iterator[str]:
    status = f'{f"{TAG} " if row.emulated else ""}<span class="{row.look.role}">{row.look.glyph} {text(row.look.word)}</span>'
    yield f'<p class="title">{status} <b>{text(row.name)}</b> <span class="ink3">{text(row.machine)}</span></p>'
    words = [f"{phase.word} {fmt.compact(phase.seconds)}" for phase in phases(row.snapshot, now)]
    yield f'<p class="ink3">{text(", ".join(words))}</p>'
    yield facts(facts_words(row, now))


def _html_table(rows: Sequence[WatchRow], now: datetime) -> Iterator[str]:
    several = ordered(rows)
    yield f'<p class="title">{text(heading(several, now))}</p>'
    yield f"{WIDE}{html_table(jobs_table(several[:SHOWN], PAGE, now), classes='')}</div>"
    below = [*folded_words(several[SHOWN:], now), *(f"✗ {cause}" for cause in causes(several)), *notes(several, now)]
    yield from (f"<p>{text(note)}</p>" for note in below)


def ordered(rows: Sequence[WatchRow]) -> list[WatchRow]:
    """Failed, interrupted, training by time left, compiling, downloading, starting, ended."""
    return sorted(rows, key=lambda row: (row.look.order, row.left_s if row.left_s is not None else float("inf")))


def summary(rows: Sequence[WatchRow]) -> str:
    """``1 failed, 2 training``."""
    counts = Counter(row.look.word for row in ordered(rows))
    return ", ".join(f"{fmt.count(number)} {word}" for word, number in counts.items())


def total(rows: Sequence[WatchRow], now: datetime) -> str:
    """``$180.70 so far`` of the measured jobs that have a price; nothing when there is none."""
    known = [(cost, row.at_most) for row in rows if (cost := row.usd(now)) is not None]
    if not known:
        return ""
    most = "at most " if any(mark for _, mark in known) else ""
    cents = sum((cost.quantize(CENT) for cost, _ in known), Decimal(0))
    return f"{most}{fmt.usd(cents)} so far"


def heading(rows: Sequence[WatchRow], now: datetime) -> str:
    """The counts, and what the jobs have cost: ``3 jobs: 1 failed, 2 training.  $180.70 so far.``"""
    money = total(rows, now)
    return f"{fmt.jobs(len(rows))}: {summary(rows)}." + (f"  {money[:1].upper()}{money[1:]}." if money else "")


def folded_words(rows: Sequence[WatchRow], now: datetime) -> Iterator[str]:
    """The jobs that have no row, in one line."""
    if rows:
        money = total(rows, now)
        yield f"… {fmt.count(len(rows))} more: {summary(rows)}{f'; {money}' if money else ''}"


def causes(rows: Sequence[WatchRow]) -> Iterator[str]:
    """Why jobs failed or were ended, once per cause, each with the command that says more."""
    groups: dict[str, list[WatchRow]] = {}
    for row in rows:
        if row.look.word == "failed" or row.sick:
            groups.setdefault(row.reason or str(Missing.NO_REASON), []).append(row)
        elif row.look.short != row.look.word:
            groups.setdefault(row.look.word, []).append(row)
    for cause, those in groups.items():
        names = [row.name for row in those]
        more = f" and {len(names) - 2} more" if len(names) > 3 else ""
        listed = ", ".join(names[:2] if more else names) + more
        yield f"{listed}: {cut(cause, 200).rstrip('.')}. Next: {those[0].next_command}"


def notes(rows: Sequence[WatchRow], now: datetime) -> Iterator[str]:
    """What a number cannot say: which jobs are emulated, which costs are limits, how old the prices are."""
    if any(row.emulated for row in rows):
        yield "EMULATED jobs ran on this machine: no rate, no cost"
    if any(row.at_most and row.usd(now) is not None for row in rows):
        yield "≤ = spot: at most this, the discount is known at the end"
    dates = sorted({row.price.as_of for row in rows if row.price is not None and not row.emulated})
    if dates:
        yield f"✕ = interruptions, ~ = estimate. USD so far, prices of {', '.join(dates)}"


def _table(rows: list[WatchRow], now: datetime, screen: Screen) -> Iterator[str]:
    width = screen.width
    head = wrap(f"{heading(rows, now)}  {fmt.clock(now)}.", width)
    if all(row.emulated for row in rows):
        head.insert(
            0, painted("EMULATED", "emu", color=screen.color) + "  seconds are this machine's, there is no cost"
        )
    below = [line for cause in causes(rows) for line in wrap(f"✗ {cause}", width, rest="  ")]
    below += [line for note in notes(rows, now) for line in wrap(note, width)]
    shown = SHOWN
    if screen.height is not None:
        room = screen.height - len(head) - 2  # an empty line and the table's own head
        if len(rows) + (1 + len(below) if below else 0) > room:
            least = min(3, len(rows))
            below = below[: max(0, room - least - 2)]
            shown = max(1, room - 1 - (1 + len(below) if below else 0))
    yield from (*head, "")
    yield from table_lines(jobs_table(rows[:shown], _columns(screen), now), screen, _LAYOUT)
    yield from (cut(words, width) for words in folded_words(rows[shown:], now))
    if below:
        yield from ("", *below)


def _columns(screen: Screen) -> list[str]:
    wide, widest = screen.width >= 110, screen.width >= 140
    names = ["state", *(["machines"] if widest else []), "step" if wide else "done", "rate"]
    return [*names, "loss", *(["billed"] if widest else []), "left", "cost_usd", "checkpoint", "interruptions"]


def _detail(row: WatchRow, now: datetime, screen: Screen) -> Iterator[str]:
    """One job: its phases, numbers and cost, a fact per line."""
    look, job, width, color = row.look, row.snapshot, screen.width, screen.color
    mark = painted(f"{look.ascii if screen.ascii_only else look.glyph} {look.word}", look.role, color=color)
    region = f", {job.region}" if job.region and not row.emulated else ""
    tag = painted("EMULATED", "emu", color=color) + "  " if row.emulated else ""
    yield f"{tag}{mark}  {row.name}"
    yield f"  {row.machine}{region}"
    seen = list(phases(job, now))
    if seen:
        yield ""
        yield from wrap("  ".join(f"{phase.word} {fmt.compact(phase.seconds)}" for phase in seen), width, first="  ")
    yield ""
    for name, value in facts_words(row, now):
        yield from wrap(value, width, first=f"  {name:<12}", rest=" " * 14)
    yield ""
    yield f"{fmt.clock(now)}." + ("" if job.terminal else " Ctrl-C leaves the job running.")


def facts_words(row: WatchRow, now: datetime) -> Iterator[tuple[str, str]]:
    """Names and values of what is known of one job, for its detail view, its card and its page."""
    job = row.snapshot
    if row.reason:
        yield "reason", cut(row.reason, 400)
    if row.look.word == "failed" or row.sick:
        yield "next", row.next_command
    if row.step is not None:
        yield "step", words_of(row, "step", now)
    if row.rate is not None and not row.emulated:
        yield "throughput", f"{words_of(row, 'rate', now)}, the newest"
    if row.loss is not None or row.may_have_logged:
        yield "loss", words_of(row, "loss", now)
    if row.left_s is not None:
        yield "left", f"about {fmt.duration(row.left_s)} (at this rate)"
    if row.billed_s(now) is not None:
        yield "billable", words_of(row, "billed", now) + (f" × {job.count}" if job.count > 1 else "")
    yield "cost", cost_words(row, now)
    if row.checkpoints is not None:
        age = row.checkpoint_age_s(now)
        objects = f"{fmt.count(row.checkpoints.count)} objects"
        yield "checkpoint", str(Missing.NONE_YET) if age is None else f"newest {fmt.compact(age)} old, {objects}"
    if job.interruptions:
        yield "interrupted", f"{job.interruptions} times"


def cost_words(row: WatchRow, now: datetime) -> str:
    """The cost so far with its price, or why there is none."""
    usd = row.usd(now)
    if usd is None or row.price is None:
        billed = row.billed_s(now) is not None
        reason = missing_cost(emulated=row.emulated, billed=billed, in_tokens=row.snapshot.in_tokens)
        if reason is Missing.NO_PRICE:
            return f"{no_price_for(row.snapshot.instance)}; sm-trn catalog update asks AWS for one"
        return str(reason)
    most, so_far = "at most " if row.at_most else "", "" if row.snapshot.terminal else " so far"
    inferred = ", inferred" if row.price.inferred else ""
    return f"{most}{fmt.usd(usd)}{so_far} ({fmt.usd_per_hour(row.price.usd_per_hour)}, {row.price.as_of}{inferred})"


def watch_lines(before: Sequence[WatchRow], after: Sequence[WatchRow], now: datetime) -> list[str]:
    """One stamped line per change of status and per 10 % of the steps; without a total, when the steps have doubled."""
    known = {row.snapshot.name: row for row in before}
    lines: list[str] = []
    for row in after:
        old = known.get(row.snapshot.name)
        if old is not row:
            lines += [f"{fmt.iso(now)} {row.name} {news}" for news in _news(old, row, now)]
    return lines


def _news(old: WatchRow | None, row: WatchRow, now: datetime) -> Iterator[str]:
    word, items = row.look.word, row.snapshot.transitions
    if old is None or old.look.word != word:
        after = ""
        if not row.snapshot.terminal and len(items) > 1 and items[-2].ended is not None:
            after = f" after {fmt.compact(items[-2].seconds(items[-2].ended))}"
        yield word + after + _ending(row, now)
        if row.sick:
            yield f"{word}: {cut(row.reason, 160)}. Next: {row.next_command}"
    if row.steady and row.step is not None and _milestone(row) > (0 if old is None else _milestone(old)):
        of = f" of {fmt.count(row.total_steps)}" if row.total_steps else ""
        rate = f", {fmt.rate(row.rate, row.unit)}" if row.rate is not None and not row.emulated else ""
        loss = f", loss {fmt.loss(row.loss)}" if row.loss is not None else ""
        yield f"training step {fmt.count(row.step)}{of}{rate}{loss}"


def _ending(row: WatchRow, now: datetime) -> str:
    """What a job that ended took and cost, and why it failed."""
    if not row.snapshot.terminal:
        return f", {fmt.count(row.step)} steps" if row.look.word == "uploading" and row.step is not None else ""
    words, billed, usd = f": {cut(row.reason, 160)}" if row.reason else "", row.snapshot.billable_s, row.usd(now)
    if billed is not None:
        several = f" × {row.snapshot.count}" if row.snapshot.count > 1 else ""
        words += f", billed {fmt.billable(billed, emulated=row.emulated)}{several}"
    return words + (f", {fmt.usd(usd)}" if usd is not None else "")


def _milestone(row: WatchRow) -> int:
    """Grows when progress is worth a line."""
    step = row.step or 0
    return min(10, 10 * step // row.total_steps) if row.total_steps else step.bit_length()
