"""sm-trn resume"""

from __future__ import annotations

from collections.abc import Callable

import click

from ...session import Session
from ..connection import connection_options
from ..shared import json_option
from . import waiting


@click.command("resume")
@click.argument("name")
@click.option("--wait", is_flag=True, help="Stay until it has ended; exit code 1 when it failed.")
@click.option("--ignore", multiple=True, metavar="ID", help="Waive a rule; may be given several times.")
@json_option
@connection_options
def command(name: str, *, wait: bool, ignore: tuple[str, ...], as_json: bool, connection: Callable[[], Session]) -> int:
    """Let the stopped or failed job NAME go on from its checkpoints, as a new job with the same place for them.

    Refuses a job that has not ended, that keeps no checkpoints in S3, or that has left none there.

    \b
    Example: sm-trn resume bert-spot-261120-101500-a1b2c3 --wait
    """
    session = connection()
    job = session.attach(name)
    stored = job.checkpoints()
    if stored is not None and not as_json:
        click.echo(f"checkpoints: {stored}", err=True)
    more = {"checkpoints": {"uri": stored.uri, "objects": stored.count, "newest": stored.newest}} if stored else {}
    return waiting.told(session, name, job.resume(ignore=ignore), as_json=as_json, wait=wait, more=more)
