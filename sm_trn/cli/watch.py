"""sm-trn watch"""

from __future__ import annotations

from collections.abc import Callable

import click

from ..session import Session
from ..specs import JobStatus
from . import facts
from .shared import connection_options, emit, json_option


@click.command("watch")
@click.argument("names", nargs=-1, required=True)
@json_option
@connection_options
def command(names: tuple[str, ...], *, as_json: bool, connection: Callable[[], Session]) -> int:
    """Follow the jobs NAMES until they have ended: a live table on a terminal, a line per change elsewhere.

    Ctrl-C stops the watching, never a job. Exit code 1 when a job failed.
    """
    session = connection()
    jobs = [session.attach(name) for name in names]
    try:
        final = session.wait(jobs, progress=not as_json)
    except KeyboardInterrupt:
        one = len(names) == 1
        click.echo(
            f"Stopped watching. {', '.join(names)} {'goes' if one else 'go'} on; stop with sm-trn stop {' '.join(names)}",
            err=True,
        )
        raise SystemExit(130) from None
    if as_json:
        emit([facts.facts(snapshot) for snapshot in final])
    return int(any(snapshot.status is JobStatus.FAILED for snapshot in final))
