"""AWS Signature Version 4 of a request that came, computed by botocore's own signer.

The authenticator decides who may enter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..http.request import HttpRequest

ALGORITHM: Final = "AWS4-HMAC-SHA256"
UNSIGNED: Final = "UNSIGNED-PAYLOAD"
_AUTHORIZATION: Final = re.compile(
    rf"{ALGORITHM}\s+Credential=([^/,\s]+)/(\d{{8}})/([^/,\s]+)/([^/,\s]+)/aws4_request,"
    r"\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})"
)


@dataclass(frozen=True, slots=True)
class Credential:
    """The parts of an Authorization header or of a presigned query."""

    access_key: str
    date: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    signature: str


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


def expected_signature(http: HttpRequest, credential: Credential, secret: str, payload: str, timestamp: str) -> str:
    """Return the signature that the holder of ``secret`` gives this request; ``payload`` is what is signed of the body."""
    from botocore.auth import S3SigV4Auth, SigV4Auth  # noqa: PLC0415 - heavy: whoever only parses a header needs none of it
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - as above
    from botocore.credentials import Credentials  # noqa: PLC0415 - as above

    keys = Credentials(credential.access_key, secret)
    signer: Any = (S3SigV4Auth if credential.service == "s3" else SigV4Auth)(
        keys, credential.service, credential.region
    )
    signer.payload = lambda _request: payload
    query = "&".join(pair for pair in http.query.split("&") if not pair.startswith("X-Amz-Signature="))
    headers = {name: http.fields[name] for name in credential.signed_headers if name in http.fields}
    request: Any = AWSRequest(http.method, f"http://{http.fields.get('host')}{http.raw_path}?{query}", headers)
    request.context["timestamp"] = timestamp
    return str(signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request))
