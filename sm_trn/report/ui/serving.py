"""Starts the page: finds a port, prints the link, and ends cleanly with Ctrl-C."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn

from ...core.errors import NotConfigured
from .app import Page

ADDRESS = "127.0.0.1"
TRIED = 20


class Server(uvicorn.Server):
    """Answers for one page. A signal sends its tabs away before the server waits for them."""

    def __init__(self, page: Page) -> None:
        super().__init__(
            uvicorn.Config(
                page.app(),
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=3,
            )
        )
        self._page = page

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end()

    def end(self) -> None:
        """Send the tabs away and stop."""
        self._page.watcher.end()
        self.should_exit = True


def bind(port: int) -> socket.socket:
    """A socket on ``port``, or on the first free one after it. Raises NotConfigured when there is none."""
    for number in range(port, min(port + TRIED, 65_536)):
        with contextlib.suppress(OSError):
            return socket.create_server((ADDRESS, number), backlog=128)
    raise NotConfigured(
        f"--port: got {port}, wanted a port of {ADDRESS} that is free; {TRIED} from there on are taken or not allowed"
    )


def serve(page: Page, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Answer until Ctrl-C or SIGTERM; ``ready`` is called when the first request could be answered. Raises CloudError for an
    account that may not be asked."""
    page.watcher.first()
    server = Server(page)
    threading.Thread(target=page.watcher.run, name="sm-trn-ui-poller", daemon=True).start()
    ready()
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # this is how a person ends it
    finally:
        server.end()
        listening.close()
