"""sm-trn list"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence

import click

from ...core.formatting import numbers as fmt
from ...core.session.handles import Session
from ...core.specs.snapshot import JobSnapshot
from ..connection import connection_options
from ..shared import emit, json_option, say
from . import facts

_HEAD = ("name", "status", "instances", "created", "billable")


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
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    say("\n".join(listed([_cells(snapshot) for snapshot in snapshots], columns)))


def listed(rows: Sequence[tuple[str, ...]], columns: int | None) -> Iterator[str]:
    """A line for each job under a header. Where a line has more than ``columns`` a name, which people copy, gets its own."""
    table = [_HEAD, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    wide = sum(widths) + 2 * len(widths) - 2
    for name, *rest in table:
        facts_of_it = "  ".join(cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True)).rstrip()
        if columns is None or wide <= columns:
            yield f"{name.ljust(widths[0])}  {facts_of_it}"
        else:
            yield f"{name}\n  {facts_of_it}"


def _cells(snapshot: JobSnapshot) -> tuple[str, ...]:
    return (
        snapshot.name,
        snapshot.status_word,
        fmt.instances(snapshot.instance, snapshot.count),
        fmt.stamp(snapshot.created) if snapshot.created else "-",
        fmt.billable(snapshot.billable_s, emulated=snapshot.emulated) if snapshot.billable_s else "-",
    )
