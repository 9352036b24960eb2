"""``mocked`` lets our SageMaker answer in a test that already runs under moto's ``mock_aws``: it redirects botocore's requests.

The same engine as ever: an emulator of its own, in a folder that goes with it. SageMaker, S3, CloudWatch and its logs, and
STS are answered by it – a job has to find its data where the test put it – every other service stays moto's.
"""

from __future__ import annotations

import io
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from . import daemon
from .iam import signature
from .options import Options
from .s3 import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .options import Endpoint

# Service identifiers of botocore's events, and the names that their signatures carry.
SERVICES: Final[Mapping[str, str]] = {
    "sagemaker": "sagemaker",
    "sagemaker-runtime": "sagemaker",
    "s3": "s3",
    "cloudwatch-logs": "logs",
    "cloudwatch": "monitoring",
    "sts": "sts",
}
_VIRTUAL_HOST: Final = re.compile(r"(?P<bucket>.+)\.s3[.-][a-z0-9.-]*amazonaws\.com")
_OURS_TO_WRITE: Final = frozenset(
    {"authorization", "host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "date", "content-length"}
)


@contextmanager
def mocked(*, region: str = "us-east-1", options: Options | None = None) -> Iterator[Endpoint]:
    """Yield an emulator that answers the boto3 clients made inside the block, whatever their keys, unless they name an endpoint.

    Buckets have to be made inside the block; the account in ARNs is the emulator's, not moto's. Raises EmulatorError.
    """
    import boto3  # noqa: PLC0415 - heavy, and not needed by whoever only starts an emulator
    import botocore.handlers  # noqa: PLC0415 - the same

    with tempfile.TemporaryDirectory(prefix="sm_trn-") as folder:
        endpoint = daemon.up(Path(folder), region=region, options=options or Options(start_delay_s=0.0))
        detour = _Detour(endpoint)
        handlers = [(f"before-send.{event}", detour.to(service)) for event, service in SERVICES.items()]
        botocore.handlers.BUILTIN_HANDLERS[:0] = handlers  # before those of a block around this one
        known, boto3.DEFAULT_SESSION = boto3.DEFAULT_SESSION, None  # it was made without our handlers
        try:
            yield endpoint
        finally:
            detour.closed = True
            boto3.DEFAULT_SESSION = known
            for handler in handlers:
                botocore.handlers.BUILTIN_HANDLERS.remove(handler)
            daemon.down(Path(folder))


class _Detour:
    """Signs a request anew with the emulator's key and turns it there. Once ``closed`` it leaves requests alone."""

    def __init__(self, endpoint: Endpoint) -> None:
        from botocore.credentials import Credentials  # noqa: PLC0415 - heavy

        self.closed = False
        self._endpoint = endpoint
        self._credentials = Credentials(endpoint.access_key, endpoint.secret_key)

    def to(self, service: str) -> Any:
        def turn(request: Any, **_more: Any) -> None:
            if not self.closed and (urlsplit(request.url).hostname or "").endswith(".amazonaws.com"):
                made = self._signed(
                    service, request
                )  # moto looks at the request after us, and passes on what is no AWS address
                request.url, request.headers, request.body = made.url, made.headers, made.body

        return turn

    def _signed(self, service: str, request: Any) -> Any:
        from botocore.auth import S3SigV4Auth, SigV4Auth  # noqa: PLC0415 - heavy
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - heavy

        headers = {name: _text(value) for name, value in request.headers.items() if name.lower() not in _OURS_TO_WRITE}
        made = AWSRequest(
            method=request.method,
            url=self._endpoint.url + _path(request.url),
            data=_body(request),
            headers=headers,
        )
        if service == "s3":
            _plain(made)
        signer = S3SigV4Auth if service == "s3" else SigV4Auth
        said = signature.parse_authorization(_text(request.headers.get("Authorization", "")))
        signer(self._credentials, service, said.region if said else self._endpoint.region).add_auth(made)
        return made.prepare()


def _path(url: str) -> str:
    """Path and query as the emulator wants them: a bucket stands in the path, not in the host's name."""
    parts = urlsplit(url)
    match = _VIRTUAL_HOST.fullmatch(parts.netloc)
    path = (f"/{match['bucket']}" if match else "") + (parts.path or "/")
    return path + (f"?{parts.query}" if parts.query else "")


def _body(request: Any) -> Any:
    body = request.body
    if hasattr(body, "seek"):
        body.seek(0)  # botocore has read it for a checksum
    return body.read() if hasattr(body, "read") else body


def _plain(request: Any) -> None:
    """Take S3's chunks with a trailing checksum apart: HTTPS clients send them, and their end is signed by nobody."""
    if "aws-chunked" not in request.headers.get("Content-Encoding", ""):
        return
    plain = io.BytesIO()
    chunked.decode(io.BytesIO(bytes(request.data)), plain)
    request.data = plain.getvalue()
    kept = [name for name in request.headers.get("Content-Encoding", "").split(",") if name.strip() != "aws-chunked"]
    for name in ("Content-Encoding", "X-Amz-Trailer", "X-Amz-Decoded-Content-Length", "Transfer-Encoding"):
        del request.headers[name]
    if kept:
        request.headers["Content-Encoding"] = ",".join(kept)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
