"""sm-trn list"""

from __future__ import annotations

from collections.abc import Callable

import click

from ...formatting import numbers as fmt
from ...session.handles import Session
from ..connection import connection_options
from ..shared import emit, json_option, say
from . import facts


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
        say("No training jobs here yet.")
        return
    width = max(len("name"), *(len(snapshot.name) for snapshot in snapshots))
    say(f"{'name':<{width}}  {'status':<10} {'instances':<22} {'created':<20}  billable")
    for snapshot in snapshots:
        billed = fmt.billable(snapshot.billable_s, emulated=snapshot.emulated) if snapshot.billable_s else "-"
        created = fmt.stamp(snapshot.created) if snapshot.created else "-"
        machines = fmt.instances(snapshot.instance, snapshot.count)
        say(f"{snapshot.name:<{width}}  {snapshot.status_word:<10} {machines:<22} {created}  {billed}")
