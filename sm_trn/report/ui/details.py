"""One job as its own view shows it: facts, curves, metrics, arguments, and what to type next. Asks nobody."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from datetime import datetime

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.printable import one_line, printable
from ...core.pricing.cost import usd_for
from ...core.specs.units import WallSeconds
from ...core.status import NextStep, next_steps
from ..watch.columns import watch_table, words_of
from ..watch.rows import WatchRow
from .board import Json
from .lines import Lines
from .rows import bar, finite
from .series import Curves, Series

_UNITS = {"steps_per_second": "it/s", "samples_per_second": "samples/s"}
_INTERNAL = "sagemaker_"  # hyperparameters that an SDK adds for the toolkit
LONGEST = 2_000


def detail_json(
    row: WatchRow, curves: Curves, lines: Lines, *, now: datetime, ready: bool, problem: str, options: str
) -> Json:
    """Everything but the log's lines, of which it says how many there are."""
    job, verdict = row.snapshot, row.health.verdict if row.health is not None else None
    return {
        "name": job.name,
        "ready": ready,
        "problem": problem,
        "sentence": _sentence(row, now),
        "facts": list(_facts(row, now)),
        "reason": printable(job.failure_reason)[:LONGEST],
        "exception": lines.exception()[:LONGEST] if job.status_word == "Failed" and ready else "",
        "cause": _cause(row, lines)[:LONGEST] if job.status_word == "Failed" and ready else "",
        "phases": bar(row, now),
        "phase_words": [f"{name} {fmt.compact(seconds)}" for name, _, seconds in bar(row, now)],
        "left_s": finite(row.left_s),
        "billed": _billed(row, now),
        "limit": _limit(row),
        "series": [_series(one, job.created) for one in curves.series.values() if one.name != "total_steps"],
        "metrics": list(_metrics(row, curves)),
        "arguments": [
            (one_line(key), one_line(value)[:LONGEST])
            for key, value in job.hyperparameters.items()
            if not key.startswith(_INTERNAL)
        ],
        "about": [(name, value) for name, value in _about(row) if value],
        "next": [
            (step.words, step.command + options)
            for step in (*next_steps(job.name, job.status, verdict), *_offer(row, lines))
        ],
        "log": {
            "end": lines.end,
            "hosts": [one_line(host) for host in lines.hosts],
            "ranks": sorted(lines.ranks),
            "bad": lines.first_bad(),
        },
    }


def _offer(row: WatchRow, lines: Lines) -> Iterator[NextStep]:
    """Rules for numbers that nothing reads, of a job whose loss is not known."""
    names = lines.unread if row.loss is None else ""
    if names:
        yield NextStep(f"Read its own numbers: {names}", f"sm-trn logs {shlex.quote(row.snapshot.name)} --suggest")


def _cause(row: WatchRow, lines: Lines) -> str:
    """Why the job failed, in one line, from what is kept of its log; empty where it is unknown."""
    from ...diagnosis.causes.diagnose import JobText, read_events  # noqa: PLC0415 - most jobs do not fail
    from ...diagnosis.text import cause_line  # noqa: PLC0415 - as above

    end, told = lines.cause
    if end != lines.end:
        end = lines.end
        told = cause_line(JobText(row.snapshot.name, row.snapshot, log=read_events([lines.events()])).diagnosis())
        lines.cause = end, told
    return told


def _facts(row: WatchRow, now: datetime) -> Iterator[tuple[str, str, str]]:
    """Name, value, and what the value stands beside."""
    if row.step is not None:
        share = f", {row.share * 100:.0f} %" if row.share is not None else ""
        yield "Step", fmt.count(row.step), f"of {fmt.count(row.total_steps)}{share}" if row.total_steps else ""
    (rate,) = watch_table([row], ("rate",), now).rows
    if not rate.cells["rate"].missing:
        yield "Throughput", words_of(row, "rate", now), "newest"
    if row.loss is not None or row.may_have_logged:
        yield "Loss", words_of(row, "loss", now), "newest" if row.loss is not None else ""
    if row.left_s is not None:
        yield "Left", f"about {fmt.brief(row.left_s)}", "at the rate of the last minutes"
    yield "Billed", words_of(row, "billed", now), f"× {row.snapshot.count}"
    price = (
        "" if row.price is None or row.emulated else f"{fmt.usd_per_hour(row.price.usd_per_hour)} of {row.price.as_of}"
    )
    inferred = ", inferred" if price and row.price is not None and row.price.inferred else ""
    usd = row.usd(now)
    words = words_of(row, "cost", now) if usd is None else ("≤ " if row.at_most else "") + fmt.usd(usd)
    yield "Cost", words, price + inferred
    if row.checkpoints is not None:
        age = row.checkpoints.age_s(now)
        objects = f"{fmt.count(row.checkpoints.count)} objects"
        yield "Checkpoint", str(Missing.NONE_YET) if age is None else f"{fmt.compact(age)} old", objects
    if row.snapshot.interruptions:
        yield "Interruptions", fmt.count(row.snapshot.interruptions), ""


def _sentence(row: WatchRow, now: datetime) -> str:
    """What the job does, and when it should end."""
    word, name = row.look.word, row.snapshot.name
    if row.snapshot.terminal:
        billed = row.snapshot.billable_s
        cost = row.usd(now)
        spent = f" after {fmt.billable(billed, emulated=row.emulated)}" if billed is not None else ""
        return f"{name} {word}{spent}{f', for {fmt.usd(cost)}' if cost is not None else ''}"
    if row.sick:
        return f"{name} {row.look.predicate}: {row.reason}"
    if row.left_s is not None:
        return f"{name} is {word} and should end in about {fmt.brief(row.left_s)}"
    return f"{name} is {word}"


def _billed(row: WatchRow, now: datetime) -> str:
    billed = row.billed_s(now)
    if billed is None:
        return str(Missing.NOT_BILLED_YET)
    so_far = "" if row.snapshot.terminal else " so far"
    return f"billed{so_far} {fmt.billable(billed, emulated=row.emulated)} × {row.snapshot.count}"


def _limit(row: WatchRow) -> str:
    """The most that the job can cost."""
    job = row.snapshot
    if row.emulated or row.price is None or not job.max_run_s:
        return ""
    most = usd_for(WallSeconds(float(job.max_run_s)), job.count, row.price.usd_per_hour)
    return f"at most {fmt.usd(most)}, if it runs for max_run_s = {fmt.count(job.max_run_s)}"


def _series(one: Series, created: datetime | None) -> Json:
    origin = created.timestamp() if created is not None else math.nan
    steps, minutes, values = [], [], []
    for step, time_s, value in one.rows():
        steps.append(finite(step))
        minutes.append(finite(round((time_s - origin) / 60, 3)) if math.isfinite(time_s - origin) else None)
        values.append(finite(float(f"{value:.6g}")))
    broken = (
        ""
        if one.broken_step is None
        else ("NaN" if math.isnan(one.broken_step) else f"NaN at step {one.broken_step:,.0f}")
    )
    return {
        "name": one_line(one.name),
        "unit": _UNITS.get(one.name, ""),
        "steps": steps,
        "minutes": minutes,
        "values": values,
        "broken": broken,
    }


def _metrics(row: WatchRow, curves: Curves) -> Iterator[tuple[str, str, str, str, str]]:
    """Name, newest value, lowest, highest, step; of an ended job also what the service itself kept."""
    nothing = str(Missing.NOTHING)
    for one in curves.series.values():
        if one.name == "total_steps":
            continue
        step, _, value = one.last
        low, high = (_number(one.low), _number(one.high)) if one.high >= one.low else (nothing, nothing)
        yield one_line(one.name), _number(value), low, high, fmt.count(step) if math.isfinite(step) else nothing
    for name, value in row.snapshot.final_metrics.items():
        if name not in curves.series:
            yield f"{one_line(name)} (kept by the service)", _number(value), nothing, nothing, nothing


def _number(value: float) -> str:
    if not math.isfinite(value):
        return fmt.not_finite(value)
    return fmt.small(value) if 0 < abs(value) < 0.001 else fmt.significant(value)


def _about(row: WatchRow) -> Iterator[tuple[str, str]]:
    job = row.snapshot
    yield "instances", row.machine
    yield "spot", "yes" if job.spot else "no"
    yield "script", one_line(job.program)
    yield "created", fmt.stamp(job.created) if job.created else ""
    yield "ended", fmt.stamp(job.ended) if job.ended else ""
    yield "max_run_s", fmt.count(job.max_run_s) if job.max_run_s else ""
    yield "image", one_line(job.image or "")
    yield "model", one_line(job.model_s3_uri or "")
    yield "ARN", one_line(job.arn)
