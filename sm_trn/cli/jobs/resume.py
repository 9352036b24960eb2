"""sm-trn resubmit --resume"""

from __future__ import annotations

from collections.abc import Callable

import click

from ...core.session.handles import Session
from ..connection import connection_options
from ..files.rules import ignore_option
from ..shared import json_option
from . import waiting


@click.command("resubmit --resume")
@click.argument("name")
@click.option(
    "--wait",
    is_flag=True,
    help="Wait until the job ends. The exit code is 1 if it failed, was deleted, or learned nothing.",
)
@ignore_option
@json_option
@connection_options
def command(name: str, *, wait: bool, ignore: tuple[str, ...], as_json: bool, connection: Callable[[], Session]) -> int:
    """Start a new job from the checkpoints of the stopped or failed job NAME. The new job writes its checkpoints to the
    same place.

    The command refuses a job that still runs, that has no checkpoint location in S3, or that wrote no checkpoint.

    \b
    Example: sm-trn resubmit --resume bert-spot-261120-101500-a1b2c3 --wait
    """
    session = connection()
    job = session.attach(name)
    stored = job.checkpoints()
    if stored is not None and not as_json:
        click.echo(f"checkpoints: {stored}", err=True)
    more = {"checkpoints": {"uri": stored.uri, "objects": stored.count, "newest": stored.newest}} if stored else {}
    return waiting.answer(session, name, job.resume(ignore=ignore), as_json=as_json, wait=wait, more=more)
