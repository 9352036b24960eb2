"""The redirection of botocore's requests to an emulator, whatever key and address the code that makes them has chosen.

``mocked`` is for a test that already runs under moto's ``mock_aws``: an emulator of its own, in a folder that goes with it, answers
SageMaker, S3, CloudWatch and its logs, and STS – a job has to find its data where the test put it – and every other service stays
moto's. ``redirected`` takes everything to an emulator that is there.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from . import daemon
from .iam import signature
from .iam.keys import KEY_PREFIX
from .options import Endpoint, Options

# Service identifiers of botocore's events, and the names that their signatures carry.
SERVICES: Final[Mapping[str, str]] = {
    "sagemaker": "sagemaker",
    "sagemaker-runtime": "sagemaker",
    "s3": "s3",
    "cloudwatch-logs": "logs",
    "cloudwatch": "monitoring",
    "sts": "sts",
}
# What chooses botocore's login, region and addresses; a variable of a test's own, AWS_ROLE say, stays.
_LOGIN: Final = (
    "AWS_ACCESS_KEY", "AWS_SECRET", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_", "AWS_REGION",
    "AWS_ENDPOINT", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS", "AWS_ROLE_ARN", "AWS_ROLE_SESSION", "AWS_WEB_IDENTITY",
    "AWS_CONTAINER_", "AWS_EC2_METADATA", "AWS_CA_BUNDLE", "AWS_CREDENTIAL", "AWS_SIGV4A", "AWS_USE_", "AWS_S3_",
)  # fmt: skip
_VIRTUAL_HOST: Final = re.compile(r"(?P<bucket>.+)\.s3[.-][a-z0-9.-]*amazonaws\.com")
_OURS_TO_WRITE: Final = frozenset(
    {"authorization", "host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "date", "content-length"}
)


@contextmanager
def mocked(*, region: str = "us-east-1", options: Options | None = None) -> Iterator[Endpoint]:
    """Yield an emulator that answers the boto3 clients made inside the block, whatever their keys, unless they name an endpoint.

    Region and credentials are in the environment as long as it lasts. Buckets have to be made inside the block; the account in ARNs
    is the emulator's, not moto's. Raises EmulatorError.
    """
    with tempfile.TemporaryDirectory(prefix="sm_trn-") as folder:
        chosen = options or Options(parent_pid=os.getpid())
        endpoint = daemon.up(Path(folder), region=region, options=chosen)
        variables = endpoint.environment()
        del variables["AWS_ENDPOINT_URL"]  # the services that stay moto's have other addresses
        try:
            with environment(variables), _detours(_Detour(endpoint), [f"before-send.{event}" for event in SERVICES]):
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
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Replace what the environment says of a login, a region and addresses of AWS by these variables."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(_LOGIN)]:
        del os.environ[name]
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


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
        signer: Any = (S3SigV4Auth if service == "s3" else SigV4Auth)(self._credentials, service, region)
        if "aws-chunked" in headers.get(
            "Content-Encoding", ""
        ):  # as an HTTPS client sends it: its end is signed by nobody
            signer.payload = lambda _request: "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
        signer.add_auth(made)
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


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
