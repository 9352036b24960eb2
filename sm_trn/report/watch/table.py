"""The watch display as terminal text: one job in detail, several as a table, what needs you first. Polls nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.layout import cut, wrap
from ...core.formatting.theme import painted
from .rows import WatchRow, rate_words

_BARS = "▁▂▃▄▅▆▇█"
_ASCII = str.maketrans("×…≤✕✗▒░┄·" + _BARS, "x~<xx=-.." + ".:-=+*%#")
_PHASE = {"Downloading": "░", "DownloadingTrainingImage": "░", "Uploading": "░", "Training": "█", "Interrupted": "✕"}
_DROPPED = ("", "RATE", "LOSS", "CKPT", "✕")  # below 80 columns, in this order


@dataclass(frozen=True, slots=True)
class _Screen:
    width: int
    height: int | None
    color: bool
    ascii_only: bool


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    width: int
    cells: tuple[str, ...]


def watch_text(
    rows: Sequence[WatchRow],
    now: datetime,
    width: int = 80,
    color: bool = False,
    *,
    ascii_only: bool = False,
    height: int | None = None,
) -> str:
    """All jobs in at most ``width`` columns and ``height`` lines. The printed USD add up to the total in the head."""
    if not rows:
        return f"No jobs.  {fmt.clock(now)}."
    screen = _Screen(width, height, color, ascii_only)
    lines = _detail(rows[0], now, screen) if len(rows) == 1 else _table(ordered(rows), now, screen)
    text = "\n".join(_within(list(lines), height))
    return text.translate(_ASCII) if ascii_only else text


def _within(lines: list[str], height: int | None) -> list[str]:
    """At most ``height`` lines: a screen that scrolls could not be drawn again in its place. Empty lines go first."""
    if height is None or len(lines) <= height:
        return lines
    return [line for line in lines if line][:height]


def ordered(rows: Sequence[WatchRow]) -> list[WatchRow]:
    """Failed, interrupted, training by time left, compiling, downloading, starting, ended."""
    return sorted(rows, key=lambda row: (row.look.order, row.left_s if row.left_s is not None else float("inf")))


def sparkline(values: Sequence[float]) -> str:
    """One block per value, scaled from 0, so that a stall looks like one."""
    top = max(values, default=0.0)
    return "".join(_BARS[min(7, int(8 * value / top))] if top > 0 else _BARS[0] for value in values)


def summary(rows: Sequence[WatchRow]) -> str:
    """``3 jobs: 1 failed, 2 training``."""
    counts = Counter(row.look.word for row in ordered(rows))
    return f"{len(rows)} jobs: {', '.join(f'{number} {word}' for word, number in counts.items())}"


def total(rows: Sequence[WatchRow], now: datetime) -> str:
    """``$180.70 so far.`` of the measured jobs that have a price; nothing when there is none."""
    known = [(cost, row.at_most) for row in rows if (cost := row.usd(now)) is not None]
    if not known:
        return ""
    most = "At most " if any(mark for _, mark in known) else ""
    cents = sum((cost.quantize(Decimal("0.01")) for cost, _ in known), Decimal(0))
    return f"{most}{fmt.usd(cents)} so far."


def _table(rows: list[WatchRow], now: datetime, screen: _Screen) -> Iterator[str]:
    width, height, color = screen.width, screen.height, screen.color
    money = total(rows, now)
    head = "  ".join(part for part in (summary(rows) + ".", money, f"{fmt.clock(now)}.") if part)
    emulated = sum(row.emulated for row in rows)
    if emulated == len(rows):
        yield painted("EMULATED", "emu", color=color) + "  seconds are this machine's, there is no cost"
    heads = wrap(head, width)
    yield from heads
    yield ""
    above = len(heads) + 2 + (emulated == len(rows))
    notes = list(_notes(rows, now, width))
    shown, folded, notes = _fitting(rows, notes, None if height is None else height - above)
    columns, names = _layout(shown, folded, now, screen)
    yield _row("  " + names.head.ljust(names.width), [column.head for column in columns], columns)
    for place, row in enumerate(shown):
        look = row.look
        glyph = painted(look.ascii if screen.ascii_only else look.glyph, look.role, color=color)
        cells = [column.cells[place] for column in columns]
        line = _row(f"  {names.cells[place]:<{names.width}}", cells, columns)
        if color:
            line = line.replace(f" {look.short} ", f" {painted(look.short, look.role, color=True)} ", 1)
        yield glyph + line[1:]
    yield from _folded(folded, now, width)
    if notes:
        yield ""
        yield from notes


def _fitting(
    rows: list[WatchRow], notes: list[str], room: int | None
) -> tuple[list[WatchRow], list[WatchRow], list[str]]:
    """As many rows as fit into ``room`` lines, those that are folded, and the notes that there is still place for."""
    if room is None:
        return rows, [], notes
    for number in range(len(rows), 0, -1):
        lines = number + len(_words(rows[number:]))
        below = 1 + len(notes) if notes else 0
        if lines + below <= room:
            return rows[:number], rows[number:], notes
    number = next((number for number in range(3, 0, -1) if number + len(_words(rows[number:])) <= room), 1)
    left = room - number - len(_words(rows[number:])) - 1
    return rows[:number], rows[number:], notes[: max(0, left)]


def _words(rows: Sequence[WatchRow]) -> list[str]:
    return list(dict.fromkeys(row.look.word for row in rows))


def _row(start: str, cells: Sequence[str], columns: Sequence[_Column]) -> str:
    parts = [
        f"{cell:<{column.width}}" if column.head in {"STATUS", ""} else f"{cell:>{column.width}}"
        for cell, column in zip(cells, columns, strict=True)
    ]
    return " ".join([start, *parts]).rstrip()


def _layout(
    shown: Sequence[WatchRow], folded: Sequence[WatchRow], now: datetime, screen: _Screen
) -> tuple[list[_Column], _Column]:
    """The columns that fit, and the job column in what is left."""
    width = screen.width
    columns = list(_columns(shown, now, screen))
    for head in _DROPPED:
        if width >= 80 or _needed(columns) + 14 <= width:
            break
        columns = [column for column in columns if column.head != head]
    prefix = _common_prefix([row.name for row in (*shown, *folded)])
    names = tuple(row.name[len(prefix) :] for row in shown)
    for head in ("LOSS", "", "RATE"):  # a name that can be read is worth more
        if width - _needed(columns) - 2 >= max(map(len, names)):
            break
        columns = [column for column in columns if column.head != head]
    space = max(8, min(width - _needed(columns) - 2, max([9 + len(prefix), *map(len, names)]), 40))
    return columns, _Column(f"JOB, {prefix}…" if prefix else "JOB", space, tuple(cut(name, space) for name in names))


def _needed(columns: Sequence[_Column]) -> int:
    return sum(column.width + 1 for column in columns)


def _common_prefix(names: Sequence[str]) -> str:
    """What all names begin with, up to a dash; only when it saves something."""
    first, last = min(names), max(names)
    same = next((place for place, letter in enumerate(first) if last[place : place + 1] != letter), len(first))
    prefix = first[:same].rpartition("-")
    return prefix[0] + prefix[1] if len(names) > 1 and len(prefix[0]) >= 3 else ""


def _columns(rows: Sequence[WatchRow], now: datetime, screen: _Screen) -> Iterator[_Column]:
    wide, widest = screen.width >= 110, screen.width >= 140

    def column(head: str, width: int, cells: Sequence[str]) -> _Column:
        return _Column(head, max([width, len(head), *map(len, cells)]), tuple(cells))

    yield column("STATUS", 11, [row.look.short for row in rows])
    if widest:
        yield column("INSTANCES", 14, [fmt.instances(row.snapshot.instance, row.snapshot.count) for row in rows])
    if wide:
        yield column("STEP", 16, [step_words(row) for row in rows])
    else:
        yield column("DONE", 4, ["-" if row.share is None else f"{row.share:.0%}" for row in rows])
    yield column("RATE", 11, [rate_words(row, short=True) for row in rows])
    if not screen.ascii_only:
        yield column("", 8, ["" if row.emulated else sparkline(row.rates) for row in rows])
    yield column("LOSS", 5, ["-" if row.loss is None else fmt.loss(row.loss) for row in rows])
    if widest:
        yield column("BILLED", 6, [_billed(row, now) for row in rows])
    yield column("LEFT", 6, [left_words(row) for row in rows])
    yield column("USD", 7, [usd_words(row, now) for row in rows])
    if any(row.checkpoints is not None for row in rows):
        yield column("CKPT", 5, [checkpoint_age(row, now) for row in rows])
    yield column("✕", 1, [str(row.snapshot.interruptions or "-") for row in rows])


def step_words(row: WatchRow) -> str:
    if row.step is None:
        return "-"
    return fmt.count(row.step) + (f" of {fmt.count(row.total_steps)}" if row.total_steps else "")


def _billed(row: WatchRow, now: datetime) -> str:
    billed = row.billed_s(now)
    return "-" if billed is None else fmt.brief(billed) + (" emu" if row.emulated else "")


def checkpoint_age(row: WatchRow, now: datetime) -> str:
    """Of the newest object; ``none`` while there is nothing yet that an interrupted job could go on from."""
    if row.checkpoints is None:
        return "-"
    age = row.checkpoints.age_s(now)
    return "none" if age is None else fmt.brief(age)


def left_words(row: WatchRow) -> str:
    if row.snapshot.terminal:
        return "-"
    return "?" if row.left_s is None else fmt.brief(row.left_s, estimate=True)


def usd_words(row: WatchRow, now: datetime) -> str:
    if row.emulated:
        return "emu"
    cost = row.usd(now)
    if cost is not None:
        return ("≤" if row.at_most else "") + fmt.usd_cell(cost)
    return "no price" if row.price is None else "0.00"


def _folded(rows: Sequence[WatchRow], now: datetime, width: int) -> Iterator[str]:
    """One line per status for the jobs that do not fit, with their sum."""
    for word in _words(rows):
        group = [row for row in rows if row.look.word == word]
        money = total(group, now)
        yield cut(f"… {len(group)} more, {word}{f': {money[:1].lower()}{money[1:-1]}' if money else ''}", width)


def _notes(rows: Sequence[WatchRow], now: datetime, width: int) -> Iterator[str]:
    """What a number cannot say: failures once per cause, ends that were limits, prices, emulated jobs."""
    causes: dict[str, list[str]] = {}
    for row in rows:
        if row.look.word == "failed":
            causes.setdefault(row.reason or "no reason given", []).append(row.name)
        elif row.look.short != row.look.word:
            causes.setdefault(row.look.word, []).append(row.name)
    for cause, names in causes.items():
        more = f" and {len(names) - 2} more" if len(names) > 3 else ""
        listed = ", ".join(names[:2] if more else names) + more
        words = f"{listed}: {cut(cause, 200)}. Next: sm-trn why {names[0]}"
        yield from wrap(words.replace("..", "."), width, first="✗ ", rest="  ")
    if any(row.emulated for row in rows):
        yield from wrap("emu = EMULATED on this machine: no rate, no cost", width)
    if any(row.at_most and row.usd(now) is not None for row in rows):
        yield from wrap("≤ = spot: at most this, the discount is known at the end", width)
    dates = sorted({row.price.as_of for row in rows if row.price is not None and not row.emulated})
    if dates:
        yield from wrap(f"✕ = interruptions, ~ = estimate. USD so far, prices of {', '.join(dates)}", width)


def _detail(row: WatchRow, now: datetime, screen: _Screen) -> Iterator[str]:
    """One job: its phases, numbers and cost, a fact per line."""
    look, job, width, color = row.look, row.snapshot, screen.width, screen.color
    mark = painted(f"{look.ascii if screen.ascii_only else look.glyph} {look.word}", look.role, color=color)
    machine = fmt.instances(job.instance, job.count) + (f", {job.region}" if job.region and not row.emulated else "")
    tag = painted("EMULATED", "emu", color=color) + "  " if row.emulated else ""
    yield f"{tag}{mark}  {row.name}"
    yield f"  {'this machine, for ' if row.emulated else ''}{machine}"
    found = list(phases(row, now))
    if found:
        yield ""
        yield from wrap("  ".join(f"{name} {fmt.compact(seconds)}" for name, _, seconds in found), width, first="  ")
        yield "  " + _phase_bar(row, found, width - 8)
    yield ""
    for name, value in facts_words(row, now):
        yield from wrap(value, width, first=f"  {name:<12}", rest=" " * 14)
    yield ""
    yield f"{fmt.clock(now)}." + ("" if job.terminal else " Ctrl-C leaves the job running.")


def phases(row: WatchRow, now: datetime) -> Iterator[tuple[str, str, float]]:
    """Name, texture and seconds of each phase that took time."""
    for item in row.snapshot.transitions:
        seconds = item.seconds(now)
        if item.status not in {"Completed", "Failed", "Stopped"} and seconds >= 0.5:
            yield item.status.lower(), _PHASE.get(item.status, "┄"), seconds


def _phase_bar(row: WatchRow, found: Sequence[tuple[str, str, float]], width: int) -> str:
    """A texture per phase, then what is to come: dots when the share is known, a half-empty bar and ``?`` when it is not."""
    share = row.share if row.look.word == "training" else None
    done = sum(seconds for _, _, seconds in found)
    whole = done * 2 if row.open_ended else done + (row.left_s or 0.0)
    bar = "".join(texture * max(1, round(width * seconds / whole)) for _, texture, seconds in found)[:width]
    if row.open_ended:
        return bar + " ?"
    return bar + "·" * (width - len(bar) if row.left_s else 0) + (f" {share:.0%}" if share is not None else "")


def facts_words(row: WatchRow, now: datetime) -> Iterator[tuple[str, str]]:
    if row.reason:
        yield "reason", cut(row.reason, 400)
    if row.step is not None:
        yield "step", step_words(row)
    if row.rates and not row.emulated:
        rate = "none now" if rate_words(row) == "-" else rate_words(row)
        yield "throughput", f"{rate}  {sparkline(row.rates)}  the newest, scale from 0"
    if row.loss is not None:
        drawn = f"  {sparkline(row.losses)}  since the beginning, scale from 0" if len(row.losses) > 1 else ""
        yield "loss", fmt.loss(row.loss) + drawn
    if row.left_s is not None:
        yield "left", f"about {fmt.duration(row.left_s)} (at this rate)"
    billed = row.billed_s(now)
    if billed is not None:
        yield (
            "billable",
            fmt.billable(billed, emulated=row.emulated)
            + (f" × {row.snapshot.count}" if row.snapshot.count > 1 else ""),
        )
    yield "cost", _cost(row, now)
    if row.checkpoints is not None:
        age = row.checkpoints.age_s(now)
        yield (
            "checkpoint",
            f"newest {fmt.compact(age)} old, {fmt.count(row.checkpoints.count)} objects"
            if age is not None
            else "none yet",
        )
    if row.snapshot.interruptions:
        yield "interrupted", f"{row.snapshot.interruptions} times"


def _cost(row: WatchRow, now: datetime) -> str:
    if row.emulated:
        return "none: emulated"
    if row.price is None:
        name = row.snapshot.instance
        return f"no price for {name}; SM_TRN_PRICES=FILE gives one"
    cost = row.usd(now)
    said = "nothing billed yet" if cost is None else ("at most " if row.at_most else "") + fmt.usd(cost)
    so_far = "" if row.snapshot.terminal or cost is None else " so far"
    mark = ", inferred" if row.price.inferred else ""
    return f"{said}{so_far} ({fmt.usd_per_hour(row.price.usd_per_hour)}, {row.price.as_of}{mark})"
