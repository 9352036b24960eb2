"""sm-trn endpoints"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import click

from ...cli.connection import connection_options
from ...cli.shared import emit, json_option, say
from ...core.formatting import numbers as fmt
from ..endpoints import EndpointRow
from ..handles import HostingSession


@click.command("endpoints")
@click.option(
    "--delete-overdue", is_flag=True, help="Delete endpoints whose --max-hours have passed. Nothing else deletes them."
)
@click.option("--delete-all", is_flag=True, help="Delete every endpoint of the account and region; needs --yes.")
@click.option("--yes", is_flag=True, help="Delete what --delete-all lists.")
@json_option
@connection_options
def command(
    *, delete_overdue: bool, delete_all: bool, yes: bool, as_json: bool, connection: Callable[[], HostingSession]
) -> int:
    """List all endpoints and their cost per hour. AWS bills an endpoint even while it is idle.

    \b
    Example: sm-trn endpoints --delete-overdue
    """
    if delete_all and delete_overdue:
        raise click.UsageError("wanted one of --delete-all and --delete-overdue")
    if yes and not delete_all:
        raise click.UsageError("--yes is for --delete-all, got it alone")
    found = connection().endpoints()
    deleted: tuple[str, ...] = ()
    if delete_overdue:
        deleted = found.delete_overdue()
    elif delete_all and yes:
        deleted = found.delete_all()
    if as_json:
        emit([{**_facts(row), "deleted": row.name in deleted} for row in found])
    elif not found:
        say("No endpoint is here: none is billed.")
    else:
        say("\n".join(_line(row, deleted) for row in found))
        total = found.usd_per_hour
        if not deleted:
            say(f"together {fmt.usd_per_hour(total)}" if total is not None else "a hosting price is not known")
    if delete_all and not yes and found:
        click.echo("Nothing was deleted. To delete them, add --yes", err=True)
        return 2
    return 0


def _facts(row: EndpointRow) -> dict[str, Any]:
    return {**dataclasses.asdict(row), "usd_so_far": row.usd_so_far}


def _line(row: EndpointRow, deleted: tuple[str, ...]) -> str:
    cost = fmt.usd_per_hour(row.usd_per_hour) if row.usd_per_hour is not None else "price not known"
    cost = "emulated, not billed" if row.emulated else cost
    so_far = f", {fmt.usd(row.usd_so_far)} so far" if row.usd_so_far else ""
    guard = f"  {'overdue since' if row.overdue else 'until'} {fmt.stamp(row.expires)}" if row.expires else ""
    status = "deleted" if row.name in deleted else row.status
    return f"{row.name}  {status}  {fmt.instances(row.instance, row.count)}  {cost}{so_far}{guard}"
