"""sm-trn logs"""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from ..logs import printable
from ..session import Session
from .shared import connection_options, json_option


@click.command("logs")
@click.argument("name")
@click.option("--follow", "-f", is_flag=True, help="Stay until the job has ended.")
@click.option("--host", help="Only this host, e.g. algo-1.")
@json_option
@connection_options
def command(name: str, *, follow: bool, host: str | None, as_json: bool, connection: Callable[[], Session]) -> None:
    """The log of job NAME: all hosts in time order. With --json, one object a line."""
    job = connection().attach(name)
    for event in job.logs(follow=follow):
        if host not in {None, event.host}:
            continue
        if as_json:
            click.echo(json.dumps({"time_s": event.time_s, "host": event.host, "text": event.text}))
        else:
            click.echo(f"{event.host}  {printable(event.text)}")
