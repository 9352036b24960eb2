"""sm-trn watch"""

from __future__ import annotations

from collections.abc import Callable

import click

from ...core.session.handles import Session
from ..connection import connection_options
from ..options import json_option
from ..shared import Number, emit, say
from . import facts
from .selection import NONE, pair, selection_options
from .waiting import exit_code, watching


@click.command("watch")
@click.argument("names", nargs=-1)
@selection_options
@click.option(
    "--max-usd",
    type=Number(min=0),
    metavar="USD",
    help="Stop the jobs that still run once all of them together have cost this much.",
)
@json_option
@connection_options
def command(
    names: tuple[str, ...],
    *,
    contains: str | None,
    tag: str | None,
    sweep: str | None,
    max_usd: float | None,
    as_json: bool,
    connection: Callable[[], Session],
) -> int:
    """Watch jobs until they end: the ones you name, the running ones that match, or all running ones.

    A terminal shows a live table. Elsewhere, each change is one line.

    Ctrl-C ends this command and never stops a job. Throttling, a lost connection or an expired login do not end it.
    --max-usd stops only jobs that you name. A stopped job gets SIGTERM first, and SageMaker keeps what it saves. The exit
    code is 1 if a job failed, reached max_run_s, was deleted or learned nothing: its last losses are no numbers.
    """
    wanted = pair(tag, sweep)
    if names and (contains is not None or wanted):
        raise click.UsageError("wanted either names of jobs, or --contains, --tag or --sweep to find those that run")
    if max_usd is not None and not names:
        raise click.UsageError(
            "--max-usd stops jobs: wanted the names of those that it may stop; sm-trn list shows them"
        )
    session = connection()
    jobs = [session.attach(name) for name in names] or session.running(containing=contains or "", tag=wanted)
    if not jobs and not as_json:
        say(NONE)
        return 0
    final = watching(session.wait, jobs, as_json=as_json, max_usd=max_usd)
    if as_json:
        emit([facts.facts(snapshot) for snapshot in final])
    return exit_code(jobs, final)
