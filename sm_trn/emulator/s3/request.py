"""A request to S3, read once, and the answers that several operations share.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote_to_bytes

from ..errors import AwsError
from ..http.body import Spool
from ..http.response import Answer
from . import chunked

if TYPE_CHECKING:
    from pathlib import Path

    from ..http.request import HttpRequest
    from ..state.store import StoredObject
    from .object_store import ObjectStore

STORED_HEADERS: Final = frozenset(
    {"content-type", "content-encoding", "content-disposition", "cache-control", "content-language", "expires"}
    | {"x-amz-storage-class", "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id"}
    | {"x-amz-tagging", "x-amz-website-redirect-location"}
)
SUMS: Final = ("x-amz-checksum-crc32", "x-amz-checksum-sha1", "x-amz-checksum-sha256")
PAGE: Final = 1000
OWNERS: Final = "bucket-owner-full-control"  # the one access list that says nothing
_OBJECT_TAGS: Final = 10
# Parts of a presigned query, and the operation's name that some clients add: none of them asks for anything.
_NO_QUESTION: Final = frozenset(
    {"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature"}
    | {"X-Amz-Security-Token", "AWSAccessKeyId", "Signature", "Expires", "x-amz-security-token", "x-id"}
)
RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")
_BUCKET: Final = re.compile(r"(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS: Final = re.compile(r"\d+\.\d+\.\d+\.\d+")
_LONGEST_KEY: Final = 1024  # bytes: https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html


# What a copy may want of its source, and when that holds; S3 knows whole seconds.
_CONDITIONS: Final[Mapping[str, Callable[[str, StoredObject], bool]]] = {
    "match": lambda text, found: text.strip('"') in {found.etag, "*"},
    "none-match": lambda text, found: text.strip('"') not in {found.etag, "*"},
    "modified-since": lambda text, found: int(found.modified) > _date(text),
    "unmodified-since": lambda text, found: int(found.modified) <= _date(text),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Request:
    """One admitted request. ``names`` is the query, ``headers`` the headers with names in lower case."""

    method: str
    bucket: str
    key: str
    names: Mapping[str, str]
    headers: Mapping[str, str]
    body: Spool


def parse_request(http: HttpRequest, body: Spool) -> S3Request:
    """Read what S3 is asked. Raises AwsError for a path that names no object: not UTF-8, with a NUL, or too long."""
    try:
        name = unquote_to_bytes(http.raw_path).decode("utf-8").removeprefix("/")
    except UnicodeDecodeError as error:
        raise AwsError("InvalidURI", "Couldn't parse the specified URI.") from error
    bucket, _, key = name.partition("/")
    if "\0" in name:
        raise AwsError("InvalidURI", "Couldn't parse the specified URI: a key cannot hold NUL.")
    if len(key.encode()) > _LONGEST_KEY:
        raise AwsError("KeyTooLongError", "Your key is too long")
    headers = {header: " ".join(value.split()) for header, value in http.headers}
    names = {name: value for name, value in parse_qsl(http.query, keep_blank_values=True) if name not in _NO_QUESTION}
    for header in ("content-type", *(name for name in names if name.startswith("x-amz-"))):
        if header in names:  # a presigned URL may hold what is otherwise sent as headers
            headers.setdefault(header, names.pop(header))
    return S3Request(method=http.method, bucket=bucket, key=key, names=names, headers=headers, body=body)


def check_bucket(objects: ObjectStore, bucket: str) -> None:
    """Raise AwsError where the bucket does not exist."""
    if not objects.has_bucket(bucket):
        raise AwsError("NoSuchBucket", "The specified bucket does not exist", 404)


def check_conditions(request: S3Request, found: StoredObject | None) -> None:
    """Raise AwsError where what is there is not what the request would write over or delete.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
    """
    wanted = request.headers.get("if-match")
    if request.headers.get("if-none-match") == "*" and found is not None:
        raise unmet()
    if wanted is not None and found is None:
        raise no_key()
    if wanted is not None and found is not None and wanted.strip('"') not in {found.etag, "*"}:
        raise unmet()


def check_bucket_name(name: str) -> None:
    """Raise AwsError for what no new bucket can be called.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
    """
    if (
        not _BUCKET.fullmatch(name)
        or _ADDRESS.fullmatch(name)
        or name.startswith(("xn--", "sthree-", "amzn-s3-demo-"))
        or name.endswith(("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3"))
    ):
        raise AwsError("InvalidBucketName", "The specified bucket is not valid.")


def find_source(objects: ObjectStore, request: S3Request) -> tuple[StoredObject, str, str]:
    """Return what a copy is made of. Raises AwsError where it does not exist, or is not as the copy wants it."""
    text, _, version = request.headers["x-amz-copy-source"].partition("?versionId=")
    if version not in {"", "null"}:
        raise not_kept("more than one version of an object")
    try:
        name = unquote_to_bytes(text.partition("?")[0]).decode("utf-8").removeprefix("/")
    except UnicodeDecodeError as error:
        raise AwsError("InvalidArgument", "Invalid copy source encoding.") from error
    bucket, _, key = name.partition("/")
    check_bucket(objects, bucket)
    found = objects.find(bucket, key)
    if found is None:
        raise no_key()
    wanted = {condition: request.headers.get(f"x-amz-copy-source-if-{condition}") for condition in _CONDITIONS}
    if any(
        text is not None and not holds(text, found)
        for text, holds in zip(wanted.values(), _CONDITIONS.values(), strict=True)
    ):
        raise unmet()
    return found, bucket, key


def check_grants(headers: Mapping[str, str]) -> None:
    """Raise AwsError for access lists: buckets are their owner's, as all are that were made at AWS since April 2023 and not changed.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/about-object-ownership.html
    """
    listed = headers.get("x-amz-acl", OWNERS) != OWNERS or any(name.startswith("x-amz-grant-") for name in headers)
    if listed:
        raise AwsError("AccessControlListNotSupported", "The bucket does not allow ACLs")


def check_object_tags(pairs: Sequence[tuple[str, str]]) -> None:
    """Raise AwsError for tags that no object takes: https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-tagging.html"""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise AwsError("InvalidTag", "Cannot provide multiple Tags with the same key")
    if any(key.lower().startswith("aws:") for key in keys):
        raise AwsError("InvalidTag", "System tags cannot be added/updated by requester")
    if len(keys) > _OBJECT_TAGS:
        raise AwsError("BadRequest", f"Object tags cannot be greater than {_OBJECT_TAGS}")


def content_of(request: S3Request, folder: Path) -> tuple[Spool, dict[str, str]]:
    """Return the plain body, checked against every sum that came with it, and those sums that are kept."""
    if not request.headers.get("x-amz-content-sha256", "").startswith("STREAMING-"):
        return request.body, checked(request.body, request)
    plain = Spool(folder, {"md5"})
    try:
        declared = request.headers.get("x-amz-decoded-content-length", "")
        trailers = chunked.decode(request.body.file, plain, int(declared) if declared.isdecimal() else None)
        return plain, checked(plain, request, trailers)
    except BaseException:
        plain.close()
        raise


def checked(body: Spool, request: S3Request, trailers: Mapping[str, str] | None = None) -> dict[str, str]:
    given = {**request.headers, **(trailers or {})}
    if wanted := given.get("content-md5"):
        _compare(wanted, body.digest("md5"), "Content-MD5")
    kept = {}
    for name in SUMS:
        if wanted := given.get(name):
            _compare(wanted, body.digest(name.rpartition("-")[2]), name)
            kept[name] = wanted
    body.rewind()
    return kept


def span(text: str, size: int) -> tuple[int, int]:
    """Return first byte and length. A range that is none is as good as absent; raises AwsError for one beyond the end."""
    match = RANGE.fullmatch(text)
    if match is None or match[0] == "bytes=-":
        return 0, size
    if match[1]:
        first, last = int(match[1]), min(int(match[2]) if match[2] else size - 1, size - 1)
    else:
        first, last = max(0, size - int(match[2])), size - 1
    if first > last:
        if match[1] and match[2] and int(match[1]) > int(match[2]):
            return 0, size
        raise AwsError("InvalidRange", "The requested range is not satisfiable", 416)
    return first, last - first + 1


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what an object keeps of the headers it was sent with; aws-chunked was the way of sending, not the content."""
    found = {name: value for name, value in headers.items() if name in STORED_HEADERS or name.startswith("x-amz-meta-")}
    coding = [part.strip() for part in found.pop("content-encoding", "").split(",")]
    if left := ", ".join(part for part in coding if part and part != "aws-chunked"):
        found["content-encoding"] = left
    return found


def encryption(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in headers.items() if name.startswith("x-amz-server-side-encryption"))


def _date(text: str) -> float:
    """A header's date in epoch seconds; one that is none is as good as long ago."""
    parsed = parsedate_tz(text)
    return float(mktime_tz(parsed)) if parsed else 0.0


def _compare(wanted: str, found: bytes, name: str) -> None:
    try:
        given = base64.b64decode(wanted, validate=True)
    except binascii.Error as error:
        raise AwsError("InvalidDigest", f"The {name} you specified was invalid") from error
    if given != found:
        raise AwsError("BadDigest", f"The {name} you specified did not match the calculated checksum.")


def whole_number(text: str | None, name: str, otherwise: int) -> int:
    """Read a number of the query. Raises AwsError for a text that is none."""
    if text is None or text == "":
        return otherwise
    if not text.isdecimal() or len(text) > 9:
        raise AwsError("InvalidArgument", f"Provided {name} not an integer or within integer range")
    return min(int(text), PAGE) if name == "max-keys" else int(text)


def xml(body: bytes, *headers: tuple[str, str]) -> Answer:
    return Answer(200, (("Content-Type", "application/xml"), *headers), body)


def no_key() -> AwsError:
    return AwsError("NoSuchKey", "The specified key does not exist.", 404)


def not_kept(what: str) -> AwsError:
    return AwsError("NotImplemented", f"the emulator's S3 does not have {what}", 501)


def unmet() -> AwsError:
    return AwsError("PreconditionFailed", "At least one of the pre-conditions you specified did not hold", 412)
