"""sm-trn track"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

import click

from ...cli.connection import connection_options
from ...cli.jobs.selection import group, group_options
from ...cli.shared import Completed, emit, json_option, say
from ...core.session.handles import Session
from ..comparing import compare
from ..published import published_names
from .named import record_or_job

VARIABLE = "MLFLOW_TRACKING_URI"  # of MLflow's own


@click.command("track")
@click.argument("names", nargs=-1, type=Completed(published_names, files=True))
@group_options
@click.option("--mlflow", "uri", metavar="URI", help=f"The MLflow server. Default: the variable {VARIABLE}.")
@click.option("--experiment", help="The experiment of the runs. Default: the one that the job names, else sm_trn.")
@json_option
@connection_options
def command(
    names: tuple[str, ...],
    *,
    tag: str | None,
    sweep: str | None,
    uri: str | None,
    experiment: str | None,
    as_json: bool,
    connection: Callable[[], Session],
) -> None:
    """Send jobs to an MLflow server: settings, metrics, cost and the report page.

    NAMES are training jobs, or files saved by attach --record. A job that is logged again gets what is new, and nothing twice.

    \b
    Example: sm-trn track bert-2026 --mlflow http://127.0.0.1:5000
    """
    server = uri or os.environ.get(VARIABLE)
    if not server:
        raise click.UsageError(f"--mlflow: got no server, wanted its URI, here or in {VARIABLE}")
    if bool(names) == (tag is not None or sweep is not None):
        raise click.UsageError("wanted either NAMES, or --tag or --sweep to find the jobs")
    jobs = [record_or_job(name, connection) for name in names] or group(connection(), tag, sweep)
    tracked = compare(jobs).track(server, experiment=experiment)
    if as_json:
        emit([dataclasses.asdict(each) for each in tracked])
    else:
        say("\n".join(map(str, tracked)))
