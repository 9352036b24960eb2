"""sm-trn stop"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ...core.errors import CloudError, UnknownName
from ...core.session.handles import Session, TrainingJob
from ...core.session.names import stem
from ..connection import connection_options
from ..options import json_option
from ..shared import emit, say
from . import facts
from .selection import NONE, pair, queue_option, queued_job, selection_options

if TYPE_CHECKING:
    from ...wiring import Session as WholeSession


@click.command("stop")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Select every running job.")
@selection_options
@click.option(
    "--yes",
    is_flag=True,
    help="Stop the jobs that --all, --contains, --tag or --sweep find. Without it they are only listed.",
)
@queue_option("Stop the jobs NAMES of this training queue: one that waits leaves the queue.")
@click.option("--wait", is_flag=True, help="Wait until the jobs have stopped.")
@json_option
@connection_options
def command(
    names: tuple[str, ...],
    *,
    yes: bool,
    queue: str | None,
    wait: bool,
    as_json: bool,
    connection: Callable[[], WholeSession],
    **search: Any,
) -> int:
    """Stop the jobs NAMES, or the running ones that match. Their scripts get SIGTERM, and SageMaker keeps what they save.

    Jobs that you name are stopped at once. Jobs that --all, --contains, --tag or --sweep find are only listed, unless you add
    --yes. Ended jobs stay as they are.

    \b
    Example: sm-trn stop --tag project=bert --yes
    """
    searched = search["everything"] or any(search[name] is not None for name in ("contains", "tag", "sweep"))
    if searched == bool(names):
        raise click.UsageError(
            "wanted either names of jobs, or --all, --contains, --tag or --sweep to find those that run"
        )
    if queue is not None and not names:
        raise click.UsageError("--queue is for jobs that you name: sm-trn stop NAME --queue QUEUE")
    tag = pair(search["tag"], search["sweep"])
    session = connection()
    if queue is not None:
        return _stop_queued(session, queue, names, as_json=as_json)
    if names:
        jobs: Sequence[TrainingJob] = [_named(session, name) for name in names]
    else:
        jobs = session.running(containing=search["contains"] or "", tag=tag)
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


def _stop_queued(session: WholeSession, queue: str, names: tuple[str, ...], *, as_json: bool) -> int:
    jobs = [queued_job(session, queue, name) for name in names]
    for job in jobs:
        job.stop()
    if as_json:
        emit([{"name": job.name, "id": job.id, "queue": queue} for job in jobs])
    else:
        say("\n".join(f"{job.name}  asked to end" for job in jobs))
    return 0


def _named(session: Session, name: str) -> TrainingJob:
    """The job that a name means, of several launches the one that runs; one that cannot be looked at is stopped by its name."""
    try:
        job = session.attach(name)
        jobs = session.running(containing=stem(job.name)) if name == stem(job.name) != job.name else []
    except CloudError:
        return TrainingJob(name=name.rsplit("/", 1)[-1], session=session)
    running = [each for each in jobs if stem(each.name) == name]
    if len(running) > 1:
        raise UnknownName(
            f"job: got {name!r}, wanted one of the jobs that run: {', '.join(each.name for each in running)}"
        )
    return running[0] if running else job


def _list(jobs: Sequence[TrainingJob], *, as_json: bool) -> int:
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
