"""moto answers for the services that we do not write ourselves: its WSGI application runs inside this process.

It owns the two names we take from moto, and calls into it. It must not know who calls or why. Only names exported by
``moto.server`` are used; the account comes from MOTO_ACCOUNT_ID, which must be set before moto is imported.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from ...specs.snapshot import EMULATED_ACCOUNT
from .response import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def settle_environment() -> None:
    """Make moto keep our account and send no cross-origin headers. Call before the first import of moto."""
    os.environ["MOTO_ACCOUNT_ID"] = EMULATED_ACCOUNT
    os.environ["MOTO_DISABLE_GLOBAL_CORS"] = "true"
    os.environ["MOTO_ALLOW_NONEXISTENT_REGION"] = "true"


class Moto:
    """moto as a function from request to answer."""

    def __init__(self, region: str) -> None:
        from moto.server import (  # noqa: PLC0415 - heavy, and its settings must stand in the environment first
            DomainDispatcherApplication,
            create_backend_app,
        )

        self._application: Any = DomainDispatcherApplication(create_backend_app)
        self._region = region

    def forward(self, environ: dict[str, Any], body: IO[bytes], length: int) -> Answer:
        """Pass an admitted request on. Answers of 500 and more become one that no client repeats."""
        copy = {**environ, "wsgi.input": body, "CONTENT_LENGTH": str(length), "wsgi.errors": io.StringIO()}
        copy.pop("wsgi.input_terminated", None)
        copy.pop("HTTP_TRANSFER_ENCODING", None)
        try:
            return self._run(copy)
        except Exception:  # noqa: BLE001 - moto meets services and operations it does not know in many ways
            sys.stderr.write(traceback.format_exc())
            return Answer(501, (), b"")

    def call(
        self,
        service: str,
        method: str,
        path: str,
        *,
        query: str = "",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        region: str | None = None,
    ) -> Answer:
        """Make a request of our own; ``path`` is not yet percent-encoded."""
        encoded = quote(path, safe="/-_.~")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path.encode().decode("latin-1"),
            "QUERY_STRING": query,
            "RAW_URI": f"{encoded}?{query}",
            "REQUEST_URI": f"{encoded}?{query}",
            "SCRIPT_NAME": "",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "127.0.0.1",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
            "wsgi.url_scheme": "http",
            "wsgi.version": (1, 0),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_AUTHORIZATION": f"AWS4-HMAC-SHA256 Credential=SMTRN/20200101/{region or self._region}/{service}/"
            "aws4_request, "
            "SignedHeaders=host, Signature=0",
        }
        for name, value in (headers or {}).items():
            key = name.upper().replace("-", "_")
            environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
        return self._run(environ)

    def create_bucket(self, name: str, region: str) -> None:
        """Let moto know a bucket, for its settings; what is in it is ours."""
        place = f"<LocationConstraint>{region}</LocationConstraint>"
        body = f"<CreateBucketConfiguration>{place}</CreateBucketConfiguration>"
        self.call("s3", "PUT", f"/{name}", body=b"" if region == "us-east-1" else body.encode(), region=region)

    def query(
        self, service: str, action: str, version: str, parameters: Mapping[str, str], *, region: str | None = None
    ) -> Answer:
        """Make one call of AWS's query protocol, form-encoded."""
        body = urlencode({"Action": action, "Version": version, **parameters}).encode()
        headers = {"content-type": "application/x-www-form-urlencoded"}
        return self.call(service, "POST", "/", headers=headers, body=body, region=region)

    def _run(self, environ: dict[str, Any]) -> Answer:
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], _failure: object = None) -> None:
            started.append((status, headers))

        chunks: Iterable[bytes] = self._application(environ, start_response)
        try:
            body = b"".join(chunks)
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
        status, headers = started[-1]
        kept = tuple((name, value) for name, value in headers if not name.lower().startswith("access-control-"))
        return Answer(int(status.split(" ", 1)[0]), kept, body)
