"""Starts the page: finds a port, prints the link, and ends cleanly with Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...core.errors import NotConfigured
from ...core.session.handles import Session
from .access import Keys
from .app import Page
from .board import Board
from .watcher import PageSettings, Watcher

ADDRESS = "127.0.0.1"
PORT, TRIED = 8765, 20
PATIENCE_S = 10.0  # so long may a request take to come; one that has come may be answered for hours


class Connection(H11Protocol):
    """A connection that has to ask: one that is silent, or sends its request drop by drop, is closed after ``patience_s``."""

    patience_s = PATIENCE_S
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self.patience_s, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        asked = self.cycle is not None and not self.cycle.response_complete
        if asked and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif not asked and self._deadline is None:  # the beginning of another request
            self._deadline = self.loop.call_later(self.patience_s, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """Answers for one page. A signal sends its tabs away before the server waits for them."""

    def __init__(self, page: Page, *, connection: type[Connection] = Connection) -> None:
        super().__init__(
            uvicorn.Config(
                page.app(),
                http=connection,
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
        self._page.board.close()
        self.should_exit = True


def bind(port: int) -> socket.socket:
    """A socket on ``port``, or on the first free one after it. Raises NotConfigured when there is none."""
    for number in range(port, min(port + TRIED, 65_536)):
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if sys.platform != "win32":  # there it would let two servers share a port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((ADDRESS, number))
            found.listen(128)
        except OSError:
            found.close()
            continue
        return found
    raise NotConfigured(
        f"--port: got {port}, wanted a port of {ADDRESS} that is free; {TRIED} from there on are taken or not allowed"
    )


def make_page(
    session: Session,
    settings: PageSettings,
    compare: Callable[[Sequence[str], Sequence[int]], str],
    *,
    port: int,
    calls: Callable[[], int] = lambda: 0,
    pause: Callable[[float], None] | None = None,
) -> Page:
    """All parts of a page on ``port``; nothing is asked and nothing runs yet. ``pause`` None waits on the wall clock."""
    board = Board()
    watcher = Watcher(session, board, settings, calls=calls, pause=pause)
    return Page(keys=Keys(port), board=board, watcher=watcher, compare=compare)


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
