"""Sources and data into S3, addressed by their content: the same bytes go up once, whatever the job is called."""

from __future__ import annotations

import gzip
import hashlib
import io
import posixpath
import tarfile
from collections.abc import Sequence
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

from ..archives import Member
from ..errors import CloudError, NotConfigured
from ..ports import StoredObjects
from ..preflight.packing import IGNORE_FILE, SOURCE_FILES, packed_files, packing
from ..specs.data import bucket_and_key
from ..specs.snapshot import parse_time
from .backend import make_client
from .errors import as_cloud_error, trouble

IN_ONE_BYTES = 8_000_000
PREFIX = "sm_trn"
SIZE_CAP_BYTES = 500_000_000
TEXT_CAP_BYTES = 4_000_000
LISTED = 10_000
SMALL = 4_096  # bytes: an archive that is larger holds a file


def pack(folder: Path, dependencies: Sequence[str] = (), *, allow_secrets: bool = False) -> bytes:
    """A tar.gz whose bytes depend on names, modes' execute bit and contents alone: no time, no owner, no order.

    ``dependencies`` lie beside what ``folder`` holds, and win where two have one name, as SDK v2's do when they are unpacked.
    Raises NotConfigured for more than code, for files whose names look like keys or passwords, and for a dependency that is not there.
    """
    for path in dependencies:
        if not Path(path).exists() or posixpath.basename(path) == "..":
            raise NotConfigured(
                f"dependencies: got {path!r}, wanted a file or a folder that is there, by its name. Nothing was uploaded"
            )
    members = packed_files(folder, dependencies)
    if len(members) > SOURCE_FILES:
        raise NotConfigured(
            f"source_dir: got more than {SOURCE_FILES:,} files in {str(folder)!r}, wanted a folder of code; name the folder of "
            f"the script, or leave out the rest in {IGNORE_FILE}. Nothing was uploaded"
        )
    secrets = [name for name, file in members.items() if file.secret]
    if secrets and not allow_secrets:
        names = ", ".join(map(repr, secrets[:3]))
        raise NotConfigured(
            f"source_dir: got {names} in {str(folder)!r}, which look like keys or passwords, wanted code; leave them out in "
            f"{IGNORE_FILE}, or say there with !/name that one is meant. Nothing was uploaded"
        )
    total = sum(file.path.stat().st_size for file in members.values())
    if total > SIZE_CAP_BYTES:
        raise NotConfigured(
            f"source_dir: got {total:,} bytes in {str(folder)!r}, wanted code of at most {SIZE_CAP_BYTES:,}; "
            f"move data to an input channel, or name it in {IGNORE_FILE}"
        )
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in sorted(members):
            file = members[name].path
            body = file.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            entry.mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
            tar.addfile(entry, io.BytesIO(body))
    return packed.getvalue()


def source_digest(folder: Path, dependencies: Sequence[str] = ()) -> str:
    """The hash of what is packed, which is in the URI of the source."""
    return hashlib.sha256(pack(folder, dependencies, allow_secrets=True)).hexdigest()


def _digest(file: Path) -> bytes:
    digest = hashlib.sha256()
    with file.open("rb") as body:
        while part := body.read(1 << 20):
            digest.update(part)
    return digest.digest()


class S3Storage:
    """The ``Storage`` port over one bucket."""

    def __init__(self, session: boto3.Session, bucket: str) -> None:
        self._s3 = make_client(session, "s3")
        self._bucket = bucket

    def put_source(self, folder: str, dependencies: Sequence[str] = (), *, allow_secrets: bool = False) -> str:
        """Upload the folder as one tar unless the same content is there; returns its S3 URI. Raises as ``pack``."""
        if folder.startswith("s3://"):
            return folder
        body = pack(Path(folder), dependencies, allow_secrets=allow_secrets)
        key = f"{PREFIX}/source/{hashlib.sha256(body).hexdigest()}/sourcedir.tar.gz"
        self._put(key, body)
        return f"s3://{self._bucket}/{key}"

    def put_input(self, path: str) -> str:
        """Upload a local file or folder for a channel; an S3 URI is returned as it is."""
        if path.startswith("s3://"):
            return path
        root = Path(path)
        files = {root.name: root} if root.is_file() else {name: each.path for name, each in packing(root).items()}
        whole = hashlib.sha256()
        for name, file in files.items():
            whole.update(f"{name}\0".encode())
            whole.update(_digest(file))
        prefix = f"{PREFIX}/inputs/{whole.hexdigest()}"
        for name, file in files.items():
            key = f"{prefix}/{name}"
            if file.stat().st_size <= IN_ONE_BYTES:
                self._put(key, file.read_bytes())
            elif not self._exists(key):  # in parts that are never all in memory; Ctrl-C takes them back
                with as_cloud_error("PutObject", f"s3://{self._bucket}/{key}"), file.open("rb") as body:
                    self._s3.upload_fileobj(body, self._bucket, key)
        return f"s3://{self._bucket}/{prefix}"

    def put_text(self, key: str, text: str) -> str:
        """Write a small text, over what was there; returns its S3 URI."""
        with as_cloud_error("PutObject", f"s3://{self._bucket}/{key}"):
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=text.encode())
        return f"s3://{self._bucket}/{key}"

    def fetch_text(self, uri: str) -> str | None:
        """The text at an S3 URI; None when there is none, or none that this identity may read."""
        bucket, key = bucket_and_key(uri) or (uri, "")
        try:
            with as_cloud_error("GetObject", uri):
                body: bytes = self._s3.get_object(Bucket=bucket, Key=key)["Body"].read(TEXT_CAP_BYTES)
        except CloudError as error:
            if _status(error) in {301, 403, 404}:  # 301: a bucket of another region, where nothing of this session lies
                return None
            raise
        return body.decode("utf-8", errors="replace")

    def fetch_objects(self, uri: str) -> StoredObjects | None:
        """Return the objects under an S3 URI from a listing alone. None where this identity may not look.

        Looks at 10,000 objects at most: a folder of checkpoints that holds more is not pruned, and its count says so.
        """
        bucket, place = bucket_and_key(uri) or (uri, "")
        prefix = f"{place.rstrip('/')}/" if place else ""
        count, size, newest = 0, 0, None
        try:
            with as_cloud_error("ListObjectsV2", uri):
                for page in self._s3.get_paginator("list_objects_v2").paginate(
                    Bucket=bucket, Prefix=prefix, PaginationConfig={"MaxItems": LISTED}
                ):
                    for item in page.get("Contents", ()):
                        count, size = count + 1, size + item["Size"]
                        newest = max(newest or item["LastModified"], item["LastModified"])
        except CloudError as error:
            if trouble(error) is None:
                return None
            raise
        return StoredObjects(uri=uri, count=count, size_bytes=size, newest=parse_time(newest))

    def is_empty(self, uri: str) -> bool | None:
        """Return True if an archive or a prefix holds no file; None where this identity may not look. Only small archives are read."""
        bucket, key = bucket_and_key(uri) or (uri, "")
        if not key.endswith(".tar.gz"):
            stored = self.fetch_objects(uri)
            return None if stored is None else stored.count == 0
        try:
            with as_cloud_error("GetObject", uri):
                body = self._s3.get_object(Bucket=bucket, Key=key)
                if body["ContentLength"] > SMALL:
                    return False
                with tarfile.open(fileobj=io.BytesIO(body["Body"].read()), mode="r:gz", tarinfo=Member) as tar:
                    return not any(member.isfile() for member in tar)
        except (CloudError, tarfile.TarError, EOFError, OSError):
            return None

    def _put(self, key: str, body: bytes) -> None:
        if not self._exists(key):
            with as_cloud_error("PutObject", f"s3://{self._bucket}/{key}"):
                self._s3.put_object(Bucket=self._bucket, Key=key, Body=body)

    def _exists(self, key: str) -> bool:
        try:
            with as_cloud_error("HeadObject", f"s3://{self._bucket}/{key}"):
                self._s3.head_object(Bucket=self._bucket, Key=key)
        except CloudError as error:
            if _status(error) in {403, 404}:  # 403: the identity may put but not look
                return False
            raise
        return True


def _status(error: CloudError) -> int | None:
    """The HTTP status that S3 refused with."""
    cause = error.__cause__
    if not isinstance(cause, ClientError):
        return None
    status: int | None = cause.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status
