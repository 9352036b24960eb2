"""The watch display as terminal text: one job in detail, several as a table, what needs you first. Polls nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, missing_cost, no_price_for
from ...core.formatting.printable import ascii_text, cut, wrap
from ...core.formatting.text import Layout, Screen, table_lines
from ...core.formatting.theme import painted
from ...core.status import Phase, Texture, phases
from .columns import sparkline, watch_table, words_of
from .rows import WatchRow

SHOWN = 100  # rows of a table that no screen limits
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
    lines = _detail(rows[0], now, screen) if len(rows) == 1 else _table(ordered(rows), now, screen)
    text = "\n".join(_within(list(lines), height))
    return ascii_text(text) if ascii_only else text


def _within(lines: list[str], height: int | None) -> list[str]:
    """At most ``height`` lines: a screen that scrolls could not be drawn again in its place. Empty lines go first."""
    if height is None or len(lines) <= height:
        return lines
    return [line for line in lines if line][:height]


def ordered(rows: Sequence[WatchRow]) -> list[WatchRow]:
    """Failed, interrupted, training by time left, compiling, downloading, starting, ended."""
    return sorted(rows, key=lambda row: (row.look.order, row.left_s if row.left_s is not None else float("inf")))


def summary(rows: Sequence[WatchRow]) -> str:
    """``3 jobs: 1 failed, 2 training``."""
    counts = Counter(row.look.word for row in ordered(rows))
    return f"{fmt.count(len(rows))} jobs: {', '.join(f'{fmt.count(number)} {word}' for word, number in counts.items())}"


def total(rows: Sequence[WatchRow], now: datetime) -> str:
    """``$180.70 so far`` of the measured jobs that have a price; nothing when there is none."""
    known = [(cost, row.at_most) for row in rows if (cost := row.usd(now)) is not None]
    if not known:
        return ""
    most = "at most " if any(mark for _, mark in known) else ""
    cents = sum((cost.quantize(Decimal("0.01")) for cost, _ in known), Decimal(0))
    return f"{most}{fmt.usd(cents)} so far"


def heading(rows: Sequence[WatchRow], now: datetime) -> str:
    """The counts, and what the jobs have cost."""
    money = total(rows, now)
    return f"{summary(rows)}." + (f"  {money[:1].upper()}{money[1:]}." if money else "")


def _table(rows: list[WatchRow], now: datetime, screen: Screen) -> Iterator[str]:
    emulated = all(row.emulated for row in rows)
    if emulated:
        yield painted("EMULATED", "emu", color=screen.color) + "  seconds are this machine's, there is no cost"
    heads = wrap(f"{heading(rows, now)}  {fmt.clock(now)}.", screen.width)
    yield from heads
    yield ""
    above = len(heads) + 2 + emulated
    below: list[str] = []
    for cause in causes(rows):
        below += wrap(f"✗ {cause}", screen.width, rest="  ")
    for note in notes(rows, now):
        below += wrap(note, screen.width)
    shown, folded, below = _fitting(rows, below, None if screen.height is None else screen.height - above)
    yield from table_lines(watch_table(shown, _columns(screen), now), screen, _LAYOUT)
    for words in folded_words(folded, now):
        yield cut(words, screen.width)
    if below:
        yield ""
        yield from below


def _columns(screen: Screen) -> list[str]:
    wide, widest = screen.width >= 110, screen.width >= 140
    names = ["state", *(["instances"] if widest else []), "step" if wide else "done", "rate"]
    names += [] if screen.ascii_only else ["spark"]
    names += ["loss", *(["billed"] if widest else []), "left", "cost", "checkpoint", "interruptions"]
    return names


def _fitting(
    rows: list[WatchRow], notes: list[str], room: int | None
) -> tuple[list[WatchRow], list[WatchRow], list[str]]:
    """As many rows as fit into ``room`` lines, those that are folded, and the notes that there is still place for."""
    if room is None:
        return rows[:SHOWN], rows[SHOWN:], notes
    folded = _folded_lines(rows)
    below = 1 + len(notes) if notes else 0
    for number in range(min(len(rows), max(0, room)), 0, -1):
        if number + folded[number] + below <= room:
            return rows[:number], rows[number:], notes
    number = next((number for number in range(min(3, len(rows)), 0, -1) if number + folded[number] <= room), 1)
    left = room - number - folded[number] - 1
    return rows[:number], rows[number:], notes[: max(0, left)]


def _folded_lines(rows: Sequence[WatchRow]) -> list[int]:
    """How many statuses the rows have from each place on: the lines that they would be folded into."""
    seen: set[str] = set()
    counts = [0]
    for row in reversed(rows):
        seen.add(row.look.word)
        counts.append(len(seen))
    return counts[::-1]


def folded_words(rows: Sequence[WatchRow], now: datetime) -> Iterator[str]:
    """One line per status for the jobs that are not shown, with their sum."""
    groups: dict[str, list[WatchRow]] = {}
    for row in rows:
        groups.setdefault(row.look.word, []).append(row)
    for word, group in groups.items():
        money = total(group, now)
        yield f"… {fmt.count(len(group))} more, {word}{f': {money}' if money else ''}"


def causes(rows: Sequence[WatchRow]) -> Iterator[str]:
    """Why jobs failed or were ended, once per cause, each with the command that says more."""
    found: dict[str, list[WatchRow]] = {}
    for row in rows:
        if row.look.word == "failed" or row.sick:
            found.setdefault(row.reason or str(Missing.NO_REASON), []).append(row)
        elif row.look.short != row.look.word:
            found.setdefault(row.look.word, []).append(row)
    for cause, those in found.items():
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
        words = [f"{phase.word} {fmt.compact(phase.seconds)}" for phase in seen]
        yield from wrap("  ".join(words), width, first="  ")
        yield "  " + _phase_bar(row, seen, width - 8)
    yield ""
    for name, value in facts_words(row, now):
        yield from wrap(value, width, first=f"  {name:<12}", rest=" " * 14)
    yield ""
    yield f"{fmt.clock(now)}." + ("" if job.terminal else " Ctrl-C leaves the job running.")


def _phase_bar(row: WatchRow, seen: Sequence[Phase], width: int) -> str:
    """A texture per phase, then what is to come: dots when the share is known, a half-empty bar and ``?`` when it is not."""
    share = row.share if row.steady else None
    done = sum(phase.seconds for phase in seen)
    whole = done * 2 if row.open_ended else done + (row.left_s or 0.0)
    parts = [phase.texture.letter * max(1, round(width * phase.seconds / whole)) for phase in seen]
    bar = "".join(parts)[:width]
    if row.open_ended:
        return f"{bar} {Missing.TOO_EARLY}"
    rest = Texture.LEFT.letter * (width - len(bar)) if row.left_s else ""
    return bar + rest + (f" {share:.0%}" if share is not None else "")


def facts_words(row: WatchRow, now: datetime) -> Iterator[tuple[str, str]]:
    """Names and values of what is known of one job, for its detail view and its card."""
    job = row.snapshot
    if row.reason:
        yield "reason", cut(row.reason, 400)
    if row.look.word == "failed" or row.sick:
        yield "next", row.next_command
    if row.step is not None:
        yield "step", words_of(row, "step", now)
    if row.rates and not row.emulated:
        yield "throughput", f"{words_of(row, 'rate', now)}  {sparkline(row.rates)}  the newest, scale from 0"
    if row.loss is not None or row.may_have_logged:
        drawn = f"  {sparkline(row.losses)}  since the beginning, scale from 0" if len(row.losses) > 1 else ""
        yield "loss", words_of(row, "loss", now) + drawn
    if row.left_s is not None:
        yield "left", f"about {fmt.duration(row.left_s)} (at this rate)"
    if row.billed_s(now) is not None:
        yield "billable", words_of(row, "billed", now) + (f" × {job.count}" if job.count > 1 else "")
    yield "cost", cost_words(row, now)
    if row.checkpoints is not None:
        age = row.checkpoints.age_s(now)
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
    most = "at most " if row.at_most else ""
    so_far = "" if row.snapshot.terminal else " so far"
    mark = ", inferred" if row.price.inferred else ""
    return f"{most}{fmt.usd(usd)}{so_far} ({fmt.usd_per_hour(row.price.usd_per_hour)}, {row.price.as_of}{mark})"
