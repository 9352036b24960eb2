"""sm-trn list"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, known
from ...core.formatting.table import Align, Cell, Column, Row, Table, cells_of
from ...core.formatting.text import NAMES, table_lines
from ...core.session.details import each
from ...core.session.launches import LAUNCH_TAG
from ...core.session.names import short_names
from ...core.specs.record import dump_record
from ...core.specs.snapshot import JobSnapshot
from ...core.status import phase_word, status_look
from ..connection import connection_options
from ..files import files
from ..options import json_option
from ..shared import Whole, emit, say, terminal
from . import facts
from .selection import name_filter, queue_option, queued_job

if TYPE_CHECKING:
    from ...core.session.handles import TrainingJob
    from ...wiring import Session

_QUEUE_ROLES = {"SUCCEEDED": "ok", "FAILED": "err"}


def _billed(job: JobSnapshot) -> Cell:
    return Cell(known(job.billable_s, Missing.NOT_BILLED_YET), unit="emu" if job.emulated else "")


_COLUMNS = (
    Column(name="status", heading="AWS status", align=Align.LEFT, read=lambda job: status_look(job).word),
    Column(
        name="instances", heading="Instances", align=Align.LEFT, read=lambda job: fmt.instances(job.instance, job.count)
    ),
    Column(name="created", heading="Created", align=Align.LEFT, form=fmt.stamp, read=lambda job: known(job.created)),
    Column(name="billable", heading="Billable", align=Align.LEFT, form=fmt.billable, read=_billed),
)
_QUEUE_COLUMNS = (
    Column(
        name="status",
        heading="Status",
        align=Align.LEFT,
        read=lambda job: Cell(job.status, role=_QUEUE_ROLES.get(job.status, "info")),
    ),
    Column(name="share", heading="Share", align=Align.LEFT, read=lambda job: job.share or "-"),
    Column(
        name="created",
        heading="Created",
        align=Align.LEFT,
        form=fmt.stamp,
        read=lambda job: datetime.fromtimestamp(job.created or 0.0, tz=timezone.utc),
    ),
    Column(name="training_job", heading="Training job", align=Align.LEFT, read=lambda job: job.training_job or "-"),
)


@click.command("list")
@click.argument("name", required=False)
@click.option("--contains", metavar="TEXT", callback=name_filter, help="List only jobs whose name contains this.")
@click.option("--launch", metavar="ID", help="List only the jobs of one launch, which printed this ID.")
@click.option("--limit", default=20, show_default=True, type=Whole(1, 500), help="List at most this many jobs.")
@queue_option("List the jobs of this training queue of AWS Batch, a name or an ARN.")
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save job NAME as a job file: .toml, .json or .yaml.",
)
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Save the results of job NAME for sm-trn compare."
)
@json_option
@connection_options
def command(  # noqa: PLR0913 - an argument for each option
    name: str | None,
    *,
    contains: str | None,
    launch: str | None,
    limit: int,
    queue: str | None,
    save: Path | None,
    record: Path | None,
    as_json: bool,
    connection: Callable[[], Session],
) -> None:
    """List training jobs, newest first. With NAME, show one job, no matter how it was started: status, phases, times,
    hyperparameters, final metrics.

    --save writes a job file that launches the same job again. With --queue, list the jobs of a queue, or say what job NAME
    waits for there.

    \b
    Examples: sm-trn list --contains bert
              sm-trn list bert-trn1-261120-101500-a1b2c3 --save bert-again.toml
    """
    if name is None and (save is not None or record is not None):
        raise click.UsageError("--save and --record are for one job: sm-trn list NAME")
    session = connection()
    if queue is not None:
        _show_queue(session, queue, name, limit, as_json=as_json)
    elif name is not None:
        _show_job(session.attach(name), save, record, as_json=as_json)
    elif launch is not None:  # names hold the time of their launch: few other jobs are looked at
        jobs = session.jobs(launch.rpartition("-")[0], tag=(LAUNCH_TAG, launch), limit=limit)
        _show_jobs(each(lambda job: job.snapshot(), jobs), launch, as_json=as_json)
    else:
        _show_jobs(session.snapshots(contains or "", limit=limit), contains, as_json=as_json)


def _show_jobs(snapshots: list[JobSnapshot], contains: str | None, *, as_json: bool) -> None:
    if as_json:
        emit([facts.facts(snapshot) for snapshot in snapshots])
    elif snapshots:
        say("\n".join(table_lines(job_table(snapshots, short=sys.stdout.isatty()), terminal(), NAMES)))
    else:
        say(f"No training job has {contains!r} in its name." if contains else "No training jobs here yet.")


def _show_job(job: TrainingJob, save: Path | None, record: Path | None, *, as_json: bool) -> None:
    snapshot = job.snapshot()
    if save is not None:
        files.save(save, job.spec)
    if record is not None:
        record.write_text(dump_record(job.record()), "utf-8")
    saved = [path for path in (save, record) if path is not None]
    sections: dict[str, dict[str, Any]] = {
        "hyperparameters": dict(snapshot.hyperparameters),
        "final_metrics": {
            key: float(f"{value:.7g}") for key, value in snapshot.final_metrics.items()
        },  # 32 bits hold these
    }
    if as_json:
        emit(facts.facts(snapshot) | sections | ({"saved": saved} if saved else {}))
        return
    say("\n".join(facts.lines(snapshot)))
    if snapshot.transitions:
        say("\nphases")
    for phase in snapshot.transitions:
        length = fmt.compact((phase.ended - phase.started).total_seconds()) if phase.ended else "now"
        say(f"  {fmt.stamp(phase.started)}  {phase_word(phase.status):<12} {length:>7}  {phase.message}")
    for title, values in sections.items():
        if values:
            say(
                "\n".join(
                    [f"\n{title.replace('_', ' ')}", *(f"  {key} = {value}" for key, value in sorted(values.items()))]
                )
            )
    for path in saved:
        say(f"saved {path}")


def _show_queue(session: Session, queue: str, name: str | None, limit: int, *, as_json: bool) -> None:
    if name is not None:
        job = queued_job(session, queue, name)
        if as_json:
            emit(_queue_facts(job.snapshot()))
        else:
            say(job.why())
        return
    rows = list(islice(session.queues.fetch_all(queue), limit))
    if as_json:
        emit([_queue_facts(row) for row in rows])
    elif rows:
        table = Table(
            columns=_QUEUE_COLUMNS,
            rows=tuple(Row(name=job.name, cells=cells_of(_QUEUE_COLUMNS, job)) for job in rows),
            rows_are="Name",
        )
        say("\n".join(table_lines(table, terminal(), NAMES)))
    else:
        say(f"No jobs in {queue}.")


def _queue_facts(job: Any) -> dict[str, object]:
    return {name: value for name, value in dataclasses.asdict(job).items() if name != "payload"}


def job_table(snapshots: Iterable[JobSnapshot], *, short: bool = False) -> Table:
    """Return a row for each job; with ``short`` by a name that is unique among them, which every command takes too."""
    jobs = list(snapshots)
    names = short_names(job.name for job in jobs) if short else {}
    rows = tuple(Row(name=names.get(job.name, job.name), cells=cells_of(_COLUMNS, job)) for job in jobs)
    return Table(columns=_COLUMNS, rows=rows, rows_are="Name")
