"""The object store keeps each object of S3 as a file under ``<state>/s3``, and a row in the database names the file.

A file is written whole before a row names it, and never changed afterwards: an object is there as it was sent, or not
there. No key is part of a path – files have random names – so none can lead out of the folder. Nothing of an object stays in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import shutil
import stat
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from ...core.specs.places import bucket_and_key
from ..errors import AwsError, validation
from ..state.failpoints import failpoint
from ..state.store import StoredObject, StoredPart, StoredUpload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ..http.body import Spool
    from ..state.quota import Quota
    from ..state.store import Store

    Check = Callable[[StoredObject | None], None]

_BLOCK: Final = 2**20


class Content(NamedTuple):
    """What an object is to be: a file that no row names yet, its digest, and what is kept of the request's headers."""

    file: str
    etag: str
    headers: Mapping[str, str]


class ObjectStore:
    """Safe to share between threads. Writing raises KeyError where the bucket does not exist, AwsError where there is no room."""

    def __init__(self, root: Path, store: Store, quota: Quota) -> None:
        self._root = root
        self._store = store
        self._quota = quota
        self._lock = threading.RLock()
        self._buckets = dict(store.buckets())
        root.mkdir(parents=True, exist_ok=True)
        self._sweep()
        quota.add(store.object_bytes())
        self.ready = threading.Event()  # set once the other services have what they need, buckets among it

    # --- buckets ---

    def buckets(self) -> Mapping[str, str]:
        """Return each bucket's region."""
        return dict(self._buckets)

    def has_bucket(self, name: str) -> bool:
        return name in self._buckets

    def create_bucket(self, name: str, region: str) -> None:
        with self._lock:
            if name not in self._buckets:
                self._store.save_bucket(name, region)
                self._buckets[name] = region

    def drop_bucket(self, name: str) -> None:
        with self._lock:
            self._store.drop_bucket(name)
            self._buckets.pop(name, None)

    # --- reading ---

    def keys(self, bucket: str, prefix: str) -> list[str]:
        found = []
        for key in self._store.keys_from(bucket, prefix):
            if not key.startswith(prefix):
                break
            found.append(key)
        return found

    def find(self, bucket: str, key: str) -> StoredObject | None:
        return self._store.object(bucket, key)

    def open(self, bucket: str, key: str) -> tuple[StoredObject, IO[bytes]]:
        """Return the object and its content, which stays whole while it is open. Raises KeyError."""
        while True:
            entry = self._store.object(bucket, key)
            if entry is None:
                raise KeyError(f"s3://{bucket}/{key} does not exist")
            try:
                return entry, (self._root / entry.file).open("rb")
            except FileNotFoundError:  # replaced between the two: look again
                if self._store.object(bucket, key) == entry:
                    raise

    def path(self, bucket: str, key: str) -> Path:
        """Return the object's file, which is gone when the object is replaced. Raises KeyError."""
        entry = self._store.object(bucket, key)
        if entry is None:
            raise KeyError(f"s3://{bucket}/{key} does not exist")
        return self._root / entry.file

    def page(
        self, bucket: str, *, prefix: str, delimiter: str, after: str, limit: int
    ) -> tuple[list[StoredObject], list[str], str]:
        """Return objects and common prefixes after the name ``after``, together at most ``limit``; the last name, or "" at the end."""
        entries: list[StoredObject] = []
        groups: list[str] = []
        last = ""
        for entry in self._walk(bucket, prefix, delimiter, after):
            if len(entries) + len(groups) == limit:
                return entries, groups, last
            if isinstance(entry, str):
                groups.append(entry)
                last = entry
            else:
                entries.append(entry)
                last = entry.key
        return entries, groups, ""

    def _walk(self, bucket: str, prefix: str, delimiter: str, after: str) -> Iterator[StoredObject | str]:
        """Objects, and one common prefix in place of all objects below it."""
        at = max(prefix, f"{after}\0" if after else "")
        if delimiter and after.endswith(delimiter) and after.startswith(prefix) and len(after) > len(prefix):
            at = _past(after)  # the last name was a common prefix
        while rows := self._store.objects_from(bucket, at, 1000):
            for row in rows:
                if not row.key.startswith(prefix):
                    return
                cut = row.key.find(delimiter, len(prefix)) if delimiter else -1
                if cut >= 0:
                    group = row.key[: cut + len(delimiter)]
                    yield group
                    at = _past(group)
                    break
                yield row
                at = f"{row.key}\0"

    # --- writing ---

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """Write an object as a client would."""
        self._put_open(bucket, key, io.BytesIO(content), len(content))

    def put_file(self, bucket: str, key: str, source: Path | IO[bytes]) -> None:
        """Write an object from a file, from where it stands, without holding it in memory.

        Raises OSError too: for what is no plain file, be it a link, or became none since it was looked at.
        """
        if isinstance(source, Path):
            with open_plain(source) as content:
                self._put_open(bucket, key, content, os.fstat(content.fileno()).st_size)
        else:
            self._put_open(bucket, key, source, os.fstat(source.fileno()).st_size)

    def _put_open(self, bucket: str, key: str, content: IO[bytes], size: int) -> None:
        self._quota.check(size)
        digest = hashlib.md5(usedforsecurity=False)
        with self._fresh() as fresh, (self._root / fresh).open("wb") as out:
            while block := content.read(_BLOCK):
                self._quota.check(len(block) + out.tell())
                digest.update(block)
                out.write(block)
        self.appear(bucket, key, Content(fresh, digest.hexdigest(), {}))

    def take(self, spool: Spool) -> str:
        """Keep a body as a file that no row names yet; its name."""
        self._quota.check(spool.length)
        with self._fresh() as fresh:
            spool.move_to(self._root / fresh)
        failpoint("content-written")
        return fresh

    def join(self, files: Iterable[str]) -> str:
        """Return a file with the contents of others, in order; its name."""
        with self._fresh() as fresh, (self._root / fresh).open("wb") as out:
            for file in files:
                self._quota.check((self._root / file).stat().st_size)
                with (self._root / file).open("rb") as source:
                    _append(source, out)
        failpoint("parts-joined")
        return fresh

    def piece(self, bucket: str, key: str, first: int, length: int) -> str:
        """Return a file with a part of an object; its name. Raises KeyError."""
        self._quota.check(length)
        _, source = self.open(bucket, key)
        with source, self._fresh() as fresh, (self._root / fresh).open("wb") as out:
            source.seek(first)
            left = length
            while left > 0 and (block := source.read(min(left, _BLOCK))):
                out.write(block)
                left -= len(block)
        return fresh

    def appear(
        self,
        bucket: str,
        key: str,
        content: Content,
        *,
        upload: str = "",
        check: Check = lambda _found: None,
    ) -> StoredObject:
        """Let the object be this content, and ``upload`` be complete. Raises KeyError for no bucket, and what ``check`` does of the
        object that was there before: nothing comes between the two.
        """
        if bucket not in self._buckets:
            self.discard([content.file])
            raise KeyError(bucket)
        entry = StoredObject(
            key=key,
            file=content.file,
            headers=dict(content.headers),
            size=(self._root / content.file).stat().st_size,
            etag=content.etag,
            modified=time.time(),
        )
        with self._named(content.file), self._lock:
            check(self._store.object(bucket, key))
            left = self._store.save_object(bucket, entry, upload)
        failpoint("object-row-written")
        self.discard(left)
        return entry

    def delete(self, bucket: str, key: str, check: Check = lambda _found: None) -> None:
        """Delete an object if it is there. Raises what ``check`` does of it."""
        with self._lock:
            check(self._store.object(bucket, key))
            left = self._store.drop_object(bucket, key)
        failpoint("object-row-dropped")
        self.discard(left)

    def change_headers(self, bucket: str, key: str, headers: Mapping[str, str]) -> None:
        self._store.change_headers(bucket, key, headers)

    def discard(self, files: Iterable[str]) -> None:
        """Delete files that no row names (any more)."""
        for file in files:
            self._quota.add(-(self._root / file).stat().st_size)
            (self._root / file).unlink()

    # --- uploads in parts ---

    def begin_upload(self, bucket: str, key: str, headers: Mapping[str, str]) -> StoredUpload:
        upload = StoredUpload(
            id=secrets.token_hex(24), bucket=bucket, key=key, headers=dict(headers), started=time.time()
        )
        self._store.save_upload(upload)
        return upload

    def uploads(self, bucket: str) -> list[StoredUpload]:
        return self._store.uploads(bucket)

    def parts(self, upload: str) -> list[StoredPart]:
        return self._store.parts(upload)

    def add_part(self, upload: str, number: int, file: str, etag: str) -> StoredPart:
        size = (self._root / file).stat().st_size
        part = StoredPart(number=number, file=file, size=size, etag=etag, modified=time.time())
        with self._named(file):
            left = self._store.save_part(upload, part)
        failpoint("part-row-written")
        self.discard(left)
        return part

    def abort_upload(self, upload: str) -> None:
        self.discard(self._store.drop_upload(upload))

    # --- its files ---

    def digest_of(self, file: str) -> str:
        """Return MD5 in hexadecimal: what S3 calls an ETag."""
        digest = hashlib.md5(usedforsecurity=False)
        with (self._root / file).open("rb") as source:
            while block := source.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest()

    @contextlib.contextmanager
    def _fresh(self) -> Iterator[str]:
        """The name of a new file, which is counted once it is whole; what could not be written whole goes."""
        name = secrets.token_hex(16)
        (self._root / name[:2]).mkdir(exist_ok=True)
        path = self._root / name[:2] / name
        try:
            yield f"{name[:2]}/{name}"
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        self._quota.add(path.stat().st_size)

    @contextlib.contextmanager
    def _named(self, file: str) -> Iterator[None]:
        """The file goes where the row that is to name it cannot, or must not, be written."""
        try:
            yield
        except (OSError, AwsError):
            self.discard([file])
            raise

    def _sweep(self) -> None:
        """After a kill: files that no row names go; rows whose file is not what it was are dropped, which is said."""
        named = self._store.files()
        for parent, _, names in os.walk(self._root):
            for path in (Path(parent, name) for name in names):
                size = named.get(path.relative_to(self._root).as_posix())
                if size == path.stat().st_size:
                    named.pop(path.relative_to(self._root).as_posix())
                else:
                    path.unlink()
        if named:  # not by a kill: by a full disk, a power failure, or a hand
            sys.stderr.write(f"{len(named)} object(s) lost their content and were dropped: {sorted(named)[:5]}\n")
            self._store.forget_files(list(named))


def open_plain(path: Path) -> IO[bytes]:
    """Open a plain file that somebody else may exchange for a pipe at any moment. Raises OSError for anything else."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is no plain file")
    return os.fdopen(handle, "rb")


def _past(group: str) -> str:
    """The first text after every text that begins with ``group``; surrogates are no text."""
    last = ord(group[-1]) + 1
    if last > 0x10FFFF:
        return _past(group[:-1]) if len(group) > 1 else "\U0010ffff"
    return group[:-1] + chr(0xE000 if 0xD800 <= last <= 0xDFFF else last)


def _append(source: IO[bytes], out: IO[bytes]) -> None:
    """The rest of one file at the end of another, in the kernel where it can."""
    out.flush()
    try:
        while os.copy_file_range(source.fileno(), out.fileno(), 2**30):
            pass
        out.seek(0, os.SEEK_END)
    except (OSError, AttributeError):  # another kernel, or a file system that cannot
        shutil.copyfileobj(source, out, _BLOCK)


def parse_s3_uri(uri: str) -> tuple[str, str]:
    """Return bucket and key of a place in S3. Raises AwsError for any other form."""
    found = bucket_and_key(uri)
    if found is None:
        raise validation(f"got {uri!r}, wanted a URI of the form s3://bucket/key")
    return found
