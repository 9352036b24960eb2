"""moto answers for the services that we do not write ourselves: its WSGI application runs inside this process.

It owns the two names we take from moto, and calls into it. Only names exported by
``moto.server`` are used; the account comes from MOTO_ACCOUNT_ID, which must be set before moto is imported.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Iterable, Mapping
from typing import IO, Any, Final
from urllib.parse import urlencode

from werkzeug.test import EnvironBuilder

from ..options import EMULATED_ACCOUNT
from .request import Answer, HttpRequest

_POLICIES: Final = "MOTO_IAM_LOAD_MANAGED_POLICIES"


def settle_environment() -> None:
    """Make moto keep our account and send no cross-origin headers. Call before the first import of moto."""
    os.environ["MOTO_ACCOUNT_ID"] = EMULATED_ACCOUNT
    os.environ["MOTO_DISABLE_GLOBAL_CORS"] = "true"
    os.environ["MOTO_ALLOW_NONEXISTENT_REGION"] = "true"
    os.environ[_POLICIES] = "true"  # launchers attach AmazonSageMakerFullAccess to a role that they make


class Moto:
    """moto as a function from request to answer."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._application: Any = None

    def load(self) -> None:
        """Import moto, which takes longer than everything else; nothing is asked of it before."""
        from moto.server import (  # noqa: PLC0415 - heavy, and its settings must stand in the environment first
            DomainDispatcherApplication,
            create_backend_app,
        )

        def create_lean_app(service: str | None) -> Any:
            """moto makes one more backend of each service, only to read its paths from: that needs no policies of AWS."""
            os.environ[_POLICIES] = "false"
            try:
                return create_backend_app(service)
            finally:
                os.environ[_POLICIES] = "true"

        self._application = DomainDispatcherApplication(create_lean_app)

    def forward(self, request: HttpRequest, body: IO[bytes], length: int) -> Answer:
        """Pass an admitted request on. What moto cannot answer is a 501, which no client repeats. Raises OSError for a full disk."""
        body.seek(0)
        own = {"wsgi.input": body, "CONTENT_LENGTH": str(length), "wsgi.errors": io.StringIO()}
        dropped = {"wsgi.input_terminated", "HTTP_TRANSFER_ENCODING"}
        try:
            return self._run({name: value for name, value in request.environ.items() if name not in dropped} | own)
        except OSError:
            raise
        except Exception:  # noqa: BLE001 - moto meets services and operations it does not know in many ways
            sys.stderr.write(traceback.format_exc())
            return Answer(501, (), b"")

    def call(self, service: str, body: bytes, content_type: str, target: str = "") -> Answer:
        """Make a request of our own."""
        made = EnvironBuilder(
            "/", "http://127.0.0.1", method="POST", data=body, errors_stream=io.StringIO()
        ).get_environ()
        scope = f"SMTRN/20200101/{self._region}/{service}/aws4_request"
        made["HTTP_AUTHORIZATION"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
        return self._run({**made, "CONTENT_TYPE": content_type, "HTTP_X_AMZ_TARGET": target})

    def query(self, service: str, action: str, version: str, parameters: Mapping[str, str]) -> Answer:
        """Make one call of AWS's query protocol, form-encoded."""
        body = urlencode({"Action": action, "Version": version, **parameters}).encode()
        return self.call(service, body, "application/x-www-form-urlencoded")

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
