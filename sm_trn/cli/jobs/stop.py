"""sm-trn stop"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ...core.errors import CloudError
from ...core.session.handles import Session, TrainingJob
from ..connection import connection_options
from ..shared import emit, json_option, say
from . import facts
from .selection import NONE, pair, selection_options


@click.command("stop")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Select every running job.")
@selection_options
@click.option(
    "--yes",
    is_flag=True,
    help="Stop the jobs that --all, --containing, --tag or --sweep find. Without it they are only listed.",
)
@click.option("--wait", is_flag=True, help="Wait until the jobs have stopped.")
@json_option
@connection_options
def command(
    names: tuple[str, ...],
    *,
    yes: bool,
    wait: bool,
    as_json: bool,
    connection: Callable[[], Session],
    **search: Any,
) -> int:
    """Stop the jobs NAMES, or the running ones that match. Their scripts get SIGTERM, and SageMaker keeps what they save.

    Jobs that you name are stopped at once. Jobs that --all, --containing, --tag or --sweep find are only listed, unless you add
    --yes. Ended jobs stay as they are.

    \b
    Example: sm-trn stop --tag project=bert --yes
    """
    searched = search["everything"] or any(search[name] is not None for name in ("containing", "tag", "sweep"))
    if searched == bool(names):
        raise click.UsageError(
            "wanted either names of jobs, or --all, --containing, --tag or --sweep to find those that run"
        )
    tag = pair(search["tag"], search["sweep"])
    session = connection()
    if names:
        jobs = [_named(session, name) for name in names]
    else:
        jobs = session.running(containing=search["containing"] or "", tag=tag)
        if not yes:
            return _list(jobs, as_json=as_json)
    session.stop_all(jobs)
    try:
        after = session.wait(jobs, progress=False) if wait else [job.snapshot() for job in jobs]
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt("Interrupted. The jobs were asked to stop; sm-trn list shows them.") from stop
    if as_json:
        emit([facts.facts(snapshot) for snapshot in after])
        return 0
    if not jobs:
        say(NONE)
    for snapshot in after:
        say(f"{snapshot.name}  {snapshot.status_word}")
    return 0


def _named(session: Session, name: str) -> TrainingJob:
    """The job that a name means; one that cannot be looked at is stopped by the name as it is. Raises UnknownName."""
    try:
        return session.attach(name)
    except CloudError:
        return TrainingJob(name=name.rsplit("/", 1)[-1], session=session)


def _list(jobs: list[TrainingJob], *, as_json: bool) -> int:
    """What would be stopped; exit code 2 when that is something, because nothing was."""
    if as_json:
        emit([facts.facts(job.snapshot()) for job in jobs])
    elif jobs:
        say("\n".join(job.name for job in jobs))
    else:
        say(NONE)
    if not jobs:
        return 0
    click.echo(
        f"Nothing was stopped. To stop {'this job' if len(jobs) == 1 else f'these {len(jobs)} jobs'}, add --yes",
        err=True,
    )
    return 2
