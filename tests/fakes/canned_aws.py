"""An AWS that gives one answer to everything: an error of a code and a text, as the JSON protocols write it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOGIN = {
    "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-west-2",
    "SM_TRN_BACKEND": "aws", "SM_TRN_BUCKET": "a-bucket", "SM_TRN_ROLE": "arn:aws:iam::111122223333:role/training",
}  # fmt: skip


@contextlib.contextmanager
def answering(
    code: str, text: str, status: int = 400, *, but: Callable[[str, bytes], object] | None = None
) -> Iterator[dict[str, str]]:
    """The environment of a client that is logged in and meets it. What ``but`` makes of an operation and its body is said
    in place of the error, unless it is None.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            # S3 has to work for an upload to come before the refusal
            operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
            instead = but(operation, sent) if but is not None else None
            body = json.dumps(instead or {"__type": code, "message": text}).encode()
            self.send_response(200 if instead else status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("ETag", '"x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_PUT  # noqa: N815 - the base class names it

        def log_message(self, *_: object) -> None:
            """Nothing is written beside a test's own output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {**LOGIN, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}"}
    finally:
        server.shutdown()
        server.server_close()
