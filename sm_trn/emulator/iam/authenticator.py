"""The authenticator checks host, origin, path, signature, date and size before anything is looked at or started.

A request to create a training job runs code, so nothing here is a formality.
"""

from __future__ import annotations

import calendar
import hashlib
import time
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from typing import IO, TYPE_CHECKING
from urllib.parse import parse_qsl

from ...core import loopback
from ..errors import AwsError, refused
from ..http.body import Spool
from . import session_tokens, signature

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from ..http.request import HttpRequest
    from ..state.quota import Quota
    from .keys import Principals
    from .session_tokens import Temporary

_BLOCK = 2**20
MAX_BODY = 8 * 2**20  # an API call; the service itself takes at most a few MB
MAX_OBJECT = 5 * 2**30  # one S3 PUT: https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html
_SKEW_S = 15 * 60  # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html
_QUERY = frozenset({"sts", "iam"})  # their codes of a bad token are those of the query protocol
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
    access_key: str
    owner: bool
    body: Spool
    temporary: Temporary | None = None


class Authenticator:
    """Checks one request at a time; safe to share between threads."""

    def __init__(
        self,
        principals: Principals,
        port: int,
        spool: Path,
        quota: Quota,
        clock: Callable[[], float] = time.time,
        *,
        region: str = "us-west-2",
    ) -> None:
        self._principals = principals
        self._region = region
        self._quota = quota
        self._port = port
        self._spool = spool
        self._clock = clock

    def authenticate(self, http: HttpRequest) -> AuthenticatedRequest:
        """Let the request in, or raise the AwsError to answer with. The body is read only once the signature holds."""
        self._check_origin(http)
        credential, names = self._credential(http)
        token = http.fields.get("x-amz-security-token") or names.get("X-Amz-Security-Token")
        secret, known = self._secret(credential, token or names.get("x-amz-security-token") or "")
        timestamp = self._fresh(http, credential, names)
        payload = self._payload(http, credential, presigned=bool(names))
        body = None
        if payload is None:  # the signature covers a digest of the body that only the body can give
            body, payload = self._read(http, MAX_BODY)
        try:
            self._check_signature(http, credential, secret, payload, timestamp)
        except AwsError:
            if body is not None:
                body.close()
            raise
        http.known_caller()
        return AuthenticatedRequest(
            http=http,
            service=credential.service,
            region=credential.region,
            access_key=credential.access_key,
            body=body or self._signed_body(http, credential.service, payload),
            temporary=known,
            owner=credential.access_key == self._principals.owner.access,
        )

    def _credential(self, http: HttpRequest) -> tuple[signature.Credential, Mapping[str, str]]:
        """Who claims to ask, and the query that says so; it is empty where a header does."""
        names = dict(parse_qsl(http.query, keep_blank_values=True))
        if "X-Amz-Signature" in names or {"AWSAccessKeyId", "Signature"} <= names.keys():
            found = signature.parse_presigned(names) or signature.parse_presigned_2(names, self._region)
        else:
            found, names = signature.parse_authorization(http.fields.get("authorization", "")), {}
        if found is None:
            raise refused("MissingAuthenticationToken", "the request is not signed with Signature Version 4")
        return found, names

    def _check_origin(self, http: HttpRequest) -> None:
        if why := loopback.refusal(http.method, http.fields, self._port):
            raise refused("AccessDeniedException", why)
        if http.raw_path.startswith("/moto-api") or http.path.startswith("/moto-api"):
            raise refused("AccessDeniedException", "this path is closed")

    def _secret(self, credential: signature.Credential, token: str) -> tuple[str, Temporary | None]:
        """The secret that goes with an access key. A token beside a key of our own is somebody else's, left in an environment."""
        secret = self._principals.secret_of(credential.access_key)
        if secret is not None:
            return secret, None
        if not token:
            raise refused("UnrecognizedClientException", "the access key is not one of this emulator")
        found = session_tokens.read(token, self._principals.secret_of)
        if found is None or found[0].access != credential.access_key:
            raise _bad_token(credential.service)
        if self._clock() >= found[0].expires:
            raise _expired_token(credential.service)
        return found[1], found[0]

    def _fresh(self, http: HttpRequest, credential: signature.Credential, query: Mapping[str, str]) -> str:
        """The time that was signed, if it is one at which the request may come; ``query`` is that of a presigned one."""
        now = self._clock()
        if not credential.date:  # Version 2
            text = query.get("Expires", "")
            if not text.isdecimal() or now > int(text):
                raise refused("AccessDenied", "Request has expired")
            return text
        if query:
            text, lifetime = query.get("X-Amz-Date", ""), query.get("X-Amz-Expires", "")
            seconds = min(int(lifetime), 7 * 86_400) if lifetime.isdecimal() else 0
            signed_at = _epoch(text)
            if signed_at is None or not signed_at - _SKEW_S <= now <= signed_at + seconds:
                raise refused("AccessDenied", "Request has expired")
        else:
            text = http.fields.get("x-amz-date") or _amz_date(http.fields.get("date", ""))
            signed_at = _epoch(text)
            if signed_at is None or abs(now - signed_at) > _SKEW_S:
                raise refused("RequestExpired", "the request's date is missing or more than 15 minutes off")
        if not text.startswith(credential.date):
            raise refused("SignatureDoesNotMatch", "the date of the credential scope is not that of the request")
        return text

    @staticmethod
    def _payload(http: HttpRequest, credential: signature.Credential, *, presigned: bool) -> str | None:
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

    @staticmethod
    def _check_signature(
        http: HttpRequest, credential: signature.Credential, secret: str, payload: str, timestamp: str
    ) -> None:
        wanted = {name for name, _ in http.headers if name == "host" or name.startswith("x-amz-")}
        missing = wanted - set(credential.signed_headers)
        if credential.date and missing:  # Version 2 signs all of Amazon's headers, and never the host
            raise refused("SignatureDoesNotMatch", f"these headers must be signed: {', '.join(sorted(missing))}")
        request = signature.Signed(
            method=http.method,
            path=http.raw_path,
            query=http.query,
            headers=http.headers,
            payload=payload,
            timestamp=timestamp,
        )
        if not signature.matches(request, credential, secret):
            raise refused("SignatureDoesNotMatch", "the signature does not match; check the secret key")

    def _signed_body(self, http: HttpRequest, service: str, payload: str) -> Spool:
        """The body whose digest was signed with the rest, or of which none was wanted."""
        sums = () if service != "s3" or payload in _STREAMING - {signature.UNSIGNED} else _sums(http.headers)
        body, digest = self._read(http, MAX_OBJECT if service == "s3" else MAX_BODY, sums)
        if payload not in _STREAMING and payload != digest:
            body.close()
            raise AwsError("XAmzContentSHA256Mismatch", "the body is not the one that was signed")
        return body

    def _read(self, http: HttpRequest, limit: int, sums: Collection[str] = ()) -> tuple[Spool, str]:
        """The body and its SHA-256. Never more than ``limit`` bytes, nor more than the state folder may take."""
        declared = http.fields.get("content-length") or "0"
        left = limit if http.chunked else int(declared) if declared.isdecimal() else limit + 1
        if left > limit:
            raise AwsError("RequestEntityTooLargeException", f"at most {limit} bytes are taken", 413)
        if left > MAX_BODY and not http.chunked:
            self._quota.check(left)
        spooled = Spool(self._spool, sums)
        try:
            digest = _fill(spooled, http.content, left, chunked=http.chunked)
        except BaseException:
            spooled.close()
            raise
        return spooled, digest


def _fill(spool: Spool, source: IO[bytes], left: int, *, chunked: bool) -> str:
    """Take the body, ``left`` bytes of it or, where it is chunked, at most that many; its SHA-256."""
    digest = hashlib.sha256()
    while left > 0 and (block := source.read(min(left, _BLOCK))):
        spool.write(block)
        digest.update(block)
        left -= len(block)
    if (chunked and source.read(1)) or (not chunked and left):
        raise AwsError("IncompleteBody", "the body is longer than the limit, or shorter than it said")
    spool.rewind()
    return digest.hexdigest()


def _sums(headers: Iterable[tuple[str, str]]) -> set[str]:
    """What S3 will want to know of a body, so that it is worked out while the body is read."""
    kinds = {name.removeprefix("x-amz-checksum-") for name, _ in headers}
    return {"md5"} | (kinds & {"crc32", "sha1"})


def _bad_token(service: str) -> AwsError:
    if service == "s3":
        return AwsError("InvalidToken", "The provided token is malformed or otherwise invalid.")
    code = "InvalidClientTokenId" if service in _QUERY else "UnrecognizedClientException"
    return refused(code, "The security token included in the request is invalid.")


def _expired_token(service: str) -> AwsError:
    if service == "s3":
        return AwsError("ExpiredToken", "The provided token has expired.")
    said = "The security token included in the request is expired"
    return refused("ExpiredToken", said) if service in _QUERY else AwsError("ExpiredTokenException", said)


def _epoch(text: str) -> float | None:
    try:
        return float(calendar.timegm(time.strptime(text, "%Y%m%dT%H%M%SZ")))
    except ValueError:
        return None


def _amz_date(text: str) -> str:
    parsed = parsedate_tz(text)
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(mktime_tz(parsed))) if parsed else ""
