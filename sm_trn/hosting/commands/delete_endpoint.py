"""sm-trn delete-endpoint"""

from __future__ import annotations

from collections.abc import Callable

import click

from ...cli.connection import connection_options
from ...cli.shared import emit, json_option, say
from ..handles import HostingSession


@click.command("delete-endpoint")
@click.argument("names", nargs=-1, required=True)
@json_option
@connection_options
def command(names: tuple[str, ...], *, as_json: bool, connection: Callable[[], HostingSession]) -> int:
    """Delete the endpoints NAMES with their configurations and models. Their billing ends then.

    \b
    Example: sm-trn delete-endpoint bert-imdb-261120-1
    """
    session = connection()
    endpoints = [session.endpoint(name) for name in names]
    for endpoint in endpoints:
        endpoint.delete()
    if as_json:
        emit([{"name": name, "deleted": True} for name in names])
    else:
        say("\n".join(f"{name}  deleted" for name in names))
    return 0
