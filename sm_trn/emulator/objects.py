"""S3's buckets and objects on disk: a plain file per object under ``<state>/s3``, and the index that says which.

moto answers S3's protocol; after each request that changed something we look at what it now holds and copy that out.
Runner code reads the files and writes through ``put``. It must not know of jobs. No key can name a file outside the
folder: a key that is not a harmless relative path is stored under the SHA-256 of its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sm_trn.emulator.moto_side import Answer, MotoSide
    from sm_trn.emulator.store import Store

_HARMLESS = re.compile(r"[A-Za-z0-9!_*'()@&=+$,~-][A-Za-z0-9!_.*'()@&=+$,~ -]{0,199}")
_HASHED = ".sm_trn-keys"  # begins with a dot, which no harmless segment does
_KEPT_HEADERS = ("content-type", "content-encoding", "content-disposition", "cache-control", "content-language")
# Query names of requests that change something beside an object's content, or are no object at all.
_SIDE_REQUESTS = frozenset(
    {
        "acl",
        "tagging",
        "retention",
        "legal-hold",
        "cors",
        "policy",
        "versioning",
        "lifecycle",
        "website",
        "encryption",
        "notification",
        "publicAccessBlock",
        "ownershipControls",
        "partNumber",
        "uploads",
        "restore",
        "select",
        "torrent",
    }
)


def file_for(bucket: str, key: str) -> str:
    """Where the object lives, relative to the folder of all objects. Equal names have equal files, others never."""
    segments = [bucket, *key.split("/")]
    if len(key) <= 900 and all(_HARMLESS.fullmatch(segment) for segment in segments):
        return "/".join(segments)
    return hashed_file_for(bucket, key)


def hashed_file_for(bucket: str, key: str) -> str:
    digest = hashlib.sha256(f"{bucket}/{key}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_HASHED}/{digest}"


class Objects:
    """The mirror. Reading is from files; every change goes through moto, so that clients see it too."""

    def __init__(self, root: Path, store: Store, moto: MotoSide, region: str) -> None:
        self._root = root
        self._store = store
        self._moto = moto
        self._region = region
        self._lock = threading.RLock()
        self._buckets = {name for name, _ in store.buckets()}
        self._files = {(bucket, key): file for bucket, key, file, _ in store.objects()}
        self.ready = threading.Event()

    def restore(self) -> None:
        """Give moto back what the folder holds. Whoever calls it sets ``ready``; until then reads and writes wait."""
        for name, region in self._store.buckets():
            self._create(name, region)
        for bucket, key, file, headers in self._store.objects():
            with contextlib.suppress(FileNotFoundError):
                self._put(bucket, key, (self._root / file).read_bytes(), headers)

    def create_bucket(self, name: str) -> None:
        with self._lock:
            if name not in self._buckets:
                self._create(name, self._region)
                self._remember_bucket(name, self._region)

    def has_bucket(self, name: str) -> bool:
        return name in self._buckets

    def keys(self, bucket: str, prefix: str) -> list[str]:
        with self._lock:
            return sorted(key for owner, key in self._files if owner == bucket and key.startswith(prefix))

    def path(self, bucket: str, key: str) -> Path:
        """The object's file; raises KeyError when there is none."""
        with self._lock:
            return self._root / self._files[bucket, key]

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """Write an object as a client would. Raises KeyError when the bucket does not exist."""
        self.ready.wait()
        answer = self._put(bucket, key, content, {})
        if answer.status != 200:
            raise KeyError(bucket)
        with self._lock:
            self._copy_out(bucket, key)

    def delete(self, bucket: str, key: str) -> None:
        self.ready.wait()
        self._moto.call("s3", "DELETE", f"/{bucket}/{key}")
        with self._lock:
            self._forget(bucket, key)

    def follow(self, method: str, raw_path: str, query: str, body: Iterable[bytes], region: str) -> None:
        """A client's request was answered with success: bring the folder into line with it."""
        names = parse_qs(query, keep_blank_values=True)
        bucket, _, key = unquote(raw_path).lstrip("/").partition("/")
        if method in {"GET", "HEAD"} or not bucket or _SIDE_REQUESTS & set(names):
            return
        with self._lock:
            if not key:
                self._follow_bucket(method, bucket, names, body, region)
            elif (method == "DELETE" and "uploadId" not in names) or method in {"PUT", "POST"}:
                self._copy_out(bucket, key)

    def _follow_bucket(
        self, method: str, bucket: str, names: dict[str, list[str]], body: Iterable[bytes], region: str
    ) -> None:
        if method == "PUT" and not names:
            self._remember_bucket(bucket, region)
        elif method == "DELETE" and not names:
            self._buckets.discard(bucket)
            self._store.drop_bucket(bucket)
        elif method == "POST" and "delete" in names:
            for key in _keys_of_delete(b"".join(body)):
                self._copy_out(bucket, key)

    def _remember_bucket(self, name: str, region: str) -> None:
        self._buckets.add(name)
        self._store.save_bucket(name, region)

    def _create(self, name: str, region: str) -> None:
        place = (
            f"<CreateBucketConfiguration><LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
        )
        body = b"" if region == "us-east-1" else place.encode()
        self._moto.call("s3", "PUT", f"/{name}", body=body, region=region)

    def _put(self, bucket: str, key: str, content: bytes, headers: dict[str, str]) -> Answer:
        return self._moto.call("s3", "PUT", f"/{bucket}/{key}", headers=headers, body=content)

    def _copy_out(self, bucket: str, key: str) -> None:
        answer = self._moto.call("s3", "GET", f"/{bucket}/{key}")
        if answer.status != 200:
            self._forget(bucket, key)
            return
        headers = {
            name.lower(): value
            for name, value in answer.headers
            if name.lower() in _KEPT_HEADERS or name.lower().startswith("x-amz-meta-")
        }
        file = self._write(bucket, key, answer.body)
        self._files[bucket, key] = file
        self._store.save_object(bucket, key, file, headers)

    def _write(self, bucket: str, key: str, content: bytes) -> str:
        self._root.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._root, prefix=".sm_trn-", delete=False) as fresh:
            fresh.write(content)
        file = self._files.get((bucket, key)) or file_for(bucket, key)
        try:
            _place(Path(fresh.name), self._root / file)
        except OSError:  # `a` and `a/b` are both keys, and a file name may be too long
            file = hashed_file_for(bucket, key)
            _place(Path(fresh.name), self._root / file)
        return file

    def _forget(self, bucket: str, key: str) -> None:
        file = self._files.pop((bucket, key), None)
        if file is None:
            return
        self._store.drop_object(bucket, key)
        path = self._root / file
        path.unlink(missing_ok=True)
        for folder in path.relative_to(self._root).parents:
            if folder == Path() or any((self._root / folder).iterdir()):
                break
            (self._root / folder).rmdir()


def _place(fresh: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(fresh, target)  # noqa: PTH105 - its errors are what we decide by


def _keys_of_delete(body: bytes) -> list[str]:
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - a signed request of the owner, and expat bounds expansion
    except ElementTree.ParseError:
        return []
    return [node.text or "" for node in root.iter() if node.tag.rpartition("}")[2] == "Key"]
