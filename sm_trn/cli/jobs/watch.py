"""sm-trn watch"""

from __future__ import annotations

from collections.abc import Callable

import click

from ...session import Session
from ...specs import JobStatus
from ..connection import connection_options
from ..shared import emit, json_option, say
from . import facts
from .selection import NONE, pair, selection_options
from .waiting import watching


@click.command("watch")
@click.argument("names", nargs=-1)
@selection_options
@click.option("--max-usd", type=float, metavar="USD", help="Stop those that still run once all have cost this much.")
@click.option(
    "--usd-per-hour", type=float, metavar="USD", help="Reckon with this price; rehearses --max-usd on the emulator."
)
@json_option
@connection_options
def command(
    names: tuple[str, ...],
    *,
    containing: str | None,
    tag: str | None,
    max_usd: float | None,
    usd_per_hour: float | None,
    as_json: bool,
    connection: Callable[[], Session],
) -> int:
    """Follow the jobs NAMES, or those that run and fit, or all that run: until they have ended.

    A live table on a terminal, a line per change elsewhere.

    Ctrl-C stops the watching, never a job. A throttle, a lost connection or a login that expired does not end it. A job
    that --max-usd stops – only ones that are named – gets SIGTERM first and keeps what it saves. Exit code 1 when a job failed.
    """
    wanted = pair(tag)
    if names and (containing is not None or wanted):
        raise click.UsageError("wanted either names of jobs, or --containing or --tag to find those that run")
    if max_usd is not None and not names:
        raise click.UsageError(
            "--max-usd stops jobs: wanted the names of those that it may stop; sm-trn list shows them"
        )
    session = connection()
    jobs = [session.attach(name) for name in names] or session.running(containing=containing or "", tag=wanted)
    if not jobs and not as_json:
        say(NONE)
        return 0
    final = watching(session, jobs, as_json=as_json, max_usd=max_usd, usd_per_hour=usd_per_hour)
    if as_json:
        emit([facts.facts(snapshot) for snapshot in final])
    return int(any(snapshot.status is JobStatus.FAILED for snapshot in final))
