"""The authenticator checks host, origin, path, signature, date and size before anything is looked at or started.

A request to create a training job runs code, so nothing here is a formality.
"""

from __future__ import annotations

import calendar
import hashlib
import hmac
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast
from urllib.parse import parse_qsl

from ...core import loopback
from ..errors import AwsError, refused
from ..http.request import HttpRequest
from . import signature
from .keys import Principal, Principals

_BLOCK = 2**20
MAX_BODY = 8 * 2**20  # an API call; the service itself takes at most a few MB
MAX_OBJECT = 5 * 2**30  # one S3 PUT: https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html
_SKEW_S = 15 * 60  # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html
_STREAMING = frozenset(
    {
        signature.UNSIGNED,
        "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticatedRequest:
    """A request that was let in, with its body read and checked. ``owner``: with the emulator's own key, no temporary one."""

    http: HttpRequest
    service: str
    region: str
    principal: Principal
    owner: bool
    body: IO[bytes]
    length: int


class Authenticator:
    """Checks one request at a time; safe to share between threads."""

    def __init__(self, principals: Principals, port: int, spool: Path, clock: Callable[[], float] = time.time) -> None:
        self._principals = principals
        self._port = port
        self._spool = spool
        self._clock = clock

    def authenticate(self, http: HttpRequest) -> AuthenticatedRequest:
        """Let the request in, or raise the AwsError to answer with. The body is read only once the signature holds."""
        if why := loopback.refusal(http.method, http.fields, self._port):
            raise refused("AccessDeniedException", why)
        if http.raw_path.startswith("/moto-api") or http.path.startswith("/moto-api"):
            raise refused("AccessDeniedException", "this path is closed")
        credential, query = _credential(http)
        token = http.fields.get("x-amz-security-token") or query.get("X-Amz-Security-Token") or ""
        principal = self._principal(credential, token)
        timestamp = self._timestamp(http, credential, query)
        payload, body = _payload(http, credential, presigned=bool(query)), None
        if payload is None:  # the signature covers a digest of the body that only the body can give
            body, length, payload = self._read(http, MAX_BODY)
        try:
            _check_signature(http, credential, principal.key.secret, payload, timestamp)
        except AwsError:
            if body is not None:
                body.close()
            raise
        http.known_caller()
        if body is None:
            body, length = self._signed_body(http, credential.service, payload)
        return AuthenticatedRequest(
            http=http,
            service=credential.service,
            region=credential.region,
            principal=principal,
            owner=credential.access_key == self._principals.owner.access,
            body=body,
            length=length,
        )

    def _principal(self, credential: signature.Credential, token: str) -> Principal:
        """Who holds an access key. A token beside a key of our own is somebody else's, left in an environment."""
        principal = self._principals.find(credential.access_key)
        if principal is None:
            if token:
                raise _token_error(credential.service, expired=False)
            raise refused("UnrecognizedClientException", "the access key is not one of this emulator")
        if principal.token and not hmac.compare_digest(principal.token.encode(), token.encode()):
            raise _token_error(credential.service, expired=False)
        if self._clock() >= principal.expires:
            raise _token_error(credential.service, expired=True)
        return principal

    def _timestamp(self, http: HttpRequest, credential: signature.Credential, query: Mapping[str, str]) -> str:
        """The time that was signed, if it is one at which the request may come; ``query`` is that of a presigned one."""
        now = self._clock()
        if query:
            text, lifetime = query.get("X-Amz-Date", ""), query.get("X-Amz-Expires", "")
            seconds = min(int(lifetime), 7 * 86_400) if lifetime.isdecimal() else 0
            signed_at = _epoch(text)
            if signed_at is None or not signed_at - _SKEW_S <= now <= signed_at + seconds:
                raise refused("AccessDenied", "Request has expired")
        else:
            text = http.fields.get("x-amz-date", "")
            signed_at = _epoch(text)
            if signed_at is None or abs(now - signed_at) > _SKEW_S:
                raise refused("RequestExpired", "the request's date is missing or more than 15 minutes off")
        if not text.startswith(credential.date):
            raise refused("SignatureDoesNotMatch", "the date of the credential scope is not that of the request")
        return text

    def _signed_body(self, http: HttpRequest, service: str, payload: str) -> tuple[IO[bytes], int]:
        """The body whose digest was signed with the rest, or of which none was wanted."""
        body, length, digest = self._read(http, MAX_OBJECT if service == "s3" else MAX_BODY)
        if payload not in _STREAMING and payload != digest:
            body.close()
            raise AwsError("XAmzContentSHA256Mismatch", "the body is not the one that was signed")
        return body, length

    def _read(self, http: HttpRequest, limit: int) -> tuple[IO[bytes], int, str]:
        """The body, its length and its SHA-256. Never more than ``limit`` bytes; a long one is in a file."""
        declared = http.fields.get("content-length") or "0"
        left = limit if http.chunked else int(declared) if declared.isdecimal() else limit + 1
        if left > limit:
            raise AwsError("RequestEntityTooLargeException", f"at most {limit} bytes are taken", 413)
        spool = cast("IO[bytes]", tempfile.SpooledTemporaryFile(_BLOCK, dir=str(self._spool)))  # noqa: SIM115 - whoever answers closes it
        try:
            digest = _copy(http.content, spool, left, chunked=http.chunked)
        except BaseException:
            spool.close()
            raise
        length = spool.tell()
        spool.seek(0)
        return spool, length, digest


def _credential(http: HttpRequest) -> tuple[signature.Credential, Mapping[str, str]]:
    """Who claims to ask, and the query that says so; it is empty where a header does."""
    query = dict(parse_qsl(http.query, keep_blank_values=True))
    if "X-Amz-Signature" in query:
        found = signature.parse_presigned(query)
    else:
        found, query = signature.parse_authorization(http.fields.get("authorization", "")), {}
    if found is None:
        raise refused("MissingAuthenticationToken", "the request is not signed with Signature Version 4")
    return found, query


def _payload(http: HttpRequest, credential: signature.Credential, *, presigned: bool) -> str | None:
    """The digest of the body that was signed; None where only the body can give it."""
    declared = http.fields.get("x-amz-content-sha256")
    if presigned:
        if credential.service != "s3":
            raise refused("AccessDenied", "presigned requests are taken for S3 only")
        return declared or signature.UNSIGNED
    if credential.service == "s3":
        return declared
    if declared in _STREAMING:
        raise refused("AccessDeniedException", "an unsigned body is taken for S3 only")
    return None


def _check_signature(
    http: HttpRequest, credential: signature.Credential, secret: str, payload: str, timestamp: str
) -> None:
    wanted = {name for name, _ in http.headers if name == "host" or name.startswith("x-amz-")}
    if missing := wanted - set(credential.signed_headers):
        raise refused("SignatureDoesNotMatch", f"these headers must be signed: {', '.join(sorted(missing))}")
    expected = signature.expected_signature(http, credential, secret, payload, timestamp)
    if not hmac.compare_digest(expected.encode(), credential.signature.encode()):
        raise refused("SignatureDoesNotMatch", "the signature does not match; check the secret key")


def _copy(source: IO[bytes], target: IO[bytes], left: int, *, chunked: bool) -> str:
    """Copy a body of ``left`` bytes or, where it is chunked, of at most that many; its SHA-256."""
    digest = hashlib.sha256()
    while left > 0 and (block := source.read(min(left, _BLOCK))):
        target.write(block)
        digest.update(block)
        left -= len(block)
    if (chunked and source.read(1)) or (not chunked and left):
        raise AwsError("IncompleteBody", "the body is longer than the limit, or shorter than it said")
    return digest.hexdigest()


def _token_error(service: str, *, expired: bool) -> AwsError:
    """Return what a service says to a token: S3 and those of the query protocol have codes of their own."""
    if service == "s3":
        code, said = (
            ("ExpiredToken", "has expired") if expired else ("InvalidToken", "is malformed or otherwise invalid")
        )
        return AwsError(code, f"The provided token {said}.")
    said = f"The security token included in the request is {'expired' if expired else 'invalid.'}"
    if service in {"sts", "iam"}:
        return refused("ExpiredToken" if expired else "InvalidClientTokenId", said)
    return AwsError("ExpiredTokenException", said) if expired else refused("UnrecognizedClientException", said)


def _epoch(text: str) -> float | None:
    try:
        return float(calendar.timegm(time.strptime(text, "%Y%m%dT%H%M%SZ")))
    except ValueError:
        return None
