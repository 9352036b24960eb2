"""These functions answer S3's operations on objects. moto answers for the settings of buckets.

One version of each object, no access lists but the owner's: what is not kept is refused, not nodded through.
"""

from __future__ import annotations

import base64
from email.utils import formatdate
from functools import partial
from typing import IO, TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from ..errors import AwsError
from ..http.response import Answer
from . import markup
from . import request as common
from .object_store import Content
from .request import S3Request
from .uploads import Uploads

if TYPE_CHECKING:
    from pathlib import Path

    from ..state.store import StoredObject
    from .object_store import ObjectStore

_SHOWN_ONLY_AS_COUNT: Final = "x-amz-tagging"
# Of an object, what needs versions, locks or lists that are not kept here.
_REFUSED: Final = frozenset({"legal-hold", "retention", "restore", "select", "torrent", "versionId", "attributes"})
_OF_BUCKETS_REFUSED: Final = frozenset({"versions"})
# What a copy does not take over from its source, but from the request.
_PLACING: Final = frozenset(
    {"x-amz-storage-class", "x-amz-website-redirect-location"}
    | {"x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id"}
)
_BLOCK: Final = 2**20


class S3Api:
    """Answers for objects, and for buckets as far as objects are in them."""

    def __init__(self, objects: ObjectStore, spool: Path) -> None:
        self._objects = objects
        self._spool = spool
        self._uploads = Uploads(objects, spool)

    def answer(self, request: S3Request) -> Answer | None:
        """Answer a request; None for what is moto's: the settings of buckets. Raises AwsError."""
        if not request.bucket:
            return None
        if not request.key:
            return self._of_bucket(request)
        common.check_bucket(self._objects, request.bucket)
        if refused := _REFUSED & set(request.names):
            raise common.not_kept(f"{', '.join(sorted(refused))} of objects")
        if "tagging" in request.names:
            return self._tagging(request)
        if "acl" in request.names:
            return self._acl(request)
        if "uploadId" in request.names or "uploads" in request.names:
            return self._uploads.answer(request)
        methods = {"GET": self._get, "HEAD": self._get, "PUT": self._put, "DELETE": self._delete}
        if request.method not in methods:
            raise AwsError("MethodNotAllowed", "The specified method is not allowed against this resource.", 405)
        return methods[request.method](request)

    # --- a bucket ---

    def _of_bucket(self, request: S3Request) -> Answer | None:
        names = set(request.names)
        if refused := _OF_BUCKETS_REFUSED & names:
            raise common.not_kept(f"{', '.join(sorted(refused))} of buckets")
        if request.method == "PUT" and not names:
            common.check_bucket_name(request.bucket)
        if request.method == "PUT" and "versioning" in names:
            raise common.not_kept("more than one version of an object")
        if request.method == "POST" and "delete" in names:
            return self._delete_many(request)
        if request.method == "POST":
            raise common.not_kept("POST of a form")
        if request.method == "DELETE" and not names and self._objects.keys(request.bucket, ""):
            raise AwsError("BucketNotEmpty", "The bucket you tried to delete is not empty", 409)
        if request.method != "GET":
            return None
        plain = {"list-type", "prefix", "delimiter", "marker", "max-keys", "encoding-type", "continuation-token"}
        if names <= plain | {"start-after", "fetch-owner"}:
            common.check_bucket(self._objects, request.bucket)
            return self._list(request)
        if "uploads" in names:
            common.check_bucket(self._objects, request.bucket)
            encoded = request.names.get("encoding-type") == "url"
            return common.xml(
                markup.upload_list(request.bucket, self._objects.uploads(request.bucket), encoded=encoded)
            )
        return None

    def _list(self, request: S3Request) -> Answer:
        names = request.names
        second = names.get("list-type") == "2"
        encoded = names.get("encoding-type") == "url"
        limit = common.whole_number(names.get("max-keys"), "max-keys", common.PAGE)
        token = names.get("continuation-token")
        after = _opened(token) if token is not None else names.get("start-after" if second else "marker", "")
        prefix, delimiter = names.get("prefix", ""), names.get("delimiter", "")
        entries, groups, last = (
            self._objects.page(request.bucket, prefix=prefix, delimiter=delimiter, after=after, limit=limit)
            if limit
            else ([], [], "")
        )
        facts: list[tuple[str, object]] = [
            ("Name", request.bucket),
            ("Prefix", markup.name(prefix, encoded=encoded)),
            ("Delimiter", markup.name(delimiter, encoded=encoded) or None),
            ("MaxKeys", limit),
            ("EncodingType", "url" if encoded else None),
            ("IsTruncated", bool(last)),
        ]
        if second:
            given = names.get("start-after")
            facts += [
                ("KeyCount", len(entries) + len(groups)),
                ("StartAfter", None if given is None else markup.name(given, encoded=encoded)),
                ("ContinuationToken", token),
                ("NextContinuationToken", _closed(last) if last else None),
            ]
        else:
            facts += [
                ("Marker", markup.name(after, encoded=encoded)),
                ("NextMarker", markup.name(last, encoded=encoded) if last and delimiter else None),
            ]
        owner = not second or names.get("fetch-owner") == "true"
        return common.xml(markup.listing(facts, entries, groups, encoded=encoded, owner=owner))

    def _delete_many(self, request: S3Request) -> Answer:
        common.check_bucket(self._objects, request.bucket)
        common.checked(request.body, request)
        root = markup.read(request.body.read())
        keys = [node.findtext("Key") or "" for node in root.iter("Object")]
        if not 0 < len(keys) <= common.PAGE:
            raise markup.malformed()
        for key in keys:
            self._objects.delete(request.bucket, key)
        return common.xml(markup.deleted(keys, quiet=root.findtext("Quiet") == "true"))

    # --- an object ---

    def _get(self, request: S3Request) -> Answer:
        try:
            entry, content = self._objects.open(request.bucket, request.key)
        except KeyError as error:
            raise common.no_key() from error
        try:
            headers = _headers_of(entry, request)
            _check_conditions(request, entry)
            part = request.headers.get("range", "")
            first, length = common.span(part, entry.size)
        except AwsError as fault:
            content.close()
            if fault.status == 304:
                return Answer(304, (("ETag", markup.quoted(entry.etag)),), b"")
            raise
        status = 206 if common.RANGE.fullmatch(part) and length else 200
        if status == 206:
            headers.append(("Content-Range", f"bytes {first}-{first + length - 1}/{entry.size}"))
        elif request.headers.get("x-amz-checksum-mode", "").upper() == "ENABLED":
            headers += [(name, entry.headers[name]) for name in common.SUMS if name in entry.headers]
        headers.append(("Content-Length", str(length)))
        if request.method == "HEAD":
            content.close()
            return Answer(status, tuple(headers), b"", of_an_object=True)
        content.seek(first)
        return Answer(status, tuple(headers), _Part(content, length), of_an_object=True)

    def _put(self, request: S3Request) -> Answer:
        common.check_grants(request.headers)
        common.check_object_tags(parse_qsl(request.headers.get(_SHOWN_ONLY_AS_COUNT, ""), keep_blank_values=True))
        check = partial(common.check_conditions, request)
        check(self._objects.find(request.bucket, request.key))
        if "x-amz-copy-source" in request.headers:
            return self._copy(request)
        body, sums = common.content_of(request, self._spool)
        etag, headers = body.digest("md5").hex(), common.kept_headers(request.headers) | sums
        entry = self._objects.appear(
            request.bucket, request.key, Content(self._objects.take(body), etag, headers), check=check
        )
        return Answer(200, (("ETag", markup.quoted(entry.etag)), *common.encryption(entry.headers), *sums.items()), b"")

    def _copy(self, request: S3Request) -> Answer:
        found, bucket, key = common.find_source(self._objects, request)
        given = common.kept_headers(request.headers)
        placed = {name: given[name] for name in _PLACING & given.keys()}
        replaced = request.headers.get("x-amz-metadata-directive") == "REPLACE"
        if (bucket, key) == (request.bucket, request.key) and not replaced and not placed:
            raise AwsError(
                "InvalidRequest",
                "This copy request is illegal because it is trying to copy an object to itself without changing the object's "
                "metadata, storage class, website redirect location or encryption attributes.",
            )
        kept = {name: value for name, value in found.headers.items() if name not in _PLACING}
        tags = request.headers if request.headers.get("x-amz-tagging-directive") == "REPLACE" else kept
        sums: dict[str, str] = {name: kept[name] for name in common.SUMS if name in kept}
        headers = {**(given if replaced else kept), **placed, **sums}
        headers[_SHOWN_ONLY_AS_COUNT] = tags.get(_SHOWN_ONLY_AS_COUNT, "")  # none are none
        file = self._objects.piece(bucket, key, 0, found.size)
        etag, check = self._objects.digest_of(file), partial(common.check_conditions, request)
        entry = self._objects.appear(request.bucket, request.key, Content(file, etag, headers), check=check)
        said = [(f"Checksum{name.rpartition('-')[2].upper()}", value) for name, value in sums.items()]
        facts = [("LastModified", markup.moment(entry.modified)), ("ETag", markup.quoted(entry.etag)), *said]
        return common.xml(markup.document("CopyObjectResult", markup.fields(facts)), *common.encryption(entry.headers))

    def _delete(self, request: S3Request) -> Answer:
        self._objects.delete(request.bucket, request.key, partial(common.check_conditions, request))
        return Answer(204, (), b"")

    def _acl(self, request: S3Request) -> Answer:
        if self._objects.find(request.bucket, request.key) is None:
            raise common.no_key()
        if request.method == "GET":
            return common.xml(markup.owners_acl())
        if request.method != "PUT" or request.headers.get("x-amz-acl") != common.OWNERS:
            common.check_grants({**request.headers, "x-amz-acl": "listed"})
        return Answer(200, (), b"")

    def _tagging(self, request: S3Request) -> Answer:
        entry = self._objects.find(request.bucket, request.key)
        if entry is None:
            raise common.no_key()
        if request.method == "GET":
            return common.xml(
                markup.tags(dict(parse_qsl(entry.headers.get("x-amz-tagging", ""), keep_blank_values=True)))
            )
        headers = {name: value for name, value in entry.headers.items() if name != "x-amz-tagging"}
        if request.method == "PUT":
            root = markup.read(request.body.read())
            pairs = [(node.findtext("Key") or "", node.findtext("Value") or "") for node in root.iter("Tag")]
            common.check_object_tags(pairs)
            headers["x-amz-tagging"] = "&".join(f"{_query(key)}={_query(value)}" for key, value in pairs)
        self._objects.change_headers(request.bucket, request.key, headers)
        return Answer(200 if request.method == "PUT" else 204, (), b"")


class _Part:
    """So many bytes of an open file, block by block; closed at the end, however it comes."""

    def __init__(self, content: IO[bytes], length: int) -> None:
        self._content = content
        self._left = length

    def __iter__(self) -> _Part:
        return self

    def __len__(self) -> int:
        return self._left

    def __next__(self) -> bytes:
        block = self._content.read(min(self._left, _BLOCK))
        if not block:
            self.close()
            raise StopIteration
        self._left -= len(block)
        return block

    def close(self) -> None:
        self._content.close()


def _headers_of(entry: StoredObject, request: S3Request) -> list[tuple[str, str]]:
    hidden = {*common.SUMS, _SHOWN_ONLY_AS_COUNT}
    found = {name: value for name, value in entry.headers.items() if name not in hidden}
    found.setdefault("content-type", "binary/octet-stream")
    for name in request.names:
        if name.startswith("response-") and (header := name.removeprefix("response-")) in common.STORED_HEADERS:
            found[header] = " ".join(request.names[name].split())
    tagged = len(parse_qsl(entry.headers.get(_SHOWN_ONLY_AS_COUNT, ""), keep_blank_values=True))
    if tagged:
        found["x-amz-tagging-count"] = str(tagged)
    modified = formatdate(entry.modified, usegmt=True)
    return [
        *found.items(),
        ("ETag", markup.quoted(entry.etag)),
        ("Last-Modified", modified),
        ("Accept-Ranges", "bytes"),
    ]


def _check_conditions(request: S3Request, entry: StoredObject) -> None:
    same, other = request.headers.get("if-match"), request.headers.get("if-none-match")
    if same is not None and same.strip('"') not in {entry.etag, "*"}:
        raise common.unmet()
    if other is not None and other.strip('"') in {entry.etag, "*"}:
        raise AwsError("NotModified", "Not Modified", 304)


def _closed(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _opened(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token).decode()
    except ValueError as error:
        raise AwsError("InvalidArgument", "The continuation token provided is incorrect") from error


def _query(text: str) -> str:
    return markup.name(text, encoded=True).replace("/", "%2F")
