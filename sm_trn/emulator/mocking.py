"""The redirection of botocore's requests to an emulator, whatever key and address the code that makes them has chosen.

``mocked`` is for a test that already runs under moto's ``mock_aws``: an emulator of its own, in a folder that goes with it, answers
SageMaker, S3, CloudWatch and its logs, and STS – a job has to find its data where the test put it – and every other service stays
moto's. ``redirected`` takes everything to an emulator that is there.
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
from .iam.keys import KEY_PREFIX
from .options import Options
from .s3 import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    with tempfile.TemporaryDirectory(prefix="sm_trn-") as folder:
        endpoint = daemon.up(Path(folder), region=region, options=options or Options(start_delay_s=0.0))
        try:
            with _detours(_Detour(endpoint), [f"before-send.{event}" for event in SERVICES]):
                yield endpoint
        finally:
            daemon.down(Path(folder))


@contextmanager
def redirected(endpoint: Endpoint) -> Iterator[None]:
    """Let the emulator answer every service that this process asks through botocore, at AWS's addresses or at the emulator's own.

    A request with a key of the emulator, temporary ones included, keeps it; one with any other key is signed anew with the owner's.
    """
    with _detours(_Detour(endpoint), ["before-send"]):
        yield


@contextmanager
def _detours(detour: _Detour, events: Sequence[str]) -> Iterator[None]:
    import boto3  # noqa: PLC0415 - heavy, and not needed by whoever only starts an emulator
    import botocore.handlers  # noqa: PLC0415 - the same

    handlers = [(event, detour.turn) for event in events]
    botocore.handlers.BUILTIN_HANDLERS[:0] = handlers  # before those of a block around this one
    known, boto3.DEFAULT_SESSION = boto3.DEFAULT_SESSION, None  # it was made without our handlers
    try:
        yield
    finally:
        detour.closed = True
        boto3.DEFAULT_SESSION = known
        for handler in handlers:
            botocore.handlers.BUILTIN_HANDLERS.remove(handler)


class _Detour:
    """Signs a request anew with the emulator's key and turns it there. Once ``closed`` it leaves requests alone."""

    def __init__(self, endpoint: Endpoint) -> None:
        from botocore.credentials import Credentials  # noqa: PLC0415 - heavy

        self.closed = False
        self._endpoint = endpoint
        self._netloc = urlsplit(endpoint.url).netloc
        self._credentials = Credentials(endpoint.access_key, endpoint.secret_key)

    def turn(self, request: Any, event_name: str, **_more: Any) -> None:
        """Redirect a request of botocore's event ``before-send.SERVICE.OPERATION``."""
        said = signature.parse_authorization(_text(request.headers.get("Authorization", "")))
        service = said.service if said else SERVICES.get(event_name.split(".")[1])
        if self.closed or service is None or not self._is_ours(request.url, said):
            return
        made = self._signed(service, said.region if said else self._endpoint.region, request)
        # moto looks at the request after us, and passes on what is no AWS address
        request.url, request.headers, request.body = made.url, made.headers, made.body

    def _is_ours(self, url: str, said: signature.Credential | None) -> bool:
        address = urlsplit(url)
        if (address.hostname or "").endswith((".amazonaws.com", ".amazonaws.com.cn")):
            return True
        return address.netloc == self._netloc and said is not None and not said.access_key.startswith(KEY_PREFIX)

    def _signed(self, service: str, region: str, request: Any) -> Any:
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
        signer(self._credentials, service, region).add_auth(made)
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
