"""sm-trn diff"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import click

from ...core.render.differences import diff
from ...core.session.handles import Session
from ..connection import connection_options
from ..options import json_option
from ..shared import emit, say
from . import files


@click.command("diff")
@click.argument("before", metavar="FILE-OR-JOB")
@click.argument("after", metavar="FILE-OR-JOB")
@json_option
@connection_options
def command(before: str, after: str, *, as_json: bool, connection: Callable[[], Session]) -> int:
    """Show how two jobs differ. Each is a job file or the name of a launched job.

    The command compares every field of the CreateTrainingJob request, and hyperparameters by value. It compares a job file
    with a launched job as if both used the same account and bucket. It does not compare the contents of sources and local
    data. The exit code is 1 if the jobs differ.

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
