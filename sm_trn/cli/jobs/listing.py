"""sm-trn list"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import click

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, known
from ...core.formatting.table import Align, Cell, Column, Row, Table, cells_of
from ...core.formatting.text import NAMES, table_lines
from ...core.session.handles import Session
from ...core.session.names import short_names
from ...core.specs.snapshot import JobSnapshot
from ...core.status import status_look
from ..connection import connection_options
from ..shared import Whole, emit, json_option, say, terminal
from . import facts


def _billed(job: JobSnapshot) -> Cell:
    return Cell(known(job.billable_s, Missing.NOT_BILLED_YET), unit="emu" if job.emulated else "")


_COLUMNS = (
    Column(name="status", heading="Status", align=Align.LEFT, read=lambda job: status_look(job).word),
    Column(
        name="instances", heading="Instances", align=Align.LEFT, read=lambda job: fmt.instances(job.instance, job.count)
    ),
    Column(name="created", heading="Created", align=Align.LEFT, form=fmt.stamp, read=lambda job: known(job.created)),
    Column(name="billable", heading="Billable", align=Align.LEFT, form=fmt.billable, read=_billed),
)


@click.command("list")
@click.option("--contains", default="", help="List only jobs whose name contains this.")
@click.option("--limit", default=20, show_default=True, type=Whole(1, 500), help="List at most this many jobs.")
@json_option
@connection_options
def command(contains: str, limit: int, *, as_json: bool, connection: Callable[[], Session]) -> None:
    """List training jobs, newest first."""
    snapshots = connection().snapshots(contains, limit=limit)
    if as_json:
        emit([facts.facts(snapshot) for snapshot in snapshots])
        return
    if not snapshots:
        say(f"No training job has {contains!r} in its name." if contains else "No training jobs here yet.")
        return
    say("\n".join(table_lines(job_table(snapshots, short=sys.stdout.isatty()), terminal(), NAMES)))


def job_table(snapshots: Iterable[JobSnapshot], *, short: bool = False) -> Table:
    """A row for each job; ``short``: by the name that is unique among them, which commands know too."""
    listed = list(snapshots)
    names = short_names(job.name for job in listed) if short else {}
    rows = tuple(Row(name=names.get(job.name, job.name), cells=cells_of(_COLUMNS, job)) for job in listed)
    return Table(columns=_COLUMNS, rows=rows, rows_are="Name")
