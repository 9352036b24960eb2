"""sm-trn ui"""

from __future__ import annotations

from collections.abc import Callable

import click

from ...cli.connection import connection_options
from ...cli.shared import Whole
from ...core.errors import extra
from ...core.session.handles import Session

PORT = 8765


@click.command("ui")
@click.option(
    "--port",
    type=Whole(1024, 65_535),
    default=PORT,
    show_default=True,
    help="Listen on this port, or on the next free one.",
)
@connection_options
def command(*, port: int, connection: Callable[[], Session]) -> None:
    """Show the newest 500 jobs and their logs on a live page in your browser.

    The page is served to this machine only. Its link works once, and then for the browser that opened it. The page only
    reads, and asks AWS only while a tab is visible. Ctrl-C ends it and never stops a job.

    \b
    On a remote machine: ssh -L 8765:127.0.0.1:8765 HOST, then sm-trn ui there.
    """
    with extra("ui", "sm-trn ui"):
        from ..ui.access import Keys  # noqa: PLC0415 - an extra
        from ..ui.app import Page  # noqa: PLC0415 - an extra
        from ..ui.serving import bind, serve  # noqa: PLC0415 - an extra
        from ..ui.watcher import Watcher  # noqa: PLC0415 - an extra

    session, listening = connection(), bind(port)
    taken = listening.getsockname()[1]
    page = Page(keys=Keys(taken), watcher=Watcher(session))

    def ready() -> None:
        if taken != port:
            click.echo(f"Port {port} is taken; the page is on {taken}.", err=True)
        click.echo(f"Open this link; it works once: {page.keys.url}")
        click.echo("Ctrl-C ends the page and never stops a job.", err=True)

    serve(page, listening, ready)
    click.echo("The page has ended. Jobs go on.", err=True)
