"""The operations on uploads in parts, from CreateMultipartUpload on.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Final

from ..errors import AwsError
from ..http.response import Answer
from . import markup
from . import request as common
from .object_store import Content
from .request import S3Request

if TYPE_CHECKING:
    from pathlib import Path

    from ..state.store import StoredUpload
    from .object_store import ObjectStore

_PART: Final = 5 * 2**20  # the least a part but the last may have
_PARTS: Final = 10_000


class Uploads:
    """``answer`` takes requests with ``uploads`` or ``uploadId`` in their query, for an object in a bucket that exists."""

    def __init__(self, objects: ObjectStore, spool: Path) -> None:
        self._objects = objects
        self._spool = spool

    def answer(self, request: S3Request) -> Answer:
        """Answer a request on an upload. Raises AwsError."""
        if "uploads" in request.names:
            if request.method != "POST":
                raise AwsError("MethodNotAllowed", "The specified method is not allowed against this resource.", 405)
            common.check_grants(request.headers)
            begun = self._objects.begin_upload(request.bucket, request.key, common.kept_headers(request.headers))
            facts = markup.fields([("Bucket", request.bucket), ("Key", request.key), ("UploadId", begun.id)])
            return common.xml(
                markup.document("InitiateMultipartUploadResult", facts), *common.encryption(begun.headers)
            )
        upload = next(
            (one for one in self._objects.uploads(request.bucket) if one.id == request.names["uploadId"]), None
        )
        if upload is None or upload.key != request.key:
            raise AwsError(
                "NoSuchUpload",
                "The specified multipart upload does not exist. The upload ID might be invalid, or the multipart upload "
                "might have been aborted or completed.",
                404,
            )
        if request.method == "PUT":
            return self._put_part(request, upload)
        if request.method == "POST":
            return self._complete(request, upload)
        if request.method == "DELETE":
            self._objects.abort_upload(upload.id)
            return Answer(204, (), b"")
        return self._list(request, upload)

    def _list(self, request: S3Request, upload: StoredUpload) -> Answer:
        parts = self._objects.parts(upload.id)
        after = common.whole_number(request.names.get("part-number-marker"), "part-number-marker", 0)
        limit = min(common.whole_number(request.names.get("max-parts"), "max-parts", common.PAGE), common.PAGE)
        shown = [part for part in parts if part.number > after][:limit]
        last = shown[-1].number if shown else after
        more = bool(parts) and parts[-1].number > last
        marks = [
            ("PartNumberMarker", after),
            ("NextPartNumberMarker", last),
            ("MaxParts", limit),
            ("IsTruncated", more),
        ]
        return common.xml(markup.part_list(upload, shown, marks))

    def _put_part(self, request: S3Request, upload: StoredUpload) -> Answer:
        number = common.whole_number(request.names.get("partNumber"), "partNumber", 0)
        if not 1 <= number <= _PARTS:
            raise AwsError("InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive")
        if "x-amz-copy-source" in request.headers:
            found, bucket, key = common.find_source(self._objects, request)
            first, length = common.span(request.headers.get("x-amz-copy-source-range", ""), found.size)
            file = self._objects.piece(bucket, key, first, length)
            part = self._objects.add_part(upload.id, number, file, self._objects.digest_of(file))
            facts = markup.fields([("LastModified", markup.moment(part.modified)), ("ETag", markup.quoted(part.etag))])
            return common.xml(markup.document("CopyPartResult", facts))
        body, sums = common.content_of(request, self._spool)
        etag = body.digest("md5").hex()
        part = self._objects.add_part(upload.id, number, self._objects.take(body), etag)
        return Answer(200, (("ETag", markup.quoted(part.etag)), *sums.items()), b"")

    def _complete(self, request: S3Request, upload: StoredUpload) -> Answer:
        root = markup.read(request.body.read())
        wanted = [
            (
                common.whole_number(node.findtext("PartNumber"), "PartNumber", 0),
                (node.findtext("ETag") or "").strip('"'),
            )
            for node in root.iter("Part")
        ]
        if not wanted:
            raise markup.malformed()
        if [number for number, _ in wanted] != sorted({number for number, _ in wanted}):
            raise AwsError("InvalidPartOrder", "The list of parts was not in ascending order.")
        known = {part.number: part for part in self._objects.parts(upload.id)}
        for number, etag in wanted:
            if number not in known or known[number].etag != etag:
                raise AwsError("InvalidPart", "One or more of the specified parts could not be found.")
        chosen = [known[number] for number, _ in wanted]
        if any(part.size < _PART for part in chosen[:-1]):
            raise AwsError("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
        check = partial(common.check_conditions, request)
        check(self._objects.find(request.bucket, request.key))
        whole = _md5_of([bytes.fromhex(part.etag) for part in chosen])
        entry = self._objects.appear(
            request.bucket,
            request.key,
            Content(self._objects.join([part.file for part in chosen]), f"{whole}-{len(chosen)}", upload.headers),
            upload=upload.id,
            check=check,
        )
        facts = [("Location", f"/{request.bucket}/{request.key}"), ("Bucket", request.bucket), ("Key", request.key)]
        answer = markup.fields([*facts, ("ETag", markup.quoted(entry.etag))])
        return common.xml(markup.document("CompleteMultipartUploadResult", answer), *common.encryption(entry.headers))


def _md5_of(parts: list[bytes]) -> str:
    return hashlib.md5(b"".join(parts), usedforsecurity=False).hexdigest()
