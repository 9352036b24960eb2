"""What the live page shows, as pieces of HTML: the head, the list of jobs, one job, its log. Asks nobody."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from urllib.parse import urlencode

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import cut, one_line, shown
from ...core.logs.events import LogEvent
from ...core.pricing.cost import usd_for
from ...core.specs.units import WallSeconds
from ...core.status import next_steps, phases
from ..columns import jobs_table
from ..jobs import WatchRow
from ..pages import render
from ..watch.text import causes, facts_words, folded_words, heading, notes, ordered

SHOWN = 200  # rows of the list
LINES, LONGEST = 300, 2_000  # of the end of a log, and the characters of one
COLUMNS = ("status", "phases", "machines", "step", "rate", "loss", "left", "cost_usd", "checkpoint", "interruptions")


def list_piece(rows: Sequence[WatchRow], now: datetime) -> str:
    """What needs somebody, then every job, what needs somebody first."""
    several = ordered(rows)
    table = jobs_table(several[:SHOWN], COLUMNS, now)
    linked = [
        replace(drawn, href=f"/job?{urlencode({'name': row.snapshot.name})}")
        for drawn, row in zip(table.rows, several, strict=False)
    ]
    return render(
        "live_list.html",
        heading=heading(several, now) if rows else "No training jobs here yet.",
        causes=list(causes(several)),
        jobs=replace(table, rows=tuple(linked)),
        notes=[*folded_words(several[SHOWN:], now), *notes(several, now)],
    )


def job_piece(row: WatchRow, now: datetime) -> str:
    """One job: facts, phases, arguments, and what to type next."""
    job, verdict = row.snapshot, row.health.verdict if row.health is not None else None
    given = [(one_line(key), cut(one_line(value), LONGEST)) for key, value in job.hyperparameters.items()]
    about = {"script": job.program, "image": job.image or "", "model": job.model_s3_uri or "", "ARN": job.arn}
    return render(
        "live_job.html",
        row=row,
        phases=", ".join(f"{phase.word} {fmt.compact(phase.seconds)}" for phase in phases(job, now)),
        facts=[*facts_words(row, now), *_ceiling(row)],
        arguments=[(key, value) for key, value in given if not key.startswith("sagemaker_")],
        about=[(name, one_line(value)) for name, value in about.items() if value],
        steps=next_steps(job.name, job.status, verdict),
    )


def log_piece(events: Iterable[LogEvent]) -> str:
    """The end of a log, as a terminal would have drawn it."""
    lines = [
        {
            "time": "" if math.isnan(event.time_s) else fmt.clock(datetime.fromtimestamp(event.time_s).astimezone()),
            "host": f"{event.host[:40]}{'' if event.rank is None else f' [{event.rank}]'}",
            "text": cut(shown(event.message), LONGEST),
        }
        for event in list(events)[-LINES:]
    ]
    return render("live_log.html", lines=lines)


def _ceiling(row: WatchRow) -> Iterator[tuple[str, str]]:
    """The most that the job can cost."""
    job = row.snapshot
    if not row.emulated and row.price is not None and job.max_run_s and not job.terminal:
        most = usd_for(WallSeconds(float(job.max_run_s)), job.count, row.price.usd_per_hour)
        yield "at most", f"{fmt.usd(most)}, if it runs for max_run_s = {fmt.count(job.max_run_s)}"
