"""sm-trn predict"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO

import click

from ...cli.connection import connection_options
from ...cli.shared import emit, json_option, say
from ..handles import HostingSession


@click.command("predict")
@click.argument("name")
@click.argument("body", required=False)
@click.option("--file", type=click.File("rb"), help="Send this file. A dash (-) reads standard input.")
@click.option(
    "--content-type", default="application/json", show_default=True, help="Set the content type of the request."
)
@click.option(
    "--accept", default="application/json", show_default=True, help="Ask for a response of this content type."
)
@json_option
@connection_options
def command(
    name: str,
    body: str | None,
    *,
    file: IO[bytes] | None,
    content_type: str,
    accept: str,
    as_json: bool,
    connection: Callable[[], HostingSession],
) -> int:
    """Send BODY, or a file, to endpoint NAME and print the response.

    \b
    Example: sm-trn predict bert-imdb-261120-1 '{"inputs": "great product"}'
    """
    if (body is None) == (file is None):
        raise click.UsageError("wanted either BODY or --file")
    sent = body.encode() if body is not None else file.read() if file is not None else b""
    answer = connection().endpoint(name).predict(sent, content_type=content_type, accept=accept)
    if isinstance(answer, bytes) and not as_json:
        sys.stdout.buffer.write(answer)
    elif isinstance(answer, str) and not as_json:
        say(answer.rstrip("\n"))
    else:
        shown = answer.tolist() if hasattr(answer, "tolist") else answer
        emit(shown.decode("utf-8", "replace") if isinstance(shown, bytes) else shown)
    return 0
