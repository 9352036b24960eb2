"""The HTTP server listens on the loopback address only, and limits the connections and the time that a client may take."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from typing import Any

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

_SLOWEST_S = 120  # between two pieces of a request that is known to be a caller's, and of its answer
_UNKNOWN_S = 30  # for everything up to the signature, however slowly it comes


class LoopbackServer(ThreadedWSGIServer):  # type: ignore[misc]  # werkzeug is not among our typed dependencies
    """Binds at once; serves ``app``, which is set before ``serve_forever``.

    A connection is a stranger's until its signature holds. When there is no room for another, the stranger that has
    been there longest has to go, so that those who only hold connections open keep nobody else out.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, connections: int, *, patience_s: float = _UNKNOWN_S) -> None:
        if host != "127.0.0.1":
            raise ValueError(f"host: got {host!r}, wanted '127.0.0.1': jobs are code, nobody else may start them")
        self._connections = connections
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._strangers: dict[Any, float] = {}  # in order of arrival
        self._known: set[Any] = set()
        super().__init__(host, port, lambda *_: [], handler=_make_handler(WSGIRequestHandler))

    def use_motos_handler(self) -> None:
        """Keep S3 metadata names with an underscore, as moto's handler does from now on; older versions of moto have none."""
        from moto import server  # noqa: PLC0415 - heavy, and its settings must stand in the environment first

        self.RequestHandlerClass = _make_handler(getattr(server, "MotoRequestHandler", WSGIRequestHandler))

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._strangers) + len(self._known) >= self._connections:
                if not self._strangers:  # everybody is at work
                    self.shutdown_request(request)
                    return
                _cut(next(iter(self._strangers)))
                self._strangers.pop(next(iter(self._strangers)))
            self._strangers[request] = time.monotonic()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._strangers.pop(request, None)
                self._known.discard(request)

    def service_actions(self) -> None:
        """Called by ``serve_forever`` every moment: strangers that have taken too long are cut off."""
        with self._lock:
            late = [one for one, since in self._strangers.items() if time.monotonic() - since > self._patience_s]
            for connection in late:
                _cut(connection)
                self._strangers.pop(connection)

    def known_caller(self, request: Any) -> None:
        """The request that comes on this connection is signed by somebody with a key."""
        with self._lock:
            if self._strangers.pop(request, None) is not None:
                self._known.add(request)

    def log(self, kind: str, message: str, *_args: Any) -> None:
        """Faults of ours only; requests are not logged, their queries can hold signatures."""
        if kind == "error":
            sys.stderr.write(f"{message}\n")


def _cut(connection: Any) -> None:
    """End both directions; the thread that waits on the connection finds it closed and goes."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _make_handler(base: Any) -> Any:
    class Handler(base):  # type: ignore[misc]  # werkzeug is not among our typed dependencies
        timeout = _SLOWEST_S
        protocol_version = "HTTP/1.1"

        def make_environ(self) -> dict[str, Any]:
            environ: dict[str, Any] = super().make_environ()
            environ["sm_trn.headers"] = self.headers.items()  # as sent, for the signature
            environ["sm_trn.known_caller"] = lambda: self.server.known_caller(self.request)
            return environ

        def log_request(self, *_args: Any) -> None:
            """See LoopbackServer.log."""

    return Handler
