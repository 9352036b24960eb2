"""What S3 refuses and moto does not."""

from __future__ import annotations

import re
from datetime import timezone
from email.utils import parsedate_to_datetime
from urllib.parse import unquote

from .errors import AwsError, refused
from .http.request import Answer, HttpRequest
from .objects import Objects
from .options import EMULATED_ACCOUNT

_CUSTOMER_KEY = "x-amz-server-side-encryption-customer-key-md5"


def check(http: HttpRequest, objects: Objects) -> None:
    """Raise the AwsError that S3 answers a request with, where moto would do it all the same."""
    fields = http.fields
    for name in ("x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"):
        if fields.get(name, EMULATED_ACCOUNT) != EMULATED_ACCOUNT:
            raise refused("AccessDenied", "Access Denied")
    if not re.fullmatch(r"[A-Za-z0-9+/]{22}==", fields.get("content-md5", f"{'A' * 22}==")):
        raise AwsError("InvalidDigest", "The Content-MD5 you specified was invalid.")
    entry = objects.find(*_place(http)) if http.method in {"GET", "HEAD"} and not http.query else None
    if entry is None:
        return
    if getattr(entry, "customer_key", "") != fields.get(_CUSTOMER_KEY, ""):
        raise AwsError(
            "InvalidRequest",
            "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve "
            "the object.",
        )
    modified = entry.last_modified.replace(microsecond=0, tzinfo=timezone.utc).timestamp()
    if "if-match" not in fields and modified > _seconds(fields.get("if-unmodified-since", "")):
        raise AwsError("PreconditionFailed", "At least one of the pre-conditions you specified did not hold", 412)


def note(http: HttpRequest, answer: Answer, objects: Objects) -> None:
    """Remember the customer's key that an object was put with (SSE-C): moto encrypts nothing, and would hand it out to anybody."""
    entry = objects.find(*_place(http)) if _CUSTOMER_KEY in http.fields and answer.status == 200 else None
    if entry is not None and http.method == "PUT":
        entry.customer_key = http.fields[_CUSTOMER_KEY]


def _place(http: HttpRequest) -> tuple[str, str]:
    bucket, _, key = unquote(http.raw_path).removeprefix("/").partition("/")
    return bucket, key


def _seconds(text: str) -> float:
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError:
        return float("inf")  # a date that is none is no condition
