"""The HTTP server: loopback only, threaded, with limits on connections and on the time a client may take.

It must not know what a request means.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

_SLOWEST_S = 120


def _handler_base() -> Any:
    """moto's handler keeps S3 metadata names with an underscore; older versions of moto have none."""
    from moto import server  # noqa: PLC0415 - heavy, and its settings must stand in the environment first

    return getattr(server, "MotoRequestHandler", WSGIRequestHandler)


def _no_application(_environ: Any, _start_response: Any) -> list[bytes]:
    raise RuntimeError("the server was started before it had an application")


class LoopbackServer(ThreadedWSGIServer):  # type: ignore[misc]  # werkzeug is not among our typed dependencies
    """Binds at once; serves ``app``, which is set before ``serve_forever``."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, connections: int) -> None:
        if host != "127.0.0.1":
            raise ValueError(f"host: got {host!r}, wanted '127.0.0.1': jobs are code, nobody else may start them")
        self._room = threading.BoundedSemaphore(connections)
        super().__init__(host, port, _no_application, handler=_make_handler())

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(timeout=10):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def log(self, kind: str, message: str, *_args: Any) -> None:
        """Faults of ours only; requests are not logged, their queries can hold signatures."""
        if kind == "error":
            sys.stderr.write(f"{message}\n")


def _make_handler() -> Any:
    class Handler(_handler_base()):  # type: ignore[misc]  # werkzeug is not among our typed dependencies
        timeout = _SLOWEST_S
        protocol_version = "HTTP/1.1"

        def make_environ(self) -> dict[str, Any]:
            environ: dict[str, Any] = super().make_environ()
            environ["sm_trn.headers"] = self.headers.items()  # as sent, for the signature
            return environ

        def log_request(self, *_args: Any) -> None:
            """See LoopbackServer.log."""

    return Handler
