"""sm-trn attach"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from ...core.session.handles import Session
from ...core.specs.record import dump_record
from ..connection import connection_options
from ..files import files
from ..shared import emit, json_option, say
from . import facts


@click.command("attach")
@click.argument("name")
@click.option(
    "--save", type=click.Path(dir_okay=False, path_type=Path), help="Save the job as a job file: .toml, .json or .yaml."
)
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Save the job's results for sm-trn compare."
)
@json_option
@connection_options
def command(
    name: str, save: Path | None, record: Path | None, *, as_json: bool, connection: Callable[[], Session]
) -> None:
    """Show the training job NAME (a name or an ARN), no matter how it was started.

    --save writes a job file that launches the same job again. Request fields that job files do not model are kept unchanged
    under kept. --record saves what sm-trn compare needs.

    \b
    Example: sm-trn attach bert-trn1-261120-101500-a1b2c3 --save bert-again.toml
    """
    session = connection()
    job = session.attach(name)
    snapshot = job.snapshot()
    if save is not None:
        files.save(save, job.spec)
    if record is not None:
        record.write_text(dump_record(job.record()), "utf-8")
    saved = [path for path in (save, record) if path is not None]
    if as_json:
        emit(facts.facts(snapshot) | ({"saved": saved} if saved else {}))
        return
    say("\n".join([*facts.lines(snapshot), *(f"saved {path}" for path in saved)]))
