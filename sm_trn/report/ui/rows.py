"""One job as a row of the list: numbers are words already, made by the package's own formatter. Asks nobody."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.printable import cut, one_line
from ...core.specs.snapshot import JobStatus
from ...core.specs.sweeps import SWEEP_TAG, TRIAL_TAG
from ...core.status import phases
from ..sections.sweep import TRAINING_LOSS, lower_is_better, preferred
from ..watch.columns import LIVE, watch_table
from ..watch.rows import WatchRow
from .board import Json

CENT = Decimal("0.01")
RECENT = timedelta(days=1)  # a failure needs somebody for so long
NAMED, LONGEST_CAUSE = 3, 300
# sagemaker-training 5.1.4, errors.py, ExecuteUserScriptError: the message may be the end of a traceback, its last line the exception.
_SAID = re.compile(r'\bErrorMessage "(?P<said>.+?)" (?:ExtraInfo|Command) "')
_RAISED = re.compile(r"^.*(?<![\w.])(?P<raised>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?)$")


@dataclass(frozen=True, slots=True)
class Shown:
    """A job, and what only its service or its tags say of it."""

    row: WatchRow
    tags: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.row.snapshot.name


def finite(value: float | None) -> float | None:
    """Return what JSON can hold; None for what is no number."""
    return value if value is not None and math.isfinite(value) else None


def bar(row: WatchRow, now: datetime) -> list[tuple[str, str, float]]:
    """Name, texture and seconds of each phase so far."""
    return [(phase.word, phase.texture.style, round(phase.seconds, 1)) for phase in phases(row.snapshot, now)]


def cost(row: WatchRow, now: datetime) -> Decimal | None:
    """Cost so far in whole cents, so that a sum is the sum of what is shown."""
    usd = row.usd(now)
    return None if usd is None else usd.quantize(CENT)


def row_json(shown: Shown, now: datetime) -> Json:
    """Everything that a row shows."""
    row, job, look = shown.row, shown.row.snapshot, shown.row.look
    usd = cost(row, now)
    table = watch_table([row], LIVE, now)
    (drawn,) = table.rows
    created = job.created
    return {
        "name": job.name,
        "word": look.word,
        "glyph": look.glyph,
        "role": look.role,
        "order": look.order,
        "ended": job.terminal,
        "emulated": row.emulated,
        "instance": one_line(job.instance),
        "machine": fmt.instances(one_line(job.instance), job.count),
        "spot": job.spot,
        "phases": bar(row, now),
        "left_s": finite(row.left_s),
        "share": finite(row.share),
        "rates": [] if row.emulated else [finite(value) for value in row.rates],
        "losses": [finite(value) for value in row.losses],
        "usd": None if usd is None else float(usd),
        "at_most": row.at_most and usd is not None,
        "interruptions": job.interruptions,
        "created": None if created is None else created.timestamp(),
        "reason": cut(cause_of(row.reason), LONGEST_CAUSE),
        "tags": [(one_line(key), one_line(value)) for key, value in shown.tags.items()],
        "sweep": one_line(sweep_of(shown)),
        "result": result_of(row),
        **{column.name: column.words(drawn.cells[column.name]) for column in table.columns},
        "missing": [name for name, cell in drawn.cells.items() if cell.missing],
    }


def sweep_of(shown: Shown) -> str:
    """The sweep that a job is of: a grid's base, a study of Optuna, or a tuning job of SageMaker; empty for none."""
    grid, trial = shown.tags.get(SWEEP_TAG), shown.tags.get(TRIAL_TAG)
    if grid is not None:
        return grid
    if trial is not None:
        return trial.rpartition("/")[0]
    return str(shown.row.snapshot.raw.get("TuningJobArn") or "").rpartition("/")[2]


def result_of(row: WatchRow) -> Json | None:
    """What a job that ended can be ranked by: a tuning job's objective, else the metric that a comparison would take."""
    job = row.snapshot
    if job.status not in {JobStatus.COMPLETED, JobStatus.STOPPED} or row.sick:
        return None
    values = dict(job.final_metrics)
    values |= {
        point.name: point.value for point in row.points if point.name in values or point.name.startswith("eval_")
    }
    values = {name: value for name, value in values.items() if math.isfinite(value)}
    if row.loss is not None and math.isfinite(row.loss):
        values[TRAINING_LOSS] = row.loss
    objective = job.hyperparameters.get("_tuning_objective_metric", "")
    ranked = [objective] if objective in values else preferred(values, trained=TRAINING_LOSS in values)
    if not ranked:
        return None
    (metric, *_) = ranked
    value = values[metric]
    return {"metric": one_line(metric), "value": value, "words": fmt.loss(value), "lowest": lower_is_better(metric)}


def headline(rows: Sequence[WatchRow], now: datetime) -> tuple[str, str]:
    """The first sentence of the page – who needs you, what is billed now – and what stands below it."""
    if not rows:
        return "No jobs yet", ""
    needs = [row for row in rows if needs_you(row, now)]
    running = [row for row in rows if not row.snapshot.terminal]
    parts = [f"{fmt.jobs(len(needs))} need{'s' if len(needs) == 1 else ''} you"] if needs else []
    parts += [_running_words(running)]
    sentence = "; ".join(parts)
    return sentence[:1].upper() + sentence[1:], " ".join(_below(rows, now))


def _running_words(running: Sequence[WatchRow]) -> str:
    if not running:
        return "nothing is running"
    if all(row.emulated for row in running):
        return f"{fmt.jobs(len(running))} run{'s' if len(running) == 1 else ''} on this machine"
    billing = [row for row in running if row.snapshot.started is not None and not row.emulated]
    priced = [row.price.usd_per_hour * row.snapshot.count for row in billing if row.price is not None]
    if not billing:
        return f"{fmt.jobs(len(running))} starting, {Missing.NOT_BILLED_YET}"
    is_ = "is" if len(billing) == 1 else "are"
    if len(priced) < len(billing):
        return f"{fmt.jobs(len(billing))} {is_} being billed"
    most = "at most " if any(row.snapshot.spot for row in billing) else ""
    return f"{fmt.jobs(len(billing))} {is_} billing {most}{fmt.usd(sum(priced, Decimal(0)))} an hour"


def _below(rows: Sequence[WatchRow], now: datetime) -> Iterator[str]:
    measured = [row for row in rows if not row.emulated]
    if not measured:
        yield f"{fmt.jobs(len(rows))} EMULATED on this machine. Seconds are this machine's, and there is no cost."
        return
    priced = [(usd, row) for row in measured if (usd := row.usd(now)) is not None]
    if priced:
        most = "at most " if any(row.at_most for _, row in priced) else ""
        dates = sorted({row.price.as_of for _, row in priced if row.price is not None})
        dated = f" at prices of {dates[0]}" + (f" to {dates[-1]}" if len(dates) > 1 else "") if dates else ""
        yield f"{fmt.jobs(len(rows))} have cost {most}{fmt.usd(sum((usd for usd, _ in priced), Decimal(0)))} so far{dated}."
    if any(row.at_most for _, row in priced):
        yield "What spot saves is known when a job ends."
    unpriced = sum(row.price is None and bool(row.snapshot.instance) for row in measured)
    if unpriced:
        yield f"{fmt.jobs(unpriced)} without a known price are in no sum."


def needs_you(row: WatchRow, now: datetime) -> bool:
    """Sick now, as by NaN or a stall, or failed within a day. A spot interruption goes on by itself."""
    job = row.snapshot
    if row.sick:
        return True
    ended = job.ended or job.modified
    return row.look.word == "failed" and (ended is None or now - ended <= RECENT)


def cause_of(reason: str) -> str:
    """What the script itself said in a failure reason; the whole of one that has another form."""
    found = _SAID.search(reason)
    said = found["said"] if found is not None else reason
    raised = _RAISED.search(said) if found is not None else None
    return raised["raised"] if raised is not None else said


def needs(rows: Sequence[WatchRow], now: datetime, options: str) -> list[Json]:
    """A cause, its jobs, and one line to copy. A cause that several jobs have is said once."""
    causes: dict[tuple[str, str, str], list[WatchRow]] = {}
    for row in rows:
        if needs_you(row, now):
            cause = cause_of(row.reason) or str(Missing.NO_REASON)
            causes.setdefault((row.look.word, row.look.role, cause), []).append(row)
    return [
        {
            "word": word,
            "glyph": found[0].look.glyph,
            "role": role,
            "count": len(found),
            "names": [row.snapshot.name for row in found[:NAMED]],
            "cause": cut(cause, LONGEST_CAUSE),
            "command": found[0].next_command + options,
        }
        for (word, role, cause), found in causes.items()
    ]
