"""sm-trn stop"""

from __future__ import annotations

from collections.abc import Callable

import click

from ..session import Session
from . import facts
from .shared import connection_options, emit, json_option, say


@click.command("stop")
@click.argument("names", nargs=-1, required=True)
@click.option("--wait", is_flag=True, help="Stay until they have stopped.")
@json_option
@connection_options
def command(names: tuple[str, ...], *, wait: bool, as_json: bool, connection: Callable[[], Session]) -> None:
    """Stop the jobs NAMES. Their scripts get SIGTERM; what they save is kept. Ended jobs are left alone."""
    session = connection()
    jobs = [session.attach(name) for name in names]
    after = [job.stop() for job in jobs]
    if wait:
        after = session.wait(jobs, progress=False)
    if as_json:
        emit([facts.facts(snapshot) for snapshot in after])
        return
    for snapshot in after:
        say(f"{snapshot.name}  {snapshot.status_word}")
