"""A comparison for the terminal. Chooses words and columns; every number comes from the formatter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...core.formatting import numbers as fmt
from ...core.formatting.theme import marker, painted
from ...core.pricing.book import Price
from ..layout import GAP, Column, between, cut, fitting, line, one_line, wrap
from ..sections.estimated import NOT_ESTIMATED, estimated_sentence
from ..sections.rows import Row
from ..sections.section import Section
from ..sections.sweep import TRAINING_LOSS, Sweep, sweep_sentence
from ..sections.words import (
    SHOWN_PCT,
    cost_words,
    missing_rate,
    rates_that_differ,
    result_words,
    saved_words,
    setting_columns,
    settings_left,
)

if TYPE_CHECKING:
    from .compared import Compared

_ORDER = (
    "sweep",
    "sweep_differs",
    "throughput",
    "billable",
    "cost",
    "spot",
    "flip",
    "repriced",
    "not_training",
    "scaling",
    "padding",
    "data_wait",
    "compiles",
)
_LIMITS = ("changed", "runs", "missing", "note")
_LONGEST_NAME = 28


def comparison_text(item: Compared, *, width: int, color: bool, ascii_only: bool) -> str:
    """All sections, then the findings of each; rehearsals last."""
    blocks = [_measured(item, section, width, ascii_only=ascii_only) for section in item.sections if section.measured]
    blocks += [
        _rehearsal(section.rehearsal, width, color=color, ascii_only=ascii_only)
        for section in item.sections
        if section.emulated
    ]
    text = "\n\n".join("\n".join(block) for block in blocks)
    return text.translate(_ASCII) if ascii_only else text


_ASCII = str.maketrans(
    {"×": "x", "…": "~", "▲": "!", "•": "*", "–": "-", "é": "e", "✗": "x", "✓": "+", "●": "*", "■": "#"}
)


def glyph(row: Row, *, ascii_only: bool) -> str:
    """The job's marker, hollow when it is emulated."""
    mark = marker(row.slot)
    return mark.ascii if ascii_only else mark.hollow if row.emulated else mark.solid


def _measured(item: Compared, section: Section, width: int, *, ascii_only: bool) -> list[str]:
    regions = dict.fromkeys(row.region for row in section.measured if row.region)
    prices = "newest known prices" if item.at is None else f"prices of {item.at} or before"
    lines = between(one_line(section.workload) or "Jobs", ", ".join([*regions, prices]), width)
    lines += ["", *_table(section, width, ascii_only=ascii_only), ""]
    own = [finding for finding in item.findings if finding.workload == section.workload]
    for finding in own:
        if finding.kind in _ORDER:
            lines += wrap(finding.text, width)
    said = [finding for finding in own if finding.kind in _LIMITS]
    if said and lines[-1]:
        lines.append("")
    for finding in said:
        lines += wrap(finding.text, width, first="• " if finding.kind in {"note", "runs"} else "▲ ", rest="  ")
    lines += _price_lines(section, width)
    return lines


def _price_lines(section: Section, width: int) -> Iterator[str]:
    prices = dict.fromkeys(row.price for row in section.measured if row.price is not None)
    if prices:
        words = [f"{price.instance} {fmt.usd_per_hour(price.usd_per_hour)} {_dated(price)}" for price in prices]
        yield from wrap(f"Prices per instance: {', '.join(words)}.", width, first="• ", rest="  ")


def _dated(price: Price) -> str:
    return f"({price.as_of}, inferred)" if price.inferred else f"({price.as_of})"


def _table(section: Section, width: int, *, ascii_only: bool) -> Iterator[str]:
    """The measured jobs: of a sweep the best first, else each with its change against the baseline under it."""
    sweep = section.sweep
    rows = section.measured if sweep is None else tuple(trial.row for trial in sweep.trials)
    if sweep is None:
        names = [one_line(row.label) + (", baseline" if row is section.base and len(rows) > 1 else "") for row in rows]
    else:
        places = [f"{trial.rank or '-'}" for trial in sweep.trials]
        wide = max(map(len, places))
        names = [f"{place:>{wide}} {one_line(row.label)}" for place, row in zip(places, rows, strict=True)]
    name_width = min(max(map(len, ["JOB", *names, *(one_line(row.label) for row in section.emulated)])), _LONGEST_NAME)
    columns = fitting(_columns(section) if sweep is None else _swept_columns(sweep, section), width - 2 - name_width)
    yield line("  JOB", name_width + 2, [column.head for column in columns], columns)
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        cells = [column.cells[2 * place] for column in columns]
        mark = glyph(row, ascii_only=ascii_only)
        yield line(f"{mark} {cut(name, name_width)}", name_width + 2, cells, columns)
        changes = [column.cells[2 * place + 1] for column in columns]
        if any(changes):
            yield line("", name_width + 2, changes, columns)
    for row in section.emulated:
        head = f"{glyph(row, ascii_only=ascii_only)} {cut(one_line(row.label), name_width):<{name_width}}{GAP}"
        yield from wrap("EMULATED on this machine. Not compared.", width, first=head, rest=" " * len(head))
    if sweep is not None:
        heads = {column.head for column in columns}
        left = settings_left(sweep, shown=[name for name in sweep.names if name.upper() in heads])
        yield from wrap(left, width, first="  ")


def _swept_columns(sweep: Sweep, section: Section) -> Iterator[Column]:
    """What differs between the jobs, what they are ranked by, what they took and cost."""
    rows = [trial.row for trial in sweep.trials]
    for number, (name, read) in enumerate(setting_columns(sweep)):
        yield _column(name.upper(), [read(trial) for trial in sweep.trials], rank=0 if number < 2 else 2)
    yield _column(sweep.metric.upper(), [result_words(trial) for trial in sweep.trials])
    if sweep.metric != TRAINING_LOSS and any(row.final_loss is not None for row in rows):
        losses = ["-" if row.final_loss is None else fmt.loss(row.final_loss) for row in rows]
        yield _column("LOSS", losses, rank=1)
    rates = rates_that_differ(sweep, section)
    if rates:
        yield _column(section.unit.upper(), [rates[row.label] for row in rows], rank=1)
    yield _column("TIME", [_took(section.time_s(row)) for row in rows], rank=1)
    yield _column("USD", [cost_words(row) for row in rows])
    if section.on_spot:
        yield _column("SPOT SAVED", [saved_words(row) for row in rows], rank=2)


def _took(seconds: float | None) -> str:
    return "-" if seconds is None else fmt.brief(seconds)


def _columns(section: Section) -> Iterator[Column]:
    """Two cells per job: its value, and under it the change against the baseline."""
    rows, unit = section.measured, section.unit
    deltas = [section.delta(row) for row in rows]
    yield _column(
        unit.upper() if unit == "it/s" else "SAMPLES/S",
        [fmt.significant(rate.median) if (rate := row.rate(unit)) else missing_rate(row, unit) for row in rows],
        [_signed(delta.speedup_pct) for delta in deltas],
    )
    if section.on_spot:
        walls = [_signed(_minus(delta.wall_saving_pct)) for delta in deltas]
        yield _column("WALL", [_took(row.wall_s) for row in rows], walls)
        trained = ["-" if row.snapshot.training_s is None else fmt.count(row.snapshot.training_s) for row in rows]
        yield _column("TRAINED s", trained, rank=2)
    yield _column(
        "BILLED s" if section.on_spot else "BILLABLE s",
        ["not billed yet" if row.billable_s is None else fmt.count(row.billable_s) for row in rows],
        [_signed(_minus(delta.billable_saving_pct)) for delta in deltas],
    )
    if any(row.not_training is not None for row in rows):
        yield _column(
            "NOT TRAINING",
            ["-" if row.not_training is None else fmt.percent(row.not_training * 100) for row in rows],
            rank=2,
        )
    yield _column(
        "USD", [cost_words(row) for row in rows], [_signed(_minus(delta.cost_saving_pct)) for delta in deltas]
    )
    if section.on_spot:
        yield _column("SPOT SAVED", [saved_words(row) for row in rows], rank=1)
    per_samples = unit == "samples/s"
    steady = [row.usd_per_1000_samples if per_samples else row.usd_per_1000_it for row in rows]
    if any(value is not None for value in steady):
        yield _column(
            "USD/1,000 samples" if per_samples else "USD/1,000 it",
            ["-" if value is None else fmt.usd_small(value) for value in steady],
            rank=3,
        )
    if any(row.usd_per_epoch is not None for row in rows):
        yield _column(
            "USD/EPOCH",
            ["-" if row.usd_per_epoch is None else fmt.usd_cell(row.usd_per_epoch) for row in rows],
            rank=5,
        )
    if any(row.accuracy is not None for row in rows):
        yield _column("ACC", ["-" if row.accuracy is None else fmt.accuracy(row.accuracy) for row in rows], rank=1)
    if any(row.final_loss is not None for row in rows):
        yield _column("LOSS", ["-" if row.final_loss is None else fmt.loss(row.final_loss) for row in rows], rank=4)


def _column(head: str, values: list[str], changes: list[str] | None = None, rank: int = 0) -> Column:
    under = changes or [""] * len(values)
    return Column(head, tuple(cell for pair in zip(values, under, strict=True) for cell in pair), rank)


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _signed(change: float | None) -> str:
    return "" if change is None or abs(change) < SHOWN_PCT else fmt.percent(change, signed=True)


def _rehearsal(section: Section, width: int, *, color: bool, ascii_only: bool) -> list[str]:
    """Emulated jobs: what they learned and how long they took here. No rate, no cost."""
    sweep = section.sweep
    rows = section.rows if sweep is None else tuple(trial.row for trial in sweep.trials)
    names = [one_line(row.label) for row in rows]
    name_width = min(max(map(len, ["JOB", *names])), _LONGEST_NAME)
    columns = fitting([*_rehearsed_settings(sweep), *_rehearsal_columns(rows)], width - 2 - name_width)
    title = between(f"EMULATED  {one_line(section.workload) or 'Jobs'}", "on this machine", width)
    title[0] = title[0].replace("EMULATED", painted("EMULATED", "emu", color=color), 1)
    lines = [*title, "", line("  JOB", name_width + 2, [column.head for column in columns], columns)]
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        mark = glyph(row, ascii_only=ascii_only)
        cells = [column.cells[place] for column in columns]
        lines.append(line(f"{mark} {cut(name, name_width)}", name_width + 2, cells, columns))
    for row in rows:
        if row.status.word != "completed":
            lines += wrap(f"{row.label} {row.status.said}.", width, first="  ")
    if sweep is not None:
        lines += wrap(sweep_sentence(sweep), width, first="  ")
    wanted = dict.fromkeys(fmt.instances(row.snapshot.instance, row.snapshot.count) for row in rows)
    lines += wrap(f"Rehearsed here for {fmt.listing(list(wanted))}.", width, first="  ")
    lines += wrap("No speed-up, no cost: emulated jobs have none. Their seconds are this machine's.", width, first="  ")
    lines += wrap(estimated_sentence([(one_line(row.label), row.estimated) for row in rows]), width, first="  ")
    return lines


def _rehearsed_settings(sweep: Sweep | None) -> Iterator[Column]:
    for name, read in setting_columns(sweep) if sweep is not None else ():
        yield Column(name.upper(), tuple(read(trial) for trial in sweep.trials) if sweep is not None else ())


def _rehearsal_columns(rows: tuple[Row, ...]) -> Iterator[Column]:
    def cells(values: list[float | None], form: Callable[[float], str]) -> tuple[str, ...]:
        return tuple("not logged" if value is None else form(value) for value in values)

    yield Column("LOSS", cells([row.final_loss for row in rows], fmt.loss))
    yield Column("ACCURACY", cells([row.accuracy for row in rows], fmt.accuracy))
    if any(row.baseline_accuracy is not None for row in rows):
        yield Column("BASELINE", cells([row.baseline_accuracy for row in rows], fmt.accuracy), rank=2)
    billed = ["not yet" if row.billable_s is None else fmt.count(row.billable_s) for row in rows]
    yield Column("BILLABLE, s emu", tuple(billed))
    if any(row.estimated is not None for row in rows):
        likely = [row.estimated.likely if row.estimated else NOT_ESTIMATED for row in rows]
        yield Column("AWS TIME, est", tuple(took for took, _ in likely), rank=1)
        yield Column("AWS USD, est", tuple(usd for _, usd in likely), rank=1)
    yield Column("INTERRUPTED", tuple(fmt.count(row.snapshot.interruptions) for row in rows), rank=1)
