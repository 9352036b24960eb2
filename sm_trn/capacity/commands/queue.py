"""sm-trn queue"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from itertools import islice

import click

from ...cli.connection import connection_options
from ...cli.shared import Whole, emit, json_option, say, terminal
from ...core.errors import UnknownName
from ...core.formatting import numbers as fmt
from ...core.formatting.table import Align, Cell, Column, Row, Table, cells_of
from ...core.formatting.text import NAMES, table_lines
from ..handles import QueueingSession
from ..ports import ServiceJob
from ..queued import QueuedJob

_ID = re.compile(r"(arn:.*/)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROLES = {"SUCCEEDED": "ok", "FAILED": "err"}
_STATUSES = ("SUBMITTED", "PENDING", "RUNNABLE", "SCHEDULED", "STARTING", "RUNNING", "SUCCEEDED", "FAILED")


def _created(job: ServiceJob) -> datetime:
    return datetime.fromtimestamp(job.created or 0.0, tz=timezone.utc)


_COLUMNS = (
    Column(
        name="status",
        heading="Status",
        align=Align.LEFT,
        read=lambda job: Cell(job.status, role=_ROLES.get(job.status, "info")),
    ),
    Column(name="share", heading="Share", align=Align.LEFT, read=lambda job: job.share or "-"),
    Column(name="created", heading="Created", align=Align.LEFT, form=fmt.stamp, read=_created),
    Column(name="training_job", heading="Training job", align=Align.LEFT, read=lambda job: job.training_job or "-"),
)


@click.command("queue")
@click.argument("queue")
@click.argument("jobs", nargs=-1)
@click.option("--status", type=click.Choice(_STATUSES), help="List only jobs of this status.")
@click.option("--limit", default=50, show_default=True, type=Whole(1, 1000), help="List at most this many jobs.")
@click.option("--stop", is_flag=True, help="Stop the jobs JOBS: one that waits leaves the queue.")
@click.option("--priority", type=Whole(0, 9999), help="Set the priority of the jobs JOBS within their share.")
@json_option
@connection_options
def command(  # noqa: PLR0913 - an argument for each option
    queue: str,
    jobs: tuple[str, ...],
    *,
    status: str | None,
    limit: int,
    stop: bool,
    priority: int | None,
    as_json: bool,
    connection: Callable[[], QueueingSession],
) -> None:
    """List the jobs of a training queue of AWS Batch, newest first. With JOBS, by name or id, say what each of them waits for or
    why it failed.

    \b
    Examples: sm-trn queue training --status RUNNABLE
              sm-trn queue training bert-251125-120000-a1b2c3 --stop
    """
    if (stop or priority is not None) and not jobs:
        raise click.UsageError("--stop and --priority are for jobs that are named: sm-trn queue QUEUE JOB --stop")
    session = connection()
    if jobs:
        _each([_found(session, queue, name) for name in jobs], stop=stop, priority=priority, as_json=as_json)
        return
    rows = list(islice(session.queues.fetch_all(queue, status or ""), limit))
    if as_json:
        emit([_facts(row) for row in rows])
    elif not rows:
        say(f"No job of {queue} is {status}." if status else f"No jobs in {queue}.")
    else:
        say("\n".join(table_lines(queue_table(rows), terminal(), NAMES)))


def queue_table(rows: Sequence[ServiceJob]) -> Table:
    """A row for each job of a queue."""
    return Table(
        columns=_COLUMNS,
        rows=tuple(Row(name=job.name, cells=cells_of(_COLUMNS, job)) for job in rows),
        rows_are="Name",
    )


def _found(session: QueueingSession, queue: str, name: str) -> QueuedJob:
    """The job of an id, an ARN or a name. Raises UnknownName where the queue has none."""
    if _ID.fullmatch(name):
        return session.queued(name)
    known = session.queues.fetch_named(queue, name)
    if known is None:
        raise UnknownName(f"job: got {name!r}, wanted a job of {queue}; sm-trn queue {queue} lists them")
    return session.queued(known.id)


def _each(jobs: Sequence[QueuedJob], *, stop: bool, priority: int | None, as_json: bool) -> None:
    for job in jobs:
        if priority is not None:
            job.set_priority(priority)
        if stop:
            job.stop()
    if as_json:
        emit([_facts(job.snapshot()) for job in jobs])
        return
    for job in jobs:
        say(f"{job.name}: asked to end" if stop else job.why())


def _facts(job: ServiceJob) -> dict[str, object]:
    return {name: value for name, value in dataclasses.asdict(job).items() if name != "payload"}
