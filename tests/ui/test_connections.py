"""Connections of a page over real sockets: silent ones are closed, those that are answered are not."""

from __future__ import annotations

import contextlib
import selectors
import socket
import time

from fakes.simulated_wire import World
from served import serving

from sm_trn.report.ui.comparing import Comparer
from sm_trn.report.ui.serving import Connection, bind, make_page
from sm_trn.report.ui.watcher import PageSettings

PATIENCE_S, LONGEST_S = 0.5, 60.0


class Hasty(Connection):
    patience_s = PATIENCE_S


def test_connections_that_do_not_ask_are_closed_and_a_live_one_stays(here: World) -> None:
    listening = bind(0)
    port = listening.getsockname()[1]
    page = make_page(here.session, PageSettings(), Comparer(here.session).document, port=port, pause=here.clock.sleep)
    page.watcher.first()
    page.watcher.step()
    with serving(page, listening, Hasty) as served, contextlib.ExitStack() as held:
        served.log_in()
        following = held.enter_context(served.live())
        first = following()
        silent = [held.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(300)]
        for each in silent[:20]:
            each.sendall(b"GET / HTTP/1.1\r\nHost: x")  # a request that never ends
        closed = _closed(silent, time.monotonic() + LONGEST_S)
        assert 300 == closed
        assert 200 == served.ask("/api/costs").status
        page.watcher.step()
        assert following() or first


def _closed(sockets: list[socket.socket], until: float) -> int:
    """How many of the sockets the other side has closed by then."""
    left = len(sockets)
    with selectors.DefaultSelector() as watched:
        for each in sockets:
            watched.register(each, selectors.EVENT_READ)
        while left and time.monotonic() < until:
            for key, _ in watched.select(1.0):
                if not key.fileobj.recv(1000):  # type: ignore[union-attr]  # a socket, as registered
                    watched.unregister(key.fileobj)
                    left -= 1
    return len(sockets) - left
