"""sm-trn attach"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from ..session import Session
from ..specs import dump_record
from . import facts
from .shared import connection_options, emit, json_option, say


@click.command("attach")
@click.argument("name")
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Save the job's story for sm-trn compare."
)
@json_option
@connection_options
def command(name: str, record: Path | None, *, as_json: bool, connection: Callable[[], Session]) -> None:
    """Look at any training job by NAME or ARN, whoever started it; --record saves what compare needs of it.

    \b
    Example: sm-trn attach bert-trn1-261120-101500-a1b2c3 --record bert-trn1.json
    """
    session = connection()
    job = session.attach(name)
    snapshot = job.snapshot()
    if record is not None:
        record.write_text(dump_record(job.record()), "utf-8")
    if as_json:
        emit(facts.facts(snapshot))
        return
    say("\n".join(facts.lines(snapshot)))
    if record is not None:
        say(f"saved {record}")
