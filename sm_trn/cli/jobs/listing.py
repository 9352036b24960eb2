"""sm-trn list"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.table import Align, Cell, Column, Row, Table
from ...core.formatting.text import NAMES, table_lines
from ...core.session.handles import Session
from ...core.specs.snapshot import JobSnapshot
from ...core.status import status_look
from ..connection import connection_options
from ..shared import emit, json_option, say, terminal
from . import facts

_COLUMNS = (
    Column(name="status", heading="Status", align=Align.LEFT),
    Column(name="instances", heading="Instances", align=Align.LEFT),
    Column(name="created", heading="Created", align=Align.LEFT, form=fmt.stamp),
    Column(name="billable", heading="Billable", align=Align.LEFT, form=fmt.billable),
)


@click.command("list")
@click.option("--contains", default="", help="List only jobs whose name contains this.")
@click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(1, 500), help="List at most this many jobs."
)
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
    say("\n".join(table_lines(job_table(snapshots), terminal(), NAMES)))


def job_table(snapshots: Iterable[JobSnapshot]) -> Table:
    """A row for each job."""
    rows = []
    for job in snapshots:
        billed = Missing.NOT_BILLED_YET if job.billable_s is None else job.billable_s
        cells = {
            "status": Cell(status_look(job).word),
            "instances": Cell(fmt.instances(job.instance, job.count)),
            "created": Cell(Missing.NOTHING if job.created is None else job.created),
            "billable": Cell(billed, unit="emu" if job.emulated else ""),
        }
        rows.append(Row(name=job.name, cells=cells))
    return Table(columns=_COLUMNS, rows=tuple(rows), rows_are="Name")
