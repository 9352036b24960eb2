"""sm-trn diff"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import click

from ...render import diff
from ...session import Session
from ..connection import connection_options
from ..shared import emit, json_option, say
from . import files


@click.command("diff")
@click.argument("before", metavar="FILE-OR-JOB")
@click.argument("after", metavar="FILE-OR-JOB")
@json_option
@connection_options
def command(before: str, after: str, *, as_json: bool, connection: Callable[[], Session]) -> int:
    """Show where two jobs differ: two job files, a job file and a job that was launched, or two such jobs.

    What is compared is the request: every field of CreateTrainingJob, hyperparameters by value. A job file is compared with a
    job as if it had gone to the same account and bucket; what is in its source and local data is not compared. Exit code 1
    when they differ.

    \b
    Example: sm-trn diff bert.toml bert-trn1-261120-101500-a1b2c3
    """
    specs = {name: files.only(name) for name in (before, after) if files.looks_like_a_file(name)}
    one, two = (specs[name] if name in specs else connection().attach(name).request() for name in (before, after))
    found = diff(one, two, names=(before, after))
    if as_json:
        emit({"before": before, "after": after, "differences": [dataclasses.asdict(item) for item in found]})
    else:
        say(str(found))
    return int(bool(found))
