"""S3's XML: answers written, requests read.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations.html
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from ...core.specs.snapshot import EMULATED_ACCOUNT
from ..errors import AwsError

if TYPE_CHECKING:
    from ..state.store import StoredObject, StoredPart, StoredUpload

_OWNER = f"<ID>{EMULATED_ACCOUNT}</ID><DisplayName>sm_trn</DisplayName>"
Pairs = Iterable[tuple[str, object]]


def document(root: str, parts: str) -> bytes:
    namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{namespace}">{parts}</{root}>'.encode()


def fields(pairs: Pairs) -> str:
    return "".join(f"<{name}>{_text(value)}</{name}>" for name, value in pairs if value is not None)


def listing(
    facts: Pairs, entries: Sequence[StoredObject], groups: Sequence[str], *, encoded: bool, owner: bool
) -> bytes:
    """ListBucketResult, for either version of the operation."""
    parts = [fields(facts)]
    for entry in entries:
        row: list[tuple[str, object]] = [
            ("Key", name(entry.key, encoded=encoded)),
            ("LastModified", moment(entry.modified)),
            ("ETag", f'"{entry.etag}"'),
            ("Size", entry.size),
            ("StorageClass", entry.headers.get("x-amz-storage-class", "STANDARD")),
        ]
        parts.append(f"<Contents>{fields(row)}{f'<Owner>{_OWNER}</Owner>' if owner else ''}</Contents>")
    parts += [
        f"<CommonPrefixes>{fields([('Prefix', name(group, encoded=encoded))])}</CommonPrefixes>" for group in groups
    ]
    return document("ListBucketResult", "".join(parts))


def upload_list(bucket: str, uploads: Sequence[StoredUpload], *, encoded: bool) -> bytes:
    rows = []
    for one in uploads:
        row = [("Key", name(one.key, encoded=encoded)), ("UploadId", one.id), ("Initiated", moment(one.started))]
        people = f"<Initiator>{_OWNER}</Initiator><Owner>{_OWNER}</Owner>"
        rows.append(f"<Upload>{fields([*row, ('StorageClass', 'STANDARD')])}{people}</Upload>")
    facts = [
        ("Bucket", bucket),
        ("MaxUploads", 1000),
        ("IsTruncated", "false"),
        ("EncodingType", "url" if encoded else None),
    ]
    return document("ListMultipartUploadsResult", fields(facts) + "".join(rows))


def part_list(upload: StoredUpload, parts: Sequence[StoredPart], facts: Pairs) -> bytes:
    head = fields([("Bucket", upload.bucket), ("Key", upload.key), ("UploadId", upload.id), *facts])
    rows = []
    for part in parts:
        row = [("PartNumber", part.number), ("LastModified", moment(part.modified)), ("Size", part.size)]
        rows.append(f"<Part>{fields([*row, ('ETag', quoted(part.etag))])}</Part>")
    end = f"<Owner>{_OWNER}</Owner><StorageClass>STANDARD</StorageClass>"
    return document("ListPartsResult", f"{head}{''.join(rows)}{end}")


def deleted(keys: Sequence[str], *, quiet: bool) -> bytes:
    rows = "" if quiet else "".join(f"<Deleted>{fields([('Key', key)])}</Deleted>" for key in keys)
    return document("DeleteResult", rows)


def tags(pairs: Mapping[str, str]) -> bytes:
    rows = "".join(f"<Tag>{fields([('Key', key), ('Value', value)])}</Tag>" for key, value in pairs.items())
    return document("Tagging", f"<TagSet>{rows}</TagSet>")


def owners_acl() -> bytes:
    kind = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"'
    grant = f"<Grant><Grantee {kind}>{_OWNER}</Grantee><Permission>FULL_CONTROL</Permission></Grant>"
    return document("AccessControlPolicy", f"<Owner>{_OWNER}</Owner><AccessControlList>{grant}</AccessControlList>")


def read(body: bytes) -> ElementTree.Element:
    """Raises the service's MalformedXML. A document type, which entities would need, is refused."""
    if b"<!DOCTYPE" in body.upper():
        raise malformed()
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - a signed request of the owner, without a document type
    except ElementTree.ParseError as error:
        raise malformed() from error
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
    return root


def moment(epoch: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(epoch)) + f".{int(epoch * 1000) % 1000:03d}Z"


def name(key: str, *, encoded: bool) -> str:
    return quote(key, safe="/-_.~*") if encoded else key


def quoted(etag: str) -> str:
    return f'"{etag}"'


def _text(value: object) -> str:
    """Escaped; a character that XML cannot hold becomes its reference, as the service writes it."""
    text = escape(str(value).lower() if isinstance(value, bool) else str(value), {"\r": "&#13;"})
    return "".join(c if c >= " " or c in "\n\t" else f"&#{ord(c)};" for c in text)


def malformed() -> AwsError:
    return AwsError(
        "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema"
    )
