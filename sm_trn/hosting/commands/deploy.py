"""sm-trn deploy"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import IO, Any

import click

from ...cli.connection import connection_options
from ...cli.options import json_option
from ...cli.shared import Number, emit, say, terminal
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.formatting.text import NAMES, table_lines
from ..endpoints import NO_ENDPOINT, endpoint_table
from ..handles import HostingSession


@click.command("deploy")
@click.argument("names", nargs=-1, metavar="[NAME]…")
@click.option("--instance", help="Run the endpoint on this instance type, such as ml.c5.xlarge.")
@click.option("--count", default=1, show_default=True, help="Run it on this many instances.")
@click.option("--code", type=click.Path(exists=True), help="Add this inference.py, or a folder that contains one.")
@click.option("--image-uri", help="Use this image instead of one from the catalogue.")
@click.option(
    "--max-hours", type=Number(min=0, min_open=True), help="Let --delete-overdue delete it after this many hours."
)
@click.option("--no-wait", is_flag=True, help="Do not wait until the endpoint is in service.")
@click.option(
    "--predict",
    type=click.File("rb"),
    metavar="FILE",
    help="Send this JSON file to endpoint NAME; - is standard input.",
)
@click.option("--delete", is_flag=True, help="Delete the endpoints NAMES with their configurations and models.")
@click.option(
    "--delete-overdue", is_flag=True, help="Delete endpoints whose --max-hours have passed. Nothing else deletes them."
)
@json_option
@connection_options
def command(  # noqa: PLR0913 - an argument for each option
    names: tuple[str, ...],
    *,
    instance: str | None,
    no_wait: bool,
    predict: IO[bytes] | None,
    delete: bool,
    delete_overdue: bool,
    as_json: bool,
    connection: Callable[[], HostingSession],
    **options: Any,
) -> int:
    """Deploy the model of job NAME to an endpoint. AWS bills the endpoint until you delete it, even while it is idle.

    Without NAME: list all endpoints and their cost per hour.

    \b
    Examples: sm-trn deploy bert-imdb-261120-1 --instance ml.c5.xlarge --max-hours 2
              echo '{"inputs": "great product"}' | sm-trn deploy bert-imdb-261120-1 --predict -
              sm-trn deploy bert-imdb-261120-1 --delete
    """
    if sum([instance is not None, predict is not None, delete, delete_overdue]) > 1:
        raise click.UsageError("wanted one of --instance, --predict, --delete and --delete-overdue")
    if not names and not delete_overdue and (instance is not None or predict is not None or delete):
        raise click.UsageError(
            "a name is missing: of a job with --instance, else of an endpoint; sm-trn deploy lists these"
        )
    session = connection()
    if delete:
        _delete(session, names, as_json=as_json)
    elif not names or delete_overdue:
        _list(session, delete_overdue=delete_overdue, as_json=as_json)
    elif len(names) > 1:
        raise click.UsageError(f"got {len(names)} names, wanted one; --delete takes several")
    elif predict is not None:
        _predict(session, names[0], predict.read(), as_json=as_json)
    elif instance is None:
        raise click.UsageError("--instance is missing: the type that answers, such as ml.c5.xlarge")
    else:
        _deploy(session, names[0], instance, wait=not no_wait, as_json=as_json, **options)
    return 0


def _deploy(session: HostingSession, name: str, instance: str, *, wait: bool, as_json: bool, **options: Any) -> None:
    endpoint = session.attach(name).deploy(instance, wait=wait, **options)
    deployment = endpoint.deployment
    note = deployment.note if deployment else ""
    if as_json:
        image = deployment.image if deployment else ""
        emit({"name": endpoint.name, "status": endpoint.status, "image": image, "note": note})
        return
    say(f"{endpoint.name}  {endpoint.status}")
    if note:
        say(note)
    say(f"Billed until sm-trn deploy {endpoint.name} --delete")


def _predict(session: HostingSession, name: str, body: bytes, *, as_json: bool) -> None:
    answer = session.endpoint(name).predict(body, content_type="application/json", accept="application/json")
    if isinstance(answer, bytes) and not as_json:
        sys.stdout.buffer.write(answer)
    elif isinstance(answer, str) and not as_json:
        say(answer.rstrip("\n"))
    else:
        plain = answer.tolist() if hasattr(answer, "tolist") else answer
        emit(plain.decode("utf-8", "replace") if isinstance(plain, bytes) else plain)


def _delete(session: HostingSession, names: tuple[str, ...], *, as_json: bool) -> None:
    endpoints = [session.endpoint(name) for name in names]
    for endpoint in endpoints:
        endpoint.delete()
    if as_json:
        emit([{"name": name, "deleted": True} for name in names])
    else:
        say("\n".join(f"{name}  deleted" for name in names))


def _list(session: HostingSession, *, delete_overdue: bool, as_json: bool) -> None:
    endpoints = session.endpoints()
    deleted = endpoints.delete_overdue() if delete_overdue else ()
    if as_json:
        rows = [{**dataclasses.asdict(row), "usd_so_far": row.usd_so_far} for row in endpoints]
        emit([{**row, "deleted": row["name"] in deleted} for row in rows])
    elif not endpoints:
        say(NO_ENDPOINT)
    else:
        say("\n".join(table_lines(endpoint_table(endpoints.rows, deleted), terminal(), NAMES)))
        total = endpoints.usd_per_hour
        if not deleted:
            say(f"together {fmt.usd_per_hour(total)}" if total is not None else f"{Missing.NO_PRICE} for at least one")
