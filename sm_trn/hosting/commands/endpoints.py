"""sm-trn endpoints"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import click

from ...cli.connection import connection_options
from ...cli.shared import emit, json_option, say, terminal
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.text import NAMES, table_lines
from ..endpoints import NO_ENDPOINT
from ..handles import HostingSession
from ..table import EndpointRow, endpoint_table


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
        say(NO_ENDPOINT)
    else:
        say("\n".join(table_lines(endpoint_table(found.rows, deleted), terminal(), NAMES)))
        total = found.usd_per_hour
        if not deleted:
            say(f"together {fmt.usd_per_hour(total)}" if total is not None else f"{Missing.NO_PRICE} for at least one")
    if delete_all and not yes and found:
        click.echo("Nothing was deleted. To delete them, add --yes", err=True)
        return 2
    return 0


def _facts(row: EndpointRow) -> dict[str, Any]:
    return {**dataclasses.asdict(row), "usd_so_far": row.usd_so_far}
