"""AWS Signature Version 4, and 2 in the queries of S3: rebuilt from a request and compared with what came.

It owns the arithmetic only; the authenticator decides who may enter. The rules are those of
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
and https://docs.aws.amazon.com/AmazonS3/latest/userguide/RESTAuthentication.html
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
_AUTHORIZATION = re.compile(
    rf"{ALGORITHM}\s+Credential=([^/,\s]+)/(\d{{8}})/([^/,\s]+)/([^/,\s]+)/aws4_request,"
    r"\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})"
)


# What of a query Version 2 signs: the names of S3's own settings and of headers that its answer is to have.
_SETTINGS = frozenset((
    "accelerate", "acl", "analytics", "cors", "defaultObjectAcl", "delete", "inventory", "lifecycle", "location", "logging",
    "metrics", "notification", "object-lock", "partNumber", "policy", "replication", "requestPayment", "response-cache-control",
    "response-content-disposition", "response-content-encoding", "response-content-language", "response-content-type",
    "response-expires", "restore", "select", "select-type", "storageClass", "tagging", "torrent", "uploadId", "uploads",
    "versionId", "versioning", "versions", "website",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Credential:
    """The parts of an Authorization header or of a presigned query; Version 2 has no date, region nor signed headers."""

    access_key: str
    date: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    signature: str

    @property
    def scope(self) -> str:
        return f"{self.date}/{self.region}/{self.service}/aws4_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """The request as it came: path and query still encoded, headers as (lower-case name, value)."""

    method: str
    path: str
    query: str
    headers: Sequence[tuple[str, str]]
    payload: str
    timestamp: str


def parse_authorization(header: str) -> Credential | None:
    match = _AUTHORIZATION.fullmatch(header.strip())
    if match is None:
        return None
    key, date, region, service, names, signature = match.groups()
    return Credential(key, date, region, service, tuple(names.split(";")), signature)


def parse_presigned(query: Mapping[str, str]) -> Credential | None:
    parts = query.get("X-Amz-Credential", "").split("/")
    if query.get("X-Amz-Algorithm") != ALGORITHM or len(parts) != 5 or parts[4] != "aws4_request" or not parts[1]:
        return None
    names = tuple(query.get("X-Amz-SignedHeaders", "").split(";"))
    return Credential(parts[0], parts[1], parts[2], parts[3], names, query.get("X-Amz-Signature", ""))


def parse_presigned_2(query: Mapping[str, str], region: str) -> Credential | None:
    """Version 2, which says no region."""
    if not {"AWSAccessKeyId", "Signature", "Expires"} <= query.keys():
        return None
    return Credential(query["AWSAccessKeyId"], "", region, "s3", (), query["Signature"])


def canonical_request(request: Signed, credential: Credential) -> str:
    path = request.path if credential.service == "s3" else quote(_normal(request.path), safe="/~")
    pairs = sorted(pair.partition("=")[::2] for pair in request.query.split("&") if pair)
    query = "&".join(f"{name}={value}" for name, value in pairs if name != "X-Amz-Signature")
    names = sorted(credential.signed_headers)
    headers = "".join(f"{name}:{_values(request.headers, name)}\n" for name in names)
    return "\n".join((request.method, path, query, headers, ";".join(names), request.payload))


def sign(request: Signed, credential: Credential, secret: str) -> str:
    """Return the signature that the holder of ``secret`` gives this request."""
    digest = hashlib.sha256(canonical_request(request, credential).encode()).hexdigest()
    text = "\n".join((ALGORITHM, request.timestamp, credential.scope, digest))
    key = f"AWS4{secret}".encode()
    for part in (credential.date, credential.region, credential.service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def sign_2(request: Signed, secret: str) -> str:
    """Return the Version 2 signature of a presigned request; its ``timestamp`` is the query's Expires."""
    query = dict(parse_qsl(request.query, keep_blank_values=True))
    sent: dict[str, list[str]] = {}
    for name, value in request.headers:
        sent.setdefault(name, []).append(value.strip())
    amazons = {name: ",".join(values) for name, values in sent.items() if name.startswith("x-amz-")}
    # What the signer knew as headers stands in the query, for whoever cannot send headers.
    amazons = {name: value for name, value in query.items() if name.startswith("x-amz-")} | amazons
    plain = [",".join(sent.get(name, [query.get(name, "")])) for name in ("content-md5", "content-type")]
    pairs = sorted((unquote(name), mark, unquote(value)) for name, mark, value in _pairs(request.query))
    settings = "&".join("".join(pair) for pair in pairs if pair[0] in _SETTINGS)
    path = request.path if "/" in request.path[1:] else f"{request.path.rstrip('/')}/"  # a bucket is signed as a folder
    resource = path + (f"?{settings}" if settings else "")
    lines = [
        request.method,
        *plain,
        request.timestamp,
        *(f"{name}:{amazons[name]}" for name in sorted(amazons)),
        resource,
    ]
    return base64.b64encode(hmac.new(secret.encode(), "\n".join(lines).encode(), hashlib.sha1).digest()).decode()


def matches(request: Signed, credential: Credential, secret: str) -> bool:
    made = sign(request, credential, secret) if credential.date else sign_2(request, secret)
    return hmac.compare_digest(made.encode(), credential.signature.encode())


def authorize(headers: Mapping[str, str], payload: bytes, access_key: str, secret: str, region: str) -> str:
    """Return the Authorization header of a POST to SageMaker with these headers, names in lower case, x-amz-date among them."""
    names, moment = tuple(sorted(headers)), headers["x-amz-date"]
    credential = Credential(access_key, moment[:8], region, "sagemaker", names, "")
    digest = hashlib.sha256(payload).hexdigest()
    request = Signed(
        method="POST", path="/", query="", headers=tuple(headers.items()), payload=digest, timestamp=moment
    )
    return authorization(credential, sign(request, credential, secret))


def authorization(credential: Credential, signature: str) -> str:
    names = ";".join(sorted(credential.signed_headers))
    scope = f"{credential.access_key}/{credential.scope}"
    return f"{ALGORITHM} Credential={scope}, SignedHeaders={names}, Signature={signature}"


def _pairs(query: str) -> list[tuple[str, str, str]]:
    return [pair.partition("=") for pair in query.split("&") if pair]


def _normal(path: str) -> str:
    if not path or path == "/":
        return "/"
    normal = posixpath.normpath(path).replace("//", "/")
    return normal + "/" if path.endswith("/") and not normal.endswith("/") else normal


def _values(headers: Iterable[tuple[str, str]], name: str) -> str:
    return ",".join(" ".join(value.split()) for key, value in headers if key == name)
