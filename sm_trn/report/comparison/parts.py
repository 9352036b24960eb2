"""Pieces of HTML that the page and the notebook card share: markers, statuses, the table of jobs. Knows no layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ...core.formatting import numbers as fmt
from ...core.formatting.markup import TAG
from ...core.formatting.theme import SLOTS
from ..document import fold, text
from ..sections.estimated import NOT_ESTIMATED
from ..sections.rows import Row
from ..sections.section import Delta, Section
from ..sections.sweep import TRAINING_LOSS, Sweep, Trial
from ..sections.words import (
    SHOWN_PCT,
    cost_words,
    missing_rate,
    rates_that_differ,
    result_words,
    saved_words,
    setting_columns,
)
from .folding import Column, Fold, folds

_SHAPES = (
    '<circle cx="6" cy="6" r="4"/>',
    '<path d="M2 2h8v8H2z"/>',
    '<path d="M6 1.5l4.8 8.5H1.2z"/>',
    '<path d="M6 1l5 5-5 5-5-5z"/>',
    '<path d="M6 10.5L1.2 2h9.6z"/>',
    '<path d="M4.5 1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"/>',
)


def mark(row: Row) -> str:
    """The job's marker; hollow when it is emulated."""
    hollow = " hollow" if row.emulated else ""
    return f'<svg class="mark{hollow} c{row.slot % SLOTS + 1}" viewBox="0 0 12 12" aria-hidden="true">{_SHAPES[row.slot % SLOTS]}</svg>'


def job_head(row: Row, *, base: bool = False, trial: Trial | None = None) -> str:
    """The row header: marker, name, instances. Of a sweep's trial also its rank and status, which have no columns."""
    machine = fmt.instances(row.snapshot.instance, row.snapshot.count)
    under = text(f"for {machine}" if row.emulated else machine + (", baseline" if base else ""))
    place = f"{trial.rank}. " if trial is not None and trial.rank is not None else ""
    if trial is not None and not row.emulated:
        under += f' <span class="{row.status.role}">{row.status.glyph} {text(row.status.word)}</span>'
    return f'<th scope="row"><span class="job">{mark(row)}{place}{text(row.label)}</span><span class="sub">{under}</span></th>'


def status(row: Row) -> str:
    look = row.status
    return f'<td class="words state"><span class="{look.role}">{look.glyph} {text(look.word)}</span></td>'


def table(section: Section, *, caption: str, folding: bool = True) -> str:
    """The measured jobs of a section, of a sweep the best first; an emulated one has a hatched row without numbers.

    With ``folding`` columns go under others where the page's style says that there is no room.
    """
    sweep = section.sweep if section.measured else None
    columns = list(_columns(section) if sweep is None else _swept_columns(sweep, section))
    stated = "" if sweep is not None else '<th scope="col" class="words">Status</th>'
    moved, folded = folds(columns, [[row.status.word + "  " for row in section.rows]] if stated else [])
    moved = moved if folding else ()
    gone = {item.out: f"out-{item.width}" for item in moved}
    head = stated + "".join(_head(name, unit, gone.get(number, "")) for number, (name, unit, _) in enumerate(columns))
    lines = [
        f'<table class="jobs {folded}"><caption>{text(caption)}</caption><thead><tr>',
        f'<th scope="col">Job</th>{head}</tr></thead><tbody>',
    ]
    trials = {trial.job: trial for trial in sweep.trials} if sweep is not None else {}
    for row in section.rows:
        state = status(row) if stated else ""
        if row.emulated:
            cells = f'<td colspan="{len(columns)}">{TAG} on this machine; not compared.</td>'
            lines.append(f'<tr class="hatched">{job_head(row)}{state}{cells}</tr>')
        else:
            base = sweep is None and row is section.base and len(section.measured) > 1
            cells = "".join(_cells(row, columns, moved, gone))
            lines.append(f"<tr>{job_head(row, base=base, trial=trials.get(row.label))}{state}{cells}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def _cells(row: Row, columns: Sequence[Column], moved: Sequence[Fold], gone: Mapping[int, str]) -> Iterator[str]:
    """A job's cells; those that a column folds into hold its value as well, for the widths at which it is gone."""
    for number, (name, unit, values) in enumerate(columns):
        tails = ((item, columns[item.out][2][row.label]) for item in moved if item.under == number)
        tail = "".join(
            f'<span class="tail-{item.width}">{text(item.words.format(shown))}</span>'
            for item, (shown, _, missing) in tails
            if not missing
        )
        yield _cell(f"{name}, {unit}" if unit else name, *values[row.label], kind=gone.get(number, ""), tail=tail)


def _head(name: str, unit: str = "", kind: str = "") -> str:
    """A column's head; the long name of a hyperparameter may break at its underscores."""
    under = f"<small>{text(unit)}</small>" if unit else ""
    named = f' class="{kind}"' if kind else ""
    return f'<th scope="col"{named}>{text(name).replace("_", "_<wbr>")}{under}</th>'


def _settings(sweep: Sweep) -> Iterator[Column]:
    for name, read in setting_columns(sweep):
        yield name, "", {trial.job: (read(trial), "", name not in trial.settings) for trial in sweep.trials}


def _swept_columns(sweep: Sweep, section: Section) -> Iterator[Column]:
    """What differs between the jobs, what they are ranked by, what they took and cost."""
    yield from _settings(sweep)
    yield (
        sweep.metric,
        "ranked by",
        {trial.job: (result_words(trial), "", trial.value is None) for trial in sweep.trials},
    )
    rows = [trial.row for trial in sweep.trials]
    if sweep.metric != TRAINING_LOSS and any(row.final_loss is not None for row in rows):
        losses = {row.label: row.final_loss for row in rows}
        yield (
            "Final loss",
            "training",
            {
                label: (fmt.loss(value), "", False) if value is not None else ("not logged", "", True)
                for label, value in losses.items()
            },
        )
    rates = rates_that_differ(sweep, section)
    if rates:
        yield (
            "Throughput",
            section.unit,
            {row.label: (rates[row.label], "", row.rate(section.unit) is None) for row in rows},
        )
    for name, unit, seconds in _times(section):
        yield name, unit, {row.label: seconds[row.label] for row in rows}
    yield "Cost", "USD", {row.label: (cost_words(row), "", row.cost is None) for row in rows}
    if section.on_spot:
        yield "Spot saved", "USD", {row.label: (saved_words(row), "", row.on_demand_usd is None) for row in rows}


def _times(section: Section) -> Iterator[Column]:
    """Billed seconds; with a job on spot also the time from submit to end, and the seconds that it trained. In a sweep no job
    is compared with another.
    """
    rows = section.measured
    deltas = {row.label: section.delta(row) if section.sweep is None else Delta() for row in rows}
    if section.on_spot:
        yield (
            "Time",
            "submit to end",
            {
                row.label: (fmt.compact(row.wall_s), _less(deltas[row.label].wall_saving_pct), False)
                if row.wall_s is not None
                else ("not known", "", True)
                for row in rows
            },
        )
        yield (
            "Trained",
            "s/instance",
            {
                row.label: (fmt.count(row.snapshot.training_s), "", False)
                if row.snapshot.training_s is not None
                else ("not known", "", True)
                for row in rows
            },
        )
    yield (
        *(("Billed", "s/instance") if section.on_spot else ("Billable", "s per instance")),
        {
            row.label: (fmt.count(row.billable_s), _less(deltas[row.label].billable_saving_pct), False)
            if row.billable_s is not None
            else ("not billed yet", "", True)
            for row in rows
        },
    )


def rehearsal_table(section: Section, *, caption: str) -> str:
    """Emulated jobs: what they learned and their seconds, which carry the mark. No rate, no cost."""
    sweep = section.sweep
    rows = section.rows if sweep is None else tuple(trial.row for trial in sweep.trials)
    chosen = list(_settings(sweep)) if sweep is not None else []
    trials = {trial.job: trial for trial in sweep.trials} if sweep is not None else {}
    foreseen = any(row.estimated is not None for row in rows)
    heads: tuple[str, ...] = ("Final loss", "Accuracy", "Best baseline", "Billable, s emu", "Interruptions", "Cost")
    heads += ("AWS time, est", "AWS USD, est") if foreseen else ()
    head = "".join(map(_head, (*(name for name, _, _ in chosen), *heads)))
    widths = [[*name.split("_"), *(value for value, _, _ in values.values())] for name, _, values in chosen]
    lines = [
        f'<table class="jobs {fold([["Completed"], *widths, *([name] for name in heads)])}"><caption>{text(caption)}</caption><thead><tr>',
        f'<th scope="col">Job</th><th scope="col" class="words">Status</th>{head}</tr></thead><tbody>',
    ]
    for row in rows:
        values = (
            _or_missing(row.final_loss, fmt.loss(row.final_loss) if row.final_loss is not None else "not logged"),
            _or_missing(row.accuracy, fmt.accuracy(row.accuracy) if row.accuracy is not None else "not logged"),
            _or_missing(
                row.baseline_accuracy,
                fmt.accuracy(row.baseline_accuracy) if row.baseline_accuracy is not None else "not logged",
            ),
            _or_missing(row.billable_s, fmt.count(row.billable_s) if row.billable_s is not None else "not yet"),
            (fmt.count(row.snapshot.interruptions), "", False),
            ("none", "", True),
            *(_estimated(row) if foreseen else ()),
        )
        cells = "".join(_cell(name, *own[row.label]) for name, _, own in chosen)
        cells += "".join(_cell(name, *value) for name, value in zip(heads, values, strict=True))
        lines.append(f"<tr>{job_head(row, trial=trials.get(row.label))}{status(row)}{cells}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def _estimated(row: Row) -> Iterator[tuple[str, str, bool]]:
    """What the job would take and cost on AWS, each with its 80 % interval below it."""
    likely, between = (row.estimated.likely, row.estimated.between) if row.estimated else (NOT_ESTIMATED, ("", ""))
    for shown, under in zip(likely, between, strict=True):
        yield shown, under, shown == "-"


def _or_missing(value: float | None, shown: str) -> tuple[str, str, bool]:
    return shown, "", value is None


def _cell(label: str, shown: str, under: str, missing: bool, *, kind: str = "", tail: str = "") -> str:
    kinds = " ".join(word for word in ("missing" if missing else "", kind) if word)
    sub = f'<span class="sub">{text(under)}</span>' if under else ""
    named = f' class="{kinds}"' if kinds else ""
    return f'<td data-label="{text(label)}"{named}>{text(shown)}{sub}{tail}</td>'


def _columns(section: Section) -> Iterator[Column]:
    """Name, unit, and by job: the value, its change against the baseline in words, whether it is missing."""
    rows, unit = section.measured, section.unit
    deltas = {row.label: section.delta(row) for row in rows}
    rates = {row.label: row.rate(unit) for row in rows}
    yield (
        "Throughput",
        unit,
        {
            row.label: (fmt.significant(rate.median), _more(deltas[row.label].speedup_pct), False)
            if (rate := rates[row.label])
            else (missing_rate(row, unit), "", True)
            for row in rows
        },
    )
    yield from _times(section)
    if any(row.not_training is not None for row in rows):
        yield (
            "Not training",
            "share of billable",
            {
                row.label: (fmt.percent(row.not_training * 100), "", False)
                if row.not_training is not None
                else ("not known", "", True)
                for row in rows
            },
        )
    yield (
        "Cost",
        "USD",
        {row.label: (cost_words(row), _less(deltas[row.label].cost_saving_pct), row.cost is None) for row in rows},
    )
    if section.on_spot:
        yield "Spot saved", "USD", {row.label: (saved_words(row), "", row.on_demand_usd is None) for row in rows}
    for name, kind, values, form in (
        _steady_cost(section),
        ("Cost", "USD per epoch", {row.label: row.usd_per_epoch for row in rows}, fmt.usd_cell),
        ("Accuracy", "held out", {row.label: row.accuracy for row in rows}, fmt.accuracy),
        ("Final loss", "training", {row.label: row.final_loss for row in rows}, fmt.loss),
    ):
        if any(value is not None for value in values.values()):
            yield (
                name,
                kind,
                {
                    label: (form(value), "", False) if value is not None else ("not logged", "", True)
                    for label, value in values.items()
                },
            )


def _steady_cost(section: Section) -> tuple[str, str, Mapping[str, float | None], Callable[[float], str]]:
    """In the unit that the section's rates are in."""
    if section.unit == "samples/s":
        return (
            "Steady cost",
            "USD per 1,000 samples",
            {row.label: row.usd_per_1000_samples for row in section.measured},
            fmt.usd_small,
        )
    return (
        "Steady cost",
        "USD per 1,000 iterations",
        {row.label: row.usd_per_1000_it for row in section.measured},
        fmt.usd_small,
    )


def _more(change: float | None) -> str:
    return "" if change is None or abs(change) < SHOWN_PCT else fmt.change(change, "")


def _less(saving: float | None) -> str:
    return _more(None if saving is None else -saving)
