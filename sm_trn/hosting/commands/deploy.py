"""sm-trn deploy"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ...cli.connection import connection_options
from ...cli.shared import Number, emit, json_option, say
from ..handles import HostingSession


@click.command("deploy")
@click.argument("name")
@click.option("--instance", required=True, help="Run the endpoint on this instance type, such as ml.c5.xlarge.")
@click.option("--count", default=1, show_default=True, help="Run it on this many instances.")
@click.option("--code", type=click.Path(exists=True), help="Add this inference.py, or a folder that contains one.")
@click.option("--image-uri", help="Use this image instead of one from the catalogue.")
@click.option(
    "--max-hours",
    type=Number(min=0, min_open=True),
    help="Let sm-trn endpoints --delete-overdue delete it after this many hours.",
)
@click.option("--no-wait", is_flag=True, help="Do not wait until the endpoint is in service.")
@json_option
@connection_options
def command(
    name: str, *, instance: str, no_wait: bool, as_json: bool, connection: Callable[[], HostingSession], **options: Any
) -> int:
    """Deploy the model of job NAME to an endpoint. AWS bills the endpoint until you delete it.

    \b
    Example: sm-trn deploy bert-imdb-261120-1 --instance ml.c5.xlarge --max-hours 2
    """
    session = connection()
    endpoint = session.attach(name).deploy(instance, wait=not no_wait, **options)
    made = endpoint.deployment
    if as_json:
        image = made.image if made else ""
        emit({"name": endpoint.name, "status": endpoint.status, "image": image, "note": made.note if made else ""})
        return 0
    say(f"{endpoint.name}  {endpoint.status}")
    if made and made.note:
        say(made.note)
    say(f'sm-trn predict {endpoint.name} \'{{"inputs": "…"}}\'; billed until sm-trn delete-endpoint {endpoint.name}')
    return 0
